package import CompositionModel
package import RenderTasks

/// Makes the tasks of an edit. The result depends on the edit and its assets alone, and not on the number or the speed
/// of the workers.
package enum RenderPlanner {
  /// The most segments of a film. Each is a task, which costs a process and rows in the farm's database. In a longer
  /// film segments are longer.
  package static let greatestSegmentCount = 20_000
  /// The fewest frames that a segment may be asked to have. A shorter one costs more to start than to render.
  package static let shortestSegment = 5
  private static let defaultSegmentDuration = MediaTime(seconds: 5)

  /// The plan of an edit.
  /// - Parameters:
  ///   - assets: every file that a clip or an overlay of the edit uses.
  ///   - fonts: the fonts of every text of the edit.
  ///   - segmentDuration: the intended duration of a segment inside a clip in seconds, at least `shortestSegment`
  ///     frames; nil: 5 s. It does not depend on the film's length, so that a change of that leaves the segments as
  ///     they are.
  package static func plan(
    _ edit: Edit, assets: [AssetID: PlannedAsset], fonts: [FontRequest: TextFonts] = [:],
    segmentDuration: MediaTime? = nil
  ) throws(PlanError) -> RenderPlan {
    let lookup = SourceLookup(edit, assets)
    if let segmentDuration { try check(segmentDuration, edit.videoComposition.frameDuration) }
    let (range, frameCount) = try mapErrors(to: PlanError.time("the film's length")) { () throws(TimeError) in
      (try edit.exportedRange, try edit.frameCount)
    }
    if edit.export.passthrough != nil { return try copying(edit, range, frameCount: frameCount, lookup) }
    let outputs = try FilmOutputs(of: edit, sources: lookup)
    let format = edit.export.video.map { VideoTaskFormat(edit.videoComposition, $0) }
    let planned = try format.map { format throws(PlanError) in
      try self.segments(
        of: edit, format: format, renditions: outputs.renditions, frameCount: frameCount,
        segmentDuration: segmentDuration ?? defaultSegmentDuration, lookup: lookup, fonts: fonts)
    }
    let segments = planned?.segments
    var plan = RenderPlan(
      frameCount: frameCount, start: range.start, duration: range.duration, format: format,
      instructions: edit.videoComposition.instructions.filter {
        $0.over.start < range.end && range.start < $0.over.end
      },
      segments: segments ?? [], audio: outputs.audio,
      audioTasks: outputs.audioTasks, stitch: try outputs.stitch(segments ?? [], sources: lookup),
      damage: format == nil ? ShownDamage() : try DescribedDamage.shown(by: edit, sources: lookup))
    plan.roundedPlaces = edit.composition.roundedPlaces
    plan.smart = planned?.smart
    return plan
  }

  /// The plan of a film that is copied.
  private static func copying(
    _ edit: Edit, _ range: MediaTimeRange, frameCount: Int, _ lookup: SourceLookup
  ) throws(PlanError) -> RenderPlan {
    var task = try PassthroughPlanner.task(edit, sources: lookup)
    let hasVideo = task.tracks.contains { $0.type == .video }
    let damage = hasVideo ? try DescribedDamage.shown(by: edit, sources: lookup) : ShownDamage()
    if !damage.isEmpty { task.damage = damage }
    let file = StitchedFile(
      container: edit.export.container, video: nil, audio: nil,
      optimizeForNetworkUse: edit.export.optimizeForNetworkUse, metadata: edit.export.metadata)
    let output = StitchTask.Output(name: nil, rendition: nil, sound: nil, file: file)
    var plan = RenderPlan(
      frameCount: frameCount, start: range.start, duration: range.duration, format: nil, instructions: [], segments: [],
      audio: nil, audioTasks: [], stitch: StitchTask(outputs: [output], segmentCount: 0, hasAudio: false),
      damage: damage)
    plan.passthrough = task
    plan.roundedPlaces = edit.composition.roundedPlaces
    return plan
  }

  /// The tasks of some frames of a film alone, each range as a segment of its own.
  /// - Parameter ranges: Rising and apart; within the film.
  static func tasks(
    _ edit: Edit, _ encoder: VideoSettings, assets: [AssetID: PlannedAsset], fonts: [FontRequest: TextFonts],
    of ranges: [Range<Int>]
  ) throws(PlanError) -> [VideoTask] {
    let frameCount = try mapErrors(to: PlanError.time("the film's length")) { () throws(TimeError) in
      try edit.frameCount
    }
    let (lookup, format) = (SourceLookup(edit, assets), VideoTaskFormat(edit.videoComposition, encoder))
    let grid = FrameGrid(frameDuration: format.frameDuration, frameCount: frameCount)
    let timeline = try Timeline(edit, grid: grid, visibility: Visibility(format: format, sources: lookup))
    let builder = try SegmentBuilder(
      edit: edit, timeline: timeline, format: format, renditions: [], sources: lookup, fonts: fonts,
      segments: ranges)
    return try ranges.indices.map { index throws(PlanError) in try builder.task(index) }
  }

  private static func check(_ segmentDuration: MediaTime, _ frameDuration: MediaTime) throws(PlanError) {
    let least = try mapErrors(to: PlanError.time("the segments' length")) { () throws(TimeError) in
      try frameDuration * Rational(shortestSegment)
    }
    guard least <= segmentDuration else {
      throw PlanError(
        .segmentTooShort(least: least, frames: shortestSegment), "the segment duration \(segmentDuration) s")
    }
  }

  private static func segments(
    of edit: Edit, format: VideoTaskFormat, renditions: [VideoRendition], frameCount: Int,
    segmentDuration: MediaTime, lookup: SourceLookup, fonts: [FontRequest: TextFonts]
  ) throws(PlanError) -> (segments: [Segment], smart: SmartRenderingPlan?) {
    let start = try mapErrors(to: PlanError.time("the film's start")) { () throws(TimeError) in
      try edit.exportedRange.start
    }
    let grid = FrameGrid(frameDuration: format.frameDuration, frameCount: frameCount, start: start)
    let timeline = try Timeline(edit, grid: grid, visibility: Visibility(format: format, sources: lookup))
    let costs = CostModel(
      format: format, renditions: renditions, sources: lookup, filters: edit.videoComposition.filters)
    let wantedFrames = try mapErrors(to: PlanError.time("the segments' length")) { () throws(TimeError) in
      Int(clamping: max(1, try (segmentDuration / format.frameDuration).rounded))
    }
    let shortestFrames = (frameCount + greatestSegmentCount - 1) / greatestSegmentCount
    // A longer one is longer than any film.
    let nominalFrames = min(max(wantedFrames, shortestFrames), Int(Int32.max))
    let cumulative = try CumulativeCost(
      timeline: timeline, overlays: edit.videoComposition.overlays, costs: costs)
    let chooser = BoundaryChooser(
      timeline: timeline, sources: lookup,
      titles: try TitleIndex(edit.videoComposition.overlays, grid: grid, nominalFrames: nominalFrames),
      nominalFrames: nominalFrames, shortestFrames: shortestFrames,
      // All outputs have the same, but for those whose frames are all keyframes.
      keyframes: renditions.lazy.compactMap(\.encoder.keyframeGrid).first)
    var choices = try chooser.boundaries()
    var smart: (runs: [SmartPlanner.Run], refusals: [SmartRenderingPlan.Refusal])?
    if edit.export.isSmart == true, let rendition = renditions.first, renditions.count == 1 {
      let found = try SmartPlanner.plan(
        edit, timeline: timeline, rendition: rendition, sources: lookup, fonts: fonts)
      choices = SmartBoundaries.choices(
        around: found.runs, of: choices, frameCount: frameCount, shortest: chooser.shortest)
      smart = found
    }
    let ends = choices.dropFirst().map(\.frame) + [frameCount]
    let builder = try SegmentBuilder(
      edit: edit, timeline: timeline, format: format, renditions: renditions, sources: lookup, fonts: fonts,
      segments: zip(choices, ends).map { $0.frame..<$1 })
    var segments: [Segment] = []
    for (index, (choice, end)) in zip(choices, ends).enumerated() {
      let span = timeline.spans[cumulative.span(of: choice.frame)]
      let runUp = try costs.runUp(to: choice.frame, in: span, grid: grid)
      var task = try builder.task(index)
      task.keyframes = chooser.keyframes.flatMap { $0.keyframes(within: choice.frame..<end) }
      if let smart { task.smart = SmartBoundaries.segment(choice.frame..<end, of: task, smart.runs) }
      var cost = cumulative.cost(before: end) - cumulative.cost(before: choice.frame) + runUp
      if task.smart?.copy != nil { cost = costs.copy(of: end - choice.frame) }
      segments.append(
        Segment(
          frames: choice.frame..<end, cost: cost, memory: MemoryModel.memory(of: task), boundary: choice.boundary,
          task: task))
    }
    let copied = segments.reduce(0) { $0 + ($1.task.smart?.copy == nil ? 0 : $1.frames.count) }
    return (
      segments,
      smart.map {
        SmartRenderingPlan(copiedFrames: copied, encodedFrames: frameCount - copied, refusals: $0.refusals)
      }
    )
  }
}

