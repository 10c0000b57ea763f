import CompositionModel
import Digest
package import Media
package import RenderTasks

/// Whether a film that another process has made is the one that its task says. All packets are read, and one picture of
/// each output is decoded.
///
/// The process that stitches checks what it has written too (`OutputCheck`). This one has none of its memory, and sees
/// the file as readers will.
package enum FilmInspection {
  private static let name = "the film"
  /// The longest packet of sound of any codec, in seconds.
  private static let longestSound = 0.2

  /// - Parameter film: The result of the task.
  /// - Throws: `.output` with all that differs, `.infrastructure` if this machine ran out of something.
  package static func check(
    _ task: StitchTask, film: any ByteSource, liveness: Liveness? = nil
  ) throws(StitchError) {
    let files = try files(of: task, in: film)
    for (output, source) in zip(task.outputs, files) {
      do throws(StitchError) {
        try check(output.file, source, liveness)
      } catch {
        guard let name = output.name else { throw error }
        throw StitchError(error.code, "\(name): \(error.message)")
      }
    }
    guard let package = task.playlists else { return }
    let movies = Array(files.prefix(task.outputs.count))
    let expected = try PlaylistFiles(package, of: task, movies: movies).files
    for ((name, bytes), source) in zip(expected, files.dropFirst(movies.count)) {
      let found = try mapErrors(to: reading) { () throws(MediaError) in
        try source.bytes(count: Int(min(source.byteCount, Int64(bytes.count + 1))))
      }
      if found != bytes { throw StitchError(.output, "\(name) is not that of the files which it names") }
    }
  }

  /// The same of a film that is copied. Its packets are those of its media, of which the task has the tracks alone.
  package static func check(
    _ task: PassthroughTask, film: any ByteSource, liveness: Liveness? = nil
  ) throws(StitchError) {
    let table = try packets(of: film, liveness)
    let tracks = table.tracks.filter { $0.type != .subtitle }
    let planned = task.tracks.filter { $0.type != .subtitle }
    guard tracks.map(\.type) == planned.map(\.type), tracks.map(\.codec) == planned.map({ $0.clips.first?.codec })
    else {
      throw StitchError(
        .output,
        "it has the tracks \(list(tracks.map(\.codec))), and not \(list(planned.compactMap { $0.clips.first?.codec }))")
    }
    for (number, track) in tracks.enumerated() {
      let title = "track \(number) (\(track.codec))"
      if track.packetCount == 0 { throw StitchError(.output, "\(title) has no packets") }
    }
  }

  /// The files of the outputs, and then those of the playlists.
  private static func files(
    of task: StitchTask, in film: any ByteSource
  ) throws(StitchError) -> [any ByteSource] {
    guard let names = task.fileNames else { return [film] }
    let package = try mapErrors(to: reading) { () throws(MediaError) in try ContentPackage.read(film, name: name) }
    guard package.files.map(\.name) == names else {
      throw StitchError(.output, "it has the files \(list(package.files.map(\.name))), and not \(list(names))")
    }
    return package.files.map { PartByteSource(film, $0) }
  }

  private static func reading(_ error: MediaError) -> StitchError {
    switch error.code {
    case .io, .outOfSpace, .outOfMemory: StitchError(.infrastructure, "\(error)")
    default: StitchError(.output, "it cannot be read: \(error)")
    }
  }

  private static func packets(of film: any ByteSource, _ liveness: Liveness?) throws(StitchError) -> PacketTable {
    try mapErrors(to: reading) { () throws(MediaError) in
      try PacketTable(film, name: name, liveness: liveness)
    }
  }

  private static func check(
    _ file: StitchedFile, _ source: any ByteSource, _ liveness: Liveness?
  ) throws(StitchError) {
    // libavformat reads still pictures of this format alone.
    let table = file.container == .webp ? nil : try packets(of: source, liveness)
    let video = try file.video.map { video throws(StitchError) in
      let duration = try mapErrors(to: StitchError.outputTime) { () throws(TimeError) in
        try video.format.frameDuration * Rational(video.frameCounts.reduce(0, +))
      }
      return OutputCheck.Track(
        type: .video, codec: video.encoder.codec.definition.name, packetCount: video.frameCounts.reduce(0, +),
        end: duration.approximateSeconds, longestPacket: video.format.frameDuration.approximateSeconds)
    }
    let longest = table?.tracks.first { $0.type == .audio }?.longestPacket ?? 0
    let audio = file.audio.map { audio in
      OutputCheck.Track(
        type: .audio, codec: audio.encoder.codecName, packetCount: nil,
        end: Double(audio.sampleCount) / Double(audio.encoder.sampleRate), longestPacket: min(longest, longestSound))
    }
    try OutputCheck.check(
      source, container: file.container, tracks: [video, audio].compactMap(\.self), textCount: file.texts?.count ?? 0,
      liveness: liveness)
    guard let table else { return }
    var differences: [String] = []
    if let video = file.video, let track = table.tracks.first(where: { $0.type == .video }) {
      differences += self.differences(track, video, file.container).map { "track 0 (\(track.codec)) \($0)" }
    }
    if let audio = file.audio, let track = table.tracks.first(where: { $0.type == .audio }) {
      differences += self.differences(track, audio, file.container).map { "the sound (\(track.codec)) \($0)" }
    }
    guard differences.isEmpty else { throw StitchError(.output, differences.joined(separator: "; ")) }
  }

  // MARK: Differences

  private static func differences(
    _ track: PacketTable.Track, _ video: StitchedVideo, _ container: Container
  ) -> [String] {
    var differences: [String] = []
    let size = video.format.size
    if track.size != size {
      differences.append(
        "has pictures of \(track.size.width)x\(track.size.height), and not \(size.width)x\(size.height)")
    }
    let count = video.frameCounts.reduce(0, +)
    if track.isCutOff { differences.append("ends within a packet") }
    guard track.packetCount == count else {
      return differences + ["has \(track.packetCount) pictures, and not \(count)"]
    }
    // libavformat's times of animated pictures are rounded, and of a GIF the first picture alone is a keyframe for it.
    if container.isAnimatedImage { return differences }
    // A segment begins with a keyframe.
    var first = 0
    let keyframes = Set(track.keyframes)
    for (number, count) in video.frameCounts.enumerated() {
      if !keyframes.contains(first) {
        differences.append("has no keyframe at picture \(first), where segment \(number) begins")
        break
      }
      first += count
    }
    if let wrong = wrongTime(track, video.format.frameDuration) { differences.append(wrong) }
    return differences
  }

  /// A picture that is not shown where it should be, as far as the container can state it. Nil: there is none.
  private static func wrongTime(_ track: PacketTable.Track, _ frameDuration: MediaTime) -> String? {
    guard let times = track.times?.sorted(), let start = times.first else { return "has pictures without a time" }
    let step = frameDuration.approximateSeconds
    let wrong = times.indices.first { index in
      (Double(times[index] - start) * track.tick - Double(index) * step).magnitude > track.tick * 1.000_1
    }
    return wrong.map { "shows picture \($0) at another time than \(Double($0) * step) s" }
  }

  private static func differences(
    _ track: PacketTable.Track, _ audio: StitchedAudio, _ container: Container
  ) -> [String] {
    let settings = audio.encoder
    var differences: [String] = []
    if track.sampleRate != settings.sampleRate || track.channels != settings.channels {
      differences.append(
        "has \(track.channels) channels at \(track.sampleRate) Hz, and not \(settings.channels) at "
          + "\(settings.sampleRate) Hz")
    }
    if track.packetCount == 0 { differences.append("has no packets") }
    if track.isCutOff { differences.append("ends within a packet") }
    // The last packet has at least one sample that is heard. MXF ends the sound with the pictures.
    let end = Double(audio.sampleCount) / Double(settings.sampleRate)
    let slack = 2 * track.tick + 1 / Double(settings.sampleRate)
    // libavformat does not report how long the last packet of a fragmented file is; its playlist states it.
    if let found = track.end, container != .mxf, !container.isPlaylist, found < end - slack {
      differences.append("has packets up to \(found) s, and not up to \(end) s")
    }
    return differences
  }

  private static func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }
}
