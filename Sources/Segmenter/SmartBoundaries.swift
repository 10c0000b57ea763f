import CompositionModel
import RenderTasks

/// The segments of a film with smart rendering: each run that is copied is one, and what is between them is cut as it
/// is in other films.
enum SmartBoundaries {
  /// The fewest frames of a segment that is encoded beside another one. One of a single frame could have the identifier
  /// of an instantaneous decoding refresh in common with the next.
  private static let fewestFrames = 2

  /// - Parameters:
  ///   - choices: Where the segments of a film without copies start, rising from frame 0.
  ///   - shortest: The fewest frames of a segment that is encoded, if what is between two runs has as many.
  static func choices(
    around runs: [SmartPlanner.Run], of choices: [BoundaryChooser.Choice], frameCount: Int, shortest: Int
  ) -> [BoundaryChooser.Choice] {
    var found: [BoundaryChooser.Choice] = []
    var next = 0
    func addEncoded(_ frames: Range<Int>) {
      guard !frames.isEmpty else { return }
      let own = choices.first { $0.frame == frames.lowerBound }?.boundary
      found.append(.init(frame: frames.lowerBound, boundary: own ?? .copyEnd))
      let least = max(shortest, fewestFrames)
      found += choices.filter { $0.frame - frames.lowerBound >= least && frames.upperBound - $0.frame >= least }
    }
    for run in runs {
      addEncoded(next..<run.frames.lowerBound)
      found.append(
        .init(frame: run.frames.lowerBound, boundary: run.frames.lowerBound == 0 ? .start : .copy(asset: run.asset)))
      next = run.frames.upperBound
    }
    addEncoded(next..<frameCount)
    return found
  }

  /// How a segment is made. Nil: nothing of the film is copied, so that all of it is encoded as in other films.
  static func segment(_ frames: Range<Int>, of task: VideoTask, _ runs: [SmartPlanner.Run]) -> SmartSegment? {
    guard let first = runs.first else { return nil }
    var segment = SmartSegment(parameterSets: first.parameterSets)
    let place = runs.partitionPoint { frames.lowerBound < $0.frames.upperBound }
    if place < runs.count, runs[place].frames == frames, task.isOfPlainPictures { segment.copy = runs[place].copy }
    return segment
  }
}
