import Digest
import Wire

/// What the agent's runs hold: processes, opened inputs, results. Carries out what `AgentState` decides about them.
actor Workbench {
  private struct Place {
    var process: TaskProcess?
    var inputs: [OpenedInput] = []
    var product: TaskProduct?
    /// Opening inputs or uploading.
    var errand: Task<Void, Never>?
  }

  private let source: any ProcessSource
  private let opener: InputOpener
  private let post: @Sendable (AgentEvent) -> Void
  private var places: [RunID: Place] = [:]

  /// - Parameter post: Hears what becomes of the runs.
  init(source: any ProcessSource, opener: InputOpener, post: @escaping @Sendable (AgentEvent) -> Void) {
    self.source = source
    self.opener = opener
    self.post = post
  }

  /// Starts a run; `ended` follows.
  func start(_ run: RunID, _ grant: TaskGrant, over link: CoordinatorLink) {
    let process: TaskProcess
    do {
      process = try TaskProcess(source)
    } catch {
      post(.ended(run, .failed(TaskFailure(cause: .infrastructure, message: "\(error)"))))
      return
    }
    // What the process says comes on its own thread, one after the other; here it is put in line.
    let (reports, report) = AsyncStream.makeStream(of: TaskProcess.Report.self)
    process.report { said in
      report.yield(said)
      if case .ended = said { report.finish() }
    }
    Task { for await said in reports { await hear(said, run, link) } }
    let errand = Task { await prepare(run, grant, process) }
    places[run] = Place(process: process, errand: errand)
  }

  /// Ends a run's process.
  func kill(_ run: RunID) {
    places[run]?.errand?.cancel()
    places[run]?.process?.kill()
  }

  /// Sends a run's result to the coordinator; `uploaded` or `uploadFailed` follows.
  func upload(_ run: RunID, over link: CoordinatorLink) {
    guard let product = places[run]?.product else { return }
    places[run]?.errand = Task {
      do {
        try await link.exchange.upload(
          descriptor: product.file.descriptor, digest: product.digest, size: product.size
        ) { [post] in post(.uploading(run, bytes: $0)) }
        // Open until here, whatever becomes of the run.
        withExtendedLifetime(product.file) {}
        post(.uploaded(run))
      } catch {
        post(.uploadFailed(run, "\(error)"))
      }
    }
  }

  /// Forgets a run and what it made.
  func discard(_ run: RunID) async {
    guard let place = places.removeValue(forKey: run) else { return }
    place.errand?.cancel()
    place.process?.kill()
    for input in place.inputs { await opener.close(input) }
  }

  /// Opens what the task reads and tells its process.
  private func prepare(_ run: RunID, _ grant: TaskGrant, _ process: TaskProcess) async {
    post(.waits(run, true))
    do {
      var inputs: [TaskInput] = []
      for content in grant.inputs {
        try Task.checkCancellation()
        let input = try await opener.open(content)
        guard places[run] != nil else { return await opener.close(input) }
        places[run]?.inputs.append(input)
        inputs.append(
          TaskInput(
            digest: content.digest.hex, size: content.size, name: content.name, isRanged: input.partial != nil))
      }
      let (output, _) = try OpenFile.unnamed(in: opener.cache.workFolder)
      guard let files = places[run]?.inputs.map(\.file) else { return }
      process.assign(TaskOrder(payload: grant.payload, inputs: inputs), inputs: files, output: output)
      post(.waits(run, false))
    } catch {
      // Cancelled with the run: its end is known already.
      process.kill()
      post(.ended(run, .failed(TaskFailure(cause: .infrastructure, message: "an input cannot be opened: \(error)"))))
    }
  }

  private func hear(_ report: TaskProcess.Report, _ run: RunID, _ link: CoordinatorLink) async {
    switch report {
    case .ready: break
    case .progress(let done): post(.progressed(run, done))
    case .need(let request): supply(request, to: run, over: link)
    case .ended(let end): await conclude(run, end)
    }
  }

  private func supply(_ request: RangeRequest, to run: RunID, over link: CoordinatorLink) {
    guard let place = places[run], let process = place.process else { return }
    let index = Int(request.input)
    guard place.inputs.indices.contains(index), let partial = place.inputs[index].partial else {
      process.answer(.unavailable(request: request.request, message: "the task has no ranged input \(index)"))
      return
    }
    post(.waits(run, true))
    Task {
      do {
        try await partial.ensure(request.range) { digest, offset, length in
          try await link.exchange.read(digest, offset: offset, length: length)
        }
        process.answer(.available(request: request.request))
      } catch {
        process.answer(.unavailable(request: request.request, message: "\(error)"))
      }
      post(.waits(run, false))
    }
  }

  private func conclude(_ run: RunID, _ end: TaskEnd) async {
    let inputs = places[run]?.inputs ?? []
    places[run]?.process = nil
    switch end.outcome {
    case .made(let product):
      for input in inputs where await !input.isTrue() {
        let message = "an input changed while the task read it"
        return post(.ended(run, .failed(TaskFailure(cause: .infrastructure, message: message))))
      }
      places[run]?.product = product
      let result = TaskResult(digest: product.digest, size: product.size, cpuMilliseconds: end.cpuMilliseconds)
      post(.ended(run, .made(result)))
    case .failed(let failure): post(.ended(run, .failed(failure)))
    case .killed: post(.ended(run, .killed))
    }
  }
}
