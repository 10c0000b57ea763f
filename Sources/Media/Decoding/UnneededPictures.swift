internal import CMedia

/// Which packets of H.264 a decoder does not need before the first picture that is shown.
///
/// No picture refers to one whose nal_ref_idc is 0 (ITU-T H.264, 7.4.1), so the others are the same whether it is
/// decoded or not. It is left out if a picture that precedes it in the file is shown after it, and not after the time
/// that is wanted: then it is not the one that is shown at that time. Nothing is left out where a packet shows anything
/// unusual: fields, gaps in frame_num, parameter sets that change.
struct UnneededPictures {
  /// What holds for a stream by its sequence parameter sets.
  fileprivate struct SequenceParameters: Equatable {
    /// The number of bits of frame_num.
    var frameNumberBits: Int
    /// Whether the stream states by how many pictures it reorders. If not, the decoder learns it from the pictures.
    var statesReordering: Bool

    /// The pictures that are all decoded before the time that is wanted.
    var margin: Int64 { statesReordering ? 8 : 32 }
  }

  private let shownAt: Int64
  private let step: Int64
  private let lengthSize: Int
  /// Of all sequence parameter sets; nil until there is one.
  private var sequence: SequenceParameters?
  private var isOn = true
  /// The latest time of a packet that is not after the time that is wanted.
  private var latest = Int64.min
  /// The frame_num of the last reference picture.
  private var reference: Int?

  /// Nil for other codecs than H.264.
  /// - Parameters:
  ///   - shownAt: The time that is wanted: the first picture that is shown is the last one at or before it.
  ///   - step: The duration of a frame. Both in ticks of the track's timebase.
  init?(_ stream: UnsafeMutablePointer<AVStream>, shownAt: Int64, step: Int64) {
    let parameters = stream.pointee.codecpar!
    guard parameters.pointee.codec_id == AV_CODEC_ID_H264 else { return nil }
    guard (0..<Int64(Int32.max)).contains(step), shownAt > .min / 2 else { return nil }
    self.shownAt = shownAt
    self.step = step
    let record = UnsafeRawBufferPointer(
      start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size))
    guard record.count > 6, record[0] == 1 else {
      lengthSize = 0
      readSequences(in: record)
      return
    }
    lengthSize = Int(record[4] & 3) + 1
    var offset = 6
    for _ in 0..<(record[5] & 31) where offset + 2 < record.count {
      let size = Int(record[offset]) << 8 | Int(record[offset + 1])
      readSequence(record[(offset + 2)...].prefix(size))
      offset += 2 + size
    }
  }

  /// Whether the decoder does not need a packet. Called with each packet of the track, in the file's order.
  mutating func leavesOut(_ packet: Packet) -> Bool {
    guard isOn else { return false }
    if packet.pts == sheaf_no_pts || packet.sideData(AV_PKT_DATA_NEW_EXTRADATA) != nil { isOn = false }
    guard isOn, let picture = packet.withBytes({ read($0) }) else { return false }
    if !picture.isReference, !picture.hasOthers, !packet.isDiscarded, packet.pts < latest, let sequence, let reference,
      packet.pts < shownAt - sequence.margin * step,
      picture.frameNumber == (reference + 1) & (1 << sequence.frameNumberBits - 1)
    {
      return true
    }
    if !packet.isDiscarded, packet.pts <= shownAt { latest = max(latest, packet.pts) }
    if picture.isReference { reference = picture.frameNumber }
    return false
  }

  private struct Picture {
    var isReference = false
    /// Of the first slice.
    var frameNumber: Int?
    /// Whether there are units that say more than this picture and messages about it.
    var hasOthers = false
  }

  /// Nil if the packet has no picture.
  private mutating func read(_ bytes: UnsafeRawBufferPointer) -> Picture? {
    var units = NetworkUnits(bytes, lengthSize: lengthSize)
    var picture: Picture?
    var hasOthers = false
    while let first = units.next() {
      switch first & 31 {
      case 1, 5:
        if first & 31 == 5 { hasOthers = true }
        if picture == nil { picture = Picture(frameNumber: frameNumber(of: bytes[(units.start + 1)...])) }
        if first >> 5 & 3 != 0 { picture?.isReference = true }
      case 6, 9, 12: break
      case 7:
        readSequence(bytes[units.start...])
        hasOthers = true
      default: hasOthers = true
      }
    }
    picture?.hasOthers = hasOthers
    return picture
  }

  private func frameNumber(of slice: Slice<UnsafeRawBufferPointer>) -> Int? {
    guard let sequence else { return nil }
    var bits = PayloadBits([UInt8](slice.prefix(16))[...])
    // first_mb_in_slice, slice_type, pic_parameter_set_id.
    for _ in 0..<3 where bits.golomb() == nil { return nil }
    return bits.next(sequence.frameNumberBits)
  }

  private mutating func readSequences(in bytes: UnsafeRawBufferPointer) {
    var units = NetworkUnits(bytes, lengthSize: 0)
    while let first = units.next() {
      if first & 31 == 7 { readSequence(bytes[units.start...]) }
    }
  }

  /// Reads a sequence parameter set (7.3.2.1.1). The rule is off if it allows what the rule does not hold for, or
  /// differs from another.
  private mutating func readSequence(_ unit: Slice<UnsafeRawBufferPointer>) {
    let found = SequenceParameters([UInt8](unit.prefix(256)))
    if found == nil || sequence.map({ $0 != found }) ?? false { isOn = false }
    sequence = found
  }
}

