internal import CMedia

/// What the types of the pictures of MPEG-1, 2 and 4 state of their packets' times. Packets are added in the file's order.
///
/// A picture that is predicted from both sides (B) is presented before the reference picture that its packet follows. A
/// reference picture is presented when the next one is decoded.
struct PictureOrder {
  /// Whether the times that are stored as presentation times are decoding times: a B picture has a later one than the
  /// reference picture before it.
  private(set) var hasDecodingTimes = false
  /// The presentation times of the reference pictures whose packets have none.
  private var derived: [Int64] = []
  /// Whether all decoding times are there and rise, and all presentation times that are there agree with them.
  private var isConsistent = true
  /// The presentation time of the last reference picture; `sheaf_no_pts` if its packet has none.
  private var lastReference: Int64?
  private var lastDecodingTime = Int64.min
  /// Of the last two packets, in ticks.
  private var durations: (Int64, Int64) = (0, 0)

  /// - Parameter isBidirectional: Nil if the packet does not show it.
  mutating func add(_ packet: Packet, isBidirectional: Bool?) {
    let (pts, dts) = (packet.pts, packet.dts)
    if dts == sheaf_no_pts || dts <= lastDecodingTime || packet.isDiscarded { isConsistent = false }
    durations = (durations.1, packet.duration)
    if dts != sheaf_no_pts { lastDecodingTime = max(lastDecodingTime, dts) }
    guard let isBidirectional else {
      isConsistent = false
      return
    }
    if isBidirectional {
      if pts == sheaf_no_pts || pts != dts { isConsistent = false }
      if let lastReference, lastReference != sheaf_no_pts, pts != sheaf_no_pts, pts > lastReference {
        hasDecodingTimes = true
      }
      return
    }
    if let lastReference {
      if lastReference == sheaf_no_pts { derived.append(dts) } else if lastReference != dts { isConsistent = false }
    }
    lastReference = pts
  }

  /// The presentation times of the packets that have none, which are those that decoding gives their pictures. Nil if the
  /// packets do not show them.
  /// - Parameter greatest: The greatest presentation time that a packet has.
  func missingTimes(upTo greatest: Int64) -> [Int64]? {
    guard isConsistent, let lastReference else { return nil }
    if lastReference != sheaf_no_pts { return derived }
    // No picture is decoded after it. A decoder gives it no time, so it follows the one before.
    guard durations.0 > 0, durations.0 == durations.1 else { return nil }
    return derived + [max(greatest, derived.last ?? greatest) + durations.1]
  }
}
