import Client
import ContentStorage
import Foundation
import TestPrograms
import Testing

@testable import LocalFarm

/// Farms that stay after their use. The worker's part is played by a shell script.
@Suite(.timeLimit(.minutes(10))) struct KeptFarmTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func configuration(_ script: String, store: String = "store", idle: Duration) throws
    -> LocalFarm.Configuration
  {
    let program = try folder.write(Data("#!/bin/sh\n\(script)\n".utf8), "worker-\(store).sh")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
    var configuration = try LocalFarm.Configuration(store: folder.path(store), slots: 1)
    configuration.workerExecutable = program
    configuration.idleTime = idle
    return configuration
  }

  /// The worker that waits until its standard input is closed.
  private var waiting: String { "echo $$ >> '\(folder.path("workers"))'; cat > /dev/null" }

  private var workers: [pid_t] {
    let text = (try? String(contentsOfFile: folder.path("workers"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { pid_t($0) }
  }

  private func address(_ configuration: LocalFarm.Configuration) async throws -> String {
    try await LocalFarm.run(configuration) { "\($0.endpoint.addresses[0])" }
  }

  @Test func `what uses the same store with the same settings shares one farm`() async throws {
    let kept = try configuration(waiting, idle: .seconds(600))
    let first = try await address(kept)
    async let second = address(kept)
    async let third = address(kept)
    #expect(try await [second, third] == [first, first])
    var other = kept
    other.slots = 2
    #expect(try await address(other) != first)
    let elsewhere = try configuration(waiting, store: "other", idle: .seconds(600))
    #expect(try await address(elsewhere) != first)
  }

  @Test func `a farm ends some time after its last use, and with it its worker`() async throws {
    let kept = try configuration(waiting, idle: .milliseconds(1))
    let first = try await address(kept)
    while workers.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    let worker = try #require(workers.first)
    while kill(worker, 0) == 0 { try await Task.sleep(for: .milliseconds(10)) }
    #expect(try await address(kept) != first)
  }

  @Test func `a farm whose worker fails says why, and the next use has another one`() async throws {
    let broken = folder.path("broken")
    try Data().write(to: URL(fileURLWithPath: broken))
    let kept = try configuration(
      "if [ -e '\(broken)' ]; then echo out of luck >&2; exit 3; fi; \(waiting)", idle: .seconds(600))
    let error = await #expect(throws: CommandFailure.self) {
      try await LocalFarm.run(kept) { _ in try await Task.sleep(for: .seconds(600)) }
    }
    #expect(error?.message.contains("out of luck") == true)
    try FileManager.default.removeItem(atPath: broken)
    #expect(try await address(kept).isEmpty == false)
  }

  @Test func `a use that is cancelled or throws leaves the farm to others`() async throws {
    struct Wrong: Error {}
    let kept = try configuration(waiting, idle: .seconds(600))
    let first = try await address(kept)
    let cancelled = Task {
      try await LocalFarm.run(kept) { _ in try await Task.sleep(for: .seconds(600)) }
    }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    await #expect(throws: Wrong.self) { try await LocalFarm.run(kept) { _ in throw Wrong() } }
    #expect(try await address(kept) == first)
  }
}
