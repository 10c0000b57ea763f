import Glibc
import Synchronization

/// Where the agent's task processes come from: a process that has linked the codecs and read the fonts' settings, has
/// never seen media, and forks one process for each task. What it takes to link the codecs (some 40 ms of a processor)
/// is so paid once, not with every task.
final class Nursery: ProcessSource {
  private let launcher: ProcessLauncher
  private let current = Mutex<NurseryProcess?>(nil)

  init(_ launcher: ProcessLauncher) {
    self.launcher = launcher
  }

  /// What renders here and how it is confined, as the nursery tells when it has started. Blocks.
  func greeting() throws(SystemError) -> NurseryGreeting {
    try process().greeting
  }

  func start(control: OpenFile, messages: OpenFile) throws(SystemError) -> any StartedProcess {
    try process().fork(control: control, messages: messages)
  }

  /// Ends the nursery's process and with it all that it forked; the next task gets another.
  func kill() {
    current.withLock { $0 }?.kill()
  }

  /// The nursery's process; another one where the last has died.
  private func process() throws(SystemError) -> NurseryProcess {
    try current.withLock { current throws(SystemError) in
      if let current, current.isAlive { return current }
      let process = try NurseryProcess.start(launcher)
      current = process
      return process
    }
  }
}
