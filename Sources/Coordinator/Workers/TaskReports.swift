import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import Logging
import RenderTasks
import Runtime

/// Carries the workers' results and failures to the store, each in a task of its own: none holds up its connection, and
/// none ends with it. While the store is unavailable a report waits and is repeated, because what it reports has
/// happened: the result is in the content store.
actor TaskReports {
  private struct Key: Hashable {
    var lease: Lease
    var worker: WorkerID
  }

  private struct UnderWay {
    /// The worker's last connection that has sent the report.
    var session: SessionID
    var task: Task<Void, Never>
  }

  /// What is known of a grant that this coordinator has sent.
  private struct Granted {
    var kind: TaskKind
    var fingerprint: SHA256Digest
    var build: String
    /// Of a task that makes pictures or sound.
    var inputs: [SHA256Digest]
    var work: Int64
    /// Nil: no coordinator reads the result.
    var expected: ExpectedResult?
    var at: Duration
  }

  /// Beyond this number what is known of grants is forgotten; `TaskFacts` has the rest.
  private static let maximumGrants = 100_000
  /// Between two tries while the store is unavailable.
  private static let pause = Duration.milliseconds(500)

  private let store: any JobStore
  private let contents: ContentStore
  private let connections: WorkerConnections
  private let results: ResultCache
  private let notes: ResultNotes
  private let standings: WorkerStandings
  private let facts: TaskFacts
  private let inputs: DamagedInputs
  private let ends: JobEnds
  private let availability: StoreAvailability
  private let events: FarmEvents
  private let counts: WorkCounts
  private let paces: RenderPaces
  private let logger: Logger
  private let now: @Sendable () -> Duration
  private var underWay: [Key: UnderWay] = [:]
  private var granted: [Lease: Granted] = [:]
  /// The tasks of which this coordinator has had a result that is compared.
  private var compared: Set<TaskID> = []
  private var draws: ComparisonDraws
  private var random = SystemRandomNumberGenerator()

  /// - Parameter now: Time since any fixed moment.
  init(
    store: any JobStore, contents: ContentStore, connections: WorkerConnections, results: ResultCache,
    notes: ResultNotes, standings: WorkerStandings, facts: TaskFacts, inputs: DamagedInputs, ends: JobEnds,
    availability: StoreAvailability,
    events: FarmEvents, counts: WorkCounts, paces: RenderPaces, comparedShare: Double,
    logger: Logger, now: @escaping @Sendable () -> Duration
  ) {
    self.store = store
    self.contents = contents
    self.connections = connections
    self.results = results
    self.notes = notes
    self.standings = standings
    self.facts = facts
    self.inputs = inputs
    self.ends = ends
    self.availability = availability
    self.events = events
    self.counts = counts
    self.paces = paces
    draws = ComparisonDraws(share: comparedShare)
    self.logger = logger
    self.now = now
  }

  /// How many reports are not answered yet.
  var count: Int { underWay.count }

  /// Records that a grant is sent.
  func granted(_ grant: Grant, build: String) {
    counts.granted(grant.lease)
    if granted.count >= Self.maximumGrants { granted = [:] }
    let fingerprint = TaskFingerprint.of(
      build: build, kind: grant.kind, payload: grant.payload, inputs: grant.inputs.map(\.digest))
    granted[grant.lease] = Granted(
      kind: grant.kind, fingerprint: fingerprint, build: build,
      inputs: grant.kind == .stitch ? [] : grant.inputs.map(\.digest), work: grant.work,
      expected: ExpectedResult(grant), at: now())
  }

  /// Forgets leases that have ended otherwise.
  func forget(_ leases: [Lease]) {
    for lease in leases { granted[lease] = nil }
  }

  /// Publishes a result. The answer is `.published`.
  /// - Parameter damage: The damaged media that the result shows, as the worker has sent them.
  func publish(
    _ lease: Lease, _ holder: Holder, _ content: Content, damage: [UInt8], usage: AttemptUsage?, worker name: String,
    account: String
  ) {
    start(Key(lease: lease, worker: holder.worker), holder) { [self] in
      await publish(lease, holder.worker, content, damage, usage, name, account)
    }
  }

  /// Ends a lease without a result. The answer is `.failed`.
  /// - Parameter damagedInput: The input that the worker found to be missing or damaged.
  func fail(
    _ lease: Lease, _ holder: Holder, _ failure: TaskFailure, damagedInput: SHA256Digest? = nil, worker name: String
  ) {
    start(Key(lease: lease, worker: holder.worker), holder) { [self] in
      await fail(lease, holder.worker, failure, damagedInput, name)
    }
  }

  /// Frees a lease whose worker does not know of it.
  func neverReached(_ lease: Lease, _ holder: Holder) {
    let failure = TaskFailure(end: .released, message: "the connection was closed before the worker had the task")
    fail(lease, holder, failure, worker: holder.worker.description)
  }

  /// Ends every report that still waits for the store.
  func stop() {
    for report in underWay.values { report.task.cancel() }
  }

  private func start(_ key: Key, _ holder: Holder, _ body: @escaping @Sendable () async -> Void) {
    if let session = underWay[key]?.session {
      // A worker that has connected again repeats what was not answered: the answer goes to its present connection.
      underWay[key]?.session = max(session, holder.session)
      return
    }
    let task = Task {
      await body()
      self.end(key)
    }
    underWay[key] = UnderWay(session: holder.session, task: task)
  }

  private func end(_ key: Key) {
    underWay[key] = nil
  }

  private func holder(_ lease: Lease, _ worker: WorkerID) -> Holder {
    let known = underWay[Key(lease: lease, worker: worker)]?.session ?? SessionID(0)
    return Holder(worker: worker, session: max(known, connections.of(worker)?.holder.session ?? known))
  }

  /// Passes what the store has answered to the worker's present connection. Without one, nobody needs it.
  private func answer(_ worker: WorkerID, _ event: WorkerSession.Event) async {
    await connections.of(worker)?.take(event)
  }

  /// Repeats a call until the store answers. Nil if the service stops first, or the store has failed for good.
  private func persist<Value: Sendable>(
    _ lease: Lease, _ worker: WorkerID,
    _ call: @escaping @Sendable (any JobStore, Holder) async throws -> Value
  ) async -> Value? {
    while !Task.isCancelled {
      do {
        let holder = holder(lease, worker)
        return try await abandonable { [store] in try await call(store, holder) }
      } catch let error as JobStoreError where error.code == .unavailable {
        availability.failed(error)
      } catch is CancellationError {
        return nil
      } catch {
        logger.error(
          "report of a task not processed",
          metadata: ["task": "\(lease.task)", "worker": "\(worker)", "error": "\(error)"])
        return nil
      }
      // It throws if it is cancelled, and then the loop ends.
      try? await Task.sleep(for: Self.pause)
    }
    return nil
  }

  // MARK: Results

  private func publish(
    _ lease: Lease, _ worker: WorkerID, _ content: Content, _ damage: [UInt8], _ usage: AttemptUsage?, _ name: String,
    _ account: String
  ) async {
    let isStored: Bool
    do {
      isStored = try await BlockingWork.run { [contents] in contents.contains(content) }
    } catch {
      // Cancelled: the service stops.
      return
    }
    guard isStored else {
      await answer(worker, .published(lease, nil))
      return
    }
    if let wrong = await wrongResult(content, of: lease) {
      // It may be the media that confuse the worker: the attempt is counted, as those that crash are.
      await fail(
        lease, worker, TaskFailure(end: .crashed, message: wrong, usage: usage), nil, name,
        answer: .published(lease, .stale)
      )
      return
    }
    if await refuses(damage, of: lease, worker, content, usage) {
      granted[lease] = nil
      await answer(worker, .published(lease, .stale))
      await ends.report(lease.task.job)
      return
    }
    let drawn = draw(lease, account)
    let draw = drawn.value
    // Before the result: one that is published before its worker is quarantined is of those that are not believed.
    let maker = await standings.maker(account)
    let outcome = await persist(lease, worker) { store, holder in
      try await store.publish(lease, holder: holder, result: content, usage: usage, account: account, draw: draw)
    }
    guard let outcome else { return }
    if drawn.isCounted, outcome != .published, outcome != .compared { draws.undo(draw == 0, of: account) }
    counts.published(lease, outcome)
    let known = granted.removeValue(forKey: lease)
    await answer(worker, .published(lease, outcome))
    guard outcome == .published || outcome == .compared else { return }
    let fact = await facts.fact(of: lease.task)
    let since = known.map { (now() - $0.at).roundedSeconds }
    if outcome == .compared {
      if compared.count >= Self.maximumGrants { compared = [] }
      compared.insert(lease.task)
      events.emit(
        .taskCompared(
          .init(lease.task, fact), worker: name, seconds: since, usage: TaskFacts.usage(usage, fact, isDone: false)))
      await ends.report(lease.task.job)
      return
    }
    if compared.remove(lease.task) != nil { await standings.look() }
    events.emit(
      .taskDone(.init(lease.task, fact), worker: name, seconds: since, usage: TaskFacts.usage(usage, fact)))
    if let usage, let known, let fact {
      let took = now() - known.at - usage.wait
      switch known.kind {
      case .video: await paces.rendered(took, cost: fact.cost, inputs: known.inputs, build: known.build)
      case .audio: await paces.mixed(took, samples: known.work, inputs: known.inputs, build: known.build)
      case .probe, .measure, .stitch: break
      }
    }
    // A stitch whose grant another coordinator has sent is not recorded: its pieces' digests are not known here. Only a
    // later job makes the same film again from its pieces.
    if let fingerprint = known?.fingerprint ?? (fact?.kind == .stitch ? nil : fact?.fingerprint) {
      do {
        try await BlockingWork.run { [results] in try results.record(content, for: fingerprint, maker: maker) }
      } catch {
        // The result is published. Only a later job does not find it in the cache.
        logger.error(
          "result not cached", metadata: ["task": "\(lease.task)", "worker": "\(name)", "error": "\(error)"])
      }
    }
    if (known?.kind ?? fact?.kind) == .stitch { await ends.report(lease.task.job) }
  }

  /// 0 if the result of a lease is drawn to be compared, else 1; or a random number, which is not counted.
  private func draw(_ lease: Lease, _ account: String) -> (value: Double, isCounted: Bool) {
    // What this coordinator has not granted, or was answered, is drawn without being counted: repeating it gains
    // nothing.
    guard let kind = granted[lease]?.kind else { return (Double.random(in: 0..<1, using: &random), false) }
    guard kind == .video || kind == .audio || kind == .stitch else { return (1, false) }
    return (draws.draws(account, using: &random) ? 0 : 1, true)
  }

  /// Why a result cannot be that of its task, with the field that is wrong. Nil: it can, as far as this coordinator
  /// knows what it should be; one that another coordinator has granted is found when the job is planned.
  private func wrongResult(_ content: Content, of lease: Lease) async -> String? {
    guard let expected = granted[lease]?.expected else { return nil }
    do {
      try await BlockingWork.run(.planning) { [contents] in
        try expected.check(content, in: contents)
      }
    } catch let error as WrongResult {
      return error.description
    } catch {
      // The store cannot read it now, or the service stops: it is read once more for the plan.
      logger.debug("result not checked", metadata: ["task": "\(lease.task)", "error": "\(error)"])
    }
    return nil
  }

  /// Records the damaged media that a result shows, before the result can be used. If the job accepts none, and the
  /// lease is still held, ends it as a wrong document, which fails the job, and returns true.
  private func refuses(
    _ report: [UInt8], of lease: Lease, _ worker: WorkerID, _ content: Content, _ usage: AttemptUsage?
  ) async -> Bool {
    let damage: ShownDamage
    do {
      damage = report.isEmpty ? ShownDamage() : try ShownDamage(report: Data(report)).summary
    } catch {
      // The result is as good as without the report.
      logUnrecorded(lease, error)
      return false
    }
    await record(damage, of: lease, content)
    if damage.isEmpty { return false }
    let job = await persist(lease, worker) { store, _ in try await store.job(lease.task.job) }
    // Only another version can have written a request that cannot be read.
    guard let job, let job, let request = try? JobRequest(encoded: job.request) else { return false }
    let problems = request.problems(with: damage)
    if problems.isEmpty { return false }
    let message = problems.map(\.description).joined(separator: "; ")
    return await persist(lease, worker) { store, holder in
      try await store.fail(
        lease, holder: holder, failure: TaskFailure(end: .document, message: message, usage: usage))
    } ?? false
  }

  /// Records the damage that a result shows, and for a film also that it shows none: a film without a note is stitched
  /// again before it is used once more.
  private func record(
    _ damage: ShownDamage, of lease: Lease, _ content: Content
  ) async {
    var kind = granted[lease]?.kind
    if damage.isEmpty, kind == nil { kind = await facts.fact(of: lease.task)?.kind }
    if damage.isEmpty, kind != .stitch { return }
    do {
      try await BlockingWork.run { [notes] in try notes.record(damage, of: content.digest) }
    } catch {
      logUnrecorded(lease, error)
    }
  }

  private func logUnrecorded(_ lease: Lease, _ error: any Error) {
    logger.error(
      "damage of a result not recorded", metadata: ["task": "\(lease.task)", "error": "\(error)"])
  }

  // MARK: Failures

  private func fail(
    _ lease: Lease, _ worker: WorkerID, _ failure: TaskFailure, _ damagedInput: SHA256Digest?, _ name: String,
    answer event: WorkerSession.Event? = nil
  ) async {
    let failure = await named(failure, of: lease, worker)
    let wasHeld = await persist(lease, worker) { store, holder in
      try await store.fail(lease, holder: holder, failure: failure)
    }
    guard let wasHeld else { return }
    let known = granted.removeValue(forKey: lease)
    await answer(worker, event ?? .failed(lease, failure.end, counts: wasHeld, message: failure.message))
    guard wasHeld else { return }
    counts.lost(CollectionOfOne(lease))
    let fact = await facts.fact(of: lease.task)
    let since = known.map { (now() - $0.at).roundedSeconds }
    events.emit(
      .taskFailed(
        .init(lease.task, fact), worker: name, end: failure.end, seconds: since, reason: failure.message,
        usage: TaskFacts.usage(failure.usage, fact, isDone: false)))
    if let damagedInput {
      let isRefused = (known?.kind ?? fact?.kind) == .stitch && failure.end == .media
      await inputs.check(damagedInput, of: lease.task, refusal: isRefused ? failure.message : nil)
    }
    if failure.end != .released { await ends.report(lease.task.job) }
  }

  /// The failure with the names of media in its message, for whoever reads it later: the job's status, the workers'
  /// list and the log.
  private func named(
    _ failure: TaskFailure, of lease: Lease, _ worker: WorkerID
  ) async -> TaskFailure {
    // Most messages have no digest, and the job is not read for them.
    let words = failure.message.utf8.split { !(48...57).contains($0) && !(97...102).contains($0) }
    guard words.contains(where: { $0.count == 64 }) else { return failure }
    let job = await persist(lease, worker) { store, _ in try await store.job(lease.task.job) }
    // Without the request, which only another version can have written, the digests stay.
    guard let job, let job, let request = try? JobRequest(encoded: job.request) else { return failure }
    var failure = failure
    failure.message = request.named(failure.message)
    return failure
  }
}
