import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import TLS

/// A connection of HTTP/1.1, and of HTTP/1.0, which ends with its one reply.
struct FarmChannel: ServerChildChannel {
  typealias Value = HTTP1Channel.Value

  let inner: HTTP1Channel
  /// Nil: connections are plain.
  let identity: TLSIdentity?

  /// How long the handshake of TLS may take.
  private static let handshakeTimeout = Duration.seconds(10)
  /// For a request that comes without TLS.
  private static let answerToPlain = ByteBuffer(
    string: "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 35\r\n\r\n"
      + "This address serves https:// alone\n")

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    do {
      if let identity {
        let handler = try TLSHandler(
          server: identity.context, answer: Self.answerToPlain, timeout: Self.handshakeTimeout)
        try channel.pipeline.syncOperations.addHandler(handler)
      }
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    return inner.setup(channel: channel, logger: logger).flatMapThrowing { value in
      let pipeline = channel.pipeline.syncOperations
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      try pipeline.addHandler(LastRequestHandler(), position: .after(decoder))
      return value
    }
  }

  func handle(value: Value, logger: Logger) async { await inner.handle(value: value, logger: logger) }
}

/// States which request is the last of its connection in the one form that the server looks for: one of HTTP/1.0, whose
/// reply ends with the connection, and one whose `Connection` has `close` in any case or among other options. Joins the
/// hosts that a request names, of which the server would take the first.
private final class LastRequestHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private var isOld = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    isOld = head.version.major < 1 || head.version == .http1_0
    let options = head.headers[canonicalForm: "connection"].map { $0.lowercased() }
    let hosts = head.headers["host"]
    // A request of HTTP/1.1 without one is refused as one with an empty one.
    if !isOld, hosts.count != 1 { head.headers.replaceOrAdd(name: "host", value: hosts.joined(separator: ", ")) }
    if isOld || options.contains("close") { head.headers.replaceOrAdd(name: "connection", value: "close") }
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard isOld, case .head(var head) = unwrapOutboundIn(data), head.status != .continue else {
      return context.write(data, promise: promise)
    }
    // Chunks would be part of the body to a client that does not know them.
    head.version = .http1_0
    head.headers.replaceOrAdd(name: "connection", value: "close")
    context.write(wrapOutboundOut(.head(head)), promise: promise)
  }
}
