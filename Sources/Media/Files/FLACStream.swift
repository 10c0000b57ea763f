internal import CMedia

/// The stream info of FLAC, which is the codec's parameter set in every container (RFC 9639, section 8.2).
struct FLACStreamInfo {
  private static let size = 34
  private(set) var bytes: [UInt8]

  /// Nil if it is none.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size else { return nil }
    self.bytes = bytes
  }

  /// Samples of each channel: 36 bits after the sample rate, channels and bits a sample. 0 if unknown.
  var sampleCount: UInt64 {
    get { bytes[14..<18].reduce(UInt64(bytes[13] & 0xf)) { $0 << 8 | UInt64($1) } }
    set {
      // What does not fit is unknown.
      let count = newValue >> 36 == 0 ? newValue : 0
      bytes[13] = bytes[13] & 0xf0 | UInt8(truncatingIfNeeded: count >> 32)
      for byte in 0..<4 { bytes[14 + byte] = UInt8(truncatingIfNeeded: count >> (24 - 8 * UInt64(byte))) }
    }
  }

  /// Samples of each channel in the frames of the stream: the fewest, of all but the last, and the most.
  var blockSizes: ClosedRange<UInt64>? {
    get {
      let (least, most) = (UInt64(bytes[0]) << 8 | UInt64(bytes[1]), UInt64(bytes[2]) << 8 | UInt64(bytes[3]))
      return 0 < least && least <= most ? least...most : nil
    }
    set {
      guard let newValue else { return }
      // The least that the format allows to be stated is 16.
      for (index, size) in [max(16, newValue.lowerBound), newValue.upperBound].enumerated() {
        bytes[2 * index] = UInt8(truncatingIfNeeded: size >> 8)
        bytes[2 * index + 1] = UInt8(truncatingIfNeeded: size)
      }
    }
  }

  /// The same stream, of which the number of samples, the sizes of the frames and the MD5 of the samples are unknown:
  /// each has a value that says so.
  var withoutContent: FLACStreamInfo {
    var info = self
    info.sampleCount = 0
    for index in Array(4..<10) + Array(18..<Self.size) { info.bytes[index] = 0 }
    return info
  }
}

/// The head of a FLAC frame (RFC 9639, section 9.1).
private struct FLACFrameHead {
  /// Samples of each channel.
  let samples: UInt64
  /// Whether `number` counts samples, and not frames.
  let countsSamples: Bool
  let number: UInt64
  /// The place of the number's bytes.
  let numberBytes: Range<Int>
  /// The place of the checksum of the head, which ends it.
  let checksum: Int

  /// Nil if the bytes are no frame.
  init?(_ frame: UnsafeRawBufferPointer) {
    // The longest head is 16 bytes; no frame is shorter than 9.
    guard frame.count >= 9, frame[0] == 0xff, frame[1] & 0xfe == 0xf8 else { return nil }
    countsSamples = frame[1] & 1 == 1
    let (size, rate) = (frame[2] >> 4, frame[2] & 0xf)
    let ones = (~frame[4]).leadingZeroBitCount
    guard size != 0, ones != 1, ones < 8 else { return nil }
    var place = 4 + max(1, ones)
    numberBytes = 4..<place
    let sizeBytes = size == 6 ? 1 : size == 7 ? 2 : 0
    let rateBytes = rate == 12 ? 1 : rate == 13 || rate == 14 ? 2 : 0
    checksum = place + sizeBytes + rateBytes
    guard checksum + 2 < frame.count else { return nil }
    number = frame[5..<place].reduce(UInt64(ones == 0 ? frame[4] : frame[4] & (0x7f >> UInt8(ones)))) {
      $0 << 6 | UInt64($1 & 0x3f)
    }
    switch size {
    case 1: samples = 192
    case 2...5: samples = 576 << UInt64(size - 2)
    case 6, 7:
      var stated: UInt64 = 0
      for _ in 0..<sizeBytes {
        stated = stated << 8 | UInt64(frame[place])
        place += 1
      }
      samples = stated + 1
    default: samples = 256 << UInt64(size - 8)
    }
  }

  /// The bytes of a number: those of UTF-8, up to 36 bits.
  static func bytes(_ number: UInt64) -> [UInt8] {
    guard number >= 0x80 else { return [UInt8(number)] }
    let bits = UInt64.bitWidth - number.leadingZeroBitCount
    // A number of n bytes has 5n + 1 bits.
    let count = max(2, (bits + 3) / 5)
    let ones = ~(UInt8(0xff) >> UInt8(count))
    return (0..<count).map { index in
      let part = UInt8(truncatingIfNeeded: number >> UInt64(6 * (count - 1 - index)))
      return index == 0 ? ones | part : 0x80 | part & 0x3f
    }
  }
}

