package import CompositionModel

/// What a film is expected to take, before it is rendered: the output of `sheaf estimate`, and a part of that of
/// `sheaf plan`. Its JSON is stable: keys may be added, but are never changed.
package struct EstimateReport: Sendable, Hashable, Codable {
  /// Of one of the film's files.
  package struct Output: Sendable, Hashable, Codable {
    /// The name in the folder of the outputs. Nil: the document has one output.
    package var file: String?
    package var container: String
    package var bytes: Int64
    /// Between these nearly every film of such settings is.
    package var leastBytes: Int64
    package var mostBytes: Int64
    /// How the sizes of its tracks were found, each kind once: `pieces`, `bitRate`, `samples`, `limitedQuality`,
    /// `quality`, `profile`, `lossless` or `files`.
    package var basis: [String]

    package init(
      file: String?, container: String, bytes: Int64, leastBytes: Int64, mostBytes: Int64, basis: [String]
    ) {
      (self.file, self.container, self.basis) = (file, container, basis)
      (self.bytes, self.leastBytes, self.mostBytes) = (bytes, leastBytes, mostBytes)
    }
  }

  /// How long the rest of the work takes.
  package struct Time: Sendable, Hashable, Codable {
    /// How many tasks run at once.
    package var slots: Int
    package var seconds: Double
    package var leastSeconds: Double
    package var mostSeconds: Double
    /// How much work a slot does, in megapixels a second.
    package var speed: Double
    /// How many rendered segments the speed is measured from. 0: it is assumed.
    package var measuredSegments: Int

    package init(_ remaining: [Double], serial: Double, slots: Int, pace: RenderingPace) {
      func seconds(_ pace: Double) -> Double {
        let all = Self.schedule(remaining.map { $0 * pace }, slots: slots) + serial
        return (all * 10).rounded() / 10
      }
      self.slots = slots
      self.seconds = seconds(pace.median)
      leastSeconds = seconds(pace.fast)
      mostSeconds = seconds(pace.slow)
      speed = (10 / pace.median).rounded() / 10
      measuredSegments = pace.count
    }

    /// When the last of some tasks ends, if each slot takes the longest of those that are left, as farms do.
    static func schedule(_ tasks: [Double], slots: Int) -> Double {
      var ends = Array(repeating: 0.0, count: max(1, min(slots, tasks.count)))
      for task in tasks.sorted(by: >) {
        let first = ends.indices.min { ends[$0] < ends[$1] } ?? 0
        ends[first] += task
      }
      return ends.max() ?? 0
    }
  }

  package var duration: MediaTime
  package var frames: Int
  package var outputs: [Output]
  /// To render all segments, in megapixels through x264's preset `medium`.
  package var work: Double
  /// What of it is not in the result cache.
  package var remainingWork: Double
  package var segments: Int
  package var cachedSegments: Int
  /// Nil: no worker is connected, or nothing is rendered.
  package var time: Time?

  package init(
    duration: MediaTime, frames: Int, outputs: [Output], work: Double, remainingWork: Double, segments: Int,
    cachedSegments: Int, time: Time?
  ) {
    (self.duration, self.frames, self.outputs, self.time) = (duration, frames, outputs, time)
    (self.work, self.remainingWork) = (work, remainingWork)
    (self.segments, self.cachedSegments) = (segments, cachedSegments)
  }
}

/// How long segments take for their work, as it was measured or is assumed.
package struct RenderingPace: Sendable, Hashable {
  /// Seconds that a slot needs for a megapixel of work: on average, in half of the work less, and in a tenth of it less
  /// and more.
  package var mean: Double
  package var median: Double
  package var fast: Double
  package var slow: Double
  /// How many segments were measured. 0: it is assumed.
  package var count: Int

  /// Fewer measurements say too little.
  package static let fewest = 5
  /// A processor of the 2020s has a core that does between 10 and 90 megapixels a second.
  package static let assumed = RenderingPace(mean: 1.0 / 30, median: 1.0 / 30, fast: 1.0 / 90, slow: 1.0 / 10, count: 0)

  package init(mean: Double, median: Double, fast: Double, slow: Double, count: Int) {
    (self.mean, self.median, self.fast, self.slow, self.count) = (mean, median, fast, slow, count)
  }

  /// Of measured segments. What is assumed if they are too few.
  package init(measured segments: [MeasuredSegment]) {
    let sorted = segments.filter { $0.pace > 0 && $0.pace.isFinite }.sorted { $0.pace < $1.pace }
    guard sorted.count >= Self.fewest else {
      self = .assumed
      return
    }
    let total = sorted.reduce(0) { $0 + $1.work }
    // A short segment, which mostly starts and ends, says less of the work than a long one.
    func quantile(_ share: Double) -> Double {
      var passed = 0.0
      for segment in sorted {
        passed += segment.work
        if share * total <= passed { return segment.pace }
      }
      return sorted[sorted.count - 1].pace
    }
    self.init(
      mean: sorted.reduce(0) { $0 + $1.seconds } / total, median: quantile(0.5), fast: quantile(0.1),
      slow: quantile(0.9), count: sorted.count)
  }
}

/// How long a segment took.
package struct MeasuredSegment: Sendable, Hashable, Codable {
  package var seconds: Double
  /// In megapixels.
  package var work: Double
  /// The beginnings of the digests of its inputs. Nil: an earlier version did not record them.
  package var inputs: [String]?

  package init(seconds: Double, work: Double, inputs: [String]? = nil) {
    (self.seconds, self.work, self.inputs) = (seconds, work, inputs)
  }

  /// Seconds for a megapixel.
  var pace: Double { seconds / work }
}
