import NIOCore
import Synchronization

/// A frame that arrived, and the memory that is counted for it until the last reference is gone.
struct ReceivedFrame: Sendable {
  var frame: Sheaf_Frame
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
  /// How long the first frame may take.
  var helloTimeout: Duration = WireProtocol.helloTimeout
  /// Within this time `WireProtocol.leastProgress` bytes must arrive while a frame is not complete, and in a sixth of it
  /// `WireProtocol.contendedProgress` bytes while others wait for memory.
  var frameTimeout: Duration = WireProtocol.frameTimeout
}

/// Turns the bytes of a connection into frames. The first frame completes a promise, which fails when the frame does not
/// arrive in time; all other frames go to the next handler. A long frame waits for room in the memory that all
/// connections share, and the connection is not read meanwhile; it gets room in steps, so that bytes that were announced
/// and are not sent take none from others. After an error, or after `Command.discard`, the handler
/// reads and drops the remaining input: closing a socket with unread input would destroy a refusal that is still being
/// sent.
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

  /// Of the frame that is arriving.
  private var memory: MemoryBudget.Reservation?
  /// A frame waits for room.
  private var waiting: MemoryBudget.Request?
  /// Whether the next handler asked to read while a frame waited for room.
  private var mustRead = false
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
    } else if decoder.isWithinFrame {
      fail(WireError(.closed, "the connection was closed in the middle of a frame"), context)
    }
    end(WireError(.closed, "the connection was closed before its first frame"))
    discard()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
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
    if waiting == nil { deliver(context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    activity.reads(false)
    pausedAt = .now()
    if case .discarding = state { context.read() }
    context.fireChannelReadComplete()
  }

  func read(context: ChannelHandlerContext) {
    if waiting != nil {
      mustRead = true
      return
    }
    if let pausedAt, .now() - pausedAt > .seconds(1) { restartProgress(context) }
    pausedAt = nil
    activity.reads(true)
    context.read()
  }

  /// Delivers the frames that are complete.
  private func deliver(_ context: ChannelHandlerContext) {
    do {
      while true {
        if case .discarding = state { return }
        switch try decoder.next() {
        case .frame(let frame):
          endProgress()
          rules.memory.complete(memory)
          deliver(frame, context)
        case .needsRoom(let bytes, let isGrowing):
          endProgress()
          if !isGrowing, let granted = rules.memory.reserveNow(bytes, for: share) {
            memory = granted
            decoder.grantRoom(bytes)
          } else {
            return request(bytes, isGrowing: isGrowing, context)
          }
        case .needsBytes:
          if decoder.isWithinFrame, progress == nil { restartProgress(context) }
          return
        }
      }
    } catch {
      fail(error, context)
    }
  }

  private func deliver(_ frame: Sheaf_Frame, _ context: ChannelHandlerContext) {
    switch state {
    case .awaitingFirst(let promise, let deadline):
      deadline?.cancel()
      state = .open
      (decoder.limit, share) = rules.later(frame)
      promise.succeed(frame)
    case .open: context.fireChannelRead(wrapInboundOut(ReceivedFrame(frame: frame, memory: memory)))
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
    deliver(context)
    context.fireChannelReadComplete()
    if mustRead, waiting == nil {
      mustRead = false
      read(context: context)
    }
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

  private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
    end(error)
    discard()
    context.fireErrorCaught(error)
    context.read()
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
    context.read()
    promise?.succeed()
  }
}
