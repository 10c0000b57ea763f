internal import CMedia

/// Finds where pictures of H.264 are missing from a stream: frame_num counts the reference pictures, and skips no
/// number (ITU-T H.264, 7.4.3).
///
/// libavcodec puts copies of an earlier picture in the place of those that are missing, and reports nothing. Some
/// encoders begin to count anew without an IDR picture; so a number of 0 or 1 is no sign of a loss. Nothing is found
/// where sequence parameter sets differ or allow gaps.
struct LostPictures {
  private let lengthSize: Int
  private var sequence: AVCSequence?
  private var isOn = true
  /// The frame_num of the last reference picture.
  private var reference: Int?

  /// Nil for other codecs than H.264.
  init?(_ parameters: UnsafePointer<AVCodecParameters>) {
    guard let record = AVCSequence.record(of: parameters) else { return nil }
    lengthSize = AVCSequence.lengthSize(record)
    for unit in AVCSequence.units(in: record) { read(unit) }
  }

  /// Whether a reference picture is missing before this packet, which a decoder cannot know the content of. Called with
  /// each packet of the track, in the file's order.
  mutating func areMissing(before packet: Packet) -> Bool {
    guard isOn else { return false }
    if packet.sideData(AV_PKT_DATA_NEW_EXTRADATA) != nil {
      isOn = false
      return false
    }
    return packet.withBytes { bytes in
      var units = NetworkUnits(bytes, lengthSize: lengthSize)
      while let first = units.next() {
        switch first & 31 {
        case 1, 2: return isMissing(before: bytes[(units.start + 1)...], isReference: first >> 5 & 3 != 0)
        case 5:
          reference = 0
          return false
        case 7: read(bytes[units.start...])
        default: break
        }
      }
      return false
    }
  }

  /// - Parameter slice: The first of a picture.
  private mutating func isMissing(before slice: Slice<UnsafeRawBufferPointer>, isReference: Bool) -> Bool {
    guard isOn, let sequence, let number = sequence.frameNumber(of: slice) else { return false }
    let mask = 1 << sequence.frameNumberBits - 1
    defer { if isReference || reference == nil { reference = number } }
    guard let last = reference, number > 1, number != last, number != (last + 1) & mask else { return false }
    reference = (number - 1) & mask
    return true
  }

  private mutating func read(_ unit: Slice<UnsafeRawBufferPointer>) {
    let found = AVCSequence([UInt8](unit.prefix(256)))
    if found?.allowsGaps != false || sequence.map({ $0 != found }) ?? false { isOn = false }
    sequence = found
  }
}
