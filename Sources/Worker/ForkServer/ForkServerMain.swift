import CSandbox
import FarmModel
import Glibc
import Media
import RenderTasks
import Renderer
import SheafCompositing
import SwiftProtobuf
import SystemSupport

/// The fork server: loads what tasks need, confines itself to the files that they need, and forks a process for each.
/// It has one thread and never opens media. Descriptor 0 is its socket to the agent.
struct ForkServerMain {
  /// The executable's first argument in the fork server, and so in every task process.
  static let subcommand = "fork-server"
  /// The exit code of a process that could not be forked or confined.
  private static let startFailure: Int32 = 126

  private let compositors: CompositorRegistry
  private let socket: OpenFile
  private let confinement: Confinement
  /// Can be read when a child may have ended.
  private let childWatch: Int32
  /// The agent's numbers of processes by process id.
  private var numbers: [pid_t: UInt32] = [:]

  /// The most bytes that a coordinator accepts.
  private static let longestBuild = 1024

  /// The build of libraries, renderer and compositors. Throws if there are too many compositors.
  /// - Parameter libraries: `LoadedLibraries.all()`.
  static func build(_ libraries: [LoadedLibrary], _ compositors: CompositorRegistry) throws(ControlError) -> String {
    let linked = LinkedCompositors(compositors.list.map { .init(name: $0.name, revision: $0.revision) })
    let build = "\(MediaBuild.identity), \(RendererBuild.identity(libraries))\(linked.buildPart)"
    if build.utf8.count <= longestBuild { return build }
    throw ControlError(
      "the names of the \(linked.list.count) compositors make the worker's build longer than \(longestBuild) bytes")
  }

  static func run(_ compositors: CompositorRegistry) -> Never {
    do {
      var server = try ForkServerMain(compositors)
      try server.serve()
    } catch {
      // The agent reads standard error, and puts it into its own message.
      endProcess(71, "\(error)")
    }
  }

  private init(_ compositors: CompositorRegistry) throws(SystemError) {
    self.compositors = compositors
    socket = OpenFile(owning: 0, name: "the agent")
    // Tasks must not come before the agent, whose heartbeats keep their leases.
    let niceness = sandbox_take_niceness()
    guard niceness == 0 else { throw SystemError(-niceness, "taking the niceness of the agent") }
    confinement = try Confinement.confineFiles()
    childWatch = sandbox_watch_children()
    guard childWatch >= 0 else { throw SystemError(-childWatch, "watching task processes") }
  }

  private mutating func serve() throws -> Never {
    // Task processes inherit it.
    MediaBuild.pinProcessor()
    let build = try Self.buildOfChild(compositors)
    report(
      .with {
        $0.ready = .with {
          $0.confinement = confinement.rawValue
          $0.build = build
        }
      })
    try SampleTask.read()
    while true {
      let ready = try waitForInput([socket.descriptor, childWatch])
      if ready[1] { try reap() }
      if ready[0] { try answerRequest() }
    }
  }

  /// The build, determined in a child that ends with it: to name all libraries, some are loaded that few tasks need and
  /// that may start threads.
  private static func buildOfChild(_ compositors: CompositorRegistry) throws -> String {
    let (child, output) = try startBuildProcess(compositors)
    var bytes: [UInt8] = []
    while true {
      let more = try output.readSome(4096)
      if more.isEmpty { break }
      bytes += more
    }
    _ = sandbox_await_end(child)
    var end = sandbox_end()
    let status = sandbox_reap(child, &end)
    guard status == 0 else { throw SystemError(-status, "reaping the process that determines the build") }
    let text = String(decoding: bytes, as: UTF8.self)
    guard end.exit_code == 0, end.signal == 0 else { throw ControlError("the build could not be determined: \(text)") }
    return text
  }

  /// Starts the child. Its output, which ends with it, is the build or an error.
  private static func startBuildProcess(
    _ compositors: CompositorRegistry
  ) throws(SystemError) -> (child: pid_t, output: OpenFile) {
    let (reading, writing) = try OpenFile.pipe()
    let child = sandbox_fork(writing.descriptor, writing.descriptor)
    if child == 0 {
      do {
        try OpenFile(owning: 1, name: "the fork server").write(Array(build(LoadedLibraries.all(), compositors).utf8))
        _exit(0)
      } catch {
        endProcess(startFailure, "\(error)")
      }
    }
    guard child > 0 else { throw SystemError(-child, "starting the process that determines the build") }
    return (child, reading)
  }

  private mutating func answerRequest() throws {
    let message = try ControlFrame.receive(
      Control_ForkServerRequest.self, from: socket, limit: ControlFrame.limitFromAgent)
    // The agent has ended; the kernel ends the task processes with this one.
    guard let message else { _exit(0) }
    switch message.request {
    case .fork(let number): try fork(number)
    case .kill(let number):
      // Its process id is still its own, because it is not reaped.
      for (child, known) in numbers where known == number { kill(-child, SIGKILL) }
    case .ping: report(.with { $0.pong = Control_Pong() })
    case nil: throw ControlError("a request of the agent is of no known kind")
    }
  }

  private mutating func fork(_ number: UInt32) throws(SystemError) {
    let given = try socket.receiveDescriptors(2)
    let child = sandbox_fork(given[0], given[1])
    if child == 0 { TaskMain.run(confinement: confinement, compositors: compositors) }
    for descriptor in given { close(descriptor) }
    if child > 0 {
      numbers[child] = number
    } else {
      reportEnd(of: number, ProcessEnd(exitCode: Self.startFailure, signal: 0, cpuMilliseconds: 0, peakBytes: 0))
    }
  }

  private mutating func reap() throws(SystemError) {
    while true {
      var end = sandbox_end()
      let child = sandbox_reap_any(childWatch, &end)
      guard child != 0 else { return }
      guard child > 0 else { throw SystemError(-child, "reaping a task process") }
      if let number = numbers.removeValue(forKey: child) { reportEnd(of: number, ProcessEnd(end)) }
    }
  }

  private func reportEnd(of number: UInt32, _ end: ProcessEnd) {
    report(
      .with {
        $0.ended = .with {
          $0.process = number
          $0.exitCode = end.exitCode
          $0.signal = end.signal
          $0.cpuMilliseconds = UInt64(clamping: end.cpuMilliseconds)
          $0.peakBytes = UInt64(clamping: end.peakBytes)
        }
      })
  }

  private func report(_ report: Control_ForkServerReport) {
    do {
      try socket.send(ControlFrame.encode(report))
    } catch {
      // The agent has ended.
      _exit(0)
    }
  }
}
