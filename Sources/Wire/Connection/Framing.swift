import NIOCore
import SwiftProtobuf

/// Splits a stream of bytes into frames. It checks a frame's length before it waits for the frame's bytes, so that a peer
/// cannot make it buffer more than the limit.
struct FrameDecoder: NIOSingleStepByteToMessageDecoder {
  typealias InboundOut = Sheaf_Frame

  /// The longest frame that is accepted now.
  private(set) var limit: Int
  private let limitAfter: (Sheaf_Frame) -> Int
  private var hasSeenFirst = false

  /// - Parameters:
  ///   - first: The limit of the first frame, in bytes.
  ///   - limitAfter: The limit of all other frames, given the first one.
  init(first: Int, limitAfter: @escaping (Sheaf_Frame) -> Int) {
    limit = first
    self.limitAfter = limitAfter
  }

  mutating func decode(buffer: inout ByteBuffer) throws -> Sheaf_Frame? {
    guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return nil }
    guard Int(length) <= limit else {
      throw WireError(.violation, "a frame of \(length) bytes is longer than the \(limit) that are allowed here")
    }
    guard let body = buffer.readLengthPrefixedSlice(as: UInt32.self) else { return nil }
    let frame = try Sheaf_Frame(body: body)
    if !hasSeenFirst {
      hasSeenFirst = true
      limit = limitAfter(frame)
    }
    return frame
  }

  mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> Sheaf_Frame? {
    if let frame = try decode(buffer: &buffer) { return frame }
    if buffer.readableBytes > 0 { throw WireError(.closed, "the connection was closed in the middle of a frame") }
    return nil
  }
}

extension Sheaf_Frame {
  /// The frame as it is sent: a big-endian length of four bytes, then the message.
  func framed() throws(WireError) -> ByteBuffer {
    do {
      let bytes: FrameBytes = try serializedBytes()
      return bytes.buffer
    } catch {
      throw WireError(.violation, "a frame could not be encoded: \(error)")
    }
  }

  init(body: ByteBuffer) throws(WireError) {
    do {
      try self.init(serializedBytes: FrameBytes(body: body))
    } catch {
      throw WireError(.violation, "a frame is not a message of this protocol")
    }
    guard message != nil else { throw WireError(.violation, "a frame contains no message of this protocol version") }
  }
}

/// The bytes of a frame in a `ByteBuffer`, which protobuf reads and writes without a copy.
private struct FrameBytes: SwiftProtobufContiguousBytes {
  static let prefix = 4

  /// Includes the four bytes of length if `isPrefixed`.
  private(set) var buffer: ByteBuffer
  private let isPrefixed: Bool

  /// The body of a received frame.
  init(body: ByteBuffer) {
    buffer = body
    isPrefixed = false
  }

  init(repeating byte: UInt8, count: Int) {
    buffer = ByteBuffer()
    buffer.reserveCapacity(Self.prefix + count)
    buffer.writeInteger(UInt32(count))
    buffer.writeRepeatingByte(byte, count: count)
    isPrefixed = true
  }

  init(_ sequence: some Sequence<UInt8>) {
    let bytes = [UInt8](sequence)
    buffer = ByteBuffer()
    buffer.writeInteger(UInt32(bytes.count))
    buffer.writeBytes(bytes)
    isPrefixed = true
  }

  private var skipped: Int { isPrefixed ? Self.prefix : 0 }

  var count: Int { buffer.readableBytes - skipped }

  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try buffer.withUnsafeReadableBytes { try body(UnsafeRawBufferPointer(rebasing: $0[skipped...])) }
  }

  mutating func withUnsafeMutableBytes<R>(_ body: (UnsafeMutableRawBufferPointer) throws -> R) rethrows -> R {
    let skipped = skipped
    return try buffer.withUnsafeMutableReadableBytes {
      try body(UnsafeMutableRawBufferPointer(rebasing: $0[skipped...]))
    }
  }
}

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
