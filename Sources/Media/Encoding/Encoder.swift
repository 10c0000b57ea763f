internal import CMedia
internal import CompositionModel
private import Dispatch

/// One encoder of libavcodec, which encodes in the calling thread or, if its own options say so, in its threads.
final class Encoder {
  let context: UnsafeMutablePointer<AVCodecContext>
  let name: String
  private let isAlone: Bool
  private var isFinished = false
  private var hasFrames = false

  /// Taken by an encoder that must be the only one of its kind.
  private static let turn = DispatchSemaphore(value: 1)

  /// - Parameters:
  ///   - codec: libavcodec's name of the encoder.
  ///   - isAlone: waits until no other encoder that was made with it is in the process.
  init(_ codec: String, isAlone: Bool = false) throws(MediaError) {
    sheaf_log_capture()
    name = codec
    guard let found = avcodec_find_encoder_by_name(codec) else {
      throw MediaError(
        .unsupported, operation: "encoding", subject: codec, message: "this build of libavcodec has no such encoder")
    }
    context = try allocated(avcodec_alloc_context3(found), "making an encoder")
    self.isAlone = isAlone
    if isAlone { Self.turn.wait() }
    context.pointee.thread_count = 1
    context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT
  }

  deinit {
    if isAlone { drain() }
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
    if isAlone { Self.turn.signal() }
  }

  /// When SVT-AV1 is freed, it waits for its last packet, which it makes only after a frame and the end of the stream.
  private func drain() {
    guard avcodec_is_open(context) != 0 else { return }
    // An encoder that has failed gives no more packets, and its errors concern nobody any more.
    do throws(MediaError) {
      if !hasFrames {
        let size = PixelSize(width: Int(context.pointee.width), height: Int(context.pointee.height))
        let frame = try Frame(size: size, format: FrameFormat(rawValue: context.pointee.pix_fmt.rawValue))
        frame.pts = 0
        try send(frame)
      }
      try end()
      while try receive() != nil {}
    } catch {}
  }

  /// Opens the encoder with its own options, in order. An unknown option is an error.
  func open(_ options: [(key: String, value: String)]) throws(MediaError) {
    var dictionary: OpaquePointer?
    defer { av_dict_free(&dictionary) }
    for option in options { av_dict_set(&dictionary, option.key, option.value, 0) }
    let result = sheaf_open_encoder(context, &dictionary)
    if result < 0 {
      let error = MediaError(averror: result, operation: "setting up", subject: name)
      // The settings are not possible. Whatever libavcodec's code is, no media is damaged.
      throw error.code == .outOfMemory
        ? error : MediaError(.unsupported, operation: "setting up", subject: name, message: error.message)
    }
    if let unused = av_dict_get(dictionary, "", nil, AV_DICT_IGNORE_SUFFIX) {
      throw MediaError(
        .unsupported, operation: "setting up", subject: name,
        message: "this build does not have its option \(String(cString: unused.pointee.key))")
    }
  }

  /// Encodes a frame.
  func send(_ frame: Frame) throws(MediaError) {
    hasFrames = true
    try check(avcodec_send_frame(context, frame.pointer), "encoding with", name)
  }

  /// Ends the stream. Returns false if it has been ended.
  @discardableResult
  func end() throws(MediaError) -> Bool {
    if isFinished { return false }
    isFinished = true
    try check(avcodec_send_frame(context, nil), "encoding with", name)
    return true
  }

  /// The next packet. Nil if the encoder needs another frame first, or after the last packet.
  func receive() throws(MediaError) -> Packet? {
    let packet = try Packet()
    let result = avcodec_receive_packet(context, packet.pointer)
    if result == sheaf_error_again || result == sheaf_error_end { return nil }
    try check(result, "encoding with", name)
    return packet
  }

  /// The codec's parameter sets. Empty if it has none.
  var extradata: [UInt8] {
    Array(UnsafeBufferPointer(start: context.pointee.extradata, count: Int(context.pointee.extradata_size)))
  }
}
