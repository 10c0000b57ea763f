import CompositionModel
import FarmAPI
import FarmModel
import Jobs
import RenderTasks
import Segmenter

// Inside `PlanReport` the name `Instruction` is that of its own nested type.
private typealias EditInstruction = Instruction

extension PlanReport {
  init(_ planned: PlannedJob, _ request: JobRequest) throws {
    let plan = planned.plan
    let file = plan.stitch.main.file
    self.init(
      container: file.container.rawValue, duration: plan.duration, frames: plan.frameCount,
      damage: DamageReport.list(plan.damage, request), warnings: planned.warnings, outputs: planned.outputs,
      roundedPlaces: plan.roundedPlaces)
    smart = plan.smart.map(SmartReport.init)
    instructions = plan.instructions.map { Instruction(instruction: $0) }
    if let format = plan.format, let encoder = file.video?.encoder {
      video = Video(
        codec: encoder.codec.rawValue, width: format.size.width, height: format.size.height,
        pixelFormat: format.pixelFormat.rawValue, frameDuration: format.frameDuration)
      for (segment, task) in zip(plan.segments, planned.tasks) {
        segments.append(
          try Segment(
            segment, planned.isMeasuring ? "measured" : task.action(segment.task.smart?.copy != nil), start: plan.start,
            format.frameDuration))
      }
    }
    if let stitched = file.audio, !planned.audio.isEmpty {
      let cached = planned.audio.filter { $0.cached != nil }.count
      let encoder = stitched.encoder
      audio = Audio(
        codec: encoder.codec.rawValue, sampleRate: encoder.sampleRate, channels: encoder.channels,
        samples: stitched.sampleCount, action: cached == planned.audio.count ? "cached" : "encoded",
        parts: stitched.parts)
    }
  }
}

extension NewTask {
  /// - Parameter copies: Whether it copies stored pictures.
  fileprivate func action(_ copies: Bool) -> String { cached != nil ? "cached" : copies ? "copied" : "encoded" }
}

extension PlanReport.Segment {
  /// - Parameter start: The time of the composition at which the output starts.
  fileprivate init(
    _ segment: Segmenter.Segment, _ action: String, start: MediaTime, _ frameDuration: MediaTime
  ) throws {
    self.init(
      firstFrame: segment.frames.lowerBound, endFrame: segment.frames.upperBound,
      range: try MediaTimeRange(
        start: start + frameDuration * Rational(segment.frames.lowerBound),
        end: start + frameDuration * Rational(segment.frames.upperBound)),
      cost: segment.cost, boundary: segment.boundary.reason, action: action)
  }
}

extension Boundary {
  /// For a person.
  var reason: String {
    switch self {
    case .start: "the film starts"
    case .nominalLength: "the segment has its length"
    case .cut: "a cut or transition"
    case .sourceKeyframe(let asset): "a keyframe of \(asset)"
    case .keyframe: "a keyframe of the film"
    case .copy(let asset): "pictures of \(asset) are copied"
    case .copyEnd: "what is copied ends"
    }
  }
}

extension PlanReport.Instruction {
  fileprivate init(instruction: EditInstruction) {
    let color = instruction.background
    let background =
      "#"
      + [color.red, color.green, color.blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let layers = instruction.layers.map { layer in
      switch layer {
      case .track(let layer): layer.track
      case .transition(let layer): "\(layer.style.kind.title) from \(layer.from.track) to \(layer.to.track)"
      case .compositor(let layer):
        "\(layer.compositor.name) of \(layer.sources.isEmpty ? "nothing" : layer.sources.map(\.track).joined(separator: ", "))"
      }
    }
    self.init(range: instruction.over, background: background, layers: layers)
  }
}

extension TransitionKind {
  /// The name of the kind, or that of the compositor if the transition is the author's own.
  fileprivate var title: String {
    if case .custom(let compositor) = self { compositor.name } else { name.rawValue }
  }
}
