import NIOCore
import Synchronization
import TLS

/// A frame that arrived, and the memory that is counted for it until the last reference is gone.
/// It is decoded by its reader: a message may take many times the memory of its bytes.
struct ReceivedFrame: Sendable {
  /// Without the length.
  var body: ByteBuffer
  /// Nil for a small frame.
  var memory: MemoryBudget.Reservation?
}

/// What a connection knows of its peer from the bytes that arrive.
final class ConnectionActivity: Sendable {
  private struct State: Sendable {
    var last: ContinuousClock.Instant
    var isReading = false
  }

  private let state = Mutex(State(last: .now))

  /// When bytes of the peer arrived last; now if this end is not reading.
  var lastReceived: ContinuousClock.Instant {
    state.withLock { $0.isReading ? $0.last : .now }
  }

  func received() { state.withLock { $0.last = .now } }

  func reads(_ isReading: Bool) {
    state.withLock { state in
      if isReading, !state.isReading { state.last = .now }
      state.isReading = isReading
    }
  }
}

/// How a connection's frames are received.
struct FrameRules: Sendable {
  /// The longest frame after the first one, in bytes, and whose share of the memory the frames are counted to.
  typealias Limits = (later: Int, share: MemoryBudget.Share)

  /// The longest first frame, in bytes.
  var first: Int
  /// For all frames after the first one, which is the argument.
  var later: @Sendable (Sheaf_Frame) -> Limits
  var memory: MemoryBudget
  /// Limits the memory of messages that are decoded. Nil if the peer is trusted: then all that it has sent before it
  /// closed the connection is received, too.
  var decoded: MemoryBudget?
  /// How long the first frame may take.
  var helloTimeout: Duration = WireProtocol.helloTimeout
  /// Within this time `WireProtocol.leastProgress` bytes must arrive while a frame is not complete, and in a sixth of
  /// it `WireProtocol.contendedProgress` bytes while others wait for memory.
  var frameTimeout: Duration = WireProtocol.frameTimeout
}

