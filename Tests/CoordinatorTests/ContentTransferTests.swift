import ContentStorage
import Digest
import Foundation
import Glibc
import Logging
import SwiftProtobuf
import Synchronization
import SystemSupport
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// Reads and uploads between `ContentExchange` and `ContentTransferHandler`.
@Suite(.timeLimit(.minutes(10))) struct ContentTransferTests {
  private let folder: TemporaryFolder
  private let locator: ContentLocator
  private let film: Content
  private let file: OpenFile

  init() throws {
    folder = try TemporaryFolder()
    try Directories.make(folder.path("media"))
    locator = try ContentLocator(
      store: ContentStore(directory: folder.path("store")), mediaRoot: folder.path("media"),
      contents: FileContentCache())
    let bytes = Data(TestBytes.varied(3 << 20))
    file = try OpenFile.open(folder.write(bytes, "film"))
    film = try file.content()
  }

  private var store: ContentStore { locator.store }

  /// Serves content and answers heartbeats.
  private func withServer(
    minimumFree: Value = Value(0), checksReads: Bool = false, _ body: @Sendable (WireAddress) async throws -> Void
  ) async throws {
    let server = try await WireServer.bind(
      to: WireAddress(host: "127.0.0.1", port: 0),
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [locator] in
        let welcome = Sheaf_Welcome.with { $0.protocolVersion = WireProtocol.version }
        try await server.run(maximumConnections: 10, admit: { _, _ in .success((welcome, ())) }) { connection, _, _ in
          let transfers = ContentTransferHandler(
            content: locator, connection: connection, minimumFree: minimumFree.value, checksReads: checksReads)
          try await withThrowingDiscardingTaskGroup { group in
            for try await message in connection.inbound {
              if try await transfers.start(message, in: &group) { continue }
              try await connection.send(.heartbeatReply(.init()))
            }
            await transfers.close()
            group.cancelAll()
          }
        }
      }
      try await body(server.address)
      server.stop()
      try await group.waitForAll()
    }
  }

  private typealias Heartbeat = @Sendable () async throws -> Void

  /// Connects as a worker. The exchange is served until `body` is done; `heartbeat` returns when one is answered.
  private func connect<R: Sendable>(
    _ address: WireAddress,
    _ body: @escaping @Sendable (ContentExchange, _ heartbeat: @escaping Heartbeat) async throws -> R
  ) async throws -> R {
    try await WireClient.withConnection(to: address, hello: .with { $0.role = .worker }, timeout: .seconds(300)) {
      connection, _ in
      let exchange = ContentExchange(connection)
      let (replies, reply) = AsyncStream.makeStream(of: Void.self)
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          do {
            for try await message in connection.inbound where await !exchange.take(message) { reply.yield() }
          } catch {
            await exchange.end(error as? WireError ?? WireError(.closed, "\(error)"))
          }
          await exchange.end()
          reply.finish()
        }
        let result = try await body(exchange) {
          try await connection.send(.heartbeat(.init()))
          for await _ in replies { return }
          throw WireError(.closed, "there was no reply")
        }
        connection.close()
        return result
      }
    }
  }

  @Test func `heartbeats are answered on a slow link full of content`() async throws {
    let upload = try store.upload(film)
    try upload.write(Data(file.read(at: 0, length: 3 << 20)))
    try upload.finish()
    let other = try OpenFile.open(folder.write(Data(count: 3 << 20), "other"))
    let announced = try other.content()
    // What the link carries within three seconds.
    let limit = 120_000
    try await withServer { address in
      let link = try ThrottledLink(to: address.port, bytesPerSecond: 40_000)
      defer { link.close() }
      try await connect(WireAddress(host: "127.0.0.1", port: link.port)) { [film] exchange, heartbeat in
        await withTaskGroup(of: Void.self) { group in
          for number in 0..<16 {
            // They end with the link.
            group.addTask { _ = try? await exchange.read(film.digest, offset: UInt64(number) << 17, length: 1 << 20) }
          }
          group.addTask { _ = try? await exchange.upload(other, announced) }
          do {
            while link.down < 100_000 || link.up < 100_000 { try await Task.sleep(for: .milliseconds(10)) }
            // A machine that is busy with other tests may be late, so several tries are allowed.
            var least = Int.max
            for _ in 0..<8 where least >= limit {
              let (up, down) = (link.up, link.down)
              try await heartbeat()
              least = min(least, max(link.up - up, link.down - down))
            }
            #expect(least < limit)
          } catch {
            Issue.record(error)
          }
          link.close()
        }
      }
    }
  }

  @Test func `an interrupted upload goes on over the next connection`() async throws {
    try await withServer { address in
      let link = try ThrottledLink(to: address.port, bytesPerSecond: 20_000_000)
      await #expect(throws: WireError.self) {
        try await connect(WireAddress(host: "127.0.0.1", port: link.port)) { [film, file] exchange, _ in
          try await exchange.upload(file, film) { received in
            if received > 3 << 19 { link.close() }
          }
        }
      }
      #expect(!store.contains(film))
      let firstReceived = Mutex<UInt64?>(nil)
      // The coordinator may not know yet that the first connection is gone, and then the upload starts anew.
      while locked() { try await Task.sleep(for: .milliseconds(5)) }
      try await connect(address) { [film, file] exchange, _ in
        _ = try await exchange.upload(file, film) { received in firstReceived.withLock { $0 = $0 ?? received } }
      }
      #expect(firstReceived.withLock { $0 ?? 0 } > 3 << 19)
      #expect(store.contains(film))
      #expect(try store.read(film.digest, limit: 3 << 20) == file.read(at: 0, length: 3 << 20))
    }
  }

  /// Whether an upload of the film is open.
  private func locked() -> Bool {
    let path = "\(store.directory)/temporary/partial-\(film.digest)"
    guard let partial = try? OpenFile.open(path) else { return false }
    return (try? partial.lockWithoutWaiting()) == false
  }

  @Test func `an upload waits for a disk that is almost full`() async throws {
    let minimumFree = Value(Int64.max / 2)
    try await withServer(minimumFree: minimumFree) { address in
      let error = await #expect(throws: WireError.self) {
        try await connect(address) { [film, file] exchange, _ in try await exchange.upload(file, film) }
      }
      #expect(error?.code == .temporary)
      #expect(error?.message.hasPrefix("the coordinator's content store: the disk has ") == true)
      minimumFree.value = 1
      try await connect(address) { [film, file] exchange, _ in _ = try await exchange.upload(file, film) }
      #expect(store.contains(film))
    }
  }

  @Test func `damaged remains of an upload are temporary`() async throws {
    do { try store.upload(film).write(Data(count: 2 << 20)) }
    try await withServer { address in
      try await connect(address) { [film, file, store] exchange, heartbeat in
        let error = await #expect(throws: WireError.self) { try await exchange.upload(file, film) }
        #expect(error?.code == .temporary)
        // The connection stays open, and the next upload starts at the beginning.
        try await heartbeat()
        try await exchange.upload(file, film)
        #expect(store.contains(film))
      }
    }
  }

  /// A peer may request again as soon as it has a reply, so that a whole window is always unanswered.
  @Test func `a peer that always uses the whole window is served`() async throws {
    try await withServer { address in
      let hello = Sheaf_Hello.with { $0.role = .worker }
      try await WireClient.withConnection(to: address, hello: hello, timeout: .seconds(300)) { connection, _ in
        var replies = connection.inbound.makeAsyncIterator()
        for request in 1...TestExtent.of(UInt64(800), whole: 5000) {
          if request > WireProtocol.readWindow { _ = try #require(await replies.next()) }
          try await connection.send(
            .readContent(
              .with {
                $0.request = request
                $0.digest = Data(film.digest.bytes)
                $0.length = 1
              }))
        }
        for _ in 0..<WireProtocol.readWindow { _ = try #require(await replies.next()) }
      }
    }
  }

  /// A client cannot report it.
  @Test func `content that is damaged on the disk is not read by a client and is removed`() async throws {
    let upload = try store.upload(film)
    try upload.write(Data(file.read(at: 0, length: 3 << 20)))
    try upload.finish()
    try await withServer(checksReads: true) { address in
      try await connect(address) { [film, file, store] exchange, _ in
        for (offset, length) in [(0, 3 << 20), (1, 1), ((256 << 10) - 1, 2), (1 << 20, 300_000), ((3 << 20) - 5, 99)] {
          let data = try await exchange.read(film.digest, offset: UInt64(offset), length: length)
          #expect(try [UInt8](data) == file.read(at: Int64(offset), length: min(length, (3 << 20) - offset)))
        }
        let object = try FileHandle(forUpdating: URL(filePath: store.path(of: film.digest)))
        try object.seek(toOffset: 1 << 20)
        try object.write(contentsOf: Data([1, 2, 3]))
        try object.close()
        #expect(try await exchange.read(film.digest, offset: 0, length: 1 << 20).count == 1 << 20)
        let message = "the content \(film.digest) is damaged on the coordinator's disk, and was removed"
        await #expect(throws: WireError(.content, message)) {
          try await exchange.read(film.digest, offset: (1 << 20) + 9, length: 1)
        }
        #expect(!store.contains(film))
      }
    }
  }

  @Test func `a peer that exceeds the window is refused`() async throws {
    // No read is answered while the store is away.
    try FileManager.default.moveItem(atPath: store.directory, toPath: store.directory + ".away")
    try await withServer { address in
      let hello = Sheaf_Hello.with { $0.role = .worker }
      let error = await #expect(throws: WireError.self) {
        try await WireClient.withConnection(to: address, hello: hello, timeout: .seconds(300)) { connection, _ in
          for request in 1...UInt64(WireProtocol.readWindow + 1) {
            try await connection.send(
              .readContent(
                .with {
                  $0.request = request
                  $0.digest = Data(film.digest.bytes)
                  $0.length = 1
                }))
          }
          for try await _ in connection.inbound {}
        }
      }
      #expect(error?.message == "at most 64 reads may be unanswered")
    }
  }

  @Test func `a long read comes in parts`() async throws {
    let path = folder.path("media/film.mov")
    #expect(link(folder.path("film"), path) == 0)
    #expect(locator.has(film, hint: path))
    try await withServer { address in
      try await connect(address) { [film, file] exchange, _ in
        let read = try await exchange.read(film.digest, offset: 1000, length: 5 << 20)
        #expect(try [UInt8](read) == file.read(at: 1000, length: 5 << 20))
        #expect(try await exchange.read(film.digest, offset: 3 << 20, length: 10).isEmpty)
        let missing = SHA256Digest.of("missing".utf8)
        await #expect(throws: WireError(.content, "the coordinator does not have the content \(missing)")) {
          try await exchange.read(missing, offset: 0, length: 1)
        }
      }
    }
  }
}

private final class Value: Sendable {
  private let mutex: Mutex<Int64>

  init(_ value: Int64) {
    mutex = Mutex(value)
  }

  var value: Int64 {
    get { mutex.withLock { $0 } }
    set { mutex.withLock { $0 = newValue } }
  }
}
