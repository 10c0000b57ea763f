import Glibc
import NIOCore
import NIOPosix

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
