import CompositionModel
import Digest
import Foundation
import Glibc
import Media
import RenderTasks
import SwiftProtobuf
import Synchronization
import SystemSupport
import TestPrograms
import Testing
import Wire

@testable import Worker

/// A film is read by another process before it counts. The films are copied, because that takes one file.
@Suite(.timeLimit(.minutes(10)))
struct CheckedFilmTests {
  private let coordinator = ScriptedCoordinator()
  private let media: Data

  init() throws {
    media = try Data(contentsOf: Place.media("friday.mp4"))
  }

  /// Starts task processes, and does something to the film before the second one of a task.
  private final class Tampering: ProcessSource {
    private let source: any ProcessSource
    private let change: @Sendable () -> Void
    private let starts = Atomic(0)

    init(_ source: any ProcessSource = Place.forkServer, change: @escaping @Sendable () -> Void) {
      (self.source, self.change) = (source, change)
    }

    var count: Int { starts.load(ordering: .relaxed) }

    func start(control: OpenFile, standardError: OpenFile) throws(SystemError) -> any StartedProcess {
      if starts.wrappingAdd(1, ordering: .relaxed).newValue == 2 { change() }
      return try source.start(control: control, standardError: standardError)
    }
  }

  /// Starts the first process in one way, and those after it in another.
  private final class FirstProcess: ProcessSource {
    private let first: any ProcessSource
    private let others: any ProcessSource
    private let starts = Atomic(0)

    init(_ first: any ProcessSource = Place.forkServer, then others: any ProcessSource) {
      (self.first, self.others) = (first, others)
    }

    func start(control: OpenFile, standardError: OpenFile) throws(SystemError) -> any StartedProcess {
      let isFirst = starts.wrappingAdd(1, ordering: .relaxed).newValue == 1
      return try (isFirst ? first : others).start(control: control, standardError: standardError)
    }
  }

