import Client
import ContentStorage
import Digest
import FarmWire
import Foundation
import Jobs
import NIOCore
import NIOPosix
import SwiftProtobuf
import SystemSupport
import TestPrograms
import Testing

@testable import Coordinator
@testable import Wire

/// A peer that violates the protocol receives a refusal with a reason, its connection is closed, and no other peer is
/// affected.
@Suite(.timeLimit(.minutes(10))) struct HostilePeerTests {
  /// Sends bytes, and returns the frames that arrive until the coordinator closes the connection.
  private func send(_ bytes: ByteBuffer, to coordinator: TestCoordinator) async throws -> [Sheaf_Frame] {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: "127.0.0.1", port: coordinator.endpoint.addresses[0].port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(bytes)
      var frames: [Sheaf_Frame] = []
      var decoder = FrameDecoder(limit: 1 << 20)
      for try await part in inbound {
        decoder.append(part)
        while true {
          let step = try decoder.next()
          if case .needsBytes = step { break }
          if case .frame(let body) = step { frames.append(try Sheaf_Frame(message: body.withoutChecksum())) }
          if case .needsRoom(let bytes, _) = step { decoder.grantRoom(bytes) }
        }
      }
      return frames
    }
  }

  private func stream(_ messages: WireMessage...) throws -> ByteBuffer {
    var stream = ByteBuffer()
    for message in messages {
      var bytes = try Sheaf_Frame.with { $0.message = message }.framed()
      stream.writeBuffer(&bytes)
    }
    return stream
  }

  private func hello(
    _ coordinator: TestCoordinator, _ role: Sheaf_Role, _ change: (inout Sheaf_Hello) -> Void = { _ in }
  ) -> WireMessage {
    var hello = coordinator.hello(role)
    hello.protocolVersion = WireProtocol.version
    change(&hello)
    return .hello(hello)
  }

  private func expectRefusal(
    _ coordinator: TestCoordinator, _ bytes: ByteBuffer, _ code: Sheaf_Refusal.Code, _ words: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let frames = try await send(bytes, to: coordinator)
    guard case .refusal(let refusal)? = frames.last?.message else {
      Issue.record("not a refusal: \(frames)", sourceLocation: sourceLocation)
      return
    }
    #expect(refusal.code == code, sourceLocation: sourceLocation)
    #expect(refusal.message.contains(words), "\(refusal.message)", sourceLocation: sourceLocation)
  }

  @Test func `a peer of the next version of the protocol is served`() async throws {
    try await TestCoordinator.run { coordinator in
      let next = hello(coordinator, .client) { $0.protocolVersion = WireProtocol.version + 1 }
      let frames = try await send(stream(next, .workersQuery(.init()), .hello(.init())), to: coordinator)
      guard case .welcome? = frames.first?.message, frames.count > 1, case .workersReply? = frames[1].message else {
        Issue.record("\(frames)")
        return
      }
    }
  }

  // A peer that connects again after a damaged hello is admitted, so no damage may be refused as if its sender were
  // wrong.
  @Test func `a hello with any wrong bit is refused as damaged`() async throws {
    try await TestCoordinator.run { coordinator in
      let whole = try stream(hello(coordinator, .client) { $0.name = "host" })
      let length = whole.readableBytes
      for bit in stride(from: 0, to: length * 8, by: TestExtent.of(5, whole: 1)) {
        var damaged = whole
        let byte = try #require(damaged.getInteger(at: damaged.readerIndex + bit / 8, as: UInt8.self))
        damaged.setInteger(byte ^ 1 << (bit % 8), at: damaged.readerIndex + bit / 8)
        let claimed = Int(try #require(damaged.getInteger(at: damaged.readerIndex, as: UInt32.self)))
        // The coordinator waits for the rest of a longer frame, and refuses it as late.
        if (length - 4 + 1...FrameLimits.fromClient.first).contains(claimed) { continue }
        let frames = try await send(damaged, to: coordinator)
        guard case .refusal(let refusal)? = frames.last?.message, refusal.code == .unavailable else {
          Issue.record("bit \(bit): \(frames)")
          continue
        }
      }
    }
  }

  @Test func `bad peers are refused and a good one is served throughout`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.client { good in
        // Another protocol: its first four bytes are a huge length.
        try await expectRefusal(coordinator, ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"), .unavailable, "longer than")
        // Bytes that are no message, with their correct length.
        try await expectRefusal(
          coordinator, ByteBuffer(bytes: [0, 0, 0, 3, 0xFF, 0xFF, 0xFF]), .unavailable, "damaged on its way")
        // Frames that were damaged on their way: the first one, and a later one.
        var damaged = try stream(hello(coordinator, .client) { $0.name = "host" })
        damaged.setInteger(UInt8(ascii: "x"), at: damaged.writerIndex - 6)
        try await expectRefusal(coordinator, damaged, .unavailable, "damaged on its way")
        damaged = try stream(hello(coordinator, .client), .cancelJob(.with { $0.job = "job" }))
        damaged.setInteger(UInt8(ascii: "x"), at: damaged.writerIndex - 6)
        try await expectRefusal(coordinator, damaged, .unavailable, "damaged on its way")
        // No hello first.
        try await expectRefusal(coordinator, stream(.workersQuery(.init())), .protocol, "first frame must be a hello")
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .client) { $0.protocolVersion = 99 }), .protocol,
          "uses version \(WireProtocol.version) of the protocol, not 99")
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .client) { $0.token = "guess" }), .token, "token is wrong")
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .client) { $0.token = "" }), .token, "requires a token")
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .unspecified)), .protocol, "must be worker or client")
        try await expectRefusal(coordinator, stream(hello(coordinator, .worker) { $0.slots = 0 }), .protocol, "slots")
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .worker) { $0.workerID = "a b" }), .protocol, "id")
        // A worker's message from a client, a client's from a worker, the coordinator's from a client, and a second
        // hello.
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .client), .heartbeat(.init())), .protocol, "not for a client")
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .worker), .submit(.init())), .protocol, "not for a worker")
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .client), .grant(.init())), .protocol, "not for a client")
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .client), hello(coordinator, .client)), .protocol, "not for")
        // Too long for a worker.
        var long = try stream(hello(coordinator, .worker))
        long.writeInteger(UInt32(2 << 20))
        try await expectRefusal(coordinator, long, .unavailable, "longer than")
        // A lease, a digest and an upload that are invalid.
        try await expectRefusal(
          coordinator, stream(hello(coordinator, .worker), .publish(.with { $0.digest = Data(count: 32) })), .protocol,
          "not a task")
        try await expectRefusal(
          coordinator,
          stream(
            hello(coordinator, .worker),
            .failure(
              .with {
                $0.lease = .with { $0.task = "j" }
                $0.end = .hung
              })), .protocol, "not a task")
        try await expectRefusal(
          coordinator,
          stream(hello(coordinator, .client), .uploadBegin(.with { $0.digest = Data(count: 3) })), .protocol, "32 bytes"
        )
        try await expectRefusal(
          coordinator,
          stream(
            hello(coordinator, .client),
            .uploadBegin(
              .with {
                $0.digest = Data(count: 32)
                $0.size = 9
              }),
            .uploadChunk(.with { $0.offset = 5 })), .protocol, "out of order")
        let reads = (0..<200).map { _ in WireMessage.readContent(.with { $0.digest = Data(count: 32) }) }
        var flood = try stream(hello(coordinator, .client))
        for read in reads {
          var bytes = try stream(read)
          flood.writeBuffer(&bytes)
        }
        _ = try await send(flood, to: coordinator)

        guard case .workersReply = try await good.request(.workersQuery(.init())) else {
          throw CoordinatorClient.unexpected
        }
      }
    }
  }

  @Test(arguments: [
    (#""box":{"width":9223372036854775807,"height":2}"#, "has a side that is not 1 to 16384 pixels"),
    (#""box":{"width":2,"height":-9223372036854775808}"#, "has a side that is not 1 to 16384 pixels"),
    (#""box":{"width":0,"height":0}"#, "has a side that is not 1 to 16384 pixels"),
    (
      #""sheet":{"columns":9223372036854775807,"rows":2,"hasTimes":true}"#, "a contact sheet has 1 to 64 columns"
    ),
  ])
  func `numbers of a request for pictures that no picture has are problems`(field: String, problem: String) async throws
  {
    try await TestCoordinator.run { coordinator in
      let folder = try TemporaryFolder()
      let path = try folder.write(Data("10".utf8), "a.mov")
      let worker = ScriptedWorker(coordinator.hello(.worker))
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          do { try await worker.run(at: coordinator.endpoint.addresses[0]) } catch is CancellationError {}
        }
        try await coordinator.client { client in
          let asset = try await AssetFile.asset(path, FileContentCache()).get()
          try await JobRun(client).provide([asset])
          let images = #"{"times":{"count":{"_0":1}},"format":"png","quality":9223372036854775807,\#(field)}"#
          let request = Sheaf_InspectDocument.with {
            $0.assets = [Sheaf_SubmittedAsset(asset)]
            $0.images = Data(images.utf8)
          }
          guard case .inspectReply(let reply) = try await client.request(.inspectDocument(request)) else {
            throw CoordinatorClient.unexpected
          }
          let messages = reply.problems.map(\.message)
          #expect(messages.contains("the quality 9223372036854775807 must be 1 to 100"), "\(messages)")
          #expect(messages.contains { $0.contains(problem) }, "\(messages)")
        }
        group.cancelAll()
      }
    }
  }

  @Test func `a peer that sends nothing is closed in time`() async throws {
    try await TestCoordinator.run(helloTimeout: .seconds(1)) { coordinator in
      try await expectRefusal(coordinator, ByteBuffer(bytes: [0, 0]), .unavailable, "no hello within 1 s")
    }
  }

  @Test func `an upload with another digest than announced is not kept`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.client { client in
        let folder = try TemporaryFolder()
        let file = try OpenFile.open(folder.write(Data("hello".utf8), "file"))
        let hello = Content(digest: SHA256Digest.of("hello".utf8), size: 5)
        let other = Content(digest: SHA256Digest.of("other".utf8), size: 5)
        await #expect(
          throws: WireError(.content, "the coordinator's content store: the upload does not have the announced digest")
        ) {
          try await client.content.upload(file, other)
        }
        #expect(!coordinator.content.contains(other))
        // The connection stays open, and the right digest is accepted.
        try await client.content.upload(file, hello)
        #expect(coordinator.content.contains(hello))
        // Again: the store has it, so the file, which has other bytes, is not read.
        try await client.content.upload(OpenFile.open("/dev/null"), hello)
        await #expect(throws: WireError.self) { try await client.content.read(other.digest, offset: 0, length: 5) }
        let read = try await client.content.read(hello.digest, offset: 1, length: 100)
        #expect(read == Data("ello".utf8))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: coordinator.content.directory + "/temporary").isEmpty)
    }
  }

  @Test func `a worker that comes back takes the place of its old connection`() async throws {
    try await TestCoordinator.run { coordinator in
      try await WireClient.withConnection(
        to: coordinator.endpoint.addresses[0], hello: coordinator.hello(.worker), timeout: .seconds(300)
      ) {
        old, _ in
        let later = coordinator.hello(.worker, session: 2)
        try await WireClient.withConnection(to: coordinator.endpoint.addresses[0], hello: later, timeout: .seconds(300))
        { new, _ in
          // The old one ends.
          for try await _ in old.inbound {}
          try await new.send(.heartbeat(.with { $0.freeSlots = 1 }))
          for try await message in new.inbound { if case .heartbeatReply = message { break } }
          #expect(try await coordinator.store.workers().count == 1)
        }
      }
    }
  }

  @Test func `an earlier connection does not take the place of a later one`() async throws {
    try await TestCoordinator.run { coordinator in
      try await ManualWorker.run(coordinator.hello(.worker, session: 2), at: coordinator) { later in
        try await later.heartbeat(free: 1)
        _ = try await later.heartbeatReply()
        for session in [Int64(1), 2] {
          let error = await #expect(throws: WireError.self) {
            try await ManualWorker.run(coordinator.hello(.worker, session: session), at: coordinator) { earlier in
              _ = try await earlier.heartbeatReply()
            }
          }
          #expect(error?.message.contains("is not later than 2") == true)
        }
        try await later.heartbeat(free: 1)
        _ = try await later.heartbeatReply()
      }
    }
  }

  @Test func `the connections of a worker count from one`() async throws {
    try await TestCoordinator.run { coordinator in
      try await expectRefusal(
        coordinator, stream(hello(coordinator, .worker) { $0.session = 0 }), .protocol, "count from 1")
    }
  }

  @Test func `a worker that sends nothing is closed after the lease time`() async throws {
    let policy = LeasePolicy(heartbeat: .milliseconds(300), lease: .seconds(1))
    try await TestCoordinator.run(policy: policy) { coordinator in
      try await WireClient.withConnection(
        to: coordinator.endpoint.addresses[0], hello: coordinator.hello(.worker), timeout: .seconds(300)
      ) {
        worker, welcome in
        #expect(welcome.heartbeatMilliseconds == 300 && welcome.leaseMilliseconds == 1000)
        for try await _ in worker.inbound {}
      }
    }
  }

  @Test func `draining refuses every connection`() async throws {
    try await TestCoordinator.run { coordinator in
      let error = await #expect(throws: WireError.self) {
        try await coordinator.client { client in
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await coordinator.service.drain(coordinator.server) }
            _ = try await client.reply()
          }
        }
      }
      #expect(error?.code == .refused(.shuttingDown))
    }
  }
}
