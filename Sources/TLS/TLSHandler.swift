package import NIOCore

/// TLS between a connection's socket and its other handlers, which see plaintext. It is a pipeline's first handler.
///
/// The plaintext of one read is passed on at once and as one buffer, so what a connection holds is what its reads
/// bring: this handler reads nothing by itself. What is written before the handshake is complete waits here. A
/// connection that ends without TLS's own end has an error, `TLSError.Code.truncated`, before it becomes inactive.
package final class TLSHandler: ChannelDuplexHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  private enum State {
    /// The channel is not active.
    case idle
    case handshake
    case open
    /// The handshake failed, or something after it, or this end has closed the connection.
    case ended
  }

  /// Which end this is.
  private enum Role {
    /// - Parameters:
    ///   - answer: Sent to a peer whose first bytes are not those of TLS.
    ///   - greeted: Called when the handshake is complete, with what the peer's certificate says.
    case server(answer: ByteBuffer?, greeted: @Sendable (WorkerCertificate?) -> Void)
    case client

    /// The types of records with which the other end may begin: a handshake, or the alert of a refusal.
    var firstTypes: Set<UInt8> {
      switch self {
      case .server: [22]
      case .client: [21, 22]
      }
    }
  }

  private var session: TLSSession
  private let role: Role
  private let timeout: Duration?
  private var deadline: Scheduled<Void>?
  private var state = State.idle
  private var hasReceived = false
  /// The peer has ended what it sends.
  private var peerHasEnded = false
  private var hasEnded = false
  /// What was written before the handshake was complete.
  private var waiting = CircularBuffer<(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)>()
  private var waitingBytes = 0
  /// Bytes that TLS itself sends, such as answers to changes of keys, and that the system has not taken.
  private var unsentAnswers = 0

  /// How many bytes may wait for the handshake.
  static let mostWaiting = 1 << 20
  /// A peer that causes answers and does not read them is not served any more.
  static let mostUnsentAnswers = 64 << 10
  /// How many records are encrypted into one buffer.
  private static let recordsAtOnce = 7

  /// The server's end.
  /// - Parameters:
  ///   - answer: Sent to a peer whose first bytes are not those of TLS.
  ///   - timeout: How long the handshake may take. Nil: another handler limits it.
  ///   - greeted: Called when the handshake is complete, with what the peer's certificate says if it is a worker's of
  ///     the farm.
  package init(
    server context: TLSContext, answer: ByteBuffer? = nil, timeout: Duration? = nil,
    greeted: @escaping @Sendable (WorkerCertificate?) -> Void = { _ in }
  ) throws(TLSError) {
    session = try .server(context)
    role = .server(answer: answer, greeted: greeted)
    self.timeout = timeout
  }

  /// The client's end.
  /// - Parameter host: The name or the IP address that the server's certificate must have.
  package init(_ trust: TLSTrust, host: String, timeout: Duration? = nil) throws(TLSError) {
    session = try .client(trust, host: host)
    role = .client
    self.timeout = timeout
  }

  // MARK: The connection's life

  package func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { start(context) }
  }

  package func channelActive(context: ChannelHandlerContext) {
    start(context)
    context.fireChannelActive()
  }

  private func start(_ context: ChannelHandlerContext) {
    guard case .idle = state else { return }
    state = .handshake
    if let timeout {
      deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { [weak self] in
        guard let self, case .handshake = self.state else { return }
        self.fail(TLSError(.timeout, "the TLS handshake took longer than \(timeout.components.seconds) s"), context)
      }
    }
    guard case .client = role else { return }
    do throws(TLSError) {
      try shakeHands(context)
    } catch {
      fail(error, context)
    }
  }

  package func channelInactive(context: ChannelHandlerContext) {
    if !peerHasEnded {
      switch state {
      case .handshake:
        end(context)
        context.fireErrorCaught(TLSError(.truncated, "the connection was closed during the TLS handshake"))
      case .open:
        end(context)
        context.fireErrorCaught(Self.truncation)
      case .idle, .ended: break
      }
    }
    end(context)
    context.fireChannelInactive()
  }

  package func handlerRemoved(context: ChannelHandlerContext) { end(context) }

  private static let truncation = TLSError(.truncated, "the connection was cut")

  /// Nothing is read or written any more.
  private func end(_ context: ChannelHandlerContext) {
    state = .ended
    deadline?.cancel()
    deadline = nil
    let unsent = waiting
    waiting.removeAll()
    for write in unsent { write.promise?.fail(ChannelError.ioOnClosedChannel) }
  }

  private func fail(_ error: TLSError, _ context: ChannelHandlerContext) {
    guard state != .ended else { return }
    if case .server(let answer?, _) = role, error.code == .notTLS {
      context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
    } else if hasReceived {
      // The alert that says to the peer why.
      sendOutput(context)
    }
    end(context)
    context.fireErrorCaught(error)
    // The peer reads why it is not trusted before its owner closes the connection.
    if case .server = role, error.code == .untrusted { return }
    context.close(promise: nil)
  }

  // MARK: From the peer

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard state == .handshake || state == .open, !peerHasEnded else { return }
    let bytes = unwrapInboundIn(data)
    guard bytes.readableBytes > 0 else { return }
    if !hasReceived, let type = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self), !role.firstTypes.contains(type)
    {
      return fail(TLSError(.notTLS, "it does not use TLS"), context)
    }
    hasReceived = true
    var plaintext = context.channel.allocator.buffer(capacity: bytes.readableBytes)
    let result = Result { () throws(TLSError) in try process(bytes, into: &plaintext, context) }
    sendOutput(context)
    // What arrived before an error is passed on, as what arrives before the end of a connection is.
    if plaintext.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(plaintext)) }
    guard state != .ended else { return }
    do throws(TLSError) {
      if try result.get() { peerEnded(context) }
      if unsentAnswers > Self.mostUnsentAnswers {
        throw TLSError(.failed, "the peer causes answers and does not read them")
      }
    } catch {
      fail(error, context)
    }
  }

  /// Goes on with the handshake, and decrypts what is behind it. Returns whether the peer has ended what it sends.
  private func process(
    _ bytes: ByteBuffer, into plaintext: inout ByteBuffer, _ context: ChannelHandlerContext
  ) throws(TLSError) -> Bool {
    var left = bytes
    // In parts: the memory in which libssl gets them grows with the longest one, and does not shrink.
    while let part = left.readSlice(length: min(left.readableBytes, TLSSession.longestRecord)), part.readableBytes > 0 {
      try session.receive(part)
      try shakeHands(context)
      if state == .open, try session.read(into: &plaintext) { return true }
    }
    return false
  }

  private func shakeHands(_ context: ChannelHandlerContext) throws(TLSError) {
    guard state == .handshake else { return }
    let isComplete = try session.handshake()
    sendOutput(context)
    guard isComplete else { return }
    deadline?.cancel()
    deadline = nil
    state = .open
    if case .server(_, let greeted) = role { greeted(session.workerCertificate()) }
    try sendWaiting(context)
  }

  /// As when a socket's input has ended: the connection is closed, unless the other handlers want to go on sending.
  private func peerEnded(_ context: ChannelHandlerContext) {
    peerHasEnded = true
    let option = try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)
    if option == true {
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    } else {
      close(context: context, mode: .all, promise: nil)
    }
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed? = event as? ChannelEvent else {
      return context.fireUserInboundEventTriggered(event)
    }
    // The socket's input has ended. If TLS's had before, the other handlers have had the event.
    if !peerHasEnded { fail(Self.truncation, context) }
  }

  // MARK: To the peer

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let bytes = unwrapOutboundIn(data)
    switch state {
    case .idle, .handshake:
      waitingBytes += bytes.readableBytes
      guard waitingBytes <= Self.mostWaiting else {
        promise?.fail(ChannelError.ioOnClosedChannel)
        return fail(TLSError(.failed, "too much was sent before the TLS handshake was complete"), context)
      }
      waiting.append((bytes, promise))
    case .open:
      do throws(TLSError) {
        try encrypt(bytes, promise, context)
      } catch {
        promise?.fail(error)
        fail(error, context)
      }
    case .ended: promise?.fail(ChannelError.ioOnClosedChannel)
    }
  }

  private func sendWaiting(_ context: ChannelHandlerContext) throws(TLSError) {
    while let (bytes, promise) = waiting.popFirst() {
      do throws(TLSError) {
        try encrypt(bytes, promise, context)
      } catch {
        promise?.fail(error)
        throw error
      }
    }
    context.flush()
  }

  /// Writes bytes as records. If it throws, the promise is not completed.
  private func encrypt(
    _ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
  ) throws(TLSError) {
    guard !hasEnded else { throw TLSError(.failed, "nothing can be sent after the end") }
    var left = bytes
    repeat {
      let part = left.readSlice(length: min(left.readableBytes, Self.recordsAtOnce * TLSSession.longestRecord))
      guard let part else { return }
      var ciphertext = context.channel.allocator.buffer(
        capacity: part.readableBytes + Self.recordsAtOnce * TLSSession.recordOverhead)
      try encrypt(part, into: &ciphertext)
      context.write(wrapOutboundOut(ciphertext), promise: left.readableBytes == 0 ? promise : nil)
    } while left.readableBytes > 0
  }

  private func encrypt(_ part: ByteBuffer, into ciphertext: inout ByteBuffer) throws(TLSError) {
    var offset = 0
    while offset < part.readableBytes {
      let length = min(TLSSession.longestRecord, part.readableBytes - offset)
      var failure: TLSError?
      part.withUnsafeReadableBytes { bytes in
        do throws(TLSError) {
          try session.write(UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + length)]))
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      session.takeOutput(into: &ciphertext)
      offset += length
    }
  }

  /// Sends what TLS itself has to send.
  private func sendOutput(_ context: ChannelHandlerContext) {
    let count = session.pendingOutput
    guard count > 0 else { return }
    var output = context.channel.allocator.buffer(capacity: count)
    session.takeOutput(into: &output)
    unsentAnswers += count
    let sent = context.eventLoop.makePromise(of: Void.self)
    sent.futureResult.assumeIsolated().whenComplete { _ in self.unsentAnswers -= count }
    context.writeAndFlush(wrapOutboundOut(output), promise: sent)
  }

  package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    switch (state, mode) {
    case (.open, .input): context.close(mode: mode, promise: promise)
    case (.open, _):
      if !hasEnded {
        hasEnded = true
        session.end()
        sendOutput(context)
      }
      if mode == .all { end(context) }
      context.close(mode: mode, promise: promise)
    default:
      // There is no TLS over which the peer could be informed.
      end(context)
      context.close(promise: promise)
    }
  }
}
