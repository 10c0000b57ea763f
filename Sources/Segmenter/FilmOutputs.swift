import CompositionModel
import RenderTasks

/// What the outputs of a film are made of, of which there is one or more. All have the film's segments.
struct FilmOutputs {
  /// Each kind of video that an output has, once, in order of first appearance.
  let renditions: [VideoRendition]
  /// Nil: no output has audio.
  let audio: AudioTask?
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
  }

  /// How the outputs' files are made.
  func stitch(_ segments: [Segment], sources: SourceLookup) throws(PlanError) -> StitchTask {
    var made: [StitchTask.Output] = []
    for (name, output) in outputs {
      let rendition = output.rendition(of: edit.videoComposition.renderSize)
      made.append(
        StitchTask.Output(
          name: name, rendition: rendition.flatMap(renditions.firstIndex),
          sound: output.export.audio.flatMap { audio?.encoders.firstIndex(of: $0) },
          file: try file(of: output, rendition, segments, sources)))
    }
    return StitchTask(outputs: made, segmentCount: segments.count, hasAudio: audio != nil)
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
        StitchedAudio(encoder: encoder, sampleCount: $0.sampleCount)
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
