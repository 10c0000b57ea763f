import CompositionModel
import Media
import RenderTasks

/// The files of a package after those of its outputs, which follow from these and the task alone.
struct PlaylistFiles {
  /// In the order of `HLSPackage.files(after:)`.
  let files: [(name: String, bytes: [UInt8])]

  /// - Parameter movies: The file of each output.
  /// - Throws: `.output` if one of them cannot be played by a playlist, or lasts another time than was planned.
  init(_ package: HLSPackage, of task: StitchTask, movies: [any ByteSource]) throws(StitchError) {
    var (files, renditions): ([(String, [UInt8])], [MultivariantPlaylist.Rendition]) = ([], [])
    for (output, source) in zip(task.outputs, movies) {
      guard let name = output.name else { throw StitchError(.task, "an output of several has no name") }
      let rendition = try Self.rendition(name, output.file, source, package)
      files.append((HLSPackage.playlist(of: name), Array(rendition.media.text.utf8)))
      if let keyframes = rendition.keyframes {
        files.append((HLSPackage.keyframePlaylist(of: name), Array(keyframes.text.utf8)))
      }
      renditions.append(rendition)
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
    let numbers = package.variants.flatMap { [$0.video, $0.audio].compactMap(\.self) }
    guard numbers.allSatisfy(renditions.indices.contains) else {
      throw StitchError(.task, "a variant has an output that is not there")
    }
    let main = MultivariantPlaylist(package: package, renditions: renditions, subtitles: subtitles)
    files.append((package.multivariantPlaylist, Array(main.text.utf8)))
    self.files = files
  }

  private static func rendition(
    _ name: String, _ file: StitchedFile, _ source: any ByteSource, _ package: HLSPackage
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
    return MultivariantPlaylist.Rendition(
      name: name, file: file, codec: movie.codec,
      media: MediaPlaylist(movie, file: name, boundaries: package.segments),
      keyframes: file.video == nil ? nil : MediaPlaylist(keyframesOf: movie, file: name))
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
