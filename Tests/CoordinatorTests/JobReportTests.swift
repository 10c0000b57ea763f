import Digest
import FarmAPI
import FarmModel
import Jobs
import Testing
import Wire

@testable import Coordinator

struct JobReportTests {
  private func summary(
    _ state: JobState = .rendering, build: String? = "build 1", age: Duration = .seconds(10),
    probes: (Int64, Int64) = (5, 5),
    running: Int64 = 0, away: Int64 = 0
  ) -> JobSummary {
    JobSummary(
      job: Job(id: JobID("j"), name: "edit.json", priority: 0, state: state, request: [], build: build, age: age),
      probes: .init(done: probes.0, total: probes.1), running: running, away: away)
  }

  private func worker(_ build: String, busy: Int32 = 0, paused: String = "") -> WorkerRecord {
    WorkerRecord(
      id: WorkerID("w"), session: SessionID(1), name: "anna", slots: 2, build: build, coordinator: "here", busy: busy,
      paused: paused)
  }

  private func reason(_ summary: JobSummary, _ workers: [WorkerRecord], disk: String? = nil) -> String {
    JobWait.of(summary, workers: workers, disk: disk)?.text ?? ""
  }

  @Test func `a job of which no task runs has a reason`() {
    #expect(reason(summary(), []) == "no worker is connected")
    #expect(
      reason(summary(), [worker("build 2")])
        == "no worker of the job's build is connected; it will be planned for another build")
    #expect(reason(summary(), [worker("build 1", busy: 2)]) == "the workers have no free slot")
    #expect(
      reason(summary(running: 1, away: 1), [worker("build 1")])
        == "the workers that have its tasks are not connected now")
    #expect(
      reason(summary(), [worker("build 1", paused: "its disk is full")])
        == "its worker takes no tasks: its disk is full")
    #expect(reason(summary(), [worker("build 1")], disk: "the disk is low") == "the disk is low")
    #expect(reason(summary(), [worker("build 1")]) == "no worker with a free slot has taken its tasks yet")
  }

  @Test func `a job that is held up says by what`() {
    let workers = [worker("build 1")]
    var held = summary()
    held.job.submittedAt = .seconds(1_000_000)
    held.job.heldUntil = .seconds(1_000_010.5)
    #expect(
      reason(held, workers) == "it is held until 1970-01-12T13:46:50.500Z; to go on at once: sheaf resume j")
    held.job.age = .seconds(11)
    #expect(reason(held, workers) == "no worker with a free slot has taken its tasks yet")
    held.job.unfinishedBefore = Job.Before(job: JobID("first"), state: .rendering)
    #expect(reason(held, workers) == "it comes after job first")
    held.job.unfinishedBefore = Job.Before(job: JobID("first"), state: .failed)
    #expect(reason(held, workers) == "it comes after job first, which is failed")
    held.job.isPaused = true
    #expect(reason(held, []) == "it is paused; to go on: sheaf resume j")
    let full = JobWait.of(summary(), workers: workers, disk: nil, mostRunning: 3)
    #expect(full == JobWait(.quota, "its owner has 3 running tasks, and may have no more"))
  }

  @Test func `a job waits for its pool's workers and hours`() throws {
    let night = Pool(
      name: "night", hours: try WorkingHours(parsing: "daily 19:00-07:00"), timeZone: "UTC", isOpen: false,
      changesAt: .seconds(1_767_294_000))
    func wait(_ pool: String?, _ workers: [WorkerRecord], _ pools: [Pool] = []) -> JobWait? {
      var waiting = summary()
      waiting.job.pool = pool
      return JobWait.of(waiting, workers: workers, disk: nil, pools: pools)
    }
    var worker = worker("build 1")
    #expect(wait("gpu", []) == .noWorker)
    #expect(wait("gpu", [worker]) == JobWait(.noPoolWorker, "no worker of its pool gpu is connected"))
    worker.pools = ["gpu", "night"]
    #expect(wait("gpu", [worker])?.reason == .grant)
    let closed = JobWait(.poolClosed, "its pool night is closed until 2026-01-01T19:00:00.000Z")
    #expect(wait("night", [worker], [night]) == closed)
    #expect(wait("night", [], [night]) == closed)
    #expect(wait("gpu", [worker], [night])?.reason == .grant)
    #expect(wait(nil, [worker], [night])?.reason == .grant)
    worker.pools = ["night"]
    worker.isClosed = true
    let all = JobWait(.poolClosed, "all pools of the workers are closed until 2026-01-01T19:00:00.000Z")
    #expect(wait(nil, [worker], [night]) == all)
    #expect(wait(nil, [worker, self.worker("build 1", busy: 2)], [night])?.reason == .noSlot)
    let ofBuild = JobWait(.poolClosed, "all pools of the workers of its build are closed")
    #expect(wait(nil, [worker, self.worker("build 2")], [night]) == ofBuild)
  }

  @Test func `a job waits for workers that are held, and for another worker's result`() {
    var held = worker("build 1")
    (held.hold, held.holdReason) = (.quarantined, "it was wrong")
    #expect(reason(summary(), [held]) == "its worker takes no tasks: quarantined: it was wrong")
    #expect(
      reason(summary(), [held, worker("build 1")]) == "no worker with a free slot has taken its tasks yet")
    var waiting = summary()
    waiting.compared = 1
    let found = JobWait.of(waiting, workers: [worker("build 1")], disk: nil)
    #expect(found?.reason == .comparison && found?.text.hasPrefix("a result of its tasks waits to be compared") == true)
    waiting.compared = 2
    #expect(reason(waiting, [worker("build 1")]).hasPrefix("2 of its results wait to be compared"))
  }

  @Test func `a job waits for a worker that has its memory`() {
    var waiting = summary()
    waiting.memory = 7 << 30
    var (small, large) = (worker("build 1"), worker("build 1"))
    (small.memory, large.memory) = (2 << 30, 7 << 30)
    #expect(
      reason(waiting, [small, small])
        == "a task needs about 7168 MiB of memory, and no worker that is connected gives one more than 2048 MiB")
    #expect(reason(waiting, [small, large]) == "no worker with a free slot has taken its tasks yet")
  }

  @Test func `a job waits for a worker with its compositors`() {
    let waiting = summary(.probing, build: nil)
    let builds = ["b, compositors blinds:1 ripple:12", "b", "b, compositors blinds:2"]
    func reason(_ compositors: [String], _ builds: [String]) -> String {
      JobWait.of(waiting, workers: builds.map { worker($0) }, disk: nil, compositors: compositors)?.text ?? ""
    }
    #expect(reason(["blinds"], ["b"]) == "no worker that is connected has the compositor 'blinds'")
    #expect(
      reason(["blinds", "fire", "fog"], builds) == "no worker that is connected has the compositors 'fire', 'fog'")
    #expect(
      reason(["blinds", "ripple"], ["b, compositors blinds:2", "b, compositors ripple:1"])
        == "no worker that is connected has all of the compositors 'blinds', 'ripple'")
    #expect(!reason(["blinds", "ripple"], builds).contains("compositor"))
  }

  @Test func `a job is bound to the build with the most slots that has its compositors`() {
    let builds = ConnectedBuilds(
      ["b", "b", "b, compositors blinds:1", "b, compositors blinds:2 ripple:1"].map { worker($0) })
    #expect(builds.best(with: []) == "b")
    #expect(builds.best(with: ["ripple"]) == "b, compositors blinds:2 ripple:1")
    // As many slots: any rule that all coordinators share.
    #expect(builds.best(with: ["blinds"]) == "b, compositors blinds:1")
    #expect(builds.best(with: ["blind"]) == nil)
  }

  @Test func `a long text keeps its beginning and its reason`() {
    let text = "opening " + String(repeating: "a", count: 300) + " failed: Permission denied"
    let shortened = text.shortened(to: 256)
    #expect(shortened.count == 256)
    #expect(shortened.hasPrefix("opening aaa") && shortened.hasSuffix("aaa failed: Permission denied"))
    #expect(text.shortened(to: text.count) == text)
  }

  @Test func `a job that is probed says how far it is`() {
    let probing = summary(.probing, build: nil, probes: (2, 5), running: 2)
    #expect(reason(probing, [worker("build 1", busy: 2)]) == "2 of 5 files probed")
    let waiting = summary(.probing, build: nil, probes: (0, 5))
    #expect(reason(waiting, [worker("build 9", busy: 2)]) == "the workers have no free slot")
    #expect(reason(waiting, []) == "no worker is connected")
    #expect(
      reason(summary(.probing, build: nil, probes: (5, 5)), [worker("build 1", busy: 2)])
        == "its files are probed and it is to be planned; if this stays, the coordinator's log has the reason")
  }

  @Test func `a job that runs or has ended or was submitted just now waits for nothing`() {
    #expect(reason(summary(running: 1), [worker("build 1", busy: 2)]).isEmpty)
    #expect(reason(summary(running: 2, away: 1), []).isEmpty)
    #expect(reason(summary(.done), []).isEmpty)
    #expect(reason(summary(age: .zero), [worker("build 1", busy: 2)]).isEmpty)
  }

  @Test(arguments: [AttemptEnd.crashed, .hung, .media]) func `a crash is no problem of the document`(end: AttemptEnd)
    throws
  {
    var task = RenderTask(
      id: TaskID(job: JobID("j"), ordinal: 1), kind: .video, label: "frames 0..9 of beach.mp4", state: .failed,
      payload: [], inputs: [], fingerprint: SHA256Digest.of([]), cost: 1, work: 10)
    task.attempts = (1...3).map {
      Attempt(
        epoch: Int64($0), worker: WorkerID("w"), workerName: "", end: end, message: "ended by SIGSEGV", ran: .zero)
    }
    let failure = JobFailure(reason: .task, message: "video task 1 failed for good", task: 1)
    let job = Job(
      id: JobID("j"), name: "edit.json", priority: 0, state: .failed, request: [], failure: failure, age: .zero)
    let report = try #require(FailureReport(job, [task], nil))
    #expect(report.problems.isEmpty == (end != .media))
    #expect(
      report.error
        == (end == .media
          ? "" : "frames 0..9 of beach.mp4 failed 3 times: ended by SIGSEGV; \"sheaf retry j\" tries again"))
  }

  @Test func `a task has its label and the worker that made it`() {
    var task = RenderTask(
      id: TaskID(job: JobID("j"), ordinal: 1), kind: .video, label: "frames 0..9 of beach.mp4", state: .done,
      payload: [],
      inputs: [], fingerprint: SHA256Digest.of([]), cost: 1, work: 10)
    task.publisher = Publisher(worker: WorkerID("w1"), workerName: "anna", took: .seconds(3))
    task.publishedEpoch = 2
    task.attempts = [
      Attempt(
        epoch: 1, worker: WorkerID("w2"), workerName: "bert", end: .crashed, message: "signal 9", ran: .seconds(1))
    ]
    let status = TaskStatus(task)
    #expect((status.label, status.workerName, status.ranSeconds) == ("frames 0..9 of beach.mp4", "anna", 3))
    #expect(status.done == 10)
    #expect(status.attempts.map(\.workerName) == ["bert"] && status.attempts.map(\.ranSeconds) == [1])
    task.leases = [
      HeldLease(epoch: 3, worker: WorkerID("w3"), workerName: "carl", session: SessionID(1), ran: .seconds(2)),
      HeldLease(epoch: 4, worker: WorkerID("w4"), workerName: "dora", session: SessionID(1), isBackup: true),
    ]
    let running = TaskStatus(task)
    #expect((running.workerName, running.secondWorkerName, running.ranSeconds) == ("carl", "dora", 2))
  }
}