extension KeyframeGrid {
  /// The keyframes of a segment, counted from its first frame. Nil: they are those of a film that starts there.
  fileprivate func keyframes(within segment: Range<Int>) -> [Int]? {
    let own = keyframes(in: segment).map { $0 - segment.lowerBound }
    return own == keyframes(in: 0..<segment.count) ? nil : own
  }
}

extension VideoTaskFormat {
  init(_ composition: VideoComposition, _ encoder: VideoSettings) {
    self.init(
      size: composition.renderSize, pixelFormat: encoder.pixelFormat, colour: encoder.colour,
      frameDuration: composition.frameDuration,
      toneMapping: composition.toneMapping == .bt2390 ? nil : composition.toneMapping)
  }
}

/// An edit as tasks: a pure function of the edit and the descriptions of its assets.
package struct RenderPlan: Sendable, Hashable, Codable {
  /// The frames of the output: ceil(duration / frameDuration).
  package var frameCount: Int
  /// The time of the composition at which the output starts.
  package var start: MediaTime
  /// The duration of the output, in seconds.
  package var duration: MediaTime
  /// The format of the film's frames. Nil if no output has video.
  package var format: VideoTaskFormat?
  /// Those that have a part in the output, on the composition's timeline.
  package var instructions: [Instruction]
  /// They tile 0..<frameCount. Empty if no output has video.
  package var segments: [Segment]
  /// The whole audio. Nil if no output has any.
  package var audio: AudioTask?
  /// The tasks that make it, in order; empty if there is none. See `SoundDivision`.
  package var audioTasks: [AudioTask]
  /// That of a film that is copied has nothing but the container and the metadata.
  package var stitch: StitchTask
  /// The damaged frames that the film shows, as far as the descriptions have them.
  package var damage: ShownDamage
  /// Nil if the film is rendered.
  package var passthrough: PassthroughTask?
  /// The clips whose places have been rounded. Nil: none.
  package var roundedPlaces: [RoundedPlace]?
  /// Nil: all frames are encoded, or the film is copied.
  package var smart: SmartRenderingPlan?

  package init(
    frameCount: Int, start: MediaTime = .zero, duration: MediaTime, format: VideoTaskFormat?,
    instructions: [Instruction], segments: [Segment],
    audio: AudioTask?, audioTasks: [AudioTask], stitch: StitchTask, damage: ShownDamage = ShownDamage()
  ) {
    self.audioTasks = audioTasks
    self.frameCount = frameCount
    self.start = start
    self.duration = duration
    self.format = format
    self.instructions = instructions
    self.segments = segments
    self.audio = audio
    self.stitch = stitch
    self.damage = damage
  }
}

