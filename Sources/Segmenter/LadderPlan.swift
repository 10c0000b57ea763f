package import CompositionModel
package import RenderTasks

/// The part of a plan that differs between the outputs of a film with several. All have the film's segments.
package struct LadderPlan: Sendable, Hashable, Codable {
  /// Each kind of video that an output has, once, in order of first appearance.
  package var renditions: [VideoRendition]
  /// The audio of the outputs. Empty: none has any.
  package var mixes: [AudioMixdown]
  /// One for each output, in order.
  package internal(set) var stitches: [StitchLadderTask.Output] = []

  /// The video and the audio of outputs.
  init(_ outputs: [EditOutput], of edit: Edit, sources: SourceLookup) throws(PlanError) {
    (renditions, mixes) = ([], [])
    for output in outputs {
      if let rendition = output.rendition(of: edit.videoComposition.renderSize), !renditions.contains(rendition) {
        renditions.append(rendition)
      }
      guard let encoder = output.export.audio else { continue }
      if let mix = mixes.firstIndex(where: { $0.audio.encoder.hasMix(of: encoder) }) {
        if !mixes[mix].encoders.contains(encoder) { mixes[mix].encoders.append(encoder) }
      } else {
        let audio = try AudioPlanner(edit: edit, sources: sources).task(encoder)
        mixes.append(AudioMixdown(audio: audio, encoders: [encoder]))
      }
    }
  }

  /// How the file of each output is made.
  func stitches(
    _ outputs: [EditOutput], of edit: Edit, segments: [Segment], sources: SourceLookup
  ) throws(PlanError) -> [StitchLadderTask.Output] {
    let sounds = sounds
    var made: [StitchLadderTask.Output] = []
    for output in outputs {
      var own = edit
      (own.export, own.captions) = (output.export, output.captions)
      var video: StitchedVideo?
      let rendition = output.rendition(of: edit.videoComposition.renderSize)
      if let rendition {
        var format = VideoTaskFormat(edit.videoComposition, rendition.encoder)
        format.size = rendition.size
        video = StitchedVideo(format: format, encoder: rendition.encoder, frameCounts: segments.map(\.frames.count))
      }
      var audio: AudioTask?
      if let encoder = output.export.audio {
        audio = mixes.first { $0.encoders.contains(encoder) }?.audio
        audio?.encoder = encoder
      }
      made.append(
        StitchLadderTask.Output(
          name: output.fileName, rendition: rendition.flatMap(renditions.firstIndex),
          sound: output.export.audio.flatMap(sounds.firstIndex),
          stitch: try RenderPlanner.stitchTask(own, video: video, audio: audio, sources)))
    }
    return made
  }

  /// The settings of the audio's pieces, in the order of their numbers.
  package var sounds: [AudioSettings] { mixes.flatMap(\.encoders) }

  /// The audio's task. Nil: there is no audio.
  package var audio: AudioLadderTask? { mixes.isEmpty ? nil : AudioLadderTask(mixes: mixes) }

  /// The task that makes the outputs' files.
  package func stitch(segmentCount: Int) -> StitchLadderTask {
    StitchLadderTask(
      outputs: stitches, segmentCount: segmentCount, hasAudio: !mixes.isEmpty,
      hasArtwork: stitches.contains { $0.stitch.artwork != nil })
  }

  /// The artwork of the outputs whose containers can have it. All have the same.
  package var artwork: PlannedArtwork? { stitches.lazy.compactMap(\.stitch.artwork).first }
}

extension EditOutput {
  /// How the output's pictures are stored. Nil: it has none.
  /// - Parameter size: The film's.
  fileprivate func rendition(of size: PixelSize) -> VideoRendition? {
    export.video.map { VideoRendition(size: export.size ?? size, encoder: $0) }
  }
}

extension AudioSettings {
  /// Whether the same samples are encoded with other settings.
  fileprivate func hasMix(of other: AudioSettings) -> Bool {
    sampleRate == other.sampleRate && channels == other.channels
  }
}

// MARK: - Average bit rates

extension RenderPlan {
  /// The numbers of the renditions with an average bit rate, and which of the renditions that are measured is theirs.
  private var measuredRenditions: (numbers: [(rendition: Int, measured: Int)], measured: [VideoRendition]) {
    var (numbers, measured): ([(rendition: Int, measured: Int)], [VideoRendition]) = ([], [])
    for (number, rendition) in (ladder?.renditions ?? []).enumerated() where rendition.encoder.averageBitRate != nil {
      let own = VideoRendition(size: rendition.size, encoder: rendition.encoder.measuring)
      if let known = measured.firstIndex(of: own) {
        numbers.append((number, known))
      } else {
        numbers.append((number, measured.count))
        measured.append(own)
      }
    }
    return (numbers, measured)
  }

  /// What to measure before the video of several outputs can be rendered: one task a segment. Empty: nothing.
  package var measureLadderTasks: [VideoLadderTask] {
    let renditions = measuredRenditions.measured
    guard let first = renditions.first else { return [] }
    return segments.map { segment in
      var video = segment.task
      // Nothing in a measurement depends on how the other outputs are encoded.
      video.encoder = first.encoder
      return VideoLadderTask(video: video, renditions: renditions)
    }
  }

  /// The renditions of each segment, with a rate factor for each that has an average bit rate: as `sharingBits` finds
  /// it for a film with one output.
  /// - Parameter measurements: The measurements of `measureLadderTasks`, in order: one for each rendition that is
  ///   measured.
  package func sharingLadderBits(_ measurements: [[Measurement]]) throws(PlanError) -> [[VideoRendition]] {
    guard let ladder else { return [] }
    var renditions = Array(repeating: ladder.renditions, count: segments.count)
    let (numbers, measured) = measuredRenditions
    guard !numbers.isEmpty else { return renditions }
    guard measurements.count == segments.count, measurements.allSatisfy({ $0.count == measured.count }) else {
      throw PlanError(.notMeasured, "the average bit rate")
    }
    for (rendition, place) in numbers {
      let shares = try bitShares(ladder.renditions[rendition].encoder, measurements.map { $0[place] })
      for (segment, share) in shares.enumerated() {
        renditions[segment][rendition].encoder.rateControl = .quality(share.factor)
        renditions[segment][rendition].share = share.share
      }
    }
    return renditions
  }
}
