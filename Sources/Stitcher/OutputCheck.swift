import CompositionModel
import Glibc
import Media
import PieceFiles
import SystemSupport

/// Whether an output that has been written is the one that was planned. It is read again before it is published.
enum OutputCheck {
  /// A track of pictures or of sound as it was planned.
  struct Track: Sendable, Hashable {
    var type: MediaType
    /// libavcodec's name of the codec.
    var codec: String
    /// The number of stored packets. Nil: it is not known.
    var packetCount: Int?
    /// In seconds.
    var start = 0.0
    /// In seconds.
    var end: Double
    /// Where the track ends if the durations of its last packets are not known. Not before `end`.
    var latestEnd: Double
    /// The duration of the longest packet, in seconds: what containers without edit lists may present more or less.
    var longestPacket: Double

    init(type: MediaType, codec: String, packetCount: Int?, end: Double, longestPacket: Double) {
      (self.type, self.codec, self.packetCount) = (type, codec, packetCount)
      (self.end, latestEnd, self.longestPacket) = (end, end, longestPacket)
    }

    /// A track that is made of pieces.
    init(_ track: FileMuxer.Track) {
      codec = track.header.codec
      packetCount = track.packetCount
      end = track.duration.approximateSeconds
      latestEnd = end
      let tick = track.header.timebase.approximateSeconds
      switch track.header.media {
      case .video: (type, longestPacket) = (.video, tick)
      case .audio(let audio): (type, longestPacket) = (.audio, Double(audio.frameSize) * tick)
      }
    }
  }

  /// - Parameter range: The place of the output in the file.
  /// - Throws: As the other.
  static func check(
    writtenTo descriptor: Int32, _ range: Range<Int64>, container: Container, tracks: [Track], textCount: Int,
    liveness: Liveness?
  ) throws(StitchError) {
    try check(
      PartByteSource(source(ofWritten: descriptor), range), container: container, tracks: tracks,
      textCount: textCount, liveness: liveness)
  }

  /// The bytes of a file that is being written.
  static func source(ofWritten descriptor: Int32) throws(StitchError) -> FileByteSource {
    let copy = dup(descriptor)
    guard copy >= 0 else {
      throw StitchError(.infrastructure, "the output cannot be read: \(SystemError(errno, "dup"))")
    }
    return FileByteSource(descriptor: copy)
  }

  /// - Parameters:
  ///   - tracks: In the order of the output.
  ///   - textCount: How many tracks of captions follow.
  /// - Throws: `.output` with all that differs.
  static func check(
    _ source: any ByteSource, container: Container, tracks: [Track], textCount: Int, liveness: Liveness?
  ) throws(StitchError) {
    let end = tracks.map(\.end).max() ?? 0
    let written: WrittenFile
    do throws(MediaError) {
      written = try WrittenFile(source, name: "the output", container: container, end: end, liveness: liveness)
    } catch {
      switch error.code {
      case .io, .outOfSpace, .outOfMemory: throw StitchError(.infrastructure, "\(error)")
      default: throw StitchError(.output, "it cannot be read: \(error)")
      }
    }
    let differences = differences(written.tracks, shown(tracks, in: container), textCount, container)
    guard differences.isEmpty else { throw StitchError(.output, differences.joined(separator: "; ")) }
  }

  /// MXF states one duration for all tracks, so that its sound ends with its pictures. An animated PNG with one picture
  /// is a still one.
  private static func shown(_ tracks: [Track], in container: Container) -> [Track] {
    if container == .apng, tracks.count == 1, tracks[0].packetCount == 1 {
      var track = tracks[0]
      track.codec = "png"
      return [track]
    }
    guard container == .mxf, let end = tracks.first(where: { $0.type == .video })?.end else { return tracks }
    return tracks.map { track in
      var track = track
      track.end = min(track.end, end)
      return track
    }
  }

  /// What differs, each as a sentence.
  static func differences(
    _ found: [WrittenFile.Track], _ tracks: [Track], _ textCount: Int, _ container: Container
  ) -> [String] {
    let media = found.filter { $0.type == .video || $0.type == .audio }
    guard media.map(\.type) == tracks.map(\.type), media.map(\.codec) == tracks.map(\.codec) else {
      return ["it has the tracks \(list(media.map(\.codec))), and not \(list(tracks.map(\.codec)))"]
    }
    var differences = zip(media, tracks).enumerated().flatMap { index, track in
      self.differences(track.0, track.1, container).map { "track \(index) (\(track.1.codec)) \($0)" }
    }
    let texts = found.count { $0.type == .subtitle }
    if texts != textCount { differences.append("it has \(texts) tracks of captions, and not \(textCount)") }
    return differences
  }

  private static func differences(_ found: WrittenFile.Track, _ track: Track, _ container: Container) -> [String] {
    var differences: [String] = []
    // The index of a movie counts samples of PCM, not packets, and libavformat joins short frames of E-AC-3.
    let isCounted = !track.codec.hasPrefix("pcm_") && track.codec != "eac3"
    if let count = found.packetCount, let planned = track.packetCount, isCounted, count != planned {
      differences.append("has \(count) packets, and not \(planned)")
    }
    switch found.picture {
    case .missing?: differences.append("shows no picture")
    case .undecodable?: differences.append("begins with pictures that cannot be decoded")
    case .decoded?, .untried?, nil: break
    }
    let slack = slack(of: track, container)
    if let start = found.start, slack < (start - track.start).magnitude {
      differences.append("starts at \(rounded(start)) s, and not at \(rounded(track.start)) s")
    }
    let ends = [found.end, found.cutEnd].compactMap(\.self)
    if let end = ends.first, !ends.contains(where: { (track.end - slack...track.latestEnd + slack).contains($0) }) {
      differences.append("ends at \(rounded(end)) s, and not at \(rounded(track.end)) s")
    }
    return differences
  }

  /// By how many seconds the ends of a track may be elsewhere, as far as the container can state them.
  private static func slack(of track: Track, _ container: Container) -> Double {
    if container.hasEditLists { return 0.002 }
    // The length of an MP3 file has the samples that are hidden at its start, which are up to 4095.
    return 0.002 + (container == .mp3 ? 8 : 4) * max(track.longestPacket, 0.03)
  }

  private static func rounded(_ seconds: Double) -> Double { (seconds * 1e6).rounded() / 1e6 }

  private static func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }
}
