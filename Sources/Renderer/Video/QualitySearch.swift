import CompositionModel

/// Finds the quality with which a segment has a wanted likeness to its frames, by encoding it again.
///
/// What is lost rises with the quality, its logarithm nearly in a line. The first quality is a guess for all films.
/// While all that was encoded is on one side of the target, the next follows from the slope; between two sides it is
/// where the curve through the nearest three meets the target. The encoding that is nearest to the target is the
/// result; it depends on nothing but the segment's frames and its task.
struct QualitySearch {
  /// How often a segment is encoded at most to find the quality.
  static let greatestCount = 5
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

  private var best: Double? {
    tried.min { abs($0.likeness - target.value) < abs($1.likeness - target.value) }?.quality
  }

  /// Nil: no other is expected to be nearer to the target than the last one.
  private var wanted: Double? {
    guard let last = tried.last, abs(last.likeness - target.value) > QualityTarget.tolerance else { return nil }
    let better = tried.filter { $0.miss <= 0 }.max { $0.quality < $1.quality }
    let worse = tried.filter { $0.miss > 0 }.min { $0.quality < $1.quality }
    if let better, let worse, better.quality < worse.quality {
      let bracket = better.quality..<worse.quality
      let line = better.quality + better.miss / (better.miss - worse.miss) * (worse.quality - better.quality)
      let curve = curveThroughNearest.flatMap { bracket.contains($0) && $0 > better.quality ? $0 : nil }
      // One of the two may be nearest already; the one in their middle may be nearer.
      return [curve ?? line, (better.quality + worse.quality) / 2].map(model.rounded).first {
        bracket.contains($0) && $0 > better.quality
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

  /// Where the quality as a quadratic function of the miss, through the three encodings nearest to the target, is at no
  /// miss. Nil: there are not three that differ.
  private var curveThroughNearest: Double? {
    let nearest = tried.sorted { abs($0.miss) < abs($1.miss) }.prefix(3)
    guard nearest.count == 3, Set(nearest.map(\.miss)).count == 3 else { return nil }
    return nearest.reduce(0) { sum, own in
      let others = nearest.filter { $0.miss != own.miss }
      return sum + others.reduce(own.quality) { $0 * -$1.miss / (own.miss - $1.miss) }
    }
  }
}
