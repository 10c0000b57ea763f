import Digest
import FoundationEssentials
import SwiftProtobuf
import Wire

/// A connection to a coordinator as commands use it: one question at a time, content beside it.
struct CoordinatorClient: Sendable {
  struct Endpoint: Sendable {
    var address: WireAddress
    var token: String
  }

  let connection: WireConnection
  let content: ContentExchange
  private let replies: AsyncThrowingStream<WireMessage, any Error>

  /// Connects, runs `body`, closes.
  static func run<R: Sendable>(
    _ endpoint: Endpoint, _ body: @escaping @Sendable (CoordinatorClient) async throws -> R
  ) async throws -> R {
    let hello = Sheaf_Hello.with {
      $0.role = .client
      $0.token = endpoint.token
      $0.name = "sheaf"
    }
    return try await WireClient.withConnection(to: endpoint.address, hello: hello) { connection, _ in
      let content = ContentExchange(connection)
      let (replies, continuation) = AsyncThrowingStream.makeStream(of: WireMessage.self)
      let client = CoordinatorClient(connection: connection, content: content, replies: replies)
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          do {
            for try await message in connection.inbound where await !content.take(message) {
              continuation.yield(message)
            }
            continuation.finish(throwing: WireError(.closed, "the coordinator closed the connection"))
            await content.end(WireError(.closed, "the coordinator closed the connection"))
          } catch {
            continuation.finish(throwing: error)
            await content.end(error as? WireError ?? WireError(.closed, "\(error)"))
          }
        }
        let result: R
        do {
          result = try await body(client)
        } catch let error as WireError where error.code == .closed {
          // The coordinator's last words, if there were any, are the better reason.
          do { while try await client.reply() != nil {} } catch let last as WireError { throw last }
          throw error
        }
        group.cancelAll()
        return result
      }
    }
  }

  func ask(_ question: WireMessage) async throws -> WireMessage {
    try await connection.send(question)
    guard let reply = try await reply() else {
      throw WireError(.closed, "the coordinator closed the connection")
    }
    return reply
  }

  /// The next message that is no content; nil when this task is cancelled.
  func reply() async throws -> WireMessage? {
    var iterator = replies.makeAsyncIterator()
    return try await iterator.next()
  }

  static var unexpected: WireError { WireError(.violation, "the coordinator answered something else") }
}
