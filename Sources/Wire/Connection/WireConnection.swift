import Glibc
import NIOCore
import NIOPosix
import SwiftProtobuf

/// One end of a connection after its hello: messages out and messages in, with back-pressure both ways.
package struct WireConnection: Sendable {
  /// The messages of the peer, in order. One task may iterate it, once. A slow reader slows the sender: a few frames are
  /// buffered here, the rest waits at the peer. Throws `WireError`: a refusal, a violation, or a broken connection.
  package let inbound: WireInbound
  /// The peer's address, for logs.
  package let peer: String
  private let channel: any Channel
  private let writer: NIOAsyncChannelOutboundWriter<ByteBuffer>

  init(
    _ channel: any Channel, _ inbound: NIOAsyncChannelInboundStream<Sheaf_Frame>,
    _ writer: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) {
    self.channel = channel
    self.inbound = WireInbound(stream: inbound)
    self.writer = writer
    peer = channel.remoteAddress.map(String.init(describing:)) ?? "an unknown address"
  }

  /// Sends a message and returns when the connection can take another one, so a slow peer slows its sender. Messages
  /// that one task sends keep their order. Throws `WireError`.
  package func send(_ message: WireMessage) async throws(WireError) {
    let bytes = try Sheaf_Frame.with { $0.message = message }.framed()
    do {
      try await writer.write(bytes)
    } catch {
      throw WireError(.closed, "the connection was closed")
    }
  }

  /// Sends a refusal as the last message and closes the connection. Waits at most a second for the peer to read it.
  package func refuse(_ code: Sheaf_Refusal.Code, _ message: String) async {
    let refusal = Sheaf_Refusal.with {
      $0.code = code
      $0.message = message
    }
    let sent = Task { try await send(.refusal(refusal)) }
    // A peer that does not read must not delay this end: the channel is closed after a second in any case.
    let closing = channel.eventLoop.scheduleTask(in: .seconds(1)) { [channel] in channel.close(promise: nil) }
    // It fails if the channel is closed already, and then there is no input to discard.
    try? await channel.triggerUserOutboundEvent(FrameHandler.Command.discard).get()
    do {
      try await sent.value
      writer.finish()
      try await channel.closeFuture.get()
    } catch {
      // The channel is closed already, by the peer or because the second is over.
    }
    closing.cancel()
  }

  /// Closes the connection at once. `inbound` ends.
  package func close() {
    channel.close(promise: nil)
  }

  /// Runs work that goes on alongside the reading of the connection. If the work throws, the peer receives a refusal
  /// with the reason and the connection is closed, so that `inbound` ends too: the task that reads `inbound` does not
  /// see what its sibling tasks throw. Throws what the work throws.
  package func alongside(_ work: () async throws -> Void) async throws {
    do {
      try await work()
    } catch {
      if !Task.isCancelled {
        let reason = error as? WireError ?? WireError(.refused(.unavailable), "\(error)")
        await refuse(reason.refusalCode, reason.message)
      }
      throw error
    }
  }
}

/// The messages of a connection's peer, in the order in which they arrive.
package struct WireInbound: AsyncSequence, Sendable {
  package typealias Element = WireMessage
  package typealias Failure = any Error

  let stream: NIOAsyncChannelInboundStream<Sheaf_Frame>

  package func makeAsyncIterator() -> Iterator { Iterator(frames: stream.makeAsyncIterator()) }

  package struct Iterator: AsyncIteratorProtocol {
    var frames: NIOAsyncChannelInboundStream<Sheaf_Frame>.AsyncIterator

    /// Nil when the peer has closed the connection or the task is cancelled. Throws `WireError`.
    package mutating func next() async throws -> WireMessage? {
      let frame: Sheaf_Frame?
      do {
        frame = try await frames.next()
      } catch let error as WireError {
        throw error
      } catch is CancellationError {
        return nil
      } catch {
        throw WireError(.closed, "the connection broke: \(error)")
      }
      guard let message = frame?.message else { return nil }
      if case .refusal(let refusal) = message { throw WireError(.refused(refusal.code), refusal.message) }
      return message
    }
  }
}

/// The NIO channel of a connection, at either end.
enum WireTransport {
  typealias AsyncChannel = NIOAsyncChannel<Sheaf_Frame, ByteBuffer>

  /// An open channel and the first frame, which is still to arrive.
  struct Opening: Sendable {
    let channel: AsyncChannel
    let first: EventLoopFuture<Sheaf_Frame>
  }

  static func open(_ channel: any Channel, first: Int, limitAfter: @escaping @Sendable (Sheaf_Frame) -> Int)
    -> EventLoopFuture<Opening>
  {
    channel.eventLoop.makeCompletedFuture {
      let promise = channel.eventLoop.makePromise(of: Sheaf_Frame.self)
      let decoder = FrameDecoder(first: first, limitAfter: limitAfter)
      let handler = FrameHandler(decoder: decoder, first: promise, timeout: WireProtocol.helloTimeout)
      try channel.pipeline.syncOperations.addHandler(handler)
      let wrapped = try AsyncChannel(
        wrappingChannelSynchronously: channel,
        configuration: .init(
          backPressureStrategy: .init(lowWatermark: 1, highWatermark: 4), isOutboundHalfClosureEnabled: true,
          inboundType: Sheaf_Frame.self, outboundType: ByteBuffer.self))
      return Opening(channel: wrapped, first: promise.futureResult)
    }
  }

  /// Small messages are sent at once. A peer that has vanished is detected within half a minute, even if neither end
  /// sends anything.
  static let options: [(ChannelOptions.Types.SocketOption, SocketOptionValue)] = [
    (.init(level: .tcp, name: .tcp_nodelay), 1),
    (.init(level: .socket, name: .so_keepalive), 1),
    (.init(level: .tcp, name: .init(rawValue: TCP_KEEPIDLE)), 15),
    (.init(level: .tcp, name: .init(rawValue: TCP_KEEPINTVL)), 5),
    (.init(level: .tcp, name: .init(rawValue: TCP_KEEPCNT)), 3),
    (.init(level: .tcp, name: .init(rawValue: TCP_USER_TIMEOUT)), 30_000),
  ]
  static let writeBuffer = ChannelOptions.Types.WriteBufferWaterMark(low: 1 << 20, high: 2 << 20)
  static let receiveBuffer = AdaptiveRecvByteBufferAllocator(minimum: 1 << 10, initial: 16 << 10, maximum: 256 << 10)
}
