internal import CMedia

/// What the packets of one video stream show without decoding. They are added in the file's order.
struct PacketScan {
  /// Presentation times of the packets that show a picture.
  private(set) var times: [Int64] = []
  private(set) var keyframes: [(pts: Int64, dts: Int64, position: Int64)] = []
  private(set) var packetCount = 0
  /// Whether a presented packet had no presentation time.
  private(set) var lacksTimes = false
  /// Whether the track begins with packets that depend on others before them.
  private var startsWithDependentPackets = false
  /// Whether a packet may show several pictures, or it cannot be told without decoding.
  private var hidesPictures = false
  /// Whether a packet is damaged, so that it may decode to nothing.
  private var isDamaged = false
  /// The duration of the packet with the greatest time, in ticks; 0 if the file does not store it.
  private(set) var lastDuration: Int64 = 0

  private let rule: KeyframeRule
  private var shown: ShownPictures
  /// The presentation time of the first packet at which decoding can start. Its decoding time may be missing, as it is
  /// in Matroska for the first packets of a track with reordered pictures.
  private var firstStart: Int64?
  private var startLacksDecodingTime = false
  /// Whether a packet is presented before one that is earlier in the file.
  private var isReordered = false
  private var greatest = Int64.min

  init(_ stream: UnsafeMutablePointer<AVStream>) {
    let parameters = stream.pointee.codecpar!
    rule = KeyframeRule(parameters)
    shown = ShownPictures(parameters)
  }

  mutating func add(_ packet: Packet) {
    packetCount += 1
    let pts = packet.pts
    if packet.isKeyframe, pts != sheaf_no_pts, pts > greatest, rule.canStart(at: packet) {
      if firstStart == nil {
        firstStart = pts
        startLacksDecodingTime = packet.dts == sheaf_no_pts
      }
      if packet.dts != sheaf_no_pts { keyframes.append((pts, packet.dts, packet.pointer.pointee.pos)) }
    }
    if !rule.isWhole(packet) { isDamaged = true }
    if firstStart == nil { startsWithDependentPackets = true }
    if let firstStart, pts != sheaf_no_pts, pts < firstStart, !packet.isDiscarded {
      startsWithDependentPackets = true
    }
    if pts != sheaf_no_pts {
      if pts < greatest { isReordered = true }
      greatest = max(greatest, pts)
    }
    let shownCount = shown.count(in: packet)
    if !packet.isDiscarded, (shownCount ?? 2) > 1 { hidesPictures = true }
    if packet.isDiscarded { return }
    guard pts != sheaf_no_pts else {
      lacksTimes = true
      return
    }
    if pts == greatest { lastDuration = packet.duration }
    if shownCount != 0 { times.append(pts) }
  }

  /// Sorts the times. Returns whether they are those of the pictures that are shown, so that nothing need be decoded.
  mutating func sortTimes() -> Bool {
    times.sort()
    // libavformat leaves the first decoding times out if the codec reorders pictures. If the file's times then rise from
    // packet to packet, they are decoding times, and no pictures have them.
    let areDecodingTimes = startLacksDecodingTime && !isReordered && packetCount > 1
    return !lacksTimes && !startsWithDependentPackets && !isDamaged && !hidesPictures && !areDecodingTimes
      && !zip(times, times.dropFirst()).contains { $0 == $1 }
  }
}
