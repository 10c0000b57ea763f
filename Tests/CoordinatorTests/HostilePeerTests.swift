import Digest
import FoundationEssentials
import Glibc
import Jobs
import NIOCore
import NIOPosix
import SwiftProtobuf
import TestPrograms
import Testing

@testable import Coordinator
@testable import Wire

/// What a bad peer gets: a refusal with a reason, its connection closed; and nobody else notices (DESIGN 1.5).
@Suite(.timeLimit(.minutes(10))) struct HostilePeerTests {
  /// Sends bytes, and gives all that comes back until the other side closes.
  private func send(_ bytes: ByteBuffer, to farm: TestFarm) async throws -> [Sheaf_Frame] {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: "127.0.0.1", port: farm.endpoint.address.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(bytes)
      var frames: [Sheaf_Frame] = []
      let processor = NIOSingleStepByteToMessageProcessor(FrameDecoder(first: 1 << 20) { _ in 1 << 20 })
      for try await part in inbound { try processor.process(buffer: part) { frames.append($0) } }
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
    _ farm: TestFarm, _ role: Sheaf_Role, _ change: (inout Sheaf_Hello) -> Void = { _ in }
  ) -> WireMessage {
    var hello = farm.hello(role)
    hello.protocolVersion = WireProtocol.version
    change(&hello)
    return .hello(hello)
  }

  private func expectRefusal(
    _ farm: TestFarm, _ bytes: ByteBuffer, _ code: Sheaf_Refusal.Code, _ words: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let frames = try await send(bytes, to: farm)
    guard case .refusal(let refusal)? = frames.last?.message else {
      Issue.record("no refusal but \(frames)", sourceLocation: sourceLocation)
      return
    }
    #expect(refusal.code == code, sourceLocation: sourceLocation)
    #expect(refusal.message.contains(words), "\(refusal.message)", sourceLocation: sourceLocation)
  }

  @Test func badPeersAreRefusedAndAGoodOneIsServedThroughout() async throws {
    try await TestFarm.run { farm in
      try await CoordinatorClient.run(farm.endpoint) { good in
        // Another protocol altogether; its first four bytes are a huge length.
        try await expectRefusal(farm, ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"), .protocol, "longer than")
        // Garbage with an honest length.
        try await expectRefusal(farm, ByteBuffer(bytes: [0, 0, 0, 3, 0xFF, 0xFF, 0xFF]), .protocol, "not a message")
        // No hello first.
        try await expectRefusal(farm, stream(.workersQuery(.init())), .protocol, "first frame must be a hello")
        try await expectRefusal(
          farm, stream(hello(farm, .client) { $0.protocolVersion = 99 }), .protocol, "speaks version 1")
        try await expectRefusal(farm, stream(hello(farm, .client) { $0.token = "guess" }), .token, "token is wrong")
        try await expectRefusal(farm, stream(hello(farm, .client) { $0.token = "" }), .token, "wants a token")
        try await expectRefusal(farm, stream(hello(farm, .unspecified)), .protocol, "worker's or a client's")
        try await expectRefusal(farm, stream(hello(farm, .worker) { $0.slots = 0 }), .protocol, "slots")
        try await expectRefusal(farm, stream(hello(farm, .worker) { $0.workerID = "a b" }), .protocol, "id")
        // Worker's words from a client, a client's from a worker, the coordinator's from either, hello twice.
        try await expectRefusal(farm, stream(hello(farm, .client), .heartbeat(.init())), .protocol, "not for a client")
        try await expectRefusal(farm, stream(hello(farm, .worker), .submit(.init())), .protocol, "not for a worker")
        try await expectRefusal(farm, stream(hello(farm, .client), .grant(.init())), .protocol, "not for a client")
        try await expectRefusal(farm, stream(hello(farm, .client), hello(farm, .client)), .protocol, "not for")
        // Too long for a worker.
        var long = try stream(hello(farm, .worker))
        long.writeInteger(UInt32(2 << 20))
        try await expectRefusal(farm, long, .protocol, "longer than")
        // Leases, digests and uploads that are none.
        try await expectRefusal(
          farm, stream(hello(farm, .worker), .publish(.with { $0.digest = Data(count: 32) })), .protocol, "no task")
        try await expectRefusal(
          farm,
          stream(hello(farm, .client), .uploadBegin(.with { $0.digest = Data(count: 3) })), .protocol, "32 bytes")
        try await expectRefusal(
          farm,
          stream(
            hello(farm, .client),
            .uploadBegin(
              .with {
                $0.digest = Data(count: 32)
                $0.size = 9
              }),
            .uploadChunk(.with { $0.offset = 5 })), .protocol, "out of order")
        let reads = (0..<200).map { _ in WireMessage.readContent(.with { $0.digest = Data(count: 32) }) }
        var flood = try stream(hello(farm, .client))
        for read in reads {
          var bytes = try stream(read)
          flood.writeBuffer(&bytes)
        }
        _ = try await send(flood, to: farm)

        guard case .workersReply = try await good.ask(.workersQuery(.init())) else {
          throw CoordinatorClient.unexpected
        }
      }
    }
  }

  @Test func aPeerThatSaysNothingIsClosedInTime() async throws {
    try await TestFarm.run { farm in
      let start = ContinuousClock.now
      try await expectRefusal(farm, ByteBuffer(bytes: [0, 0]), .protocol, "no hello within 10 s")
      #expect(start.duration(to: .now) < .seconds(15))
    }
  }

  @Test func anUploadThatIsNotWhatItsDigestSaysIsNotKept() async throws {
    try await TestFarm.run { farm in
      try await CoordinatorClient.run(farm.endpoint) { client in
        let folder = try TemporaryFolder()
        let file = try folder.write("hello".utf8, to: "file")
        let descriptor = open(file, O_RDONLY)
        defer { close(descriptor) }
        let digest = SHA256Digest.of("other".utf8)
        await #expect(throws: WireError(.content, "the coordinator's vault: the upload is not what its digest says")) {
          try await client.content.upload(descriptor: descriptor, digest: digest, size: 5)
        }
        #expect(farm.vault.size(of: digest) == nil)
        // The connection stands, and the right digest is taken.
        try await client.content.upload(descriptor: descriptor, digest: SHA256Digest.of("hello".utf8), size: 5)
        #expect(farm.vault.size(of: SHA256Digest.of("hello".utf8)) == 5)
        // Again: the vault has it, nothing is sent.
        try await client.content.upload(descriptor: -1, digest: SHA256Digest.of("hello".utf8), size: 5)
        await #expect(throws: WireError.self) { try await client.content.read(digest, offset: 0, length: 5) }
        let read = try await client.content.read(SHA256Digest.of("hello".utf8), offset: 1, length: 100)
        #expect(read == Data("ello".utf8))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: farm.vault.directory + "/temporary").isEmpty)
    }
  }

  @Test func aWorkerThatComesBackTakesThePlaceOfItsOldConnection() async throws {
    try await TestFarm.run { farm in
      try await WireClient.withConnection(to: farm.endpoint.address, hello: farm.hello(.worker)) { old, _ in
        try await WireClient.withConnection(to: farm.endpoint.address, hello: farm.hello(.worker)) { new, _ in
          // The old one ends.
          for try await _ in old.inbound {}
          try await new.send(.heartbeat(.with { $0.freeSlots = 1 }))
          for try await message in new.inbound { if case .heartbeatReply = message { break } }
          #expect(try await farm.store.workers().count == 1)
        }
      }
    }
  }

  @Test func aSilentWorkerIsClosedAfterALease() async throws {
    let policy = LeasePolicy(heartbeat: .milliseconds(300), lease: .seconds(1))
    try await TestFarm.run(policy: policy) { farm in
      try await WireClient.withConnection(to: farm.endpoint.address, hello: farm.hello(.worker)) { worker, welcome in
        #expect(welcome.heartbeatMilliseconds == 300 && welcome.leaseMilliseconds == 1000)
        for try await _ in worker.inbound {}
      }
    }
  }

  @Test func drainingSaysFarewellToEverybody() async throws {
    try await TestFarm.run { farm in
      let error = await #expect(throws: WireError.self) {
        try await CoordinatorClient.run(farm.endpoint) { client in
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await farm.service.drain(farm.server) }
            _ = try await client.reply()
          }
        }
      }
      #expect(error?.code == .refused(.shuttingDown))
    }
  }
}
