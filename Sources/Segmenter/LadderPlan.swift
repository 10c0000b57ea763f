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

// MARK: - Tasks

// A film with one output has payloads and results of its own, without packages; which is decided here.
extension RenderPlan {
  /// The audio's task: what it does, the digests of the files that it reads in hexadecimal, and the samples that it
  /// mixes. Nil: there is no audio.
  package var sound: (payload: TaskPayload, digests: [String], sampleCount: Int64)? {
    guard let ladder else { return audio.map { (.audio($0), $0.sources.map(\.digest), $0.sampleCount) } }
    return ladder.audio.map { (.audioLadder($0), $0.digests, $0.sampleCount) }
  }

  /// What to measure before the video can be rendered, one a segment. Empty: nothing.
  package var measurePayloads: [TaskPayload] {
    if ladder != nil { return measureLadderTasks.map { .measureLadder($0) } }
    return averageBitRate == nil ? [] : measureTasks.map { .measure($0) }
  }

  /// The payloads of the video tasks by segment, with the bits of an average bit rate shared among the segments. That
  /// of a film with one output is then the plan's own.
  /// - Parameter measurements: The results of `measurePayloads`, in order. Empty: nothing was to be measured.
  package mutating func shareBits(_ measurements: [[Measurement]]) throws(PlanError) -> [TaskPayload] {
    guard let ladder else {
      if !measurements.isEmpty { self = try sharingBits(measurements.compactMap(\.first)) }
      return segments.map { .video($0.task) }
    }
    let renditions =
      measurements.isEmpty ? segments.map { _ in ladder.renditions } : try sharingLadderBits(measurements)
    return zip(segments, renditions).map { segment, renditions in
      var video = segment.task
      // A film without video has no rendition, and no segment.
      if let first = renditions.first { video.encoder = first.encoder }
      return .videoLadder(VideoLadderTask(video: video, renditions: renditions))
    }
  }

  /// The task that makes the files of the film's outputs.
  package var stitchPayload: TaskPayload {
    ladder.map { .stitchLadder($0.stitch(segmentCount: segments.count)) } ?? .stitch(stitch)
  }

  /// Nil: there is none.
  package var artwork: PlannedArtwork? { ladder.map(\.artwork) ?? stitch.artwork }
}
