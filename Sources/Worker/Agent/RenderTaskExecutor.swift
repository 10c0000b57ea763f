import Digest
import FoundationEssentials
import SwiftProtobuf
import SystemSupport
import Wire

/// Carries out what `AgentState` decides about runs, and holds what they use: processes, opened inputs, results.
actor RenderTaskExecutor {
  private struct Run {
    var process: TaskProcess?
    var inputs: [OpenedInput] = []
    var product: TaskProduct?
    /// Opens the inputs, later uploads the result.
    var background: Task<Void, Never>?
  }

  private let source: any ProcessSource
  private let opener: InputOpener
  private let post: @Sendable (AgentEvent) -> Void
  private var runs: [RunID: Run] = [:]

  /// - Parameter post: Called with the events of the runs.
  init(source: any ProcessSource, opener: InputOpener, post: @escaping @Sendable (AgentEvent) -> Void) {
    self.source = source
    self.opener = opener
    self.post = post
  }

  /// Starts a run; `ended` follows.
  func start(_ id: RunID, _ grant: TaskGrant, over coordinator: CoordinatorConnection) {
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
    Task { for await report in reports { await handle(report, of: id, coordinator) } }
    let background = Task { await prepare(id, grant, process) }
    runs[id] = Run(process: process, background: background)
  }

  /// Ends a run's process.
  func kill(_ id: RunID) {
    runs[id]?.background?.cancel()
    runs[id]?.process?.kill()
  }

  /// Sends a run's result to the coordinator; `uploaded` or `uploadFailed` follows.
  func upload(_ id: RunID, over coordinator: CoordinatorConnection) {
    guard let product = runs[id]?.product else { return }
    runs[id]?.background = Task {
      do {
        try await coordinator.exchange.upload(product.file, product.content) { [post] in
          post(.uploading(id, bytes: $0))
        }
        post(.uploaded(id))
      } catch {
        post(.uploadFailed(id, "\(error)"))
      }
    }
  }

  /// Releases what a run holds.
  func discard(_ id: RunID) async {
    guard let run = runs.removeValue(forKey: id) else { return }
    run.background?.cancel()
    run.process?.kill()
    for input in run.inputs { await opener.close(input) }
  }

  /// Opens a task's inputs and gives the process its task.
  private func prepare(_ id: RunID, _ grant: TaskGrant, _ process: TaskProcess) async {
    post(.waiting(id, true))
    do {
      var task = Control_Task.with { $0.payload = Data(grant.payload) }
      for content in grant.inputs {
        try Task.checkCancellation()
        let input = try await opener.open(content)
        guard runs[id] != nil else { return await opener.close(input) }
        runs[id]?.inputs.append(input)
        task.inputs.append(
          .with {
            $0.digest = Data(content.content.digest.bytes)
            $0.size = content.content.size
            $0.name = content.name
            $0.ranged = input.partial != nil
          })
      }
      let (output, _) = try OpenFile.unnamed(in: opener.cache.workFolder)
      guard let files = runs[id]?.inputs.map(\.file) else { return }
      process.assign(task, inputs: files, output: output)
      post(.waiting(id, false))
    } catch {
      // If the run was cancelled, its end is known already and this one is ignored.
      process.kill()
      post(.ended(id, .failed(TaskFailure(.released, "an input cannot be opened: \(error)"))))
    }
  }

  private func handle(_ report: TaskProcess.Report, of id: RunID, _ coordinator: CoordinatorConnection) async {
    switch report {
    case .ready: break
    case .progress(let done): post(.progressed(id, done))
    case .rangeRequest(let request): supply(request, to: id, over: coordinator)
    case .ended(let end): await conclude(id, end)
    }
  }

  private func supply(_ request: RangeRequest, to id: RunID, over coordinator: CoordinatorConnection) {
    guard let run = runs[id], let process = run.process else { return }
    let index = Int(request.input)
    guard run.inputs.indices.contains(index), let partial = run.inputs[index].partial else {
      return process.reply(to: request, error: "the task has no ranged input \(index)")
    }
    post(.waiting(id, true))
    Task {
      do {
        try await partial.ensure(request.range) { digest, offset, length in
          try await coordinator.exchange.read(digest, offset: offset, length: length)
        }
        process.reply(to: request)
      } catch {
        process.reply(to: request, error: "\(error)")
      }
      post(.waiting(id, false))
    }
  }

  private func conclude(_ id: RunID, _ end: TaskEnd) async {
    let inputs = runs[id]?.inputs ?? []
    runs[id]?.process = nil
    switch end.outcome {
    case .made(let product):
      for input in inputs where await !input.isUnchanged() {
        let failure = TaskFailure(.released, "an input changed while the task read it", process: end.process)
        return post(.ended(id, .failed(failure)))
      }
      runs[id]?.product = product
      let result = TaskResult(content: product.content, cpuMilliseconds: end.process?.cpuMilliseconds ?? 0)
      post(.ended(id, .made(result)))
    case .failed(let failure): post(.ended(id, .failed(failure)))
    case .killed: post(.ended(id, .killed(end.process)))
    }
  }
}