/// Turns the bytes of a connection into frames. The first frame completes a promise, which fails when the frame does
/// not arrive in time; all other frames go to the next handler, a few each time that it asks to read, so that what it
/// does not take waits here as the bytes of one read, or at the peer. A long frame waits for room in the memory that
/// all connections share, and the connection is not read meanwhile; it gets room in steps, so that bytes that were
/// announced and are not sent take none from others. When the connection is closed, the system delivers all that the
/// peer has sent: of that, a server receives some frames that have an effect (`outlivesConnection`). After an error, or
/// after `Command.discard`, the handler reads and drops the remaining input: closing a socket with unread input would
/// destroy a refusal that is still being sent.
final class FrameHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ReceivedFrame
  typealias OutboundIn = ByteBuffer

  /// Sent down the pipeline to drop all further input.
  enum Command: Sendable { case discard }

  private enum State {
    case awaitingFirst(EventLoopPromise<Sheaf_Frame>, deadline: Scheduled<Void>?)
    case open
    case discarding
  }

  private var state: State
  private var decoder: FrameDecoder
  private let rules: FrameRules
  private let activity: ConnectionActivity
  private var share = MemoryBudget.Share.client

  /// The room for the frame that is arriving. Nil: it has none, or there is no such frame.
  private var memory: MemoryBudget.Reservation?
  /// A frame waits for room.
  private var waiting: MemoryBudget.Request?
  /// Whether the next handler asked to read, and has received nothing since.
  private var isAsked = false
  /// Whether the channel was asked to read, and has not yet.
  private var isReading = false
  private var isDelivering = false
  /// Why the end of the connection is not one that the peer has stated.
  private var truncation: TLSError?
  private var progress: Progress?

  /// When the last read ended; nil while reading.
  private var pausedAt: NIODeadline?

  /// The bytes that have arrived for a frame that is not complete, and when they are looked at next.
  private struct Progress {
    var bytes = 0
    /// Since the last check.
    var recent = 0
    var checks = 0
    var check: Scheduled<Void>
  }

  private static let checksOfProgress = 6
  /// How many frames the next handler receives when it asks to read.
  private static let framesAtOnce = 4
  /// How many frames of a closed connection are received.
  private static let framesAfterClose: [MemoryBudget.Share: Int] = [.client: 64, .worker: 4096]

  init(_ rules: FrameRules, first: EventLoopPromise<Sheaf_Frame>, activity: ConnectionActivity) {
    self.rules = rules
    self.activity = activity
    state = .awaitingFirst(first, deadline: nil)
    decoder = FrameDecoder(limit: rules.first)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    guard case .awaitingFirst(let promise, _) = state else { return }
    let deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(rules.helloTimeout)) { [weak self] in
      guard let self, case .awaitingFirst(let promise, _) = self.state else { return }
      self.discard()
      promise.fail(WireError(.timeout, "no hello within \(self.rules.helloTimeout.components.seconds) s"))
    }
    state = .awaitingFirst(promise, deadline: deadline)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end(WireError(.closed, "the connection was closed before its first frame"))
    discard()
  }

  func channelInactive(context: ChannelHandlerContext) {
    if case .discarding = state {
    } else if deliverRest(context) {
      fail(WireError(.closed, "the connection was closed in the middle of a frame"), context)
    } else if let truncation {
      fail(truncation, context)
    }
    end(WireError(.closed, "the connection was closed before its first frame"))
    discard()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? TLSError, error.code == .truncated {
      // What arrived before is received, as that of any connection that is closed.
      truncation = error
      return
    }
    end(error)
    context.fireErrorCaught(error)
  }

  // MARK: Bytes

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    activity.received()
    if case .discarding = state { return }
    let bytes = unwrapInboundIn(data)
    progress?.recent += bytes.readableBytes
    decoder.append(bytes)
    // The input of a connection that was closed arrives unasked.
    if isReading, waiting == nil { deliver(context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    activity.reads(false)
    isReading = false
    pausedAt = .now()
    if case .discarding = state { startReading(context) }
    context.fireChannelReadComplete()
  }

  func read(context: ChannelHandlerContext) {
    isAsked = true
    goOn(context)
  }

  /// Delivers the frames that have arrived for as long as the next handler asks for more, then reads.
  private func goOn(_ context: ChannelHandlerContext) {
    guard !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    while isAsked, waiting == nil {
      guard deliver(context) > 0 else {
        if waiting == nil { startReading(context) }
        return
      }
      isAsked = false
      context.fireChannelReadComplete()
      // Whether the handlers behind this one can take more.
      context.pipeline.read()
    }
  }

  private func startReading(_ context: ChannelHandlerContext) {
    isAsked = false
    if let pausedAt, .now() - pausedAt > .seconds(1) { restartProgress(context) }
    pausedAt = nil
    isReading = true
    activity.reads(true)
    context.read()
  }

  /// Delivers frames that are complete, `framesAtOnce` at most. Returns how many.
  @discardableResult
  private func deliver(_ context: ChannelHandlerContext) -> Int {
    var delivered = 0
    do {
      while delivered < Self.framesAtOnce {
        if case .discarding = state { return delivered }
        switch try decoder.next() {
        case .frame(let body):
          endProgress()
          rules.memory.complete(memory)
          try deliver(body, context)
          delivered += 1
        case .needsRoom(let bytes, let isGrowing):
          endProgress()
          if !isGrowing, let granted = rules.memory.reserveNow(bytes, for: share) {
            memory = granted
            decoder.grantRoom(bytes)
          } else {
            request(bytes, isGrowing: isGrowing, context)
            return delivered
          }
        case .needsBytes:
          if decoder.isWithinFrame, progress == nil { restartProgress(context) }
          return delivered
        }
      }
    } catch {
      fail(error, context)
    }
    return delivered
  }

  private func deliver(_ body: ByteBuffer, _ context: ChannelHandlerContext) throws(WireError) {
    switch state {
    case .awaitingFirst(let promise, let deadline):
      let frame = try Sheaf_Frame(body: body)
      deadline?.cancel()
      state = .open
      (decoder.limit, share) = rules.later(frame)
      decoder.peerIsKnown = true
      promise.succeed(frame)
    case .open: context.fireChannelRead(wrapInboundOut(ReceivedFrame(body: body, memory: memory)))
    case .discarding: break
    }
    memory = nil
  }

  // MARK: Room

  private func request(_ bytes: Int, isGrowing: Bool, _ context: ChannelHandlerContext) {
    let loop = context.eventLoop
    let bound = NIOLoopBound((handler: self, context: context), eventLoop: loop)
    let grant: @Sendable (MemoryBudget.Reservation) -> Void = { memory in
      // Never at once, so that `waiting` is set.
      loop.execute { bound.value.handler.take(bytes, memory, bound.value.context) }
    }
    waiting =
      isGrowing
      ? rules.memory.grow(memory, by: bytes, for: share, grant: grant)
      : rules.memory.reserve(bytes, for: share, grant: grant)
  }

  private func take(_ bytes: Int, _ granted: MemoryBudget.Reservation, _ context: ChannelHandlerContext) {
    // Nil if the connection has ended meanwhile.
    guard waiting != nil else { return }
    waiting = nil
    memory = granted
    decoder.grantRoom(bytes)
    goOn(context)
  }

  // MARK: Progress of a frame

  private func restartProgress(_ context: ChannelHandlerContext) {
    guard decoder.isWithinFrame, waiting == nil else { return }
    endProgress()
    if case .discarding = state { return }
    progress = Progress(check: scheduleCheck(context))
  }

  private func scheduleCheck(_ context: ChannelHandlerContext) -> Scheduled<Void> {
    let time = TimeAmount(rules.frameTimeout / Self.checksOfProgress)
    return context.eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in self?.checkProgress(context) }
  }

  private func checkProgress(_ context: ChannelHandlerContext) {
    guard var progress else { return }
    self.progress = nil
    guard pausedAt == nil else { return restartProgress(context) }
    let recent = progress.recent
    progress.bytes += recent
    progress.recent = 0
    progress.checks += 1
    guard recent >= WireProtocol.contendedProgress || memory == nil || !rules.memory.isContended else {
      return fail(
        WireError(
          .refused(.unavailable),
          "a frame came too slowly while others waited for memory: connect again and repeat it"), context)
    }
    guard progress.bytes >= WireProtocol.leastProgress || progress.checks < Self.checksOfProgress else {
      let seconds = rules.frameTimeout.components.seconds
      return fail(
        WireError(.timeout, "a frame was not completed: only \(progress.bytes) bytes came within \(seconds) s"), context
      )
    }
    if progress.checks == Self.checksOfProgress { (progress.bytes, progress.checks) = (0, 0) }
    progress.check = scheduleCheck(context)
    self.progress = progress
  }

  private func endProgress() {
    progress?.check.cancel()
    progress = nil
  }

  // MARK: The end

  /// The connection is closed: delivers what is to be received of the frames that were not delivered. Returns whether
  /// the last one is not complete.
  private func deliverRest(_ context: ChannelHandlerContext) -> Bool {
    guard case .open = state else { return decoder.isWithinFrame }
    if let waiting { rules.memory.cancel(waiting) }
    waiting = nil
    var left = rules.decoded == nil ? Int.max : Self.framesAfterClose[share, default: 0]
    defer { context.fireChannelReadComplete() }
    do {
      while left > 0 {
        switch try decoder.next() {
        case .frame(let body):
          let received = ReceivedFrame(body: body, memory: memory)
          memory = nil
          guard rules.decoded == nil || received.outlivesConnection else { continue }
          guard let kept = rules.decoded == nil ? received : keep(received) else { return false }
          context.fireChannelRead(wrapInboundOut(kept))
          left -= 1
        case .needsRoom(let bytes, let isGrowing):
          if rules.decoded != nil {
            guard !isGrowing, let granted = rules.memory.reserveNow(bytes, for: share) else { return false }
            memory = granted
          }
          decoder.grantRoom(bytes)
        case .needsBytes: return decoder.isWithinFrame
        }
      }
    } catch {
      fail(error, context)
    }
    return false
  }

  /// A copy of a frame, because its bytes are a part of all that has arrived, and memory that is counted for it. Nil if
  /// there is no room.
  private func keep(_ frame: ReceivedFrame) -> ReceivedFrame? {
    guard let memory = frame.memory ?? rules.memory.reserveNow(frame.body.readableBytes, for: share) else { return nil }
    var body = ByteBuffer()
    body.writeImmutableBuffer(frame.body)
    return ReceivedFrame(body: body, memory: memory)
  }

  private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
    end(error)
    discard()
    context.fireErrorCaught(error)
    startReading(context)
  }

  private func end(_ error: any Error) {
    guard case .awaitingFirst(let promise, let deadline) = state else { return }
    deadline?.cancel()
    state = .discarding
    promise.fail(error)
  }

  /// Drops all further input, and frees the memory of what has arrived.
  private func discard() {
    state = .discarding
    endProgress()
    if let waiting { rules.memory.cancel(waiting) }
    waiting = nil
    memory = nil
    decoder = FrameDecoder(limit: 0)
  }

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
    guard event is Command else {
      context.triggerUserOutboundEvent(event, promise: promise)
      return
    }
    // The first frame's promise must be completed, or NIO stops the program in a debug build.
    end(WireError(.closed, "the connection was refused before its first frame"))
    discard()
    startReading(context)
    promise?.succeed()
  }
}
