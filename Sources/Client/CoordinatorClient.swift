import Digest
import FoundationEssentials
import SwiftProtobuf
package import TLS
package import Wire

/// A client's connection to a coordinator: one request at a time, and content alongside.
package struct CoordinatorClient: Sendable {
  package struct Endpoint: Sendable {
    /// The farm's coordinators, at least one. The first that welcomes the client serves it.
    package var addresses: [WireAddress]
    /// Empty if the farm has none.
    package var token: String
    /// Whom the client trusts. Nil: the connection is plain.
    package var trust: TLSTrust?

    package init(address: WireAddress, token: String, trust: TLSTrust? = nil) {
      self.init(addresses: [address], token: token, trust: trust)
    }

    package init(addresses: [WireAddress], token: String, trust: TLSTrust? = nil) {
      self.addresses = addresses
      self.token = token
      self.trust = trust
    }

    /// The addresses, for a person.
    package var place: String { addresses.map(\.description).joined(separator: ",") }
  }

  private let connection: WireConnection
  package let content: ContentExchange
  private let replies: AsyncThrowingStream<WireMessage, any Error>

  /// Connects, runs `body`, and closes the connection. Throws `WireError` or what `body` throws.
  /// - Parameters:
  ///   - limits: A coordinator that takes longer to connect, or sends nothing for longer though it is asked, is given
  ///     up.
  ///   - answered: Called when the coordinator has sent the first message after its welcome.
  package static func run<R: Sendable>(
    _ endpoint: Endpoint, limits: Reconnection.Limits = .init(),
    answered: @escaping @Sendable () -> Void = {},
    _ body: @escaping @Sendable (CoordinatorClient) async throws -> R
  ) async throws -> R {
    let hello = Sheaf_Hello.with {
      $0.role = .client
      $0.token = endpoint.token
      $0.name = "sheaf"
    }
    return try await WireClient.withConnection(
      toOneOf: endpoint.addresses, trusting: endpoint.trust, hello: hello, timeout: limits.longestConnecting
    ) { connection, _ in
      let content = ContentExchange(connection)
      let (replies, continuation) = AsyncThrowingStream.makeStream(of: WireMessage.self)
      let client = CoordinatorClient(connection: connection, content: content, replies: replies)
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          do {
            var isFirst = true
            for try await message in connection.inbound {
              if isFirst, !ContentExchange.answersProbe(message) {
                isFirst = false
                answered()
              }
              if await !content.take(message) { continuation.yield(message) }
            }
            continuation.finish(throwing: Self.closed)
            await content.end(Self.closed)
          } catch {
            continuation.finish(throwing: error)
            await content.end(error as? WireError ?? WireError(.closed, "\(error)"))
          }
        }
        group.addTask {
          guard let error = await Self.silence(of: connection, content, longest: limits.longestSilence) else { return }
          continuation.finish(throwing: error)
          await content.end(error)
          connection.close()
        }
        let result: R
        do {
          result = try await body(client)
        } catch let error as WireError where error.code == .closed {
          // If the coordinator has sent a refusal, that is the better reason.
          do { while try await client.reply() != nil {} } catch let last as WireError { throw last }
          throw error
        }
        group.cancelAll()
        return result
      }
    }
  }

  /// Waits until the coordinator has sent nothing for too long, as when its process is stopped, and returns the error;
  /// nil if this task is cancelled. A coordinator that has nothing to send is asked.
  private static func silence(
    of connection: WireConnection, _ content: ContentExchange, longest: Duration
  ) async -> WireError? {
    await withTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      var watch = SilenceWatch(longestGap: longest / 2, now: .now)
      while true {
        do { try await Task.sleep(for: longest / 8) } catch { return nil }
        let silence = watch.silence(since: connection.lastReceived, now: .now)
        guard silence < longest else {
          return WireError(.timeout, "the coordinator has sent nothing for \(longest.components.seconds) s")
        }
        // In a task of its own, because a coordinator that is stopped takes no messages.
        if silence >= longest / 4 { group.addTask { await content.sendProbe() } }
      }
    }
  }

  /// Sends a message that is not answered, or whose answers `reply` returns. Throws `WireError`.
  package func send(_ message: WireMessage) async throws {
    try await connection.send(message)
  }

  /// Sends a request and returns the answer. Throws `WireError`.
  package func request(_ message: WireMessage) async throws -> WireMessage {
    try await connection.send(message)
    guard let reply = try await reply() else { throw Self.closed }
    return reply
  }

  /// The next message that is not about content; nil when this task is cancelled. Throws `WireError`.
  package func reply() async throws -> WireMessage? {
    var iterator = replies.makeAsyncIterator()
    return try await iterator.next()
  }

  /// The answer was not the one that belongs to the request.
  package static var unexpected: WireError { WireError(.violation, "the coordinator sent an unexpected answer") }

  private static var closed: WireError { WireError(.closed, "the coordinator closed the connection") }
}