extension RenderPlan {
  /// The frames of the output whose times are in a range of the composition's timeline; none if it has no video.
  package func frames(in range: MediaTimeRange) throws(TimeError) -> Range<Int> {
    guard let format else { return 0..<0 }
    let grid = FrameGrid(frameDuration: format.frameDuration, frameCount: frameCount, start: start)
    return try grid.frames(in: range)
  }
}

/// A range of the output's frames that one task renders.
package struct Segment: Sendable, Hashable, Codable {
  package var frames: Range<Int>
  /// The estimated work. The unit is one pixel through x264's preset `medium`. Only ratios between segments are
  /// meaningful.
  package var cost: Double
  /// The bytes of memory that its task's process needs at most, as far as that can be estimated.
  package var memory: Int64
  /// Why the segment starts where it does.
  package var boundary: Boundary
  package var task: VideoTask

  package init(frames: Range<Int>, cost: Double, memory: Int64 = 0, boundary: Boundary, task: VideoTask) {
    self.frames = frames
    self.cost = cost
    self.memory = memory
    self.boundary = boundary
    self.task = task
  }
}

/// The reason for the place of a segment's start.
package enum Boundary: Sendable, Hashable, Codable {
  /// The film starts here.
  case start
  /// A multiple of the nominal length in the time of the source, or of a clip that does not move.
  case nominalLength
  /// A clip or a transition starts or ends here, or, in a film with fixed keyframes, near here.
  case cut
  /// A source has a keyframe here, so that no frames are decoded that are not shown.
  case sourceKeyframe(asset: AssetID)
  /// The nearest of the film's fixed keyframes to one of the other places.
  case keyframe
  /// Stored pictures of an asset are copied from here on.
  case copy(asset: AssetID)
  /// What is copied ends here.
  case copyEnd
}

