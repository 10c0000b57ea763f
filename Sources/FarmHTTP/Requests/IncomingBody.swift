import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The parts of a request's body. What a client has not sent as HTTP has it, or not to its end, is its error and not
/// the coordinator's.
struct BodyParts: AsyncSequence {
  typealias Element = ByteBuffer

  let body: HummingbirdCore.RequestBody

  struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var parts: HummingbirdCore.RequestBody.AsyncIterator

    mutating func next() async throws -> ByteBuffer? {
      do {
        return try await parts.next()
      } catch let error as CancellationError {
        throw error
      } catch {
        var problem = ProblemDetails(.badRequest, "the body has ended early, or is not as HTTP/1.1 has it: \(error)")
        problem.headers[.connection] = "close"
        throw problem
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(parts: body.makeAsyncIterator()) }
}

extension Call {
  /// The request's body. It can be read once.
  var parts: BodyParts { BodyParts(body: request.body) }

  /// Throws `.unsupportedMediaType` if the body is compressed, or encoded in another way (RFC 9110, 8.4).
  func requirePlainBody() throws(ProblemDetails) {
    guard let encoding = header(.contentEncoding), encoding.lowercased() != "identity" else { return }
    var problem = ProblemDetails(
      .unsupportedMediaType, "the body must be sent as it is, and not as \(encoding.prefix(128))")
    problem.headers[.acceptEncoding] = "identity"
    throw problem
  }
}

/// A body that is read whole.
struct IncomingBody {
  private(set) var bytes: [UInt8] = []
  private var parts: BodyParts.AsyncIterator
  private let limit: Int
  private let watch: BodyWatch

  /// - Parameter limit: In bytes.
  init(_ call: Call, limit: Int, _ watch: BodyWatch) {
    parts = call.parts.makeAsyncIterator()
    self.limit = limit
    self.watch = watch
  }

  /// Reads until there are more bytes than this. Throws `.tooLarge` if there are more than the limit.
  /// - Returns: Whether the body has ended.
  mutating func read(atMost count: Int) async throws -> Bool {
    while bytes.count <= count {
      guard let part = try await parts.next() else { return true }
      guard bytes.count + part.readableBytes <= limit else { throw Self.tooLong(limit) }
      bytes.append(contentsOf: part.readableBytesView)
      watch.received(bytes.count)
    }
    return false
  }

  static func tooLong(_ limit: Int) -> ProblemDetails {
    ProblemDetails(.tooLarge, "a body has at most \(limit) bytes")
  }
}

/// Ends a body that takes too long, or comes too slowly. The time for which it waits until it is read does not count.
final class BodyWatch: Sendable {
  private struct State {
    var bytes = 0
    /// The time that the client had before `since`.
    var had = Duration.zero
    /// When the body was read on. Nil: it waits.
    var since: ContinuousClock.Instant? = .now
    var hasEnded = false
  }

  private let limits: HTTPLimits
  private let state = Mutex(State())

  init(_ limits: HTTPLimits) {
    self.limits = limits
  }

  func received(_ bytes: Int) { state.withLock { $0.bytes = bytes } }

  func pause() {
    state.withLock { state in
      state.had += state.since.map { .now - $0 } ?? .zero
      state.since = nil
    }
  }

  func goOn() { state.withLock { $0.since = .now } }

  func end() { state.withLock { $0.hasEnded = true } }

  /// Returns when the body has ended. Throws `.badRequest` if it takes too long.
  func run() async throws {
    let pause = min(limits.body, limits.bodyGrace) / 10
    while true {
      let (hasEnded, bytes, took) = state.withLock { state in
        (state.hasEnded, state.bytes, state.had + (state.since.map { .now - $0 } ?? .zero))
      }
      if hasEnded { return }
      guard took <= limits.body else { throw slow("has not arrived within \(limits.body.components.seconds) s") }
      guard took <= limits.bodyGrace || Double(bytes) >= Double(limits.bodyRate) * (took / .seconds(1)) else {
        throw slow("comes at fewer than \(limits.bodyRate) bytes a second")
      }
      try await Task.sleep(for: pause)
    }
  }

  private func slow(_ what: String) -> ProblemDetails {
    var problem = ProblemDetails(.badRequest, "the body \(what)")
    // What is left of it is not waited for.
    problem.headers[.connection] = "close"
    return problem
  }
}
