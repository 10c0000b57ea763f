import Media
import Testing

@Suite struct MediaBuildTests {
  @Test func `the identity names the libraries`() {
    #expect(MediaBuild.identity.contains("avcodec 59."))
  }
}
