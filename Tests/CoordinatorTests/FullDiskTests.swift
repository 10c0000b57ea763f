import Client
import ContentStorage
import Digest
import Foundation
import Glibc
import Synchronization
import SystemSupport
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// Tests of which one limits the size of the files of this process, and others need long files.
@Suite(.serialized, .timeLimit(.minutes(10))) enum FileSizeTests {}

/// A limit on the size of files takes the place of a full disk: the same writes fail, for a similar reason.
extension FileSizeTests {
  @Suite struct FullDiskTests {
    /// Far more than any other test of this process writes.
    private static let limit = 48 << 20

    private func withLimit<R>(_ body: () async throws -> R) async throws -> R {
      signal(SIGXFSZ, SIG_IGN)
      var before = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &before)
      var limited = rlimit(rlim_cur: rlim_t(Self.limit), rlim_max: before.rlim_max)
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limited)
      defer { setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &before) }
      return try await body()
    }

    @Test func `an upload that does not fit is temporarily impossible and goes on when there is room`() async throws {
      let folder = try TemporaryFolder()
      let file = try OpenFile.open(folder.path("file"), O_RDWR | O_CREAT)
      let size = Self.limit + 4 << 20
      #expect(ftruncate(file.descriptor, off_t(size)) == 0)
      let content = try file.content()
      try await TestCoordinator.run { coordinator in
        try await coordinator.client { client in
          let error = try await withLimit {
            await #expect(throws: WireError.self) {
              try await client.content.upload(file, content)
            }
          }
          #expect(error?.code == .temporary)
          #expect(error?.message.hasPrefix("the coordinator's content store: no space left on the device") == true)
          // The connection stays open.
          guard case .workersReply = try await client.request(.workersQuery(.init())) else {
            throw CoordinatorClient.unexpected
          }
          // What fitted is kept, and is not sent again.
          let first = Mutex<UInt64?>(nil)
          try await client.content.upload(file, content) { received in first.withLock { $0 = $0 ?? received } }
          #expect(first.withLock { $0 ?? 0 } > 40 << 20)
          #expect(coordinator.content.contains(content))
        }
        #expect(
          try FileManager.default.contentsOfDirectory(atPath: coordinator.content.directory + "/temporary").isEmpty)
      }
    }
  }
}
