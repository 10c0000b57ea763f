import Glibc
import Logging
import UnixSignals

/// SIGTERM and SIGINT of a coordinator: the first one drains it, and the process ends within 10 s whatever does not
/// answer. The second one ends it at once.
actor StopSignals {
  /// Longer than a coordinator's grace, and shorter than the time that container engines wait before they kill.
  private static let limit = Duration.milliseconds(9500)

  private let logger: Logger
  /// Nil before the coordinator serves.
  private var drain: (@Sendable () async -> Void)?
  private var isStopping = false

  init(logger: Logger) {
    self.logger = logger
  }

  /// Takes the signals from now on. Before `serve` was called there is nothing to drain, and the first one ends the
  /// process at once.
  func listen() async {
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    Task { for await signal in signals { stop(signal) } }
  }

  /// The coordinator serves.
  func serve(_ drain: @escaping @Sendable () async -> Void) {
    self.drain = drain
  }

  private func stop(_ signal: UnixSignal) {
    if isStopping { _exit(128 + signal.rawValue) }
    logger.notice("stopping", metadata: ["signal": "\(signal)"])
    stop()
  }

  /// Ends the process as the first signal does.
  func stop() {
    if isStopping { return }
    isStopping = true
    guard let drain else { _exit(0) }
    Task { await drain() }
    Task { await self.endInTime() }
  }

  private func endInTime() async {
    // The task is never cancelled, so the sleep does not throw.
    try? await Task.sleep(for: Self.limit)
    logger.notice("stopped before everything was recorded")
    _exit(0)
  }
}
