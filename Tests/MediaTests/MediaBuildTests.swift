import Media
import Testing

@Suite struct MediaBuildTests {
  @Test func `the identity names the libraries`() {
    #expect(MediaBuild.identity.contains("avcodec 59."))
  }

  @Test func `the identity names the instruction sets that audio is computed with`() {
    #expect(MediaBuild.identity.contains(", x86-64") || MediaBuild.identity.contains(", processor"))
  }
}