/// An asset as planning needs it.
package struct PlannedAsset: Sendable, Hashable {
  package var description: AssetDescription
  /// The SHA-256 of the file, in lower-case hexadecimal. Empty for a picture that is drawn.
  package var digest: String
  /// The motion of the camera, as far as it was measured, by the track's index. See `MotionPlanner`.
  package var motion: [Int: [MotionStep]] = [:]

  package init(description: AssetDescription, digest: String) {
    self.description = description
    self.digest = digest
  }
}

/// Why an edit could not be planned. Lowering finds nearly all errors of the author. What remains is a time that cannot
/// be kept exactly, a caller that gave no description of an asset or no fonts of a text, segments that are too short,
/// and too many overlays.
package struct PlanError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: Sendable, Hashable {
    case time(TimeError)
    case assetNotDescribed(AssetID)
    case noTrack(asset: AssetID, index: Int)
    case fontsNotFound(text: String)
    /// Pictures are asked for, and there is sound alone.
    case noPictures
    /// Pictures are asked for, and the film is copied.
    case copied
    /// The intended duration of a segment is below the least, in seconds.
    case segmentTooShort(least: MediaTime, frames: Int)
    /// There is not one complete measurement for each segment.
    case notMeasured
    /// The overlays are in more places of segments than the limit.
    case tooManyOverlays(limit: Int)
    /// More documents that are assets are shown in a segment, or in all, than the limits.
    case tooManyNested(segment: Int, film: Int)
    /// The captions of all segments' tasks have more bytes than the limit.
    case tooManyCaptions(asset: AssetID, limit: Int)
    /// The captions of a text track that are shown together at a time, in milliseconds, have more bytes than the limit.
    case captionsTooLong(asset: AssetID, limit: Int, at: Int64)
    /// A text track, in which captions are repeated while others change, has more bytes than the limit.
    case textTrackTooLarge(asset: AssetID, limit: Int)
  }

  package var code: Code
  /// The part of the edit that was being planned, such as `the clip of 'beach' at 4`.
  package var subject: String

  package init(_ code: Code, _ subject: String) {
    self.code = code
    self.subject = subject
  }

  package var description: String {
    switch code {
    case .time(let error): "\(subject): \(error)"
    case .assetNotDescribed(let asset): "\(subject): asset '\(asset)' has not been probed"
    case .noTrack(let asset, let index): "\(subject): asset '\(asset)' has no usable track \(index)"
    case .fontsNotFound(let text): "\(subject): the fonts of the text \"\(text.prefix(40))\" were not found"
    case .noPictures: "\(subject) has no pictures, only sound"
    case .copied:
      "\(subject) is not rendered: its preset copies what is stored; take pictures of its media, or leave the preset "
        + "out"
    case .segmentTooShort(let least, let frames):
      "\(subject) is too short; the shortest is \(frames) frames, \(least) s"
    case .notMeasured: "\(subject): not every segment has been measured"
    case .tooManyCaptions(_, let limit):
      "\(subject) would take more than \(limit) bytes in the film's segments, because too many are shown at the same "
        + "time"
    case .captionsTooLong(_, let limit, let time):
      "\(subject) would show more than \(limit) bytes of captions together, at \(Double(time) / 1000) s; mkv and webm "
        + "have each caption by itself"
    case .textTrackTooLarge(_, let limit):
      "\(subject) would take more than \(limit) bytes, because too many captions are shown at the same time; mkv and "
        + "webm have each caption by itself"
    case .tooManyNested(let segment, let film):
      "\(subject) and others are shown too often: a segment shows at most \(segment) documents that are assets, and a "
        + "film \(film), each counted with those in it"
    case .tooManyOverlays(let limit):
      "\(subject) are shown in more than \(limit) places of the film's segments; show fewer overlays, or each for a "
        + "shorter time"
    }
  }

  /// As a problem of the document, at the asset that it is about.
  package var problem: Problem {
    switch code {
    case .assetNotDescribed(let asset), .noTrack(let asset, _), .tooManyCaptions(let asset, _),
      .captionsTooLong(let asset, _, _), .textTrackTooLarge(let asset, _):
      Problem(asset: asset, message: description)
    default: Problem(pointer: "", message: description)
    }
  }

  /// The conversion of a `TimeError` for `mapErrors`. The subject is computed only for an error.
  static func time(_ subject: @autoclosure @escaping () -> String) -> (TimeError) -> PlanError {
    { PlanError(.time($0), subject()) }
  }
}
