import NIOCore

/// Turns the bytes of a connection into frames. The first frame completes a promise, which fails when the frame does not
/// arrive in time; all other frames go to the next handler. After an error, or after `Command.discard`, the handler reads
/// and drops the remaining input: closing a socket with unread input would destroy a refusal that is still being sent.
final class FrameHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = Sheaf_Frame

  /// Sent down the pipeline to drop all further input.
  enum Command: Sendable { case discard }

  private enum State {
    case awaitingFirst(EventLoopPromise<Sheaf_Frame>, deadline: Scheduled<Void>?)
    case open
    case discarding
  }

  private var state: State
  private let processor: NIOSingleStepByteToMessageProcessor<FrameDecoder>
  private let timeout: TimeAmount

  init(decoder: FrameDecoder, first: EventLoopPromise<Sheaf_Frame>, timeout: Duration) {
    state = .awaitingFirst(first, deadline: nil)
    processor = NIOSingleStepByteToMessageProcessor(decoder)
    self.timeout = TimeAmount(timeout)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    guard case .awaitingFirst(let promise, _) = state else { return }
    let deadline = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { [weak self] in
      guard let self, case .awaitingFirst(let promise, _) = self.state else { return }
      self.state = .discarding
      promise.fail(WireError(.timeout, "no hello within \(self.timeout.nanoseconds / 1_000_000_000) s"))
    }
    state = .awaitingFirst(promise, deadline: deadline)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end(WireError(.closed, "the connection was closed before its first frame"))
  }

  func channelInactive(context: ChannelHandlerContext) {
    if case .discarding = state {
    } else {
      do {
        try processor.finishProcessing(seenEOF: true) { deliver($0, context) }
      } catch {
        fail(error, context)
      }
    }
    end(WireError(.closed, "the connection was closed before its first frame"))
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .discarding = state { return }
    do {
      try processor.process(buffer: unwrapInboundIn(data)) { deliver($0, context) }
    } catch {
      fail(error, context)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if case .discarding = state { context.read() }
    context.fireChannelReadComplete()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    end(error)
    context.fireErrorCaught(error)
  }

  private func deliver(_ frame: Sheaf_Frame, _ context: ChannelHandlerContext) {
    switch state {
    case .awaitingFirst(let promise, let deadline):
      deadline?.cancel()
      state = .open
      promise.succeed(frame)
    case .open: context.fireChannelRead(wrapInboundOut(frame))
    case .discarding: break
    }
  }

  private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
    end(error)
    state = .discarding
    context.fireErrorCaught(error)
    context.read()
  }

  private func end(_ error: any Error) {
    guard case .awaitingFirst(let promise, let deadline) = state else { return }
    deadline?.cancel()
    state = .discarding
    promise.fail(error)
  }
}

extension FrameHandler: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
    guard event is Command else {
      context.triggerUserOutboundEvent(event, promise: promise)
      return
    }
    // The first frame's promise must be completed, or NIO stops the program in a debug build.
    end(WireError(.closed, "the connection was refused before its first frame"))
    state = .discarding
    context.read()
    promise?.succeed()
  }
}