  /// The task that copies the first second of the pictures.
  private func grant() async throws -> Sheaf_Grant {
    let digest = await coordinator.serve(media)
    let track = try #require(
      try AssetProbe.probe(FileByteSource(descriptor: open(Place.media("friday.mp4").path, O_RDONLY)), name: "friday")
        .tracks.first { $0.type == .video })
    let second = Int64(track.timebase.timescale) / track.timebase.value
    let clip = PassthroughTask.Clip(
      digest: digest.hex, track: track.index, codec: track.codec, timebase: track.timebase, discontinuities: nil,
      from: nil, start: track.origin, end: track.origin + second, target: 0)
    let task = PassthroughTask(
      container: .mp4,
      tracks: [PassthroughTask.Track(type: .video, clips: [clip], duration: MediaTime(seconds: 1))],
      optimizeForNetworkUse: true, metadata: [:])
    let payload = try JSONCoding.encoder.encode(TaskPayload.passthrough(task))
    return .with {
      $0.lease = .task(epoch: 1)
      $0.kind = .stitch
      $0.payload = payload
      $0.inputs = [Sheaf_Content(Content(digest: digest, size: Int64(media.count)), path: "")]
      $0.work = 1
    }
  }

  /// What the agent reports of the task.
  private func result(_ source: Tampering, folder: TemporaryFolder) async throws -> WireMessage {
    let agent = try RunningAgent(try await coordinator.start(), source: source, folder: folder)
    await coordinator.awaitConnection()
    let message = try await coordinator.ask(.grant(try await grant())) { $0.isResult }
    agent.agent.stop()
    try await agent.end()
    await coordinator.stop()
    return message
  }

  /// Changes the outputs of an agent's tasks, which have no names.
  @Sendable private static func change(in folder: String, _ body: (Int32, off_t) -> Void) {
    var seen: Set<ino_t> = []
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
      let path = "/proc/self/fd/\(name)"
      let target = (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) ?? ""
      guard target.hasPrefix("\(folder)/work/") else { continue }
      let file = open(path, O_RDWR)
      var status = stat()
      if file >= 0, fstat(file, &status) == 0, status.st_size > 0, seen.insert(status.st_ino).inserted {
        body(file, status.st_size)
      }
      close(file)
    }
  }

  @Test func `a film is published when another process has read it`() async throws {
    let source = Tampering {}
    let message = try await result(source, folder: try TemporaryFolder())
    guard case .publish(let publish) = message else { throw Unexpected(message) }
    #expect(publish.size > 1000)
    #expect(source.count == 2)
  }

  @Test(arguments: ["cut off", "overwritten", "empty", "one bit"])
  func `a film whose bytes changed after it was made is no result, and that is not counted`(damage: String) async throws
  {
    let folder = try TemporaryFolder()
    let source = Tampering {
      Self.change(in: folder.url.path) { file, size in
        switch damage {
        case "cut off": ftruncate(file, size / 2)
        case "empty": ftruncate(file, 0)
        case "one bit":
          var byte: UInt8 = 0
          pread(file, &byte, 1, size / 2)
          byte ^= 4
          pwrite(file, &byte, 1, size / 2)
        default:
          let zeros = [UInt8](repeating: 0, count: 4096)
          pwrite(file, zeros, min(zeros.count, Int(size)), 0)
        }
      }
    }
    let message = try await result(source, folder: folder)
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    #expect(failure.end == .released, "\(failure)")
    #expect(failure.message.hasPrefix("another process read the film before it counts: "), "\(failure.message)")
    #expect(source.count == 2)
  }

  /// A task process that writes something else and says that it is done.
  private static let liar = """
    import array, os, socket, struct, sys
    agent = socket.socket(fileno=os.dup(0))
    def whole(count):
      data = b""
      while len(data) < count: data += agent.recv(count - len(data))
      return data
    agent.sendall(bytes.fromhex(sys.argv[1]))
    whole(struct.unpack(">I", whole(4))[0])
    _, control, _, _ = agent.recvmsg(1, socket.CMSG_SPACE(64))
    files = array.array("i", control[0][2])
    os.write(files[0], open(sys.argv[3], "rb").read())
    agent.sendall(bytes.fromhex(sys.argv[2]))
    """

  @Test(arguments: ["film", "no film"])
  func `what is not the film of the task is no result, and that is counted`(made: String) async throws {
    let folder = try TemporaryFolder()
    if made == "film" {
      try Tool.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:d=1", "-c:v", "mpeg4", folder.path("made.mp4"))
    } else {
      try Data("this is no film".utf8).write(to: folder.url.appending(path: "made.mp4"))
    }
    func hex(_ message: TaskMessage) -> String {
      message.frame.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    try Data(Self.liar.utf8).write(to: folder.url.appending(path: "liar.py"))
    let script =
      "exec python3 '\(folder.path("liar.py"))' \(hex(.ready([.landlock, .seccomp]))) \(hex(.finished)) "
      + "'\(folder.path("made.mp4"))'"
    let source = Tampering(FirstProcess(Place.script(script), then: Place.forkServer)) {}
    let message = try await result(source, folder: try TemporaryFolder())
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    #expect(failure.end == .media, "\(failure)")
    let reason = made == "film" ? "it has the tracks mpeg4, and not h264" : "it cannot be read"
    #expect(failure.message.contains("another process read the film before it counts: "), "\(failure.message)")
    #expect(failure.message.contains(reason), "\(failure.message)")
  }

  @Test func `a process that fails while it reads the film fails the attempt`() async throws {
    let message = try await result(
      Tampering(FirstProcess(then: Place.script("kill -SEGV $$"))) {}, folder: try TemporaryFolder())
    guard case .failure(let failure) = message else { throw Unexpected(message) }
    #expect(failure.end == .crashed && failure.process.signal == SIGSEGV, "\(failure)")
    #expect(failure.message.contains("another process read the film"))
  }

  @Test func `a film that is cancelled while it is read leaves nothing`() async throws {
    let (reached, second) = AsyncStream.makeStream(of: Void.self)
    let agent = try RunningAgent(
      try await coordinator.start(),
      source: Tampering(FirstProcess(then: Place.script("sleep 1000"))) { second.yield() })
    await coordinator.awaitConnection()
    _ = try await coordinator.ask(.grant(try await grant())) {
      if case .heartbeat(let heartbeat) = $0 { heartbeat.progress.count == 1 } else { false }
    }
    for await _ in reached { break }
    await coordinator.cancel(.task(epoch: 1))
    _ = try await coordinator.next { $0.isHeartbeat(freeSlots: 1, leases: 0) }
    #expect(try agent.leftovers == [])
    agent.agent.stop()
    try await agent.end()
    await coordinator.stop()
  }
}
