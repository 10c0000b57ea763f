import Digest
import FarmAPI
import FarmModel
import TestPrograms
import Testing

@testable import Coordinator
@testable import Jobs

/// Judged by farms that are played step by step.
@Suite("Forecast of the time that is left")
struct ForecastTests {
  private static let usual = SegmentTimes((0..<20).map { _ in MeasuredSegment(seconds: 5, work: 10) })

  private func worker(_ name: String, slots: Int32, pools: [String] = []) -> WorkerRecord {
    WorkerRecord(
      id: WorkerID(name), session: SessionID(1), name: name, slots: slots, build: "b", pools: pools, coordinator: "c")
  }

  private func job(
    _ name: String, _ waiting: [Double], owner: String = "", priority: Int32 = 0, pool: String? = nil,
    running: [(WorkerID, Double)] = []
  ) -> Forecast.Job {
    var job = Forecast.Job(id: JobID(name), owner: owner, priority: priority, pool: pool, build: "b")
    (job.waiting, job.running) = (waiting, running.map { (worker: $0.0, seconds: $0.1) })
    return job
  }

  private func owner(_ name: String, weight: Double = 1, most: Int64? = nil) -> Owner {
    Owner(owner: name, weight: weight, mostRunning: most, mostOpen: nil, mostStored: nil, running: 0, open: 0)
  }

  private func ends(
    _ jobs: [Forecast.Job], _ workers: [WorkerRecord], _ owners: [Owner] = []
  ) -> [String: Double] {
    let found = Forecast.ends(of: jobs, workers: workers, owners: owners)
    return Dictionary(uniqueKeysWithValues: found.map { ($0.key.description, $0.value) })
  }

  @Test func `tasks go to the slots that are free first, after those that run`() {
    let anna = worker("anna", slots: 2)
    // 3 + 4 on one slot, 5 + 2 + 1 on the other: the waiting ones are granted in their order.
    let film = job("film", [5, 4, 2, 1], running: [(anna.id, 3)])
    #expect(ends([film], [anna]) == ["film": 8])
    #expect(ends([film], [anna, worker("bert", slots: 9)]) == ["film": 5])
    var stitched = film
    stitched.last = 1.5
    #expect(ends([stitched], [anna]) == ["film": 9.5])
    #expect(ends([job("film", [], running: [(anna.id, 3)])], []) == ["film": 3])
  }

  @Test func `of two owners the one with three times the weight gets three quarters`() throws {
    let jobs = [
      job("a", Array(repeating: 1, count: 90), owner: "anna"), job("b", Array(repeating: 1, count: 90), owner: "bert"),
    ]
    let weights = [owner("anna", weight: 3), owner("bert")]
    let found = ends(jobs, [worker("w", slots: 4)], weights)
    // 90 tasks at three of four slots, while 30 of the other's are done; then its 60 on all four.
    #expect(found == ["a": 30, "b": 45])
    #expect(ends(jobs, [worker("w", slots: 4)]) == ["a": 45, "b": 45])
  }

  @Test func `a job of a higher priority goes first`() {
    let jobs = [job("long", Array(repeating: 2, count: 10)), job("urgent", [3, 3], priority: 5)]
    #expect(ends(jobs, [worker("w", slots: 1)]) == ["urgent": 6, "long": 26])
  }

  @Test func `a job waits for the workers of its pool, and is not foreseen without any`() {
    let jobs = [job("free", [4, 4]), job("gpu", [3, 3], pool: "gpu")]
    // The worker of the pool takes the job that had less: twice that of its pool.
    #expect(ends(jobs, [worker("w", slots: 1), worker("g", slots: 1, pools: ["gpu"])]) == ["free": 8, "gpu": 6])
    #expect(ends(jobs, [worker("w", slots: 1)]) == ["free": 8])
    var paused = worker("p", slots: 5)
    paused.paused = "its disk is full"
    #expect(ends(jobs, [paused]).isEmpty)
  }

  @Test func `an owner has no more running tasks than it may have`() {
    let jobs = [job("a", [2, 2, 2, 2], owner: "anna"), job("b", [2, 2], owner: "bert")]
    let limited = [owner("anna", most: 1)]
    #expect(ends(jobs, [worker("w", slots: 3)], limited) == ["a": 8, "b": 2])
  }

