import CompositionModel
import Jobs
import Segmenter

// Inside `PlanReport` the short name is its own.
private typealias EditInstruction = Instruction

/// What `sheaf plan` shows. Its JSON is stable: keys are added, never changed.
struct PlanReport: Sendable, Hashable, Codable {
  struct Segment: Sendable, Hashable, Codable {
    /// Of the output, half-open.
    var firstFrame: Int
    var endFrame: Int
    /// `start..end` on composition time.
    var range: MediaTimeRange
    var cost: Double
    /// Why it starts where it does.
    var boundary: String
    /// `encoded`, or `cached` where the vault has it.
    var action: String
  }

  struct Instruction: Sendable, Hashable, Codable {
    var range: MediaTimeRange
    var background: String
    /// First on top.
    var layers: [String]
  }

  struct Sound: Sendable, Hashable, Codable {
    var codec: String
    var sampleRate: Int
    var channels: Int
    var samples: Int64
    var action: String
  }

  struct Picture: Sendable, Hashable, Codable {
    var codec: String
    var width: Int
    var height: Int
    var pixelFormat: String
    var frameDuration: MediaTime
  }

  var container: String
  var duration: MediaTime
  var frames: Int
  var picture: Picture?
  var sound: Sound?
  var instructions: [Instruction]
  var segments: [Segment]

  init(_ planned: PlannedJob) throws {
    let plan = planned.plan
    container = plan.stitch.container.rawValue
    duration = plan.duration
    frames = plan.frameCount
    instructions = plan.instructions.map { Instruction(instruction: $0) }
    segments = []
    if let format = plan.format, let encoder = plan.segments.first?.task.encoder {
      picture = Picture(
        codec: encoder.codec.rawValue, width: format.size.width, height: format.size.height,
        pixelFormat: format.pixelFormat.rawValue, frameDuration: format.frameDuration)
      for (segment, task) in zip(plan.segments, planned.tasks) {
        segments.append(try Segment(segment, task, format.frameDuration))
      }
    }
    if let task = plan.sound, let planned = planned.tasks.first(where: { $0.kind == .sound }) {
      sound = Sound(
        codec: task.encoder.codec.rawValue, sampleRate: task.encoder.sampleRate, channels: task.encoder.channels,
        samples: task.sampleCount, action: planned.action)
    }
  }
}

extension NewTask {
  fileprivate var action: String { cached == nil ? "encoded" : "cached" }
}

extension PlanReport.Segment {
  fileprivate init(_ segment: Segmenter.Segment, _ task: NewTask, _ frameDuration: MediaTime) throws {
    firstFrame = segment.frames.lowerBound
    endFrame = segment.frames.upperBound
    range = try MediaTimeRange(
      start: frameDuration * Rational(segment.frames.lowerBound),
      end: frameDuration * Rational(segment.frames.upperBound))
    cost = segment.cost
    boundary =
      switch segment.boundary {
      case .start: "the film starts"
      case .keyframeInterval: "a keyframe is due"
      case .cut: "a cut or transition"
      case .sourceKeyframe(let asset): "a keyframe of \(asset)"
      }
    action = task.action
  }
}

extension PlanReport.Instruction {
  fileprivate init(instruction: EditInstruction) {
    range = instruction.over
    let color = instruction.background
    background =
      "#"
      + [color.red, color.green, color.blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    layers = instruction.layers.map { layer in
      switch layer {
      case .track(let layer): layer.track
      case .dissolve(let from, let to, _): "dissolve from \(from.track) to \(to.track)"
      }
    }
  }
}
