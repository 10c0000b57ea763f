import Digest
import FoundationEssentials
import Glibc
import Testing
import Wire

@testable import Coordinator

/// A limit on the size of files stands in for a disk that is full: the same writes fail, for a like reason.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FullDiskTests {
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

  @Test func anUploadThatDoesNotFitIsRefusedWithTheReasonAndLeavesNothing() async throws {
    let file = try #require(tmpfile())
    defer { fclose(file) }
    let descriptor = fileno(file)
    let size = Self.limit + 4 << 20
    #expect(ftruncate(descriptor, off_t(size)) == 0)
    let digest = try FileDigest.of(descriptor: descriptor).digest
    try await TestFarm.run { farm in
      try await CoordinatorClient.run(farm.endpoint) { client in
        let error = try await withLimit {
          await #expect(throws: WireError.self) {
            try await client.content.upload(descriptor: descriptor, digest: digest, size: Int64(size))
          }
        }
        #expect(error?.code == .content)
        #expect(error?.message.hasPrefix("the coordinator's vault: no space left on the device") == true)
        #expect(CommandFailure(try #require(error)).code == .work)
        // The connection stands.
        guard case .workersReply = try await client.ask(.workersQuery(.init())) else {
          throw CoordinatorClient.unexpected
        }
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: farm.vault.directory + "/temporary").isEmpty)
    }
  }
}