  @Test func `a farm that has too many tasks for a forecast says so, and is quick`() {
    let jobs = (0..<400).map { job("j\($0)", Array(repeating: 1, count: 300)) }
    let found = ends(jobs, [worker("w", slots: 8)])
    #expect(found.count < 400)
  }

  /// Renders a film of segments at a pace that is the film's own, on slots of one speed, and asks for what is left when
  /// a tenth is done.
  @Test func `what is left at a tenth of the work is within a fifth of the truth in nine of ten films`() throws {
    var generator = SeededRandom(seed: 7)
    var exact = 0
    for _ in 0..<200 {
      let film = SimulatedRender(using: &generator)
      let (workload, truth) = film.at(share: 0.1)
      let planned = try #require(Forecast.Job(workload, usual: Self.usual))
      let left = try #require(
        Forecast.ends(of: [planned], workers: [worker("w", slots: Int32(film.slots))], owners: [])[workload.job])
      if abs(left - truth) <= 0.2 * truth { exact += 1 }
    }
    #expect(exact >= 180)
  }

  @Test func `nothing is said before something was measured`() {
    var workload = Workload(job: JobID("j"), owner: "", build: "b")
    workload.left = [Workload.Task(kind: .video, cost: 5e6, work: 100)]
    #expect(Forecast.Job(workload, usual: SegmentTimes([])) == nil)
    // At the usual pace of half a second for a megapixel.
    #expect(Forecast.Job(workload, usual: Self.usual)?.waiting == [2.5])
  }

  @Test func `a file whose segments took twice as long is expected to take so again`() throws {
    let (plain, detailed): (SHA256Digest, SHA256Digest) = (.of(Array("plain".utf8)), .of(Array("detailed".utf8)))
    let times = SegmentTimes(
      (0..<40).map { number in
        let isDetailed = number % 4 == 0
        return MeasuredSegment(
          seconds: isDetailed ? 16 : 8, work: 10, inputs: [isDetailed ? detailed : plain])
      })
    #expect(times.pace == 1)
    #expect(abs(times.factor([detailed]) - 1.6) < 0.1 && abs(times.factor([plain]) - 0.8) < 0.02)
    #expect(times.factor([.of(Array("new".utf8))]) == 1)
    var workload = Workload(job: JobID("j"), owner: "", build: "b")
    workload.left = [detailed, plain].map { Workload.Task(kind: .video, cost: 10e6, work: 100, inputs: [$0]) }
    let waiting = try #require(Forecast.Job(workload, usual: times)).waiting
    #expect(abs(waiting[0] - 15.5) < 1 && abs(waiting[1] - 8) < 0.3, "\(waiting)")
  }

  /// Of short segments most of the time may be that of starting a process.
  @Test func `the overhead of segments is estimated beside that of their work`() throws {
    let times = SegmentTimes((1...40).map { MeasuredSegment(seconds: 0.4 + 0.01 * Double($0), work: Double($0)) })
    #expect(abs(times.overhead - 0.215) < 1e-9, "half of what the quickest take: \(times.overhead)")
    let long = SegmentTimes((10...49).map { MeasuredSegment(seconds: 0.25 + 0.125 * Double($0), work: Double($0)) })
    #expect(abs(long.overhead - 0.25) < 1e-9 && abs((long.pace ?? 0) - 0.125) < 1e-9)
    var workload = Workload(job: JobID("j"), owner: "", build: "b")
    workload.left = [2, 40].map { Workload.Task(kind: .video, cost: $0 * 1e6, work: 100) }
    // Those that are rendered took as long as usual.
    workload.rendered = [Workload.Rendered(count: 4, cost: 40e6, took: .seconds(6))]
    let waiting = try #require(Forecast.Job(workload, usual: long)).waiting
    #expect(abs(waiting[0] - 0.5) < 0.01 && abs(waiting[1] - 5.25) < 0.01, "\(waiting)")
    // All of one length say nothing of it.
    #expect(SegmentTimes((0..<20).map { _ in MeasuredSegment(seconds: 5, work: 10) }).overhead == 0)
  }
}
