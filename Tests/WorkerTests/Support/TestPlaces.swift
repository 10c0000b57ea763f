import Foundation

@testable import Worker

enum Place {
  /// The worker that was built with the tests.
  static let worker: String = {
    // The test runner's bundle stands beside the products.
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    let candidates = [program.deletingLastPathComponent()] + bundles
    return candidates.map { $0.appendingPathComponent("sheaf-worker").path }
      .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "sheaf-worker is not beside \(program.path)"
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

  /// Where the worker that was built takes its task processes from.
  static let nursery: Nursery = {
    var launcher = ProcessLauncher { ProcessInfo.processInfo.environment[$0] }
    launcher.executable = worker
    return Nursery(launcher)
  }()

  /// Starts a shell script in place of a task process: one that behaves as no honest one would. Its descriptor 0 is the
  /// socket to the agent.
  static func script(_ lines: String) -> ProcessLauncher {
    var launcher = ProcessLauncher { _ in nil }
    launcher.executable = "/bin/sh"
    launcher.arguments = ["sh", "-c", lines]
    return launcher
  }
}
