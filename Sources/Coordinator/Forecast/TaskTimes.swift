import FarmAPI
import FarmModel
import Jobs

extension Forecast.Job {
  /// For how many of the job's segments the usual pace of its build counts beside those that were measured: a few
  /// segments say less of the others than all films before.
  private static let usualSegments = 5.0
  /// With less, in seconds, nothing is said of a job's pace.
  private static let leastMeasured = 1.0
  /// Seconds that a slot takes for a million samples of sound, about.
  private static let soundPace = 1.0
  /// What a stitch takes that has no bytes, in seconds, and the bytes that one writes and reads in a second, about.
  private static let (stitchStart, stitchRate) = (0.3, 100_000_000.0)

  /// How long the tasks of a job will take.
  ///
  /// - Parameters:
  ///   - usual: What the last segments of its build took.
  ///   - sound: What the last sound of its build took.
  /// - Returns: Nil: nothing was measured from which it would follow.
  init?(_ workload: Workload, usual: SegmentTimes, sound: SegmentTimes = SegmentTimes([])) {
    let videos = workload.left.filter { $0.kind == .video }
    var (seconds, cost) = (0.0, 0.0)
    for rendered in workload.rendered {
      seconds += SegmentTimes.seconds(rendered.took / .seconds(1), without: usual.overhead * Double(rendered.count))
      cost += rendered.cost * usual.factor(rendered.inputs)
    }
    for task in videos {
      guard let attempt = task.attempt, attempt.progress > 0 else { continue }
      seconds += SegmentTimes.seconds(attempt.moved / .seconds(1), without: usual.overhead)
      cost += task.cost * usual.factor(task.inputs) * task.share
    }
    if let usualPace = usual.pace, let typical = workload.typicalCost {
      let work = Self.usualSegments * typical * Self.trust(usualPace / 1_000_000, beside: seconds / cost)
      cost += work
      seconds += work * usualPace / 1_000_000
    }
    guard seconds >= Self.leastMeasured, cost > 0 || videos.isEmpty else { return nil }
    let pace = cost > 0 ? seconds / cost : 0
    self.init(
      id: workload.job, owner: workload.owner, priority: workload.priority, pool: workload.pool,
      build: workload.build)
    for task in workload.left {
      let times = task.kind == .audio ? sound : usual
      let own = task.kind == .audio ? (sound.pace ?? Self.soundPace) / 1_000_000 : pace
      let left = Self.seconds(task, overhead: times.overhead, pace: own * times.factor(task.inputs))
      if let attempt = task.attempt { running.append((attempt.worker, left)) } else { waiting.append(left) }
    }
    if !workload.left.contains(where: { $0.kind == .stitch }), workload.doneCost > 0 {
      let whole = Double(workload.doneBytes) * (1 + videos.reduce(0) { $0 + $1.cost } / workload.doneCost)
      last = Self.stitchStart + whole / Self.stitchRate
    }
  }

  /// How much the usual pace counts, from 0 to 1: the less, the more the job's own differs, as on a farm whose machines
  /// have changed.
  /// - Parameter own: Not a number: nothing of the job is rendered yet.
  private static func trust(_ usual: Double, beside own: Double) -> Double {
    guard own.isFinite, own > 0 else { return 1 }
    let distance = 2 * (max(own / usual, usual / own) - 1)
    return 1 / (1 + distance * distance)
  }

  /// What is left of a task.
  /// - Parameter overhead: What each takes besides its work.
  private static func seconds(_ task: Workload.Task, overhead: Double, pace: Double) -> Double {
    let (overhead, work) =
      switch task.kind {
      case .video: (overhead, task.cost * pace)
      case .audio: (overhead, Double(task.work) * pace)
      case .stitch, .probe, .measure: (0, stitchStart)
      }
    let whole = overhead + work
    guard let attempt = task.attempt else { return whole }
    let (moved, ran) = (attempt.moved / .seconds(1), attempt.ran / .seconds(1))
    guard attempt.progress > 0, task.share > 0 else { return max(0, whole - ran) }
    // Its own pace counts more the more of it is done.
    let known = overhead + work * task.share
    let own = whole > 0 ? (moved + whole / 2) / (known + whole / 2) : 1
    return max(0, work * (1 - task.share) * own - (ran - moved))
  }
}

extension Workload {
  /// The mean cost of a segment. Nil: it has none.
  fileprivate var typicalCost: Double? {
    let videos = left.filter { $0.kind == .video }
    let (count, cost) = (
      videos.count + rendered.reduce(0) { $0 + $1.count },
      videos.reduce(0) { $0 + $1.cost } + rendered.reduce(0) { $0 + $1.cost }
    )
    return count == 0 ? nil : cost / Double(count)
  }
}

extension Workload.Task {
  /// How much of it is done, from 0 to 1.
  fileprivate var share: Double {
    guard let attempt, work > 0 else { return 0 }
    return min(1, Double(attempt.progress) / Double(work))
  }
}
