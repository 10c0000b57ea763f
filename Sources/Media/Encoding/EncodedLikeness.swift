internal import CMedia
package import CompositionModel

/// Finds how like the frames that an encoder is given its pictures are: decodes its packets as they come, and compares
/// each picture with its frame.
package final class EncodedLikeness {
  private let context: UnsafeMutablePointer<AVCodecContext>
  private let filter: OpaquePointer
  private let decoded: Frame
  private let name: String
  /// The frames whose pictures have not come, by their times.
  private var waiting: [Int64: Frame] = [:]
  private var sum = 0.0
  private var count = 0

  /// - Throws: `.unsupported` if this build cannot decode the codec or has no filter for the metric.
  fileprivate init(
    _ metric: QualityTarget.Metric, of encoder: Encoder, size: PixelSize, format: FrameFormat
  ) throws(MediaError) {
    name = encoder.name
    guard let codec = avcodec_find_decoder(encoder.context.pointee.codec_id) else {
      throw MediaError(
        .unsupported, operation: "decoding", subject: name, message: "this build of libavcodec cannot decode the codec")
    }
    decoded = try Frame()
    filter = try Self.filter(metric, size, format)
    do {
      context = try allocated(avcodec_alloc_context3(codec), "making a decoder")
    } catch {
      sheaf_likeness_close(filter)
      throw error
    }
    // From here on a throw runs deinit, which frees both.
    var parameters = try allocated(avcodec_parameters_alloc(), "making a decoder") as UnsafeMutablePointer?
    defer { avcodec_parameters_free(&parameters) }
    try check(avcodec_parameters_from_context(parameters, encoder.context), "setting up the decoder of", name)
    try check(avcodec_parameters_to_context(context, parameters), "setting up the decoder of", name)
    context.pointee.pkt_timebase = encoder.context.pointee.time_base
    context.pointee.thread_count = 1
    try check(avcodec_open2(context, codec, nil), "opening the decoder of", name)
  }

  private static func filter(
    _ metric: QualityTarget.Metric, _ size: PixelSize, _ format: FrameFormat
  ) throws(MediaError) -> OpaquePointer {
    let (name, value) =
      switch metric {
      case .ssim: ("ssim", "lavfi.ssim.All")
      }
    var opened: OpaquePointer?
    var message = ""
    let status = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 300) { text -> Int32 in
      text.initialize(repeating: 0)
      guard let first = text.baseAddress else { return -1 }
      let status = sheaf_likeness_open(
        &opened, name, value, Int32(clamping: size.width), Int32(clamping: size.height), format.rawValue, first,
        text.count)
      message = String(cString: first)
      return status
    }
    guard status >= 0, let opened else {
      throw MediaError(
        .unsupported, operation: "comparing with", subject: name, message: "\(message) (status \(status))")
    }
    return opened
  }

  deinit {
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
    sheaf_likeness_close(filter)
  }

  /// A frame that the encoder was given.
  package func expect(_ frame: Frame, pts: Int64) throws(MediaError) { waiting[pts] = try frame.at(pts) }

  /// A packet that the encoder has given.
  package func receive(_ packet: Packet) throws(MediaError) {
    try check(avcodec_send_packet(context, packet.pointer), "decoding", name)
    try compare()
  }

  /// The mean over all frames, after the last packet. 1 is no difference.
  /// - Throws: `.unsupported` if frames have no pictures.
  package func finish() throws(MediaError) -> Double {
    try check(avcodec_send_packet(context, nil), "decoding", name)
    try compare()
    guard count > 0, waiting.isEmpty else {
      throw MediaError(
        .unsupported, operation: "comparing", subject: name,
        message: "\(waiting.count) frames have no pictures, \(count) have")
    }
    return sum / Double(count)
  }

  private func compare() throws(MediaError) {
    while true {
      let result = avcodec_receive_frame(context, decoded.pointer)
      if result == sheaf_error_again || result == sheaf_error_end { return }
      try check(result, "decoding", name)
      defer { av_frame_unref(decoded.pointer) }
      guard let frame = waiting.removeValue(forKey: decoded.pts) else {
        throw MediaError(
          .unsupported, operation: "comparing", subject: name, message: "a picture at \(decoded.pts), without a frame")
      }
      // Formats that name the range of their samples are compared as those that do not.
      let picture = try decoded.withRangeTagged().at(Int64(count))
      frame.pts = Int64(count)
      picture.pointer.pointee.format = frame.pointer.pointee.format
      var value = 0.0
      try check(
        sheaf_likeness_measure(filter, picture.pointer, frame.pointer, &value), "comparing a picture of", name)
      guard value.isFinite else {
        throw MediaError(
          .invalidRequest, operation: "comparing", subject: name,
          message: "pictures of \(decoded.size.width)x\(decoded.size.height) are too small for the metric")
      }
      sum += value
      count += 1
    }
  }
}

extension VideoEncoder {
  /// What compares the packets that the encoder gives from now on with the frames that it is given.
  package func likeness(_ metric: QualityTarget.Metric) throws(MediaError) -> EncodedLikeness {
    try EncodedLikeness(metric, of: encoder, size: size, format: format)
  }
}
