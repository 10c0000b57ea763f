import CompositionModel
import EditDocument
import Media
import RenderTasks
import Stitcher

/// The settings of a film that a program writes. They are those that a document with the same `export` has: its
/// defaults, ranges and messages.
struct WriterPlan {
  private(set) var export: CompositionModel.ExportSettings

  /// - Parameters:
  ///   - size: The size of the pictures as they are appended and stored, whatever the shape of their pixels.
  ///   - name: The film's, whose extension selects the container.
  init(
    video settings: ExportSettings.Video, size: PixelSize, frameDuration: MediaTime, colour: ColourTags, name: String,
    metadata: [String: String]
  ) throws(SheafError) {
    let source = VideoFormat(
      size: size, pixelFormat: (settings.pixelFormat ?? .yuv420p).rawValue, colour: colour,
      nominalFrameRate: MediaTime(seconds: 1), frames: FrameTimes([0]), keyframes: [])
    func plan(_ settings: ExportSettings.Video) throws(SheafError) -> WriterPlan {
      try WriterPlan(
        video: source, VideoComposition(renderSize: size, frameDuration: frameDuration),
        ExportSettings(path: name, video: .settings(settings), audio: .none, metadata: metadata))
    }
    // A document's film has square pixels, and is stored in another size; these pictures are stored as they are.
    var square = settings
    square.pixelAspect = nil
    self = try plan(square)
    guard settings.pixelAspect != nil else { return }
    var shaped = settings
    shaped.cleanAperture = nil
    export.video?.pixelAspect = try plan(shaped).export.video?.pixelAspect
  }

  init(audio settings: ExportSettings.Audio, name: String, metadata: [String: String]) throws(SheafError) {
    let source = AudioFormat(sampleRate: 48000, channels: 2, layout: "stereo")
    var export = ExportSettings(path: name, video: .none, audio: .settings(settings), metadata: metadata)
    // The film's pictures are checked by themselves, and whether there are any when it is finished. A name without a
    // container is reported below, with the other problems.
    if let container = try? Container.named(name), !container.hasSoundAlone { export.video = .automatic }
    let video = VideoFormat(
      size: PixelSize(width: 64, height: 64), pixelFormat: PixelFormat.yuv420p.rawValue,
      nominalFrameRate: MediaTime(seconds: 1), frames: FrameTimes([0]), keyframes: [])
    let composition = VideoComposition(renderSize: video.size, frameDuration: MediaTime(value: 1, timescale: 25))
    try self.init(video: export.video == .none ? nil : video, audio: source, composition, export)
  }

  /// Checks stored samples as the preset `passthrough` does: that the container can hold them, and the metadata.
  init(
    stored format: StoredFormat, label: TrackLabel, rotation: Int?, name: String, metadata: [String: String]
  ) throws(SheafError) {
    let pictures = VideoFormat(
      size: format.track.size, pixelFormat: PixelFormat.yuv420p.rawValue, orientation: format.orientation,
      nominalFrameRate: MediaTime(seconds: 1), frames: FrameTimes([0]), keyframes: [])
    let audio = AudioFormat(sampleRate: format.track.sampleRate, channels: format.track.channels, layout: "")
    let (language, title) = (label.language, label.title)
    let video = ExportSettings.Video(rotation: rotation, language: language, title: title)
    var export = ExportSettings(
      path: name, video: format.type == .video ? .settings(video) : .none,
      audio: format.type == .audio ? .settings(.init(language: language, title: title)) : .none, metadata: metadata)
    export.preset = .passthrough
    try self.init(
      codec: format.codec, video: format.type == .video ? pictures : nil,
      audio: format.type == .audio ? audio : nil, VideoComposition(), export)
  }

  private init(
    codec: String = "input", video: VideoFormat? = nil, audio: AudioFormat? = nil,
    _ composition: VideoComposition, _ export: ExportSettings
  ) throws(SheafError) {
    let input: MediaTimeRange
    do {
      // As long as the longest frame.
      input = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 60))
    } catch {
      throw SheafError(error)
    }
    do {
      let types = [video.map { _ in MediaType.video }, audio.map { _ in .audio }].compactMap(\.self)
      let tracks = types.enumerated().map { index, type in
        TrackDescription(
          index: index, type: type, codec: codec, timebase: MediaTime(value: 1, timescale: 1), range: input,
          video: type == .video ? video : nil, audio: type == .audio ? audio : nil)
      }
      let asset = AssetDescription(container: "input", duration: input.duration, tracks: tracks)
      var edit = Edit(assets: ["input": "input"], videoComposition: composition, export: export)
      edit.composition.tracks = tracks.map { track in
        CompositionTrack(
          id: "\(track.type)", type: track.type,
          clips: [Clip(asset: "input", sourceTrack: track.index, source: input, target: input)])
      }
      self.export = try Document.parse(edit.document()).lower(assets: ["input": asset], output: nil).export
    } catch {
      // A program that writes a film has no clips.
      let problems = error.problems.map { problem in
        problem.pointer.hasPrefix("/tracks/") ? Problem(pointer: "/export", message: problem.message) : problem
      }
      throw SheafError(.invalidEdit, "", problems: problems)
    }
  }

  /// The language and the title of a text track, as a document has them.
  static func label(_ label: Edit.TextTrack) throws(SheafError) -> TrackLabel {
    do throws(SheafError) {
      // The rules are those of every track.
      let settings = ExportSettings.Audio(language: label.language, title: label.title)
      return try WriterPlan(audio: settings, name: "captions.m4a", metadata: [:]).export.audioLabel ?? TrackLabel()
    } catch {
      let problems = error.problems.map { problem in
        Problem(pointer: "/captions", message: problem.message)
      }
      throw SheafError(error.code, error.message, problems: problems)
    }
  }

  /// Joins the tracks to a file that can seek.
  static func join(
    _ video: VideoTrackWriter?, _ audio: AudioTrackWriter?, texts: [StitchedText] = [], container: Container,
    optimizeForNetworkUse: Bool, metadata: [String: String], to descriptor: Int32
  ) throws {
    let stitched = video.map { track in
      StitchedVideo(
        format: VideoTaskFormat(
          size: track.size, pixelFormat: track.settings.pixelFormat, colour: track.settings.colour,
          frameDuration: track.frameDuration),
        encoder: track.settings, frameCounts: [track.frameCount])
    }
    var file = StitchedFile(
      container: container, video: stitched,
      audio: audio.map { StitchedAudio(encoder: $0.settings, sampleCount: $0.sampleCount) },
      optimizeForNetworkUse: optimizeForNetworkUse, metadata: metadata, rotation: video?.rotation)
    (file.videoLabel, file.audioLabel) = (video?.label, audio?.label)
    file.cleanAperture = video?.cleanAperture
    if !texts.isEmpty { file.texts = texts }
    var pieces: [any ByteSource] = []
    if let video { pieces.append(try video.piece.source()) }
    if let audio { pieces.append(try audio.piece.source()) }
    try OutputStitcher.stitch(file, pieces: pieces, to: descriptor) { _ in }
  }
}

extension Container {
  /// That of a name whose extension was checked when an input was added.
  static func named(_ name: String) throws(SheafError) -> Container {
    let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
    guard let container = Container(rawValue: ending) else {
      throw SheafError(.misuse, "'\(name)' has no extension of a container")
    }
    guard !container.isPlaylist else {
      throw SheafError(.misuse, "'\(name)' is a playlist, which an export makes and an asset writer does not")
    }
    return container
  }
}
