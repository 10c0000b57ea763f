import Logging
import Runtime
import Testing

struct RefusalLogTests {
  /// Sends each line to a stream.
  private struct Lines: LogHandler {
    let stream: AsyncStream<Logger.Metadata>.Continuation
    var metadata = Logger.Metadata()
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      stream.yield(event.metadata ?? [:])
    }
  }

  @Test(.timeLimit(.minutes(5)))
  func `the first refusal has a line at once, and those that follow have one together`() async throws {
    let (lines, stream) = AsyncStream.makeStream(of: Logger.Metadata.self)
    let logger = Logger(label: "test") { _ in Lines(stream: stream) }
    let log = RefusalLog(logger, interval: .milliseconds(500))
    for _ in 0..<7 { log.refused("a wrong token", "192.0.2.1") }
    log.refused("a wrong token", "192.0.2.9")
    log.refused("no hello", "192.0.2.3")
    var found: [Logger.Metadata] = []
    for await line in lines {
      found.append(line)
      if found.count == 3 { break }
    }
    #expect(found[0] == ["reason": "a wrong token", "times": "1", "peers": "192.0.2.1"])
    #expect(found[1] == ["reason": "no hello", "times": "1", "peers": "192.0.2.3"])
    #expect(found[2] == ["reason": "a wrong token", "times": "7", "peers": "192.0.2.1, 192.0.2.9"])
    withExtendedLifetime(log) {}
  }
}
