import CSandbox
import Glibc
import Media
import Renderer

/// The nursery: links what tasks need, confines itself to the files that they need, and forks a process for each. It has
/// one thread, and never opens media.
struct NurseryMain {
  /// What the executable's first argument says in the nursery, and so in every task process.
  static let subcommand = "task-nursery"

  private let socket: Int32
  private let confinement: UInt8
  private let watch: Int32
  /// The agent's numbers of processes by the system's.
  private var numbers: [pid_t: UInt32] = [:]

  static func run() -> Never {
    do throws(SystemError) {
      var nursery = try NurseryMain()
      try nursery.work()
    } catch {
      // Descriptor 2 is the agent's: it shows in the agent's message.
      let words = Array("\(error)\n".utf8)
      _ = write(2, words, words.count)
      _exit(71)
    }
  }

  private init() throws(SystemError) {
    socket = 0
    confinement = try Confinement.enterFiles()
    watch = sandbox_watch_children()
    guard watch >= 0 else { throw SystemError(-watch, "watching task processes") }
  }

  private mutating func work() throws(SystemError) -> Never {
    // Asked here for two reasons: it is what task processes will see, and they find the fonts' settings read already.
    let identity = "\(MediaBuild.identity), \(RendererBuild.identity)"
    tell(.ready(NurseryGreeting(confinement: confinement, identity: identity)))
    while true {
      var watched = [
        pollfd(fd: socket, events: Int16(POLLIN), revents: 0), pollfd(fd: watch, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&watched, 2, -1) >= 0 else {
        if errno == EINTR { continue }
        throw SystemError(errno, "waiting for the agent")
      }
      if watched[1].revents != 0 { try reap() }
      if watched[0].revents != 0 { try serve() }
    }
  }

  private mutating func serve() throws(SystemError) {
    let request: NurseryRequest
    do throws(ControlError) {
      request = try NurseryRequest(read(NurseryRequest.length))
    } catch {
      throw SystemError(EPROTO, "understanding the agent: \(error)")
    }
    switch request {
    case .fork(let number):
      var given: [Int32] = [-1, -1]
      let count = sandbox_receive_descriptors(socket, &given, 2)
      guard count == 2 else { throw SystemError(count < 0 ? -count : EPROTO, "receiving a task process's descriptors") }
      let child = sandbox_fork(given[0], given[1])
      if child == 0 { TaskMain.run(confinement: confinement) }
      close(given[0])
      close(given[1])
      if child > 0 {
        numbers[child] = number
      } else {
        // As if it had started and ended at once, before a word.
        tell(.ended(number, ProcessEnd(exitCode: 126, signal: 0, cpuMilliseconds: 0, peakKilobytes: 0)))
      }
    case .kill(let number):
      // Not reaped, so still its own.
      for (child, known) in numbers where known == number { kill(-child, SIGKILL) }
    }
  }

  private mutating func reap() throws(SystemError) {
    while true {
      var end = sandbox_end()
      let child = sandbox_reap_any(watch, &end)
      guard child != 0 else { return }
      guard child > 0 else { throw SystemError(-child, "reaping a task process") }
      if let number = numbers.removeValue(forKey: child) { tell(.ended(number, ProcessEnd(end))) }
    }
  }

  private func read(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var buffer = [UInt8](repeating: 0, count: count - bytes.count)
      // By recv, and no more than asked: the descriptors lie behind.
      let received = recv(socket, &buffer, buffer.count, 0)
      if received > 0 {
        bytes += buffer[..<received]
      } else if received == 0 || errno != EINTR {
        // The agent has ended; the system ends the task processes with this one.
        _exit(0)
      }
    }
    return bytes
  }

  private func tell(_ report: NurseryReport) {
    let frame = report.frame
    var done = 0
    while done < frame.count {
      let count = frame.withUnsafeBytes {
        send(socket, $0.baseAddress! + done, frame.count - done, SocketFlags.noSignal)
      }
      if count > 0 { done += count } else if errno != EINTR { _exit(0) }
    }
  }
}
