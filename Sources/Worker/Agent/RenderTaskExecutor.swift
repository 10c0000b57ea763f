import Digest
import FarmModel
import FoundationEssentials
import Media
import Runtime
import SwiftProtobuf
import SystemSupport
import Wire

/// Carries out what `AgentState` decides about runs, and holds what they use: processes, opened inputs, results. None
/// of it depends on a connection, except an upload, which is begun again on the next one.
actor RenderTaskExecutor {
  private struct Run {
    var process: TaskProcess?
    var inputs: [OpenedInput] = []
    var product: TaskProduct?
    /// The task whose product is the job's, which no task reads. Nil: another task reads the product.
    var film: TaskGrant?
    /// The film that was made, with the end of the process that made it, while another process checks it.
    var unchecked: (product: TaskProduct, process: ProcessEnd?)?
    /// Opens the inputs, later uploads the result.
    var background: Task<Void, Never>?
    /// Wait until the inputs' digests are known.
    var verifications: [Task<Void, Never>] = []
    /// Ends the wait for the inputs' digests after the process has ended.
    var stopVerifying: (@Sendable () -> Void)?
    /// Whether the process has started, and whether it has its task. The task begins when both are true.
    var isReady = false
    var isAssigned = false
    /// The blocks that the task has read of inputs whose digests it was not given.
    var reads: [Int: [BlocksRead]] = [:]
    /// Range requests that wait for bytes of the coordinator.
    var rangesUnderWay = 0
    /// The first input that could not be read or was not what it should be: the true reason of whatever follows.
    var problem: ContentError?
  }

  /// Descriptors of the agent beside the inputs of one task: connections, the cache, other tasks' processes.
  private static var ownDescriptors: Int { 48 + ContentCache.idleLimit }

  private enum Verdict: Sendable {
    case found(ContentError?)
    case stopped
  }

  private let source: any ProcessSource
  private let opener: InputOpener
  private let coordinator: CoordinatorContent
  /// Where films are put. Nil: they are sent to the coordinator.
  private let sharedStore: SharedStore?
  private let taskMemory: Int64
  private let post: @Sendable (AgentEvent) -> Void
  private var runs: [RunID: Run] = [:]

  /// - Parameters:
  ///   - taskMemory: How many bytes of memory each task may use, for messages; 0: no limit.
  ///   - post: Called with the events of the runs.
  init(
    source: any ProcessSource, opener: InputOpener, coordinator: CoordinatorContent, taskMemory: Int64,
    sharedStore: SharedStore? = nil,
    post: @escaping @Sendable (AgentEvent) -> Void
  ) {
    self.source = source
    self.opener = opener
    self.coordinator = coordinator
    self.sharedStore = sharedStore
    self.taskMemory = taskMemory
    self.post = post
  }

  /// Starts a run; `ended` follows.
  func start(_ id: RunID, _ grant: TaskGrant) {
    let process: TaskProcess
    do {
      process = try TaskProcess(source)
    } catch {
      return post(.ended(id, .failed(TaskFailure(.released, "\(error)"))))
    }
    // The reports come on the process's thread; the stream brings them here in their order.
    let (reports, continuation) = AsyncStream.makeStream(of: TaskProcess.Report.self)
    process.report { report in
      continuation.yield(report)
      if case .ended = report { continuation.finish() }
    }
    Task { for await report in reports { await handle(report, of: id) } }
    let background = Task { await prepare(id, grant, process) }
    runs[id] = Run(process: process, film: grant.isFilm ? grant : nil, background: background)
  }

  /// Ends a run's process, or the check of its inputs after that.
  func kill(_ id: RunID) {
    runs[id]?.background?.cancel()
    runs[id]?.process?.kill()
    runs[id]?.stopVerifying?()
  }

  /// Sends a run's result to the coordinator. `uploaded`, `uploadPostponed` or `uploadFailed` follows, unless the
  /// connection is lost.
  func upload(_ id: RunID, over exchange: ContentExchange) {
    guard let run = runs[id], let product = run.product else { return }
    runs[id]?.background?.cancel()
    runs[id]?.background = Task {
      do {
        // The coordinator finds it there, and asks for no bytes.
        if run.film != nil { await sharedStore?.add(product) }
        let sent = try await exchange.upload(product.file, product.content) { [post] in
          post(.uploading(id, bytes: $0))
        }
        post(.uploaded(id, bytes: sent))
      } catch let error as WireError where error.code == .closed {
        // It begins again on the next connection.
      } catch let error as WireError where error.code == .temporary {
        post(.uploadPostponed(id))
      } catch {
        if Task.isCancelled { return }
        post(.uploadFailed(id, "\(error)"))
      }
    }
  }

  /// Releases what a run holds.
  func discard(_ id: RunID) async {
    guard let run = runs.removeValue(forKey: id) else { return }
    run.background?.cancel()
    run.process?.kill()
    for verification in run.verifications { verification.cancel() }
    for input in run.inputs { await opener.close(input) }
  }

  // MARK: - Inputs

  /// Opens a task's inputs and gives the process its task.
  private func prepare(_ id: RunID, _ grant: TaskGrant, _ process: TaskProcess) async {
    do {
      let limit = ProcessLimits.descriptors
      guard grant.inputs.count + Self.ownDescriptors <= limit else {
        let failure = TaskFailure(
          .exhausted,
          "the task reads \(grant.inputs.count) files at once, and this worker may have \(limit) open, "
            + "\(Self.ownDescriptors) of them for itself: raise the limit, ulimit -n")
        process.kill()
        return post(.ended(id, .failed(failure)))
      }
      var task = Control_Task.with { $0.payload = Data(grant.payload) }
      for content in grant.inputs {
        try Task.checkCancellation()
        let input = try await opener.open(content)
        guard runs[id] != nil else { return await opener.close(input) }
        runs[id]?.inputs.append(input)
        if !input.isVerified { watch(input, of: id) }
        post(.moved(id))
        task.inputs.append(
          .with {
            $0.digest = Data(content.content.digest.bytes)
            $0.size = content.content.size
            $0.name = content.name
            $0.ranged = input.partial != nil
            $0.blocks = Data(input.blocks?.bytes ?? [])
          })
      }
      let cache = opener.cache
      let output = try await BlockingWork.run { try cache.unnamedFile().file }
      guard let files = runs[id]?.inputs.map(\.file) else { return }
      process.assign(task, inputs: files, output: output)
      runs[id]?.isAssigned = true
      begin(id)
    } catch {
      process.kill()
      // If the run was cancelled, its process's end is its end.
      if Task.isCancelled { return }
      post(.ended(id, .failed(TaskFailure(.released, "the task could not be prepared: \(error)"))))
    }
  }

  private func begin(_ id: RunID) {
    if let run = runs[id], run.isReady, run.isAssigned { post(.entered(id, .executing)) }
  }

  /// Ends the run's process as soon as one of its files turns out to be another one.
  private func watch(_ input: OpenedInput, of id: RunID) {
    let watch = Task {
      guard let problem = await input.problem(), !Task.isCancelled else { return }
      record(problem, of: id)
      runs[id]?.process?.kill()
    }
    runs[id]?.verifications.append(watch)
  }

  private func record(_ problem: ContentError, of id: RunID) {
    guard let run = runs[id], run.problem == nil else { return }
    runs[id]?.problem = problem
  }

  private func handle(_ report: TaskProcess.Report, of id: RunID) async {
    switch report {
    case .ready:
      runs[id]?.isReady = true
      begin(id)
    case .progress(let done, let moved): post(.progressed(id, done: done, moved: moved))
    case .moved: post(.moved(id))
    case .rangeRequest(let request): supply(request, to: id)
    case .blocksRead(let read): record(read, of: id)
    case .wrongBytes(let index, let range): await refuse(index, range, of: id)
    case .ended(let end): await conclude(id, end)
    }
  }

  private func supply(_ request: RangeRequest, to id: RunID) {
    guard let run = runs[id], let process = run.process else { return }
    let index = Int(request.input)
    guard run.inputs.indices.contains(index), let partial = run.inputs[index].partial else {
      return process.reply(to: request, error: "the task has no ranged input \(index)")
    }
    count(1, rangesOf: id)
    Task {
      do {
        let digests = try await partial.ensure(
          request.range, from: coordinator.reader { [post] in post(.fetched(id, bytes: $0)) })
        process.reply(to: request, blocks: digests)
      } catch {
        record(error as? ContentError ?? ContentError("\(error)"), of: id)
        process.reply(to: request, error: "\(error)")
      }
      count(-1, rangesOf: id)
    }
  }

  /// Keeps what the run's process has read until the file's digests are known.
  private func record(_ read: BlocksRead, of id: RunID) {
    guard let run = runs[id] else { return }
    let known = run.reads[read.input, default: []]
    let count = (known + [read]).reduce(0) { $0 + $1.digests.count / BlockDigests.digestSize }
    guard run.inputs.indices.contains(read.input),
      count <= ContentBlock.count(of: run.inputs[read.input].content.size)
    else {
      record(ContentError("the task process reported more blocks of an input than it has"), of: id)
      run.process?.kill()
      return
    }
    runs[id]?.reads[read.input] = known + [read]
  }

  /// The run's process has read a block that is not the content's.
  private func refuse(_ index: Int, _ range: Range<Int64>, of id: RunID) async {
    guard let run = runs[id], run.inputs.indices.contains(index) else { return }
    let input = run.inputs[index]
    let problem = input.problem(wrong: range)
    record(problem, of: id)
    run.process?.kill()
    await opener.reject(input, problem)
  }

  private func count(_ change: Int, rangesOf id: RunID) {
    guard let before = runs[id]?.rangesUnderWay else { return }
    runs[id]?.rangesUnderWay = before + change
    if before == 0 || before + change == 0 { post(.entered(id, before == 0 ? .waiting : .executing)) }
  }

  // MARK: - Ends

  private func conclude(_ id: RunID, _ end: TaskEnd) async {
    guard let run = runs[id] else { return }
    runs[id]?.process = nil
    if let film = run.unchecked { return concludeCheck(id, of: film.product, film.process, end) }
    if let problem = run.problem, case .killed = end.outcome { return fail(id, problem, end) }
    switch end.outcome {
    case .killed: return post(.ended(id, .killed(end.process)))
    case .failed(let failure) where failure.end == .released && run.problem == nil:
      return post(.ended(id, .failed(failure)))
    case .failed, .made: break
    }
    // Whatever came of the task, it counts only if the task read what it should.
    switch await verdict(on: id) {
    case .stopped: return post(.ended(id, .killed(end.process)))
    case .found(let problem?): return fail(id, problem, end)
    case .found(nil): break
    }
    switch end.outcome {
    case .made(let product):
      if let grant = run.film { return check(id, product, end.process, of: grant) }
      finish(id, product, end.process)
    case .failed(var failure):
      if let piece = failure.refusedInput, run.inputs.indices.contains(piece) {
        failure.damagedInput = run.inputs[piece].content.digest
      }
      if failure.end == .exhausted || isAtLimit(end.process) { failure.message += limitNotice }
      post(.ended(id, .failed(failure)))
    case .killed: post(.ended(id, .killed(end.process)))
    }
  }

  private func finish(_ id: RunID, _ product: TaskProduct, _ process: ProcessEnd?) {
    runs[id]?.product = product
    post(.ended(id, .made(TaskResult(content: product.content, process: process, damage: product.damage))))
  }

  // MARK: - Films

  /// Has another process read a film before it counts.
  private func check(_ id: RunID, _ film: TaskProduct, _ made: ProcessEnd?, of grant: TaskGrant) {
    guard runs[id] != nil else { return }
    let process: TaskProcess
    do {
      process = try TaskProcess(source)
    } catch {
      return post(.ended(id, .failed(TaskFailure(.released, "\(error)"))))
    }
    runs[id]?.process = process
    runs[id]?.unchecked = (film, made)
    let (reports, continuation) = AsyncStream.makeStream(of: TaskProcess.Report.self)
    process.report { report in
      continuation.yield(report)
      if case .ended = report { continuation.finish() }
    }
    Task { for await report in reports { await handleCheck(report, process, of: id) } }
    let cache = opener.cache
    runs[id]?.background = Task {
      do {
        let (input, output) = try await BlockingWork.run {
          (try film.file.reopenedForReading(), try cache.unnamedFile().file)
        }
        let task = Control_Task.with {
          $0.payload = Data(grant.payload)
          $0.checksFilm = true
          $0.inputs = [
            .with {
              $0.digest = Data(film.content.digest.bytes)
              $0.size = film.content.size
              $0.name = "the film"
              $0.blocks = Data(film.blocks.bytes)
            }
          ]
        }
        process.assign(task, inputs: [input], output: output)
      } catch {
        process.kill()
        if Task.isCancelled { return }
        post(.ended(id, .failed(TaskFailure(.released, "the film could not be checked: \(error)"))))
      }
    }
  }

  private func handleCheck(_ report: TaskProcess.Report, _ process: TaskProcess, of id: RunID) async {
    switch report {
    case .ready, .progress, .moved: post(.moved(id))
    // The failure that follows says so.
    case .wrongBytes: break
    // The digests of the film's blocks are known, and all of its bytes are there.
    case .blocksRead, .rangeRequest: process.kill()
    case .ended(let end): await conclude(id, end)
    }
  }

  private func concludeCheck(_ id: RunID, of film: TaskProduct, _ made: ProcessEnd?, _ end: TaskEnd) {
    switch end.outcome {
    case .made: finish(id, film, made)
    case .killed: post(.ended(id, .killed(end.process)))
    case .failed(var failure):
      failure.message = "another process read the film before it counts: \(failure.message)"
      post(.ended(id, .failed(failure)))
    }
  }

  /// Whether a process had most of the memory that it may use: some code ends the process when it gets no more.
  private func isAtLimit(_ process: ProcessEnd?) -> Bool {
    process.map { taskMemory > 0 && $0.peakBytes > UInt64(taskMemory) / 4 * 3 } ?? false
  }

  /// What follows the message of a task that ran out of memory.
  private var limitNotice: String {
    taskMemory > 0 ? "; a task of this worker may use \(taskMemory >> 20) MiB of memory" : ""
  }

  private func fail(_ id: RunID, _ problem: ContentError, _ end: TaskEnd) {
    let failure = TaskFailure(
      .released, "an input could not be used: \(problem)", process: end.process, damagedInput: problem.damaged)
    post(.ended(id, .failed(failure)))
  }

  /// Waits until the digests of the run's inputs are known. What is digested meanwhile is movement of the run.
  private func verdict(on id: RunID) async -> Verdict {
    guard let run = runs[id] else { return .stopped }
    if let problem = run.problem { return .found(problem) }
    let (verdicts, verdict) = AsyncStream.makeStream(of: Verdict.self)
    runs[id]?.stopVerifying = { verdict.yield(.stopped) }
    let (inputs, reads) = (run.inputs, run.reads)
    if !inputs.allSatisfy(\.isVerified) { post(.entered(id, .verifying)) }
    let check = Task {
      var problem: ContentError?
      for (index, input) in inputs.enumerated() where problem == nil {
        problem = await input.problem(reads: reads[index] ?? [])
      }
      verdict.yield(.found(problem))
    }
    let liveness = opener.verifier.liveness
    let watch = Task { [post] in
      var last = liveness.count
      while !Task.isCancelled {
        // Cancelled when the verdict is there.
        try? await Task.sleep(for: .milliseconds(500))
        if liveness.count != last { post(.moved(id)) }
        last = liveness.count
      }
    }
    defer {
      check.cancel()
      watch.cancel()
    }
    for await verdict in verdicts { return verdict }
    return .stopped
  }
}
