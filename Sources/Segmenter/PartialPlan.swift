import CompositionModel
import RenderTasks

extension RenderPlan {
  /// The plan of a film that has some of the segments alone, one after the other, and all of the sound. Captions,
  /// chapters and artwork are left out, because they are on the timeline of the whole film. A film without segments
  /// stays as it is.
  /// - Parameter numbers: Those of the segments that stay. Others than those that there are mean nothing.
  package func keeping(_ numbers: Set<Int>) -> RenderPlan {
    guard !segments.isEmpty else { return self }
    let kept = segments.indices.filter(numbers.contains)
    var plan = self
    plan.segments = kept.map { segments[$0] }
    plan.frameCount = plan.segments.reduce(0) { $0 + $1.frames.count }
    plan.stitch.segmentCount = kept.count
    for index in plan.stitch.outputs.indices {
      if let counts = plan.stitch.outputs[index].file.video?.frameCounts {
        plan.stitch.outputs[index].file.video?.frameCounts = kept.map { counts[$0] }
      }
      plan.stitch.outputs[index].file.chapters = nil
      plan.stitch.outputs[index].file.texts = nil
      plan.stitch.outputs[index].file.artwork = nil
    }
    return plan
  }
}
