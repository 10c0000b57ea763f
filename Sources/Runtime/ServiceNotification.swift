import Glibc
package import SystemSupport

/// What a service manager is sent about this process, as `sd_notify` of systemd sends it: datagrams to the socket that
/// the variable `NOTIFY_SOCKET` names, whose name begins with `@` if it is an abstract one.
package struct ServiceNotification: Sendable {
  /// How often `isAlive` is expected: half of `WATCHDOG_USEC`. Nil: it is not.
  package let interval: Duration?
  private let socket: OpenFile
  private let name: [UInt8]

  /// Nil without `NOTIFY_SOCKET`, or if no socket can have its name.
  package init?(environment: Setting.Environment = ProcessEnvironment.value) {
    guard var name = environment("NOTIFY_SOCKET").map({ Array($0.utf8) }), name.count > 1,
      name.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
    else { return nil }
    switch name[0] {
    case UInt8(ascii: "/"): break
    case UInt8(ascii: "@"): name[0] = 0
    default: return nil
    }
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    socket = OpenFile(owning: descriptor, name: "the service manager's socket")
    self.name = name
    interval = Self.interval(environment)
  }

  /// The watchdog is that of the process of `WATCHDOG_PID`, which a parent may be.
  private static func interval(_ environment: Setting.Environment) -> Duration? {
    if let process = environment("WATCHDOG_PID"), process != "\(getpid())" { return nil }
    guard let text = environment("WATCHDOG_USEC"), let microseconds = Int64(text), microseconds > 1 else { return nil }
    return .microseconds(microseconds / 2)
  }

  /// The process can do its work.
  package func isReady() { send("READY=1") }

  /// The process has begun to end.
  package func isStopping() { send("STOPPING=1") }

  /// The process makes progress. If that is not sent in time, the service manager kills the process.
  package func isAlive() { send("WATCHDOG=1") }

  /// Sends `isAlive` in each interval until the task is cancelled, for as long as `probe` returns. Returns at once if
  /// it is not expected.
  /// - Parameter probe: Returns only if the process makes progress.
  package func watch(_ probe: @Sendable () async -> Void) async {
    guard let interval else { return }
    while !Task.isCancelled {
      await probe()
      isAlive()
      // Ends early when the task is cancelled, and so does the loop.
      try? await Task.sleep(for: interval)
    }
  }

  /// A service manager that is gone, or that takes nothing, is no reason to wait or to end.
  private func send(_ message: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let length = socklen_t(MemoryLayout.size(ofValue: address.sun_family) + name.count)
    let bytes = Array(message.utf8)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = sendto(
          socket.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), address, length)
      }
    }
  }
}
