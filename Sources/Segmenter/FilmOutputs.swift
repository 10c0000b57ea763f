import CompositionModel
import RenderTasks

/// What the outputs of a film are made of, of which there is one or more. All have the film's segments.
struct FilmOutputs {
  /// Each kind of video that an output has, once, in order of first appearance.
  let renditions: [VideoRendition]
  /// Nil: no output has audio.
  let audio: AudioTask?
  /// The tasks that make it. Nil: there is none.
  private let division: SoundDivision?
  /// The same, in order; empty if there is none.
  var audioTasks: [AudioTask] { division?.tasks ?? [] }
  private let edit: Edit
  private let outputs: [(name: String?, output: EditOutput)]

  init(of edit: Edit, sources: SourceLookup) throws(PlanError) {
    self.edit = edit
    outputs =
      edit.outputs.map { $0.map { ($0.fileName, $0) } }
      ?? [(nil, EditOutput(name: "", export: edit.export, captions: edit.captions))]
    var renditions: [VideoRendition] = []
    var mixes: [AudioMixdown] = []
    for (_, output) in outputs {
      if let rendition = output.rendition(of: edit.videoComposition.renderSize), !renditions.contains(rendition) {
        renditions.append(rendition)
      }
      guard let encoder = output.export.audio else { continue }
      if let mix = mixes.firstIndex(where: { $0.isMix(of: encoder) }) {
        if !mixes[mix].encoders.contains(encoder) { mixes[mix].encoders.append(encoder) }
      } else {
        mixes.append(try AudioPlanner(edit: edit, sources: sources).mixdown(encoder))
      }
    }
    self.renditions = renditions
    audio = mixes.isEmpty ? nil : AudioTask(mixes: mixes)
    division = try audio.map(SoundDivision.init)
  }

  /// How the outputs' files are made.
  func stitch(_ segments: [Segment], sources: SourceLookup) throws(PlanError) -> StitchTask {
    if let stem = edit.export.playlist { return try playlists(stem, segments, sources) }
    var made: [StitchTask.Output] = []
    for (name, output) in outputs {
      let rendition = output.rendition(of: edit.videoComposition.renderSize)
      made.append(
        StitchTask.Output(
          name: name, rendition: rendition.flatMap(renditions.firstIndex),
          sound: place(of: output)?.piece, soundPackages: packages(of: output),
          file: try file(of: output, rendition, segments, sources)))
    }
    return StitchTask(
      outputs: made, segmentCount: segments.count, hasAudio: audio != nil, audioPackages: audioPackages)
  }

  /// Nil: one, or there is no audio.
  private var audioPackages: Int? { audioTasks.count > 1 ? audioTasks.count : nil }

  private func place(of output: EditOutput) -> SoundDivision.Place? {
    output.export.audio.flatMap { division?.place(of: $0) }
  }

  /// Nil: the first alone, or it has no audio.
  private func packages(of output: EditOutput) -> Range<Int>? {
    place(of: output).flatMap { $0.tasks == 0..<1 ? nil : $0.tasks }
  }

