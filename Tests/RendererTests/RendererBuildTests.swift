import Glibc
import Testing

@testable import Renderer

@Suite struct RendererBuildTests {
  @Test func theIdentityIsStableAndComputedQuickly() throws {
    var identities: Set<String> = []
    // The processor's time and not the clock's, because other tests run at the same time. The first call also reads
    // fontconfig's configuration, once for each process.
    let spent = (0..<3).map { _ in
      let start = Self.processorSeconds()
      identities.insert(RendererBuild.identity)
      return Self.processorSeconds() - start
    }
    let identity = try #require(identities.first)
    #expect(identities.count == 1)
    #expect(identity.contains("pango-1.") && identity.contains("cairo-1.") && identity.contains("fonts-"))
    #expect(try #require(spent.min()) < 0.05)
  }

  private static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
