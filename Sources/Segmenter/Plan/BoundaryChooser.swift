import CompositionModel

/// Where segments start. Each boundary is chosen from what lies near it alone, never from the film's length or what
/// comes later, so that an edit moves only the boundaries beside it and the rest of the film stays in the vault.
struct BoundaryChooser {
  let timeline: Timeline
  let costs: CostModel
  /// Frames of a segment whose frames all cost as much as a plain one.
  let nominalFrames: Int
  let keyframeInterval: Int

  struct Choice {
    var frame: Int
    var boundary: Boundary
  }

  /// How far a boundary may be pulled back, and on, in segments' nominal cost. On by enough to reach the next keyframe
  /// of a source with one each ten seconds.
  private static let (reachBack, reachOn) = (0.45, 1.15)
  /// What a segment of twice the nominal cost weighs, in nominal segments of decoding that nobody sees: a run-up is
  /// work for certain, uneven segments only wait for each other at a job's end.
  private static let unevenness = 0.1
  /// What it weighs, in nominal segments, that a boundary is only a round number.
  private static let plainness = 0.03

  func boundaries() throws(PlanError) -> [Choice] {
    let frameCount = timeline.grid.frameCount
    var choices = [Choice(frame: 0, boundary: .start)]
    guard let first = timeline.spans.first else { return choices }
    let nominalCost = try costs.frame(of: plainest(beside: first)) * Double(nominalFrames)
    // Where decoding costs far more than the frames that are made, cost alone would cut a film into single frames.
    let shortest = max(1, nominalFrames / 4)
    let accumulated = try CumulativeCost(timeline: timeline, costs: costs)
    while let last = choices.last {
      let spent = accumulated.cost(before: last.frame)
      // A rest that is not worth two segments stays in one, as does one too short for two.
      if frameCount - last.frame < 2 * shortest { break }
      if accumulated.cost(before: frameCount) - spent < nominalCost * 1.5 { break }
      let window =
        accumulated.frame(
          at: spent + nominalCost * (1 - Self.reachBack))...accumulated.frame(
          at: spent + nominalCost * (1 + Self.reachOn))
      let allowed = (last.frame + shortest)...(frameCount - shortest)
      var best: (choice: Choice, penalty: Double)?
      for candidate in try candidates(in: window) where allowed.contains(candidate.frame) {
        let span = timeline.spans[accumulated.span(of: candidate.frame)]
        let runUp = try costs.runUp(to: candidate.frame, in: span, grid: timeline.grid)
        let distance = (accumulated.cost(before: candidate.frame) - spent - nominalCost) / nominalCost
        var penalty = Self.unevenness * distance * distance + runUp / nominalCost
        if case .keyframeInterval = candidate.boundary { penalty += Self.plainness }
        if best.map({ penalty < $0.penalty }) ?? true { best = (candidate, penalty) }
      }
      let even = accumulated.frame(at: spent + nominalCost)
      let fallback = min(max(allowed.lowerBound, even), allowed.upperBound)
      choices.append(best?.choice ?? Choice(frame: fallback, boundary: .keyframeInterval))
    }
    return choices
  }

  /// A span like this one with nothing but its bottom layer: what an ordinary frame of the film costs.
  private func plainest(beside span: TimelineSpan) -> TimelineSpan {
    var plain = span
    plain.layers = Array(span.layers.suffix(1))
    return plain
  }

  /// Cuts first, then source keyframes, then round numbers: of equals the first is taken.
  private func candidates(in window: ClosedRange<Int>) throws(PlanError) -> [Choice] {
    var choices: [Choice] = []
    let spans = timeline.spans.filter { window.overlaps($0.frames.lowerBound...$0.frames.upperBound) }
    for span in spans where window.contains(span.frames.lowerBound) {
      choices.append(Choice(frame: span.frames.lowerBound, boundary: .cut))
    }
    for span in spans {
      for clip in span.layers.flatMap(\.clips) { choices += try keyframes(of: clip.clip, in: span, window: window) }
    }
    let grid = max(1, min(keyframeInterval, nominalFrames))
    let firstMultiple = (window.lowerBound + grid - 1) / grid * grid
    choices += stride(from: firstMultiple, through: window.upperBound, by: grid).map {
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
    return try timed("the keyframes of '\(clip.asset)'") { () throws(TimeError) in
      let from = try costs.sources.shownFrame(
        of: clip, track: track, format: video, at: timeline.grid.time(of: frames.lowerBound))
      let to = try costs.sources.shownFrame(
        of: clip, track: track, format: video, at: timeline.grid.time(of: frames.upperBound - 1))
      guard let from, let to else { return [] }
      var choices: [Choice] = []
      for key in video.keyframes where from <= key.pts && key.pts <= to {
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

/// The cost of the film up to any frame, and back.
struct CumulativeCost {
  private var starts: [(frame: Int, cost: Double)] = []
  private var perFrame: [Double] = []
  private let frameCount: Int

  init(timeline: Timeline, costs: CostModel) throws(PlanError) {
    frameCount = timeline.grid.frameCount
    var total = 0.0
    for span in timeline.spans {
      let cost = try costs.frame(of: span)
      starts.append((span.frames.lowerBound, total))
      perFrame.append(cost)
      total += cost * Double(span.frames.count)
    }
  }

  /// The index of the span that holds a frame.
  func span(of frame: Int) -> Int {
    var (low, high) = (0, starts.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle].frame <= frame { low = middle } else { high = middle }
    }
    return low
  }

  func cost(before frame: Int) -> Double {
    let index = span(of: frame)
    return starts[index].cost + perFrame[index] * Double(frame - starts[index].frame)
  }

  /// The frame before which about this much has been spent.
  func frame(at cost: Double) -> Int {
    let index = max(0, (starts.firstIndex { $0.cost > cost } ?? starts.count) - 1)
    return min(frameCount, starts[index].frame + Int(((cost - starts[index].cost) / perFrame[index]).rounded()))
  }
}
