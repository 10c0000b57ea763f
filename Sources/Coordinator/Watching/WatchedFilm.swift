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

  /// The sound of the film, or a part of it, when it is mixed.
  struct Sound: Sendable {
    var piece: FilmFile
    var head: MovieHead
    var index: PieceIndex
  }

  /// Packets of a part of the sound.
  struct SoundStretch: Sendable, Hashable {
    /// The number of the part.
    var part: Int
    /// Not empty.
    var packets: Range<Int>
  }

  /// Of the first piece.
  var head: MovieHead
  var size: PixelSize
  var frameDuration: MediaTime
  /// Those from the film's start on that are rendered.
  var segments: [Segment]
  /// Where each segment of the film begins, in frames, and where the last ends.
  var boundaries: [Int64]
  /// Its parts from the film's start on that are mixed. Empty: none is, there is no sound, or players have no codec for
  /// it.
  var sounds: [Sound] = []
  /// Whether no part of the sound will follow.
  var isMixed = true
  /// Whether no segment will follow.
  var isComplete: Bool

  /// The place of a frame in the film, in seconds.
  func time(ofFrame frame: Int64) throws(TimeError) -> MediaTime { try frameDuration * Rational(Int128(frame)) }

  // MARK: The sound

  /// Whether a part follows those that there are.
  func isNext(_ sound: Sound) -> Bool {
    guard let last = sounds.last?.index.packets.last else { return sounds.isEmpty }
    return sound.index.packets.first?.pts == last.pts &+ last.duration
  }

  /// Whether no part is missing up to the film's end.
  var hasSoundToItsEnd: Bool {
    get throws(TimeError) {
      guard let last = sounds.last else { return false }
      return try last.end >= time(ofFrame: boundaries[boundaries.count - 1])
    }
  }

  // MARK: Playlists

  /// By which a player finds the pictures and the sound that are there.
  func multivariantPlaylist() throws(TimeError) -> String {
    var lines = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-INDEPENDENT-SEGMENTS"]
    var (codecs, rate) = (head.codec, 0.0)
    for segment in segments {
      let seconds = try time(ofFrame: segment.frameCount).approximateSeconds
      rate = max(rate, Double(segment.package.size) * 8 / max(seconds, 1e-3))
    }
    if let sound = sounds.first {
      codecs += ",\(sound.head.codec)"
      let bytes = sounds.reduce(0) { $0 + $1.piece.content.size }
      rate += Double(bytes) * 8 / max(try sounds[sounds.count - 1].end.approximateSeconds, 1e-3)
      lines.append(
        "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"Audio\",DEFAULT=YES,AUTOSELECT=YES,"
          + "URI=\"\(Stream.audio.playlist)\"")
    }
    lines.append(
      "#EXT-X-STREAM-INF:BANDWIDTH=\(Int64(rate.rounded(.up))),CODECS=\"\(codecs)\",RESOLUTION=\(size.width)x\(size.height)"
        + (sounds.isEmpty ? "" : ",AUDIO=\"audio\"") + ",CLOSED-CAPTIONS=NONE")
    lines.append(Stream.video.playlist)
    return lines.joined(separator: "\n") + "\n"
  }

  /// Nil: there is no such stream.
  func playlist(_ stream: Stream) throws(TimeError) -> EventPlaylist? {
    let longest = try time(ofFrame: zip(boundaries, boundaries.dropFirst()).map { $1 - $0 }.max() ?? 1)
    switch stream {
    case .video:
      return EventPlaylist(
        head: stream.head,
        segments: try segments.indices.map { number throws(TimeError) in
          EventPlaylist.Segment(
            uri: stream.segment(number), start: try time(ofFrame: boundaries[number]),
            end: try time(ofFrame: boundaries[number + 1]))
        }, longest: longest, isComplete: isComplete)
    case .audio:
      guard let sound = sounds.first else { return nil }
      let found = try soundSegments()
      var listed: [EventPlaylist.Segment] = []
      // It goes no further than the pictures, so that both end together.
      for (number, stretches) in found.prefix(segments.count).enumerated() {
        guard let first = stretches.first, let last = stretches.last else { continue }
        listed.append(
          EventPlaylist.Segment(
            uri: stream.segment(number), start: try sounds[first.part].time(of: first.packets.lowerBound),
            end: try sounds[last.part].time(of: last.packets.upperBound)))
      }
      return EventPlaylist(
        head: stream.head, segments: listed,
        // Whole packets, of which the last begins with the segment's pictures.
        longest: try longest + sound.longestPacket, isComplete: isComplete && isMixed)
    }
  }

  /// The packets of the sound that are presented from the start of each segment of the film on, for the segments to
  /// whose ends it is mixed.
  func soundSegments() throws(TimeError) -> [[SoundStretch]] {
    guard let timebase = sounds.first?.index.header.timebase else { return [] }
    var (found, part, first): ([[SoundStretch]], Int, Int) = ([], 0, 0)
    for frame in boundaries.dropFirst() {
      let isLast = frame == boundaries[boundaries.count - 1]
      let tick = try (time(ofFrame: frame).exact / timebase.exact).ceiling
      var stretches: [SoundStretch] = []
      while part < sounds.count {
        let packets = sounds[part].index.packets
        let end = isLast ? packets.count : max(first, packets.partitionIndex { Int128($0.pts) >= tick })
        if first < end { stretches.append(SoundStretch(part: part, packets: first..<end)) }
        first = end
        guard end == packets.count else { break }
        guard part + 1 < sounds.count || isMixed else { return found }
        (part, first) = (part + 1, 0)
      }
      found.append(stretches)
    }
    return found
  }
}

extension WatchedFilm.Sound {
  /// When a packet is presented, in seconds; the end of the last after all. What comes before the film's start is not
  /// presented.
  fileprivate func time(of packet: Int) throws(TimeError) -> MediaTime {
    let packets = index.packets
    // A worker's piece may state any times.
    let last = packets.last.map { $0.pts &+ max(0, $0.duration) } ?? 0
    let ticks = max(0, packet < packets.count ? packets[packet].pts : last)
    return try index.header.timebase * Rational(Int128(ticks))
  }

  /// In seconds.
  fileprivate var end: MediaTime { get throws(TimeError) { try time(of: index.packets.count) } }

  /// In seconds.
  fileprivate var longestPacket: MediaTime {
    get throws(TimeError) { try index.header.timebase * Rational(Int128(index.packets.map(\.duration).max() ?? 0)) }
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
