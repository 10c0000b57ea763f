package import CompositionModel
import Jobs
import RenderTasks
import Segmenter

// Inside `PlanReport` the name `Instruction` is that of its own nested type.
private typealias EditInstruction = Instruction

/// The output of `sheaf plan`. Its JSON is stable: keys may be added, but are never changed.
package struct PlanReport: Sendable, Hashable, Codable {
  package struct Segment: Sendable, Hashable, Codable {
    /// Of the output. The range is half-open.
    package var firstFrame: Int
    package var endFrame: Int
    /// `start..end` on composition time.
    package var range: MediaTimeRange
    /// The estimated work. Only ratios between segments are meaningful.
    package var cost: Double
    /// Why the segment starts where it does.
    package var boundary: String
    /// `encoded`, or `cached` if the result is in the cache, or `measured` if the segment is measured before it is
    /// encoded.
    package var action: String
  }

  package struct Instruction: Sendable, Hashable, Codable {
    package var range: MediaTimeRange
    package var background: String
    /// The first is on top.
    package var layers: [String]
  }

  package struct Audio: Sendable, Hashable, Codable {
    package var codec: String
    package var sampleRate: Int
    package var channels: Int
    package var samples: Int64
    package var action: String
  }

  package struct Video: Sendable, Hashable, Codable {
    package var codec: String
    package var width: Int
    package var height: Int
    package var pixelFormat: String
    package var frameDuration: MediaTime
  }

  package var container: String
  package var duration: MediaTime
  package var frames: Int
  package var video: Video?
  package var audio: Audio?
  package var instructions: [Instruction]
  package var segments: [Segment]
  /// The damaged frames that the film shows, as far as probing the media has found them.
  package var damage: [DamageReport]
  /// What can be rendered but is most likely not meant.
  package var warnings: [Problem]
  /// What of the media is not in the film.
  package var losses: [LossReport]
  /// Nil if the document has one output. Else the container, the video and the audio are those of the first one with
  /// pictures.
  package var outputs: [OutputReport]?

  /// The clips whose places have been rounded, because they are too finely divided to be kept exactly. Nil: none.
  package var roundedPlaces: [RoundedPlace]?

  private enum CodingKeys: String, CodingKey {
    case container, duration, frames
    case video = "picture"
    case audio = "sound"
    case instructions, segments, damage, warnings, losses, outputs, roundedPlaces
  }

  init(_ planned: PlannedJob, _ request: JobRequest) throws {
    let plan = planned.plan
    container = plan.stitch.container.rawValue
    duration = plan.duration
    frames = plan.frameCount
    instructions = plan.instructions.map { Instruction(instruction: $0) }
    segments = []
    damage = DamageReport.list(plan.damage, request)
    warnings = planned.warnings
    losses = planned.warnings.losses
    outputs = planned.outputs
    roundedPlaces = plan.roundedPlaces
    if let format = plan.format, let encoder = plan.segments.first?.task.encoder {
      video = Video(
        codec: encoder.codec.rawValue, width: format.size.width, height: format.size.height,
        pixelFormat: format.pixelFormat.rawValue, frameDuration: format.frameDuration)
      for (segment, task) in zip(plan.segments, planned.tasks) {
        segments.append(
          try Segment(
            segment, planned.isMeasuring ? "measured" : task.action, start: plan.start, format.frameDuration))
      }
    }
    if let task = plan.audio, let planned = planned.audio {
      audio = Audio(
        codec: task.encoder.codec.rawValue, sampleRate: task.encoder.sampleRate, channels: task.encoder.channels,
        samples: task.sampleCount, action: planned.action)
    }
  }
}

extension NewTask {
  fileprivate var action: String { cached == nil ? "encoded" : "cached" }
}

extension PlanReport.Segment {
  /// - Parameter start: The time of the composition at which the output starts.
  fileprivate init(
    _ segment: Segmenter.Segment, _ action: String, start: MediaTime, _ frameDuration: MediaTime
  ) throws {
    firstFrame = segment.frames.lowerBound
    endFrame = segment.frames.upperBound
    range = try MediaTimeRange(
      start: start + frameDuration * Rational(segment.frames.lowerBound),
      end: start + frameDuration * Rational(segment.frames.upperBound))
    cost = segment.cost
    boundary =
      switch segment.boundary {
      case .start: "the film starts"
      case .nominalLength: "the segment has its length"
      case .cut: "a cut or transition"
      case .sourceKeyframe(let asset): "a keyframe of \(asset)"
      }
    self.action = action
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
      case .transition(let layer): "\(layer.style.kind.title) from \(layer.from.track) to \(layer.to.track)"
      case .compositor(let layer):
        "\(layer.compositor.name) of \(layer.sources.isEmpty ? "nothing" : layer.sources.map(\.track).joined(separator: ", "))"
      }
    }
  }
}

extension TransitionKind {
  /// Of the author's own the name of its compositor.
  fileprivate var title: String {
    if case .custom(let compositor) = self { compositor.name } else { name.rawValue }
  }
}
