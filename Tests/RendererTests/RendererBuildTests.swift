import Testing

@testable import Renderer

@Suite struct RendererBuildTests {
  @Test func identityIsStableAndQuick() throws {
    let clock = ContinuousClock()
    var identities: Set<String> = []
    let times = (0..<3).map { _ in clock.measure { identities.insert(RendererBuild.identity) } }
    let identity = try #require(identities.first)
    #expect(identities.count == 1)
    #expect(identity.contains("pango-1.") && identity.contains("cairo-1.") && identity.contains("fonts-"))
    // The quickest of three, since the machine may be busy with other tests.
    #expect(try #require(times.min()) < .milliseconds(50))
  }
}
