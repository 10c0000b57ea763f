import Foundation
import Glibc
import SystemSupport

/// A program that is loaded once, and forked for each run: to load its two hundred libraries takes ffmpeg longer than
/// most of what tests have it do.
struct ForkServer: Sendable {
  private static let ffmpeg = Result { try ForkServer("ffmpeg") }
  private static let ffprobe = Result { try ForkServer("ffprobe") }

  /// The server of a program that is loaded once, or nil for any other.
  static func of(_ program: String) throws -> ForkServer? {
    switch program {
    case "ffmpeg": try ffmpeg.get()
    case "ffprobe": try ffprobe.get()
    default: nil
    }
  }

  private let program: String
  private let address: String
  /// A connection to the server, which ends with it, and so with the process of the tests.
  private let lifeline: OpenFile

  private init(_ program: String) throws {
    self.program = program
    address = "sheaf-tests-\(UUID().uuidString)"
    let folder = try TemporaryFolder()
    let source = URL(filePath: #filePath).deletingLastPathComponent().appendingPathComponent("fork-server.c")
    let library = folder.path("fork-server.so")
    _ = try Tool.run("clang", ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source.path])
    let server: RunningProgram
    (server, lifeline) = try Self.start(program, [address], preloading: library)
    guard try lifeline.readSome(1) == [0] else {
      throw Tool.Failure(description: "\(program) serves no requests: it ended with \(server.wait())")
    }
  }

  /// Starts a program with one end of a connection as its standard input; returns the other.
  private static func start(
    _ program: String, _ arguments: [String], preloading library: String
  ) throws -> (RunningProgram, OpenFile) {
    let (input, lifeline) = try OpenFile.socketPair()
    let streams = RunningProgram.Streams(input: input.descriptor)
    return (
      try RunningProgram(program, arguments, environment: ["LD_PRELOAD": library], streams: streams), lifeline
    )
  }

  /// Runs the program with its standard input empty. Blocks until it has ended.
  ///
  /// - Parameters:
  ///   - output: The path of the file for its standard output, which exists.
  ///   - log: That for its standard error.
  /// - Returns: Its exit code, or 128 plus the number of the signal that ended it; 142 after 15 minutes.
  func run(_ arguments: [String], output: String, log: String) throws -> Int32 {
    let connection = try OpenFile.connection(toAbstract: address)
    try connection.send(([output, log, program] + arguments).flatMap { Array($0.utf8) + [0] })
    shutdown(connection.descriptor, Int32(SHUT_WR))
    guard let code = try connection.readSome(1).first else {
      throw Tool.Failure(description: "\(program) \(arguments.joined(separator: " ")) could not be forked")
    }
    return Int32(code)
  }
}

extension OpenFile {
  /// A connection to the socket of a name in Linux's abstract namespace.
  fileprivate static func connection(toAbstract name: String) throws -> OpenFile {
    let socket = OpenFile(
      owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0), name: name)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.dropFirst().copyBytes(from: name.utf8) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + 1 + name.utf8.count)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket.descriptor, $0, length) }
    }
    guard status == 0 else { throw SystemError(errno, "connecting to \(name)") }
    return socket
  }
}
