import CompositionModel

/// Finds the quality with which a segment has a wanted likeness to its frames, by encoding it again.
///
/// What is lost rises with the quality, its logarithm nearly in a line. The first quality is a guess for all films.
/// While all that was encoded is on one side of the target, the next follows from the slope; between two sides it is
/// where the line through both meets the target. The encoding that is nearest to the target is the result; it depends
/// on nothing but the segment's frames and its task.
struct QualitySearch {
  /// How often a segment is encoded at most to find the quality.
  private static let greatestCount = 7
  /// The greatest distance from the target that is left as it is.
  static let tolerance = 0.0005
  /// So often a segment is encoded however near the target is: more of them must be worth it.
  private static let usualCount = 5
  /// How near to the target the best encoding must be after `usualCount`.
  private static let near = 0.0015
  /// By how much the loss of the next encoding is expected to differ from that of the last at most, while the target is
  /// on one side.
  private static let furthest = 1.2

  private let target: QualityTarget
  private let model: QualityModel
  /// What was encoded: the quality, the likeness, and by how much more is lost than is wanted.
  private var tried: [(quality: Double, likeness: Double, miss: Double)] = []

  /// Nil: the settings have no target.
  init?(_ settings: VideoSettings) {
    guard let target = settings.targetQuality, let model = settings.codec.definition.qualityModel else { return nil }
    (self.target, self.model) = (target, model)
  }

  var metric: QualityTarget.Metric { target.metric }

  /// The quality with which the segment is to be encoded next. Nil: what was encoded last is the result.
  /// - Parameter quality: With which it was encoded last.
  mutating func next(after quality: Double, likeness: Double) -> Double? {
    if let best, tried.contains(where: { $0.quality == quality }) {
      // The best one was encoded once more.
      return best == quality ? nil : best
    }
    tried.append((quality, likeness, QualityTarget.loss(likeness) - QualityTarget.loss(target.value)))
    if let wanted, tried.count < Self.greatestCount, !tried.contains(where: { $0.quality == wanted }) { return wanted }
    return best == quality ? nil : best
  }

  /// Of several that are as near the last, which needs not be encoded again.
  private var best: Double? {
    tried.reversed().min { abs($0.likeness - target.value) < abs($1.likeness - target.value) }?.quality
  }

  /// Nil: no other is expected to be nearer to the target than the last one.
  private var wanted: Double? {
    guard let last = tried.last, abs(last.likeness - target.value) > Self.tolerance else { return nil }
    let isNear = tried.contains { abs($0.likeness - target.value) < Self.near }
    if tried.count >= Self.usualCount, isNear { return nil }
    let better = tried.filter { $0.miss <= 0 }.max { $0.quality < $1.quality }
    let worse = tried.filter { $0.miss > 0 }.min { $0.quality < $1.quality }
    if let better, let worse, better.quality < worse.quality {
      let line = better.quality + better.miss / (better.miss - worse.miss) * (worse.quality - better.quality)
      // One of the two may be nearest already; the one in their middle may be nearer.
      return [line, (better.quality + worse.quality) / 2].map(model.rounded).first {
        better.quality < $0 && $0 < worse.quality
      }
    }
    var slope = model.slope
    if tried.count > 1 {
      let before = tried[tried.count - 2]
      slope = min(max((last.miss - before.miss) / (last.quality - before.quality), slope / 3), 3 * slope)
    }
    let distance = Self.furthest / model.slope
    return model.rounded(last.quality + min(max(-last.miss / slope, -distance), distance))
  }
}
