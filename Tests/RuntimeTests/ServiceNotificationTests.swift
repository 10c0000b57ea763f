import Glibc
import Runtime
import TestPrograms
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ServiceNotificationTests {
  private static func notification(_ variables: [String: String]) -> ServiceNotification? {
    ServiceNotification { variables[$0] }
  }

  @Test(arguments: [true, false])
  func `a service manager receives each message as a datagram`(isAbstract: Bool) async throws {
    let folder = try TemporaryFolder()
    let manager = try isAbstract ? ServiceManager() : ServiceManager(folder.path("notify"))
    let notification = try #require(Self.notification(["NOTIFY_SOCKET": manager.name]))
    notification.isReady()
    #expect(try await manager.next() == "READY=1")
    notification.isAlive()
    notification.isStopping()
    #expect(try await manager.next() == "WATCHDOG=1")
    #expect(try await manager.next() == "STOPPING=1")
  }

  @Test(arguments: [nil, "", "@", "relative", "vsock:2:1234", "/" + String(repeating: "a", count: 200)])
  func `without a socket nothing is sent`(name: String?) {
    #expect(Self.notification(name.map { ["NOTIFY_SOCKET": $0] } ?? [:]) == nil)
  }

  @Test
  func `a service manager that is gone is no failure`() throws {
    let notification = try #require(Self.notification(["NOTIFY_SOCKET": "/nonexistent/notify"]))
    notification.isReady()
  }

  @Test
  func `the watchdog expects a message in half of its time, of the process that it watches`() throws {
    func interval(_ variables: [String: String]) throws -> Duration? {
      try #require(Self.notification(variables.merging(["NOTIFY_SOCKET": "/run/notify"]) { $1 })).interval
    }
    #expect(try interval(["WATCHDOG_USEC": "60000000"]) == .seconds(30))
    #expect(try interval(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "\(getpid())"]) == .seconds(30))
    #expect(try interval(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "\(getppid())"]) == nil)
    for text in ["", "0", "-1", "soon"] { #expect(try interval(["WATCHDOG_USEC": text]) == nil, "\(text)") }
    #expect(try interval([:]) == nil)
  }

  @Test
  func `a process is alive only while it makes progress`() async throws {
    let manager = try ServiceManager()
    let notification = try #require(Self.notification(["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "2000"]))
    let (probes, probed) = AsyncStream.makeStream(of: Void.self)
    let (permits, permit) = AsyncStream.makeStream(of: Void.self)
    let watching = Task {
      await notification.watch {
        probed.yield()
        for await _ in permits { return }
      }
    }
    var begun = probes.makeAsyncIterator()
    for _ in 1...3 {
      // It is asked, and does not answer: what comes next was not sent by the watch.
      await begun.next()
      notification.isReady()
      #expect(try await manager.next() == "READY=1")
      permit.yield()
      #expect(try await manager.next() == "WATCHDOG=1")
    }
    watching.cancel()
    permit.finish()
    await watching.value
  }

  @Test
  func `nothing is watched where no watchdog is`() async throws {
    let notification = try #require(Self.notification(["NOTIFY_SOCKET": "/run/notify"]))
    await notification.watch { Issue.record("it is asked") }
  }
}
