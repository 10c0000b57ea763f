internal import CMedia

/// What the types of the pictures of MPEG-1, 2 and 4 state of their packets' times. Packets are added in the file's
/// order.
///
/// A picture that is predicted from both sides (B) is presented before the reference picture that its packet follows. A
/// decoder gives a reference picture when it has the packet of the next one, and if the picture's own packet has no
/// presentation time, with the decoding time of that next packet.
struct PictureOrder {
  /// B pictures, and those among them whose time is later than that of the reference picture before.
  private var bidirectional = 0
  private var contradictions = 0
  /// The presentation times of the packets that have none.
  private var derived: [Int64] = []
  /// Whether all decoding times are there and rise, and the presentation times rise from picture to picture in the
  /// order in which a decoder gives them. If not, a decoder may take other times than the stored ones.
  private var isRegular = true
  /// Whether a reference picture is presented when the next one is decoded, as stored times show.
  private var isDelayed = false
  /// The presentation time of the last reference picture; `sheaf_no_pts` if its packet has none.
  private var lastReference: Int64?
  private var lastShown = Int64.min
  /// The greatest stored time of the pictures that were given so far.
  private var greatestStored = Int64.min
  /// Whether a picture is given after one with a greater stored time.
  private(set) var contradictsTimes = false
  private var lastDecodingTime = Int64.min
  /// The duration of the last packet, in ticks.
  private var lastDuration: Int64 = 0

  /// - Parameter isBidirectional: Nil if the packet does not show it.
  mutating func add(_ packet: Packet, isBidirectional: Bool?) {
    let (pts, dts) = (packet.pts, packet.dts)
    lastDuration = packet.duration
    guard let isBidirectional else {
      isRegular = false
      return
    }
    if dts == sheaf_no_pts || dts <= lastDecodingTime || packet.isDiscarded { isRegular = false }
    if dts != sheaf_no_pts { lastDecodingTime = dts }
    if isBidirectional {
      if let lastReference, lastReference != sheaf_no_pts, pts != sheaf_no_pts, pts > lastReference {
        contradictions += 1
      }
      bidirectional += 1
      show(pts, or: dts)
    } else {
      if pts == dts { isRegular = false }
      if let lastReference {
        if lastReference == dts { isDelayed = true }
        show(lastReference, or: dts)
      }
      lastReference = pts
    }
  }

  /// A decoder gives a picture with its stored time or another.
  private mutating func show(_ stored: Int64, or other: Int64) {
    let time = stored == sheaf_no_pts ? other : stored
    if stored == sheaf_no_pts {
      derived.append(time)
    } else {
      if stored < greatestStored { contradictsTimes = true }
      greatestStored = max(greatestStored, stored)
    }
    if time <= lastShown { isRegular = false }
    lastShown = max(lastShown, time)
  }

  /// Whether the times that are stored as presentation times are decoding times, by which most B pictures would be
  /// presented after the reference picture before them.
  var hasDecodingTimes: Bool { 2 * contradictions > bidirectional }

  /// The presentation times of the packets that have none, which are those that decoding gives their pictures. Nil if
  /// the packets do not show them.
  var missingTimes: [Int64]? { isDelayed ? possibleTimes : nil }

  /// The same, if decoding proves that a reference picture is presented when the next one is decoded.
  var possibleTimes: [Int64]? {
    guard isRegular, let lastReference else { return nil }
    if lastReference != sheaf_no_pts { return lastReference > lastShown ? derived : nil }
    // No packet follows it, so it has the decoding time that would follow the last packet's (`FrameClock`).
    let last = lastDecodingTime + lastDuration
    return lastDuration > 0 && last > lastShown ? derived + [last] : nil
  }
}
