import CompositionModel
import Digest
import FarmAPI
import FarmModel
import Jobs
import PieceFiles

/// The film of a job as far as it can be played from its first picture on: pure. Its segments are those that tasks
/// render, of which each begins with a keyframe.
struct WatchedFilm: Sendable {
  /// The pictures or the sound.
  enum Stream: String, Sendable, CaseIterable {
    case video, audio

    var playlist: String { "\(rawValue).m3u8" }
    var head: String { "\(rawValue)-init.mp4" }
    func segment(_ number: Int) -> String { "\(rawValue)-\(number).m4s" }
  }

  /// What a name under `watch` stands for.
  enum File: Sendable, Hashable {
    case film
    case playlist(Stream)
    case head(Stream)
    case segment(Stream, Int)

    /// Nil: it stands for nothing.
    init?(_ name: String) {
      let found = Stream.allCases.lazy.compactMap { stream -> File? in
        if name == stream.playlist { return .playlist(stream) }
        if name == stream.head { return .head(stream) }
        let number = Int(name.dropFirst(stream.rawValue.count + 1).dropLast(4))
        guard let number, name == stream.segment(number) else { return nil }
        return .segment(stream, number)
      }.first
      guard let file = name == Self.filmName ? .film : found else { return nil }
      self = file
    }

    static let filmName = "film.m3u8"
  }

  struct Segment: Sendable, Hashable {
    /// The package of its pieces.
    var package: Content
    /// The number of its first frame.
    var start: Int64
    var frameCount: Int64
  }

  /// The sound of the whole film, when it is mixed.
  struct Sound: Sendable {
    var piece: FilmFile
    var head: MovieHead
    var index: PieceIndex
  }

  /// Of the first piece.
  var head: MovieHead
  var size: PixelSize
  var frameDuration: MediaTime
  /// Those from the film's start on that are rendered.
  var segments: [Segment]
  /// Where each segment of the film begins, in frames, and where the last ends.
  var boundaries: [Int64]
  /// Nil: it is not mixed yet, there is none, or players have no codec for it.
  var sound: Sound?
  /// Whether no segment will follow.
  var isComplete: Bool

  /// The place of a frame in the film, in seconds.
  func time(ofFrame frame: Int64) throws(TimeError) -> MediaTime { try frameDuration * Rational(Int128(frame)) }

  // MARK: Playlists

  /// By which a player finds the pictures and the sound that are there.
  func multivariantPlaylist() throws(TimeError) -> String {
    var lines = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-INDEPENDENT-SEGMENTS"]
    var (codecs, rate) = (head.codec, 0.0)
    for segment in segments {
      let seconds = try time(ofFrame: segment.frameCount).approximateSeconds
      rate = max(rate, Double(segment.package.size) * 8 / max(seconds, 1e-3))
    }
    if let sound {
      codecs += ",\(sound.head.codec)"
      let end = try time(ofFrame: boundaries[boundaries.count - 1]).approximateSeconds
      rate += Double(sound.piece.content.size) * 8 / max(end, 1e-3)
      lines.append(
        "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"Audio\",DEFAULT=YES,AUTOSELECT=YES,"
          + "URI=\"\(Stream.audio.playlist)\"")
    }
    lines.append(
      "#EXT-X-STREAM-INF:BANDWIDTH=\(Int64(rate.rounded(.up))),CODECS=\"\(codecs)\",RESOLUTION=\(size.width)x\(size.height)"
        + (sound == nil ? "" : ",AUDIO=\"audio\"") + ",CLOSED-CAPTIONS=NONE")
    lines.append(Stream.video.playlist)
    return lines.joined(separator: "\n") + "\n"
  }

  /// Nil: there is no such stream.
  func playlist(_ stream: Stream) throws(TimeError) -> EventPlaylist? {
    switch stream {
    case .video:
      let longest = zip(boundaries, boundaries.dropFirst()).map { $1 - $0 }.max() ?? 1
      return EventPlaylist(
        head: stream.head,
        segments: try segments.indices.map { number throws(TimeError) in
          EventPlaylist.Segment(
            uri: stream.segment(number), start: try time(ofFrame: boundaries[number]),
            end: try time(ofFrame: boundaries[number + 1]))
        }, longest: try time(ofFrame: longest), isComplete: isComplete)
    case .audio:
      guard let sound else { return nil }
      let parts = try soundSegments()
      var (found, longest): ([EventPlaylist.Segment], MediaTime) = ([], .zero)
      for (number, packets) in parts.enumerated() where !packets.isEmpty {
        let (start, end) = (try sound.time(of: packets.lowerBound), try sound.time(of: packets.upperBound))
        longest = max(longest, try end - start)
        // It goes no further than the pictures, so that both end together.
        guard number < segments.count else { continue }
        found.append(EventPlaylist.Segment(uri: stream.segment(number), start: start, end: end))
      }
      return EventPlaylist(head: stream.head, segments: found, longest: longest, isComplete: isComplete)
    }
  }

  /// The packets of the sound that are presented from the start of each segment of the film on.
  func soundSegments() throws(TimeError) -> [Range<Int>] {
    guard let sound else { return [] }
    let (packets, timebase) = (sound.index.packets, sound.index.header.timebase)
    var (parts, first): ([Range<Int>], Int) = ([], 0)
    for frame in boundaries.dropFirst() {
      var end = packets.count
      if frame != boundaries[boundaries.count - 1] {
        let tick = try (time(ofFrame: frame).exact / timebase.exact).ceiling
        end = max(first, packets.partitionIndex { Int128($0.pts) >= Int128(tick) })
      }
      parts.append(first..<end)
      first = end
    }
    return parts
  }
}

extension WatchedFilm.Sound {
  /// When a packet is presented, in seconds; the end of the last after all. What comes before the film's start is not
  /// presented.
  fileprivate func time(of packet: Int) throws(TimeError) -> MediaTime {
    let packets = index.packets
    let last = packets.last.map { $0.pts + max(0, $0.duration) } ?? 0
    let ticks = max(0, packet < packets.count ? packets[packet].pts : last)
    return try index.header.timebase * Rational(Int128(ticks))
  }
}

extension Array {
  /// The first index whose element satisfies what all after it do; the number of elements if none does.
  fileprivate func partitionIndex(where condition: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if condition(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
