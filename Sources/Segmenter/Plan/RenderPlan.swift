package import CompositionModel

/// How an edit is cut into tasks: a pure function of the edit and the descriptions of its assets (DESIGN 5).
package struct RenderPlan: Sendable, Hashable, Codable {
  package var frameCount: Int
  package var duration: MediaTime
  /// Nil where the output has no picture.
  package var format: VideoTaskFormat?
  package var instructions: [Instruction]
  /// Tile 0..<frameCount; none where the output has no picture.
  package var segments: [Segment]
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

/// A time range of the output that one task renders.
package struct Segment: Sendable, Hashable, Codable {
  /// Of the output.
  package var frames: Range<Int>
  /// Estimated work, in encoded pixels' worth; only ratios between segments mean anything.
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

package enum Boundary: Sendable, Hashable, Codable {
  /// The film starts here.
  case start
  /// A multiple of the keyframe interval, where the cost is in balance.
  case keyframeInterval
  /// Pulled to where a clip or transition starts or ends.
  case cut
  /// Pulled to the keyframe of a source, to save decoding what is not shown.
  case sourceKeyframe(asset: AssetID)
}