extension UnneededPictures.SequenceParameters {
  /// Nil if there may be fields or gaps in frame_num, if the order of the pictures follows from all that precede, or if
  /// the set cannot be read.
  /// - Parameter unit: A sequence parameter set, from the byte on that states its type.
  fileprivate init?(_ unit: [UInt8]) {
    var bits = PayloadBits(unit.dropFirst(1), limit: 256)
    guard let profile = bits.next(8), bits.skip(16), bits.golomb() != nil else { return nil }
    if [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profile) {
      guard let chroma = bits.golomb(), chroma != 3 || bits.next(1) == 0, bits.golomb() != nil, bits.golomb() != nil,
        bits.skip(1), let hasMatrices = bits.next(1)
      else { return nil }
      if hasMatrices == 1 {
        for index in 0..<(chroma == 3 ? 12 : 8) {
          guard let isPresent = bits.next(1) else { return nil }
          if isPresent == 1, !bits.skipMatrix(count: index < 6 ? 16 : 64) { return nil }
        }
      }
    }
    // pic_order_cnt_type 0, then gaps_in_frame_num_value_allowed_flag 0, and frame_mbs_only_flag 1 after the size.
    guard let length = bits.golomb(), length <= 12, bits.golomb() == 0, bits.golomb() != nil, bits.golomb() != nil,
      bits.next(1) == 0, bits.golomb() != nil, bits.golomb() != nil, bits.next(1) == 1
    else { return nil }
    frameNumberBits = length + 4
    statesReordering = bits.statesReordering() ?? false
  }
}

extension PayloadBits {
  /// Skips a scaling matrix (7.3.2.1.1.1). False if it does not end.
  fileprivate mutating func skipMatrix(count: Int) -> Bool {
    var (last, next) = (8, 8)
    for _ in 0..<count where next != 0 {
      guard let code = golomb() else { return false }
      let difference = code % 2 == 1 ? (code + 1) / 2 : -(code / 2)
      next = (last + difference) & 255
      if next != 0 { last = next }
    }
    return true
  }

  /// Whether the rest of a sequence parameter set, from direct_8x8_inference_flag on, has bitstream_restriction_flag
  /// (E.1.1). Nil if it cannot be read.
  fileprivate mutating func statesReordering() -> Bool? {
    guard skip(1), let isCropped = next(1) else { return nil }
    for _ in 0..<(isCropped * 4) where golomb() == nil { return nil }
    guard next(1) == 1, let hasAspect = next(1) else { return false }
    if hasAspect == 1, next(8) == 255, !skip(32) { return nil }
    guard let hasOverscan = next(1), skip(hasOverscan), let hasSignal = next(1) else { return nil }
    if hasSignal == 1 {
      guard skip(4), let hasColour = next(1), skip(hasColour * 24) else { return nil }
    }
    guard let hasPosition = next(1) else { return nil }
    for _ in 0..<(hasPosition * 2) where golomb() == nil { return nil }
    guard let hasTiming = next(1), skip(hasTiming * 65) else { return nil }
    var hasBuffers = false
    for _ in 0..<2 {
      guard let hasBuffer = next(1) else { return nil }
      if hasBuffer == 0 { continue }
      hasBuffers = true
      guard let count = golomb(), count < 32, skip(8) else { return nil }
      for _ in 0...count { guard golomb() != nil, golomb() != nil, skip(1) else { return nil } }
      guard skip(20) else { return nil }
    }
    guard skip(hasBuffers ? 2 : 1) else { return nil }
    return next(1) == 1
  }
}
