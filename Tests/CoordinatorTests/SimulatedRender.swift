import FarmModel
import Foundation
import Jobs
import TestPrograms

/// A film that is rendered on slots of one speed, in steps. What a segment takes is its cost at the film's own pace,
/// times what its pictures take more or less than the plan knows.
struct SimulatedRender {
  let slots: Int
  private let costs: [Double]
  /// In seconds.
  private let times: [Double]

  init(using random: inout SeededRandom) {
    slots = Int.random(in: 1...12, using: &random)
    // About the usual one, which is half a second.
    let pace = 0.5 * Foundation.exp(Double.random(in: -0.4...0.4, using: &random))
    let count = Int.random(in: 12...120, using: &random)
    // Pictures resemble those before them.
    var drift = 0.0
    var found: [(cost: Double, time: Double)] = []
    for _ in 0..<count {
      drift = 0.6 * drift + Double.random(in: -0.25...0.25, using: &random)
      let cost = Double.random(in: 20...60, using: &random)
      found.append((cost, cost * pace * Foundation.exp(drift) + 0.2))
    }
    found.sort { $0.cost > $1.cost }
    (costs, times) = (found.map(\.cost), found.map(\.time))
  }

  /// When each task begins.
  private var starts: [Double] {
    var free = Array(repeating: 0.0, count: slots)
    return times.map { time in
      let slot = free.indices.min { free[$0] < free[$1] } ?? 0
      defer { free[slot] += time }
      return free[slot]
    }
  }

  /// What the store has when so much of the work is done, and how many seconds are left then.
  func at(share: Double) -> (Workload, truth: Double) {
    let starts = starts
    let end = zip(starts, times).map { $0 + $1 }.max() ?? 0
    let total = costs.reduce(0, +)
    var now = 0.0
    func done(_ index: Int) -> Double { min(1, max(0, (now - starts[index]) / times[index])) }
    while costs.indices.reduce(0, { $0 + costs[$1] * done($1) }) < share * total { now += end / 1000 }
    var workload = Workload(job: JobID("film"), owner: "", build: "b")
    var rendered = Workload.Rendered()
    for index in costs.indices {
      if done(index) >= 1 {
        rendered.count += 1
        rendered.cost += costs[index] * 1e6
        rendered.took += .seconds(times[index])
        continue
      }
      var task = Workload.Task(kind: .video, cost: costs[index] * 1e6, work: 1000)
      if done(index) > 0 || starts[index] < now {
        task.attempt = Workload.Attempt(
          worker: WorkerID("w"), progress: Int64(done(index) * 1000), moved: .seconds(now - starts[index]),
          ran: .seconds(now - starts[index]))
      }
      workload.left.append(task)
    }
    workload.rendered = [rendered]
    return (workload, end - now)
  }
}