  /// The files of a film that is played in segments: each rendition of pictures and of sound once, without the other.
  private func playlists(
    _ stem: String, _ segments: [Segment], _ sources: SourceLookup
  ) throws(PlanError) -> StitchTask {
    let (starts, duration) = try mapErrors(to: PlanError.time("the segments of the playlist")) {
      () throws(TimeError) in
      try (mediaSegments(), edit.exportedRange.duration)
    }
    let sounds = audio?.encoders.count ?? 0
    let manifests = edit.export.manifests ?? (edit.export.container == .mpd ? [.mpd] : nil)
    var (made, variants): ([StitchTask.Output], [StreamingPackage.Variant]) = ([], [])
    var (videos, audios): ([Int: Int], [Int: Int]) = ([:], [:])
    var subtitles: [StitchedText] = []
    for (_, output) in outputs {
      let rendition = output.rendition(of: edit.videoComposition.renderSize)
      var whole = try file(of: output, rendition, segments, sources)
      if rendition != nil, subtitles.isEmpty { subtitles = whole.texts ?? [] }
      (whole.texts, whole.segments, whole.metadata) = (nil, starts, [:])
      var variant = StreamingPackage.Variant(video: nil, audio: nil)
      if let number = rendition.flatMap(renditions.firstIndex) {
        var pictures = whole
        (pictures.audio, pictures.audioLabel) = (nil, nil)
        if videos[number] == nil {
          videos[number] = made.count
          let name = StreamingPackage.file(output.name.isEmpty ? "video" : output.name, of: stem)
          made.append(StitchTask.Output(name: name, rendition: number, sound: nil, file: pictures))
        }
        variant.video = videos[number]
      }
      if let number = output.export.audio.flatMap({ audio?.encoders.firstIndex(of: $0) }) {
        var sound = whole
        (sound.video, sound.videoLabel) = (nil, nil)
        if audios[number] == nil {
          audios[number] = made.count
          let name = StreamingPackage.file(sounds > 1 ? "audio-\(number + 1)" : "audio", of: stem)
          made.append(
            StitchTask.Output(
              name: name, rendition: nil, sound: place(of: output)?.piece, soundPackages: packages(of: output),
              file: sound))
        }
        variant.audio = audios[number]
      }
      if !variants.contains(variant) { variants.append(variant) }
    }
    var task = StitchTask(
      outputs: made, segmentCount: segments.count, hasAudio: audio != nil, audioPackages: audioPackages)
    task.playlists = StreamingPackage(
      stem: stem, variants: variants, subtitles: subtitles, segments: starts, duration: duration)
    task.playlists?.manifests = manifests
    task.playlists?.metadata = edit.export.metadata.isEmpty ? nil : edit.export.metadata
    return task
  }

  /// Where media segments begin after the first, in seconds: at the multiple of the interval of keyframes that is
  /// nearest below six seconds, which Apple's specification for authors asks for.
  private func mediaSegments() throws(TimeError) -> [MediaTime] {
    let (duration, longest) = (try edit.exportedRange.duration, Rational(6))
    guard let video = renditions.first else {
      return try stride(from: 1, to: Int(clamping: (duration.exact / longest).ceiling), by: 1).map {
        count throws(TimeError) in try MediaTime(longest * Rational(count))
      }
    }
    let frameDuration = edit.videoComposition.frameDuration
    let frames = try longest / frameDuration.exact
    var interval = frames
    if let grid = video.encoder.keyframeGrid {
      let own = try Rational(Int128(grid.numerator), Int128(grid.denominator))
      interval = try own * Rational(max(1, (frames / own).floor))
    }
    // A frame that lasts longer is a segment by itself.
    let count = try edit.frameCount
    let starts =
      KeyframeGrid(interval: interval).map { $0.keyframes(in: 1..<max(1, count)) } ?? Array(1..<max(1, count))
    return try starts.map { frame throws(TimeError) in try frameDuration * Rational(frame) }
  }

  private func file(
    of output: EditOutput, _ rendition: VideoRendition?, _ segments: [Segment], _ sources: SourceLookup
  ) throws(PlanError) -> StitchedFile {
    let export = output.export
    let video = rendition.map { rendition in
      var format = VideoTaskFormat(edit.videoComposition, rendition.encoder)
      format.size = rendition.size
      return StitchedVideo(format: format, encoder: rendition.encoder, frameCounts: segments.map(\.frames.count))
    }
    let audio = export.audio.flatMap { encoder in
      self.audio?.mixes.first { $0.isMix(of: encoder) }.map {
        let parts = division?.place(of: encoder)?.tasks.count ?? 1
        return StitchedAudio(encoder: encoder, sampleCount: $0.sampleCount, parts: parts == 1 ? nil : parts)
      }
    }
    var file = StitchedFile(
      container: export.container, video: video, audio: audio, optimizeForNetworkUse: export.optimizeForNetworkUse,
      metadata: export.metadata, chapters: export.chapters, rotation: export.rotation == 0 ? nil : export.rotation)
    (file.videoLabel, file.audioLabel) = (export.videoLabel, export.audioLabel)
    if video != nil { file.cleanAperture = export.cleanAperture }
    file.plays = export.plays
    file.artwork = sources.artwork(export.artwork)
    var own = edit
    (own.export, own.captions) = (export, output.captions)
    file.texts = try CarriedCaptions.tracks(of: own, sources: sources)
    return file
  }
}

extension EditOutput {
  /// How the output's pictures are stored. Nil: it has none.
  /// - Parameter film: The size of the film's frames.
  fileprivate func rendition(of film: PixelSize) -> VideoRendition? {
    export.video.map { VideoRendition(size: export.size ?? $0.storedSize(of: film), encoder: $0) }
  }
}
