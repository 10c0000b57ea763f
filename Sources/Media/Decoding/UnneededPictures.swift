internal import CMedia

/// Which packets of H.264 a decoder does not need before the next picture that is shown.
///
/// No picture refers to one whose nal_ref_idc is 0 (ITU-T H.264, 7.4.1), so the others are the same whether it is
/// decoded or not, unless it is damaged (see `VideoReader`). It is left out if a picture that precedes it in the file
/// is shown after it, and not after the time that is wanted: then it is not the one that is shown at that time. Nothing
/// is left out where a packet shows anything unusual: fields, gaps in frame_num, parameter sets that change.
///
/// The decoder gives the others in the same order. It holds back as many pictures as the stream states, n, and each one
/// more makes it give the earliest, so that it loses a picture exactly if it has had more than n later ones. A picture
/// that is left out can only spare an earlier one, and the one that precedes it in the file is shown after both. If the
/// stream does not state n, the decoder learns it from the pictures, and so all of the last ones are decoded.
struct UnneededPictures {
  /// The pictures that are all decoded before the time that is wanted, if the stream does not state its reordering.
  private static let unstatedMargin: Int64 = 32

  private var shownAt: Int64
  private let step: Int64
  private let lengthSize: Int
  /// What all sequence parameter sets state, which are equal; nil until there is one.
  private var sequence: AVCSequence?
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
    guard let record = AVCSequence.record(of: parameters) else { return nil }
    guard (0..<Int64(Int32.max)).contains(step), shownAt > .min / 2 else { return nil }
    self.shownAt = shownAt
    self.step = step
    lengthSize = AVCSequence.lengthSize(record)
    for unit in AVCSequence.units(in: record) { readSequence(unit) }
  }

  /// Another picture is wanted: the last one at or before a later time.
  mutating func show(at time: Int64) { shownAt = max(shownAt, time) }

  /// Whether the decoder does not need a packet. Called with each packet of the track, in the file's order.
  mutating func leavesOut(_ packet: Packet) -> Bool {
    guard isOn else { return false }
    if packet.pts == sheaf_no_pts || packet.sideData(AV_PKT_DATA_NEW_EXTRADATA) != nil { isOn = false }
    guard isOn, let picture = packet.withBytes({ read($0) }) else { return false }
    if !picture.isReference, !picture.hasOthers, !packet.isDiscarded, packet.pts < latest, let sequence, let reference,
      packet.pts < shownAt - (sequence.statesReordering ? 0 : Self.unstatedMargin * step),
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
    /// The frame_num of the first slice. Nil if it cannot be read.
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
        if picture == nil {
          picture = Picture(frameNumber: sequence?.frameNumber(of: bytes[(units.start + 1)...]))
        }
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

  /// Reads a sequence parameter set (7.3.2.1.1). The rule is off if it allows what the rule does not hold for, or
  /// differs from another.
  private mutating func readSequence(_ unit: Slice<UnsafeRawBufferPointer>) {
    let found = AVCSequence([UInt8](unit.prefix(256)))
    if found?.hasOnlyFramesInOrder != true || sequence.map({ $0 != found }) ?? false { isOn = false }
    sequence = found
  }
}
