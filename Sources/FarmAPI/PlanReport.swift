package import CompositionModel

/// The output of `sheaf plan`. Its JSON is stable: keys may be added, but are never changed.
package struct PlanReport: Sendable, Hashable, Codable {
  package struct Segment: Sendable, Hashable, Codable {
    /// The segment's frames, by their numbers in the output. The range is half-open.
    package var firstFrame: Int
    package var endFrame: Int
    /// `start..end` on composition time.
    package var range: MediaTimeRange
    /// The estimated work. Only ratios between segments are meaningful.
    package var cost: Double
    /// Why the segment starts where it does.
    package var boundary: String
    /// `encoded`, or `copied` if it has stored pictures, or `cached` if the result is in the cache, or `measured` if
    /// the segment is measured before it is encoded.
    package var action: String

    package init(
      firstFrame: Int, endFrame: Int, range: MediaTimeRange, cost: Double, boundary: String, action: String
    ) {
      self.firstFrame = firstFrame
      self.endFrame = endFrame
      self.range = range
      self.cost = cost
      self.boundary = boundary
      self.action = action
    }
  }

  package struct Instruction: Sendable, Hashable, Codable {
    package var range: MediaTimeRange
    package var background: String
    /// The first is on top.
    package var layers: [String]

    package init(
      range: MediaTimeRange, background: String, layers: [String]
    ) {
      self.range = range
      self.background = background
      self.layers = layers
    }
  }

  package struct Audio: Sendable, Hashable, Codable {
    package var codec: String
    package var sampleRate: Int
    package var channels: Int
    package var samples: Int64
    package var action: String
    /// How many tasks make it. Nil: one.
    package var parts: Int?

    package init(
      codec: String, sampleRate: Int, channels: Int, samples: Int64, action: String, parts: Int? = nil
    ) {
      self.parts = parts
      self.codec = codec
      self.sampleRate = sampleRate
      self.channels = channels
      self.samples = samples
      self.action = action
    }
  }

  package struct Video: Sendable, Hashable, Codable {
    package var codec: String
    package var width: Int
    package var height: Int
    package var pixelFormat: String
    package var frameDuration: MediaTime

    package init(
      codec: String, width: Int, height: Int, pixelFormat: String, frameDuration: MediaTime
    ) {
      self.codec = codec
      self.width = width
      self.height = height
      self.pixelFormat = pixelFormat
      self.frameDuration = frameDuration
    }
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

  /// Nil: the document has no smart rendering.
  package var smart: SmartReport?

  /// Nil: the coordinator is of a version that estimates nothing.
  package var estimate: EstimateReport?

  private enum CodingKeys: String, CodingKey {
    case container, duration, frames
    case video = "picture"
    case audio = "sound"
    case instructions, segments, damage, warnings, losses, outputs, roundedPlaces, smart, estimate
  }

  /// A plan whose pictures, sound, instructions and segments follow.
  package init(
    container: String, duration: MediaTime, frames: Int, damage: [DamageReport], warnings: [Problem],
    outputs: [OutputReport]?, roundedPlaces: [RoundedPlace]?
  ) {
    self.container = container
    self.duration = duration
    self.frames = frames
    self.damage = damage
    self.warnings = warnings
    self.outputs = outputs
    self.roundedPlaces = roundedPlaces
    instructions = []
    segments = []
    losses = warnings.losses
  }
}
