import NIOCore
import SwiftProtobuf

/// One end of a connection after its hello: frames out, frames in, pressure both ways.
package struct WireConnection: Sendable {
  /// What the other end says, in order; one task may read it, once. A slow reader slows the sender: a few frames are
  /// held, the rest wait on the other side. Throws `WireError`: a refusal, a violation, or a connection that broke.
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

  /// Sends a message; returns when the connection has room for another, which is how a slow peer slows its sender.
  /// Messages of one task go in order.
  package func send(_ message: WireMessage) async throws(WireError) {
    let bytes = try Sheaf_Frame.with { $0.message = message }.framed()
    do {
      try await writer.write(bytes)
    } catch {
      throw WireError(.closed, "the connection was closed")
    }
  }

  /// Says why, as the last word, and closes; waits a second for it to be read.
  package func refuse(_ code: Sheaf_Refusal.Code, _ message: String) async {
    let refusal = Sheaf_Refusal.with {
      $0.code = code
      $0.message = message
    }
    let sent = Task { try await send(.refusal(refusal)) }
    // A peer that does not read must not hold us: the channel is closed after a second, whatever was sent.
    let closing = channel.eventLoop.scheduleTask(in: .seconds(1)) { [channel] in channel.close(promise: nil) }
    try? await channel.triggerUserOutboundEvent(FrameHandler.Command.discard).get()
    do {
      try await sent.value
      writer.finish()
      try await channel.closeFuture.get()
    } catch {
      // Closed already, from the other side or by the second's end.
    }
    closing.cancel()
  }

  /// Closes at once. `inbound` ends.
  package func close() {
    channel.close(promise: nil)
  }
}

/// Messages as they come.
package struct WireInbound: AsyncSequence, Sendable {
  package typealias Element = WireMessage
  package typealias Failure = any Error

  let stream: NIOAsyncChannelInboundStream<Sheaf_Frame>

  package func makeAsyncIterator() -> Iterator { Iterator(frames: stream.makeAsyncIterator()) }

  package struct Iterator: AsyncIteratorProtocol {
    var frames: NIOAsyncChannelInboundStream<Sheaf_Frame>.AsyncIterator

    /// Nil when the other end has closed or the task is cancelled.
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
