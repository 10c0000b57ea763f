import CompositionModel

/// Chooses where segments start. A boundary depends only on what is near it, and not on the film's length or on later
/// parts. So an edit moves only the boundaries near it, and the pieces of the other segments are found in the content
/// store.
struct BoundaryChooser {
  let timeline: Timeline
  let costs: CostModel
  let cumulative: CumulativeCost
  /// The frames of a segment, all of which cost as much as a plain one.
  let nominalFrames: Int
  let keyframeInterval: Int
  /// No segment has fewer frames, unless the film has.
  let shortestFrames: Int

  struct Choice {
    var frame: Int
    var boundary: Boundary
  }

  /// How far before and after its nominal place a boundary may be, in segments' nominal cost. The distance after it is
  /// enough to reach the next keyframe of a source with one every ten seconds.
  private static let (reachBefore, reachAfter) = (0.45, 1.15)
  /// The penalty of a segment of twice the nominal cost, in nominal segments of decoded frames that are not shown. It
  /// is small, because decoding such frames is certain work, while uneven segments only wait for each other at the end
  /// of a job.
  private static let unevenness = 0.1
  /// The penalty of a boundary that is only a multiple of the keyframe interval, in nominal segments.
  private static let plainness = 0.03
  /// A rest of the film that costs less than this stays in one segment, in segments' nominal cost.
  private static let undividedRest = 1.5
  /// A segment has at least its nominal number of frames divided by this. If decoding costs far more than the frames
  /// that are made, cost alone would cut a film into single frames.
  private static let shortestDivisor = 4

  /// The starts of the segments, rising. The first is at frame 0.
  func boundaries() throws(PlanError) -> [Choice] {
    let frameCount = timeline.grid.frameCount
    var choices = [Choice(frame: 0, boundary: .start)]
    guard let first = timeline.spans.first else { return choices }
    let nominalCost = try costs.frame(of: bottomLayer(of: first)) * Double(nominalFrames)
    let shortest = max(1, shortestFrames, nominalFrames / Self.shortestDivisor)
    while let last = choices.last {
      let spent = cumulative.cost(before: last.frame)
      // A rest that is too short for two segments stays in one, as does one that costs too little.
      if frameCount - last.frame < 2 * shortest { break }
      if cumulative.cost(before: frameCount) - spent < nominalCost * Self.undividedRest { break }
      let window =
        cumulative.frame(
          at: spent + nominalCost * (1 - Self.reachBefore))...cumulative.frame(
          at: spent + nominalCost * (1 + Self.reachAfter))
      let allowed = (last.frame + shortest)...(frameCount - shortest)
      var best: (choice: Choice, penalty: Double)?
      for candidate in try candidates(in: window) where allowed.contains(candidate.frame) {
        let distance = (cumulative.cost(before: candidate.frame) - spent - nominalCost) / nominalCost
        let uneven = Self.unevenness * distance * distance
        var plain = 0.0
        if case .keyframeInterval = candidate.boundary { plain = Self.plainness }
        // The cost of the run-up takes long to compute, and cannot make a candidate better.
        if let best, uneven + plain >= best.penalty { continue }
        let span = timeline.spans[cumulative.span(of: candidate.frame)]
        let runUp = try costs.runUp(to: candidate.frame, in: span, grid: timeline.grid)
        let penalty = uneven + runUp / nominalCost + plain
        if best.map({ penalty < $0.penalty }) ?? true { best = (candidate, penalty) }
      }
      let even = cumulative.frame(at: spent + nominalCost)
      let fallback = min(max(allowed.lowerBound, even), allowed.upperBound)
      choices.append(best?.choice ?? Choice(frame: fallback, boundary: .keyframeInterval))
    }
    return choices
  }

  /// A span with only its bottom layer, whose frames cost as much as an ordinary frame of the film.
  private func bottomLayer(of span: TimelineSpan) -> TimelineSpan {
    var plain = span
    plain.layers = Array(span.layers.suffix(1))
    return plain
  }

  /// Cuts, then source keyframes, then multiples of the keyframe interval: of equals the first is taken.
  private func candidates(in window: ClosedRange<Int>) throws(PlanError) -> [Choice] {
    var choices: [Choice] = []
    let first = timeline.spans.partitionPoint { window.lowerBound <= $0.frames.upperBound }
    let spans = timeline.spans[first...].prefix { $0.frames.lowerBound <= window.upperBound }
    for span in spans where window.contains(span.frames.lowerBound) {
      choices.append(Choice(frame: span.frames.lowerBound, boundary: .cut))
    }
    for span in spans {
      for clip in span.layers.flatMap(\.clips) { choices += try keyframes(of: clip.clip, in: span, window: window) }
    }
    let interval = max(1, min(keyframeInterval, nominalFrames))
    let firstMultiple = (window.lowerBound + interval - 1) / interval * interval
    choices += stride(from: firstMultiple, through: window.upperBound, by: interval).map {
      Choice(frame: $0, boundary: .keyframeInterval)
    }
    return choices
  }

  /// The frames of a window that are the first to show a keyframe of a clip's source.
  private func keyframes(
    of clip: Clip, in span: TimelineSpan, window: ClosedRange<Int>
  ) throws(PlanError) -> [Choice] {
    let (_, track, video) = try costs.sources.video(of: clip)
    let frames = span.frames.clamped(to: window.lowerBound..<(window.upperBound + 1))
    guard !video.isStill, !frames.isEmpty, !clip.source.isEmpty else { return [] }
    return try mapErrors(to: PlanError.time("the keyframes of '\(clip.asset)'")) { () throws(TimeError) in
      let from = try costs.sources.shownFrame(
        of: clip, track: track, format: video, at: timeline.grid.time(of: frames.lowerBound))
      let to = try costs.sources.shownFrame(
        of: clip, track: track, format: video, at: timeline.grid.time(of: frames.upperBound - 1))
      guard let from, let to else { return [] }
      var choices: [Choice] = []
      let first = video.keyframes.partitionPoint { from <= $0.pts }
      for key in video.keyframes[first...].prefix(while: { $0.pts <= to }) {
        let elapsed = try track.timebase.exact * Rational(key.pts - track.origin) - clip.source.start.exact
        let time = try clip.target.start.exact + elapsed * (clip.target.duration / clip.source.duration)
        let frame = try timeline.grid.firstFrame(atOrAfter: time)
        if frames.contains(frame) {
          choices.append(Choice(frame: frame, boundary: .sourceKeyframe(asset: clip.asset)))
        }
      }
      return choices
    }
  }
}
