import Foundation

@testable import Worker

enum Place {
  /// The worker that was built with the tests.
  static let worker: String = {
    // The test runner's bundle is in the folder of the products.
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    let candidates = [program.deletingLastPathComponent()] + bundles
    return candidates.map { $0.appendingPathComponent("sheaf-worker").path }
      .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "no sheaf-worker in the folder of \(program.path)"
  }()

  private static var bundles: [URL] {
    Bundle.allBundles.map { $0.bundleURL.resolvingSymlinksInPath() }
      .flatMap { [$0, $0.deletingLastPathComponent()] }
  }

  /// A film in the repository.
  static func media(_ name: String) -> URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Media").appendingPathComponent(name)
  }

  /// Starts the fork server of the worker that was built.
  static var workerLauncher: ProcessLauncher {
    var launcher = ProcessLauncher { ProcessInfo.processInfo.environment[$0] }
    launcher.executable = worker
    return launcher
  }

  /// The fork server of the worker that was built, for all tests that do not end it.
  static let forkServer = ForkServer(workerLauncher)

  /// A fork server of its own, and a test of whether a process is it or one that it forked.
  static func markedForkServer(_ watch: ForkServer.Watch) -> (server: ForkServer, isServer: (pid_t) -> Bool) {
    var launcher = workerLauncher
    let mark = "SHEAF_TEST_MARK=\(UUID().uuidString)"
    launcher.environment.append(mark)
    return (
      ForkServer(launcher, watch: watch),
      { process in
        let environment = FileManager.default.contents(atPath: "/proc/\(process)/environ") ?? Data()
        return environment.range(of: Data(mark.utf8)) != nil
      }
    )
  }

  /// Starts a shell script in place of a task process. Its descriptor 0 is the socket to the agent.
  static func script(_ lines: String) -> ProcessLauncher {
    var launcher = ProcessLauncher { _ in nil }
    launcher.executable = "/bin/sh"
    launcher.arguments = ["sh", "-c", lines]
    return launcher
  }

  /// A command of such a script that sends a message to the agent.
  static func sending(_ message: TaskMessage) -> String {
    let bytes = message.frame.map { byte in
      let digits = String(byte, radix: 8)
      return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
    return "printf '\(bytes.joined())' >&0"
  }
}
