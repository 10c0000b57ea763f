import CompositionModel
import Media
import RenderTasks

/// The files of a package after those of its outputs, which follow from these and the task alone: playlists,
/// presentation descriptions and subtitles.
struct PlaylistFiles {
  /// In the order of `StreamingPackage.files(after:)`.
  let files: [(name: String, bytes: [UInt8])]

  /// - Parameter movies: The file of each output.
  /// - Throws: `.output` if one of them cannot be played by a playlist, or lasts another time than was planned.
  init(_ package: StreamingPackage, of task: StitchTask, movies: [any ByteSource]) throws(StitchError) {
    var renditions: [MultivariantPlaylist.Rendition] = []
    for (output, source) in zip(task.outputs, movies) {
      guard let name = output.name else { throw StitchError(.task, "an output of several has no name") }
      renditions.append(try Self.rendition(name, output.file, source, package))
    }
    let numbers = package.variants.flatMap { [$0.video, $0.audio].compactMap(\.self) }
    guard numbers.allSatisfy(renditions.indices.contains) else {
      throw StitchError(.task, "a variant has an output that is not there")
    }
    var files: [(String, [UInt8])] = []
    if package.hasPlaylists { files += try Self.playlists(package, renditions) }
    if package.hasPresentationDescription { files += try Self.presentationDescription(package, renditions) }
    self.files = files
  }

  /// The playlists of HTTP Live Streaming, and the subtitles in segments.
  private static func playlists(
    _ package: StreamingPackage, _ renditions: [MultivariantPlaylist.Rendition]
  ) throws(StitchError) -> [(String, [UInt8])] {
    var files: [(String, [UInt8])] = []
    for rendition in renditions {
      files.append((StreamingPackage.playlist(of: rendition.name), Array(rendition.media.text.utf8)))
      if let keyframes = rendition.keyframes {
        files.append((StreamingPackage.keyframePlaylist(of: rendition.name), Array(keyframes.text.utf8)))
      }
    }
    var subtitles: [MediaPlaylist] = []
    for (number, text) in package.subtitles.enumerated() {
      let names = package.subtitleFiles(number)
      let made = try WebVTTSegments(text, boundaries: package.segments, duration: package.duration)
      let playlist = MediaPlaylist(file: names.file, head: nil, segments: made.segments)
      files.append((names.file, made.bytes))
      files.append((names.playlist, Array(playlist.text.utf8)))
      subtitles.append(playlist)
    }
    let main = MultivariantPlaylist(package: package, renditions: renditions, subtitles: subtitles)
    return files + [(package.multivariantPlaylist, Array(main.text.utf8))]
  }

  /// The description of MPEG-DASH, and the subtitles, each as one piece.
  private static func presentationDescription(
    _ package: StreamingPackage, _ renditions: [MultivariantPlaylist.Rendition]
  ) throws(StitchError) -> [(String, [UInt8])] {
    var files: [(String, [UInt8])] = []
    for (number, text) in package.subtitles.enumerated() {
      files.append((package.wholeSubtitleFile(number), try WebVTTSegments.whole(text)))
    }
    let description = PresentationDescription(
      package: package, renditions: renditions, subtitleSizes: files.map { Int64($0.1.count) })
    return files + [(package.presentationDescription, Array(description.text.utf8))]
  }

  private static func rendition(
    _ name: String, _ file: StitchedFile, _ source: any ByteSource, _ package: StreamingPackage
  ) throws(StitchError) -> MultivariantPlaylist.Rendition {
    let movie: FragmentedMovie
    do throws(MediaError) {
      movie = try FragmentedMovie(source, name: name)
    } catch {
      switch error.code {
      case .io, .outOfSpace, .outOfMemory: throw StitchError(.infrastructure, "\(error)")
      default: throw StitchError(.output, "\(name) cannot be read: \(error.message)")
      }
    }
    if let planned = file.length, !planned.isEqual(movie.end, perSecond: movie.timescale) {
      throw StitchError(
        .output, "the fragments of \(name) end at \(movie.end)/\(movie.timescale) s, and not at \(planned) s")
    }
    let segments = movie.segments(at: package.segments)
    return MultivariantPlaylist.Rendition(
      name: name, file: file, movie: movie, segments: segments,
      media: MediaPlaylist(movie, file: name, segments: segments),
      keyframes: file.video == nil
        ? nil : MediaPlaylist(movie, file: name, segments: movie.keyframes, isOfKeyframes: true))
  }
}

extension StitchedFile {
  /// Of its one track, in seconds. Nil: it cannot be stated exactly.
  fileprivate var length: MediaTime? {
    if let video { return try? video.format.frameDuration * Rational(video.frameCounts.reduce(0, +)) }
    return audio.map { MediaTime(value: $0.sampleCount, timescale: Int32(clamping: $0.encoder.sampleRate)) }
  }
}

extension MediaTime {
  /// Whether a number of ticks is this time.
  fileprivate func isEqual(_ ticks: Int64, perSecond timescale: Int64) -> Bool {
    Int128(value) * Int128(timescale) == Int128(ticks) * Int128(self.timescale)
  }
}
