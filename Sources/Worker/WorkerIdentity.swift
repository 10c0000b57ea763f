/// What renders on this machine, asked of a task process: the agent itself opens no codec.
enum WorkerIdentity {
  static func ask(_ launcher: TaskLauncher) async throws -> String {
    let process = try TaskProcess(launcher)
    let (reports, report) = AsyncStream.makeStream(of: TaskProcess.Report.self)
    process.report { said in
      report.yield(said)
      if case .ended = said { report.finish() }
    }
    process.identify()
    var identity: String?
    for await said in reports {
      switch said {
      case .identity(let answer): identity = answer
      case .ended(let end):
        if case .failed(let failure) = end.outcome { throw failure }
      case .ready, .progress, .need: break
      }
    }
    guard let identity else {
      throw TaskFailure(cause: .infrastructure, message: "the task process ended without an answer")
    }
    return identity
  }
}