/// The frames of a track of FLAC that is copied, from the first one of the output on, and what the output states of
/// them. A cut of a file has other samples than its stream info says.
struct FLACCopy {
  /// What a frame's number is.
  enum Numbering {
    /// What it was: the container has the times.
    case source
    /// The frame's only time, so that it counts the frames of the output.
    case frames
    /// The samples before it, which is the rule for streams in which a frame before the last may be shorter.
    case samples
  }

  private let source: FLACStreamInfo
  private let numbering: Numbering
  private var samples: UInt64 = 0
  private var frames: UInt64 = 0
  /// Whether every frame until now was at the place that it has in the source.
  private var isSource: Bool
  private var isCounted = true
  /// Samples of the latest frame, and of the shortest before it.
  private var (latest, shortest): (UInt64?, UInt64?)

  /// Nil if the parameter set is none of FLAC.
  /// - Parameter isOneFile: Whether all frames are of the file whose parameter set it is.
  init?(_ parameterSets: [UInt8], isOneFile: Bool, numbering: Numbering) {
    guard let source = FLACStreamInfo(parameterSets) else { return nil }
    self.source = source
    self.numbering = numbering
    isSource = isOneFile
  }

  /// What is known before the first frame.
  var infoAtStart: [UInt8] { source.withoutContent.bytes }

  /// What is known after the last frame. All of the source has the source's.
  var infoAtEnd: [UInt8] {
    if isSource, isCounted, source.sampleCount == samples { return source.bytes }
    var info = source.withoutContent
    if isCounted {
      info.sampleCount = samples
      if let shortest, let sizes = info.blockSizes, shortest < sizes.lowerBound {
        info.blockSizes = shortest...sizes.upperBound
      }
    }
    return info.bytes
  }

  /// The packet with the number of its place in the output, if that is another one.
  mutating func add(_ packet: Packet) throws(MediaError) -> Packet {
    guard let head = packet.withBytes({ FLACFrameHead($0) }) else {
      // The samples of a damaged frame are not known.
      isCounted = false
      return packet
    }
    let countsSamples = head.countsSamples || numbering == .samples
    let number = countsSamples ? samples : frames
    if let latest { shortest = min(shortest ?? latest, latest) }
    latest = head.samples
    samples += head.samples
    frames += 1
    if head.number == number, head.countsSamples == countsSamples { return packet }
    isSource = false
    return numbering == .source ? packet : try Self.renumber(packet, head, number, countsSamples: countsSamples)
  }

  private static func renumber(
    _ packet: Packet, _ head: FLACFrameHead, _ number: UInt64, countsSamples: Bool
  ) throws(MediaError) -> Packet {
    let bytes = packet.withBytes { frame in
      var bytes = Array(frame[..<head.numberBytes.lowerBound]) + FLACFrameHead.bytes(number)
      bytes[1] = bytes[1] & 0xfe | (countsSamples ? 1 : 0)
      bytes += frame[head.numberBytes.upperBound..<head.checksum]
      bytes.append(UInt8(truncatingIfNeeded: checksum(bytes, polynomial: 0x07, bits: 8)))
      bytes += frame[(head.checksum + 1)..<(frame.count - 2)]
      let whole = checksum(bytes, polynomial: 0x8005, bits: 16)
      return bytes + [UInt8(truncatingIfNeeded: whole >> 8), UInt8(truncatingIfNeeded: whole)]
    }
    let made = try Packet(byteCount: bytes.count)
    try made.withMutableBytes { $0.copyBytes(from: bytes) }
    try check(av_packet_copy_props(made.pointer, packet.pointer), "copying", "a packet")
    return made
  }

  /// The remainder of a cyclic redundancy check that starts with 0, highest bit first.
  private static func checksum(_ bytes: [UInt8], polynomial: UInt32, bits: UInt32) -> UInt32 {
    let table = (0..<256).map { (index: UInt32) in
      (0..<8).reduce(index << (bits - 8)) { value, _ in
        value >> (bits - 1) & 1 == 1 ? value << 1 ^ polynomial : value << 1
      }
    }
    let mask = (UInt32(1) << bits) - 1
    return bytes.reduce(0) { (value: UInt32, byte) in
      (value << 8 ^ table[Int(value >> (bits - 8) & 0xff ^ UInt32(byte))]) & mask
    }
  }
}

extension Packet {
  /// Gives the muxer another parameter set of the track, as of the end of the stream.
  func state(_ parameterSets: [UInt8]) throws(MediaError) {
    let data = try allocated(
      av_packet_new_side_data(pointer, AV_PKT_DATA_NEW_EXTRADATA, parameterSets.count), "writing the stream info")
    data.update(from: parameterSets, count: parameterSets.count)
  }
}
