import Client
import ContentStorage
import Digest
import FarmModel
import Foundation
import Jobs
import NIOCore
import NIOPosix
import SwiftProtobuf
import SystemSupport
import TestPrograms

@testable import Coordinator
@testable import Wire

/// A worker or a client whose messages are changed at random. Each mutant is one connection.
struct MutantPeer: Sendable {
  private let kind: MutantKind
  private static let held = Content(digest: SHA256Digest.of([7, 7, 7]), size: 3)

  init(_ kind: MutantKind) {
    self.kind = kind
  }

  func run(_ numbers: Range<Int>, random: (Int) -> SeededRandom, began: (Int) -> Void) async throws {
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      // A coordinator serves many, and its store does not grow without end.
      let part = next..<min(next + 250, numbers.upperBound)
      let randoms = part.map(random)
      next = try await withoutActuallyEscaping(began) { began in
        let begin = UncheckedBegan(began)
        return try await TestCoordinator.run(policy: .withoutEnd) { coordinator in
          try await coordinator.render(2 * part.count)
          try coordinator.keep([7, 7, 7])
          var after = part.upperBound
          for (number, random) in zip(part, randoms) {
            // A failure whose end was changed to that of a wrong document has ended the job: nothing more is granted.
            if try await coordinator.store.job(TestCoordinator.job)?.state.hasEnded != false {
              after = number
              break
            }
            begin.call(number)
            try await connect(coordinator, number, random)
          }
          // It still serves.
          try await coordinator.client { client in
            _ = try await client.request(.workersQuery(.init()))
            _ = try await client.request(.statusQuery(.init()))
            _ = try await client.request(
              .statusQuery(
                .with {
                  $0.job = TestCoordinator.job.description
                  $0.withTasks = true
                }))
          }
          return after
        }
      }
    }
  }

  /// Called by one task at a time.
  private struct UncheckedBegan: @unchecked Sendable {
    let call: (Int) -> Void
    init(_ call: @escaping (Int) -> Void) { self.call = call }
  }

  private func connect(_ coordinator: TestCoordinator, _ number: Int, _ random: SeededRandom) async throws {
    var random = random
    let isWorker = kind == .worker
    var hello = coordinator.hello(isWorker ? .worker : .client, worker: "w\(number)")
    hello.protocolVersion = WireProtocol.version
    let isFirst = Int.random(in: 0..<8, using: &random) == 0
    let first = try mutated(.hello(hello), times: isFirst ? 2 : 0, &random)
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: "127.0.0.1", port: coordinator.endpoint.addresses[0].port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    let goodbye = try mutated(.hello(hello), times: 0, &random)
    do {
      try await channel.executeThenClose { inbound, outbound in
        try await outbound.write(first)
        if isWorker { try await outbound.write(mutated(.heartbeat(.with { $0.freeSlots = 1 }), times: 0, &random)) }
        var decoder = FrameDecoder(limit: 1 << 20)
        var isSent = isFirst
        if isFirst || !isWorker {
          for message in isFirst ? [] : requests(&random) { try await outbound.write(mutated(message, &random)) }
          if !isFirst { try await Task.sleep(for: .milliseconds(2)) }
          try await outbound.write(goodbye)
          isSent = true
        }
        for try await part in inbound {
          decoder.append(part)
          while true {
            let step = try decoder.next()
            if case .needsBytes = step { break }
            if case .needsRoom(let bytes, _) = step { decoder.grantRoom(bytes) }
            guard case .frame(let body) = step, !isSent,
              case .grant(let grant) = try Sheaf_Frame(message: body.withoutChecksum()).message
            else { continue }
            isSent = true
            for message in reports(of: grant, &random) { try await outbound.write(mutated(message, &random)) }
            try await Task.sleep(for: .milliseconds(2))
            try await outbound.write(goodbye)
          }
        }
      }
    } catch is IOError {
      // The coordinator has closed the connection while this wrote.
    } catch is ChannelError {
    }
  }

  private func mutated(
    _ message: WireMessage, times: Int? = nil, _ random: inout SeededRandom
  ) throws -> ByteBuffer {
    let bytes: [UInt8] = try Sheaf_Frame.with { $0.message = message }.serializedBytes()
    var tree = WireTree(bytes)
    for _ in 0..<(times ?? Int.random(in: 1...3, using: &random)) { tree?.mutate(&random) }
    var buffer = ByteBuffer()
    try buffer.writeLengthPrefixed(as: UInt32.self) { $0.writeBytes(tree?.bytes ?? bytes) }
    buffer.appendChecksum()
    return buffer
  }

  private func reports(of grant: Sheaf_Grant, _ random: inout SeededRandom) -> [WireMessage] {
    let heartbeat = WireMessage.heartbeat(
      .with {
        $0.freeSlots = 1
        $0.progress = [
          .with {
            $0.lease = grant.lease
            $0.done = 5
            $0.moved = 6
          }
        ]
      })
    let damage = #"{"tracks":[{"digest":"\#(Self.held.digest.hex)","track":1,"type":"video","count":2,"places":[]}]}"#
    let publish = WireMessage.publish(
      .with {
        $0.lease = grant.lease
        $0.digest = Data(Self.held.digest.bytes)
        $0.size = UInt64(Self.held.size)
        $0.damage = Data(damage.utf8)
      })
    let failure = WireMessage.failure(
      .with {
        $0.lease = grant.lease
        $0.end = .media
        $0.message = "a message \(Self.held.digest.hex)"
        $0.damagedInput = Data(Self.held.digest.bytes)
        $0.process = .with {
          $0.exitCode = 1
          $0.signal = 9
          $0.cpuMilliseconds = 100
          $0.peakBytes = 1 << 20
          $0.log = "log"
        }
        $0.usage = .with { ($0.cpuMilliseconds, $0.fetchedBytes) = (100, 7) }
      })
    return [heartbeat, Bool.random(using: &random) ? publish : failure]
  }

  private func requests(_ random: inout SeededRandom) -> [WireMessage] {
    let film = MutantFilm.all[Int.random(in: MutantFilm.all.indices, using: &random)]
    let content = Sheaf_Content.with {
      $0.digest = Data(Self.held.digest.bytes)
      $0.size = 3
    }
    let asset = Sheaf_SubmittedAsset.with {
      $0.id = film.assets[0]
      $0.path = film.assets[0]
      $0.content = content
    }
    let job = TestCoordinator.job.description
    let all: [WireMessage] = [
      .statusQuery(
        .with {
          $0.job = Bool.random(using: &random) ? job : ""
          $0.withTasks = true
        }),
      .watchJob(.with { $0.job = job }),
      .submit(
        .with {
          $0.document = Data(film.document.utf8)
          $0.assets = [asset]
          $0.name = "name"
          $0.priority = 1
          $0.segmentDuration = "1"
          $0.output = "film.mp4"
          $0.submission = "submission"
        }),
      .inspectDocument(
        .with {
          $0.document = Data(film.document.utf8)
          $0.assets = [asset]
          $0.segmentDuration = "5"
          $0.images = Data(#"{"times":{"count":{"_0":2}},"format":"png","quality":9}"#.utf8)
        }),
      .findMissing(.with { $0.contents = [content] }),
      .readContent(
        .with {
          $0.digest = Data(Self.held.digest.bytes)
          $0.offset = 1
          $0.length = 1
        }),
      .uploadBegin(
        .with {
          $0.digest = Data(SHA256Digest.of([9]).bytes)
          $0.size = 1
        }),
      .uploadChunk(
        .with {
          $0.offset = 0
          $0.data = Data([9])
        }),
      .retryJob(.with { $0.job = job }), .fetched(.with { $0.job = job }), .workersQuery(.init()),
    ]
    return (0..<3).map { _ in all[Int.random(in: all.indices, using: &random)] }
  }
}
