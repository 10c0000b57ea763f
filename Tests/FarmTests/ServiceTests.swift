import Foundation
import TestPrograms
import Testing

/// A coordinator as a service manager sees it.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct ServiceTests {
  @Test(arguments: [false, true])
  func `a service manager hears when a coordinator listens, that it is alive, and when it ends`(withHTTP: Bool)
    async throws
  {
    let farm = try await Farm(workers: 0, slots: 1)
    defer { farm.stop() }
    let manager = try ServiceManager()
    let (wire, http) = (try ReservedPort(), try ReservedPort())
    for port in [wire, http] { port.release() }
    var command = farm.serve(store: farm.store, listen: "127.0.0.1:\(wire.number)")
    if withHTTP { command.arguments += ["--http", "127.0.0.1:\(http.number)"] }
    command.environment = ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "400000"]
    let coordinator = try command.start()
    #expect(try await manager.await("READY=1").allSatisfy { $0 == "WATCHDOG=1" })
    // Both listen now.
    let workers = try await Command.sheaf("workers", "--coordinator", "127.0.0.1:\(wire.number)").run()
    #expect(workers.status == 0, "\(workers.errors)")
    if withHTTP { _ = try await Command.output("curl", "-fsS", "http://127.0.0.1:\(http.number)/readyz") }
    for _ in 1...3 { #expect(try await manager.next() == "WATCHDOG=1") }
    coordinator.send(SIGTERM)
    #expect(try await manager.await("STOPPING=1").allSatisfy { $0 == "WATCHDOG=1" })
    #expect(await coordinator.end() == 0)
  }
}
