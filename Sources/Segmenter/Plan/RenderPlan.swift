package import CompositionModel

/// An edit as tasks: a pure function of the edit and the descriptions of its assets.
package struct RenderPlan: Sendable, Hashable, Codable {
  package var frameCount: Int
  package var duration: MediaTime
  /// Nil if the output has no video.
  package var format: VideoTaskFormat?
  package var instructions: [Instruction]
  /// They tile 0..<frameCount. Empty if the output has no video.
  package var segments: [Segment]
  /// Nil if the output has no audio.
  package var audio: AudioTask?
  package var stitch: StitchTask

  package init(
    frameCount: Int, duration: MediaTime, format: VideoTaskFormat?, instructions: [Instruction], segments: [Segment],
    audio: AudioTask?, stitch: StitchTask
  ) {
    self.frameCount = frameCount
    self.duration = duration
    self.format = format
    self.instructions = instructions
    self.segments = segments
    self.audio = audio
    self.stitch = stitch
  }
}

/// A range of the output's frames that one task renders.
package struct Segment: Sendable, Hashable, Codable {
  package var frames: Range<Int>
  /// The estimated work. The unit is one pixel through x264's preset `medium`. Only ratios between segments are
  /// meaningful.
  package var cost: Double
  /// Why the segment starts where it does.
  package var boundary: Boundary
  package var task: VideoTask

  package init(frames: Range<Int>, cost: Double, boundary: Boundary, task: VideoTask) {
    self.frames = frames
    self.cost = cost
    self.boundary = boundary
    self.task = task
  }
}

/// The reason for the place of a segment's start.
package enum Boundary: Sendable, Hashable, Codable {
  /// The film starts here.
  case start
  /// A multiple of the keyframe interval, where the cost is balanced.
  case keyframeInterval
  /// A clip or a transition starts or ends here.
  case cut
  /// A source has a keyframe here, so that no frames are decoded that are not shown.
  case sourceKeyframe(asset: AssetID)
}

/// An asset as planning needs it.
package struct PlannedAsset: Sendable, Hashable {
  package var description: AssetDescription
  /// The SHA-256 of the file, in lower-case hexadecimal.
  package var digest: String

  package init(description: AssetDescription, digest: String) {
    self.description = description
    self.digest = digest
  }
}

/// Why an edit could not be planned. Lowering finds all errors of the author, so what remains is a time that cannot be
/// kept exactly, or a caller that gave no description of an asset.
package struct PlanError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: Sendable, Hashable {
    case time(TimeError)
    case assetNotDescribed(AssetID)
    case noTrack(asset: AssetID, index: Int)
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
    }
  }

  /// The conversion of a `TimeError` for `mapErrors`. The subject is computed only for an error.
  static func time(_ subject: @autoclosure @escaping () -> String) -> (TimeError) -> PlanError {
    { PlanError(.time($0), subject()) }
  }
}
