public import CompositionModel
import EditDocument
import FoundationEssentials
import SystemSupport

/// Reads the pictures and the sound of an edit: AVFoundation's `AVAssetReader` with a video composition output and an
/// audio mix output.
///
/// They come from the compositor and the mixer that make a film, in confined processes: the edit is rendered without
/// loss to a temporary file, which is read in the caller's process. Pictures have the film's pixel format, and sound
/// its rate and channels, in 24 bits.
public final class CompositionReader: Sendable {
  private let folder: TemporaryFolder
  private let reader: AssetReader
  public let renderSize: PixelSize
  public let frameDuration: MediaTime
  public let duration: MediaTime
  private let format: PixelFormat?

  /// Renders the edit. Throws with every problem of the edit.
  public init(_ edit: Edit, renderer: LocalRenderer = LocalRenderer()) async throws(SheafError) {
    let film: CompositionModel.Edit
    (folder, film, reader) = try await sheafErrors {
      let descriptions = try await Self.descriptions(of: edit, renderer)
      let film = try Document.parse(edit.document(), output: "film.mkv").lower(
        assets: descriptions, output: "film.mkv")
      let lossless = edit.exported(with: Self.lossless(film))
      let folder = try TemporaryFolder()
      let path = folder.path + "/film.mkv"
      _ = try await ExportSession(lossless, to: URL(fileURLWithPath: path), on: .local(renderer)).export()
      let description = try await renderer.describe([path])[path]?.get()
      guard let description else { throw SheafError(.failed, "\(path) was not probed") }
      return (folder, film, AssetReader(path: path, description))
    }
    renderSize = film.videoComposition.renderSize
    frameDuration = film.videoComposition.frameDuration
    duration = film.composition.duration
    format = film.export.video?.pixelFormat
  }

  /// The film's frames.
  /// - Parameter range: Begins with the frame that is shown at its start. Nil: all.
  public func pictures(in range: MediaTimeRange? = nil) throws(SheafError) -> SampleBuffers<VideoSample> {
    guard let track = reader.description.defaultTrack(.video), let format else {
      throw SheafError(.misuse, "the edit has no pictures")
    }
    // The file's times are rounded to milliseconds, and some rates are not found in them.
    let frame = frameDuration
    let numbers: Range<Int128>?
    let around: MediaTimeRange?
    do {
      numbers = try range.map { range in
        let first = try (range.start / frame).floor
        return first..<max(first, try (range.end / frame).ceiling)
      }
      if numbers?.isEmpty == true { return .none }
      around = try numbers.map { numbers in
        try MediaTimeRange(
          start: frame * Rational(numbers.lowerBound - 1), end: frame * Rational(numbers.upperBound + 1))
      }
    } catch {
      throw SheafError(error)
    }
    return try reader.pictures(of: track, as: format, in: around).keeping(self).changed { sample in
      let number = try (sample.presentationTime / frame).rounded
      guard numbers?.contains(number) ?? true else { return nil }
      return VideoSample(presentationTime: try frame * Rational(number), duration: frame, buffer: sample.buffer)
    }
  }

  /// The mix of all audio tracks.
  public func sound(in range: MediaTimeRange? = nil) throws(SheafError) -> SampleBuffers<AudioSample> {
    guard let track = reader.description.defaultTrack(.audio) else {
      throw SheafError(.misuse, "the edit has no sound")
    }
    return try reader.sound(of: track, in: range).keeping(self)
  }

  private static func descriptions(
    of edit: Edit, _ renderer: LocalRenderer
  ) async throws -> [AssetID: AssetDescription] {
    let files = edit.files
    let described = try await renderer.describe(Array(files.values))
    var descriptions: [AssetID: AssetDescription] = [:]
    for (id, path) in files { descriptions[id] = try described[path]?.get() }
    return descriptions
  }

  /// What keeps every sample of a film. Of several outputs it has the pictures and the sound of the first with them.
  private static func lossless(_ film: CompositionModel.Edit) -> ExportSettings {
    let exports = [film.export] + (film.outputs ?? []).map(\.export)
    let video = exports.lazy.compactMap(\.video).first.map {
      ExportSettings.Stream.settings(ExportSettings.Video(codec: .ffv1, pixelFormat: $0.pixelFormat))
    }
    let audio = exports.lazy.compactMap(\.audio).first.map {
      ExportSettings.Stream.settings(
        ExportSettings.Audio(codec: .pcm, sampleRate: $0.sampleRate, channels: $0.channels, bitDepth: 24))
    }
    return ExportSettings(video: video ?? .none, audio: audio ?? .none)
  }
}
