internal import CMedia
import CompositionModel
internal import Glibc

/// Compares some segments of a film with a film that has these alone. The packets of a segment are the same bytes in
/// both, wherever they are. Of those that are not, the pictures are compared.
struct ShareComparison {
  private(set) var segments: [FilmComparison.Segment] = []
  private(set) var faults: [String] = []
  private let share: ComparisonRequest.Share
  /// Whether the packets can be the same at all: the headers of the codec are.
  private let hasEqualHeader: Bool
  /// The numbers of the film's keyframes, up to the first picture of the last segment.
  private var keyframes: [Int] = []
  private let open: (_ isFilm: Bool) throws(MediaError) -> PacketStream

  /// - Parameter open: Opens the video track of the film, or of the other.
  init(
    _ share: ComparisonRequest.Share, hasEqualHeader: Bool,
    open: @escaping (_ isFilm: Bool) throws(MediaError) -> PacketStream
  ) {
    (self.share, self.hasEqualHeader, self.open) = (share, hasEqualHeader, open)
  }

  /// - Returns: How many packets the film has.
  mutating func compare() throws(MediaError) -> Int64 {
    let (film, other) = (try open(true), try open(false))
    var number = 0
    var times: [Int64] = []
    var left = share.segments[...]
    var ranks: (own: [Int64], others: [Int64]) = ([], [])
    while let packet = try film.next() {
      times.append(packet.pts)
      if packet.isKeyframe, !left.isEmpty { keyframes.append(number) }
      if let segment = left.first, segment.contains(number) {
        if number == segment.lowerBound {
          segments.append(FilmComparison.Segment(frames: segment, hasEqualPackets: hasEqualHeader))
          ranks = ([], [])
        }
        let others = try other.next()
        let isEqual = others.map { packet.hasSameBytes(as: $0) && packet.isKeyframe == $0.isKeyframe } ?? false
        ranks.own.append(packet.pts)
        ranks.others.append(others?.pts ?? sheaf_no_pts)
        if !isEqual { segments[segments.count - 1].hasEqualPackets = false }
        if number == segment.upperBound - 1 {
          // The pictures of a segment are presented in one order.
          if Self.order(ranks.own) != Self.order(ranks.others) { segments[segments.count - 1].hasEqualPackets = false }
          left.removeFirst()
        }
      }
      number += 1
    }
    for segment in left where segments.last?.frames != segment {
      segments.append(FilmComparison.Segment(frames: segment, hasEqualPackets: false))
    }
    if !left.isEmpty { segments[segments.count - 1].hasEqualPackets = false }
    if number != share.frameCount { faults.append("has \(number) pictures, and not \(share.frameCount)") }
    checkTimes(times, tick: film.tick)
    try comparePictures()
    return Int64(number)
  }

  private static func order(_ times: [Int64]) -> [Int] { times.indices.sorted { times[$0] < times[$1] } }

  /// Whether picture n is shown n frame durations after the first, as far as the container can state it.
  private mutating func checkTimes(_ times: [Int64], tick: Double) {
    guard !times.contains(sheaf_no_pts) else { return faults.append("has packets without a time") }
    let sorted = times.sorted()
    let step = share.frameDuration.approximateSeconds
    let wrong = sorted.indices.first { index in
      let wanted = Double(index) * step
      return (Double(sorted[index] - sorted[0]) * tick - wanted).magnitude > tick * 1.000_1
    }
    guard let wrong else { return }
    faults.append(
      "shows picture \(wrong) at \(seconds(Double(sorted[wrong] - sorted[0]) * tick)) s, and not at "
        + "\(seconds(Double(wrong) * step)) s")
  }

  // MARK: Pictures

  /// Compares the pictures of the segments whose packets differ.
  private mutating func comparePictures() throws(MediaError) {
    var start = 0
    for index in segments.indices {
      let frames = segments[index].frames
      defer { start += frames.count }
      if segments[index].hasEqualPackets { continue }
      // Another encoder has its keyframes elsewhere.
      let keyframe = keyframes.last { $0 <= frames.lowerBound } ?? frames.lowerBound
      let film = try SegmentPictures(open(true), of: frames, from: keyframe)
      let other = try SegmentPictures(open(false), of: start..<(start + frames.count), from: start)
      segments[index].difference = try Self.compare(film, other, frames, share.frameDuration.approximateSeconds)
    }
  }

  private static func compare(
    _ film: SegmentPictures, _ other: SegmentPictures, _ frames: Range<Int>, _ step: Double
  ) throws(MediaError) -> FilmComparison.Difference? {
    var difference: FilmComparison.Difference?
    for number in frames {
      let (hasOwn, hasOther) = (try film.advance(), try other.advance())
      var measured: PixelDifference?
      if hasOwn, hasOther, film.format == other.format {
        measured = film.withBytes { own in
          other.withBytes { others in PixelDifference(own, others, depth: film.depth) }
        }
      }
      if let measured, measured.largest == 0 { continue }
      difference =
        difference ?? FilmComparison.Difference(count: 0, first: Int64(number), seconds: Double(number) * step)
      difference?.count += 1
      if let measured { difference?.include(measured, ofPicture: Int64(number)) }
    }
    return difference
  }
}

/// The pictures of some packets of a track.
private final class SegmentPictures {
  private(set) var format = ""
  private(set) var depth: Int?
  private let packets: PacketStream
  private let decoder: Decoder
  private let frame: Frame
  private var bytes = [UInt8]()
  private var byteCount = 0
  /// How many packets are not read yet.
  private var rest: Int
  private var isAtEnd = false

  /// - Parameter keyframe: The number of the packet at which decoding begins, at or before the first picture.
  init(_ packets: PacketStream, of pictures: Range<Int>, from keyframe: Int) throws(MediaError) {
    self.packets = packets
    rest = pictures.upperBound - keyframe
    decoder = try Decoder(packets.stream, name: "a segment", fillsBuffers: true)
    frame = try Frame()
    for _ in 0..<keyframe { _ = try packets.next() }
    for _ in keyframe..<pictures.lowerBound { _ = try advance() }
  }

  /// Decodes the next picture; false after the last.
  func advance() throws(MediaError) -> Bool {
    while try !decoder.receive(frame.pointer) {
      if isAtEnd { return false }
      let packet = rest > 0 ? try packets.next() : nil
      rest -= 1
      isAtEnd = packet == nil
      // The edit list of the film may leave it out, and the other film's may not.
      packet?.isDiscarded = false
      try decoder.send(packet)
    }
    format = "\(frame.format) \(frame.size.width)x\(frame.size.height)"
    depth = frame.format.sampleDepth
    byteCount = try frame.copyPixels(to: &bytes, "a segment")
    return true
  }

  /// The bytes of the picture that was decoded last, inside `body` only.
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0.prefix(byteCount))) }
  }
}
