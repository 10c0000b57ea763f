import Client
import Digest
import Foundation
import SwiftProtobuf
import Testing
import Wire

@testable import Coordinator

/// Clients that ask about long files under the media root, which the coordinator reads for their digests.
extension FileSizeTests {
  @Suite struct LongOfferTests {
    @Test func `files that take long to read hold up no result`() async throws {
      let media = FileManager.default.temporaryDirectory.appendingPathComponent("offers-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: media, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: media) }
      // Files without blocks: they take no space, and minutes to read.
      let paths = ["a.mov", "b.mov"].map { media.appendingPathComponent($0).path }
      let size = 1 << 40
      for path in paths {
        try Data().write(to: URL(filePath: path))
        try #require(truncate(path, off_t(size)) == 0)
      }
      try await TestCoordinator.run(mediaRoot: media.path) { coordinator in
        try await coordinator.render()
        let result = try coordinator.keep([7])
        let offers = paths.map { path in
          Task {
            try await coordinator.client { client in
              let content = Sheaf_Content(Content(digest: .of(Array(path.utf8)), size: Int64(size)), path: path)
              guard
                case .findMissingReply(let reply) = try await client.request(
                  .findMissing(.with { $0.contents = [content] }))
              else { throw CoordinatorClient.unexpected }
              return reply.missing.count
            }
          }
        }
        try await eventually("a file is read") { Self.isOpen(paths[0]) || Self.isOpen(paths[1]) }
        try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
          try await worker.heartbeat(free: 1)
          let lease = try await worker.grant().lease
          try await worker.publish(lease, result)
          #expect(try await worker.publishReply().outcome == .published)
          #expect(Self.isOpen(paths[0]) || Self.isOpen(paths[1]), "the reading is not over")
        }
        // Their reading ends at once, and they are not the contents that were asked for.
        for path in paths { #expect(truncate(path, 0) == 0) }
        for offer in offers { #expect(try await offer.value == 1) }
      }
    }

    /// Whether this process has a file open.
    private static func isOpen(_ path: String) -> Bool {
      let descriptors = "/proc/self/fd"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []
      return names.contains { name in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\(name)")) == path
      }
    }
  }
}
