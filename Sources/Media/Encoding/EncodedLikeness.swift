internal import CMedia
package import CompositionModel

/// Finds how like the frames that an encoder is given its pictures are: decodes its packets as they come, and compares
/// each picture with its frame.
package final class EncodedLikeness {
  private let decoder: EncodedPacketDecoder
  private let filter: OpaquePointer
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
    decoder = try EncodedPacketDecoder(encoder)
    let (metricName, value) =
      switch metric {
      case .ssim: ("ssim", "lavfi.ssim.All")
      }
    var opened: OpaquePointer?
    try checkFilters("comparing with", metricName) {
      sheaf_likeness_open(
        &opened, metricName, value, Int32(clamping: size.width), Int32(clamping: size.height), format.rawValue, $0, $1)
    }
    filter = try allocated(opened, "making a filter")
  }

  deinit { sheaf_likeness_close(filter) }

  /// A frame that the encoder was given.
  package func expect(_ frame: Frame, pts: Int64) throws(MediaError) { waiting[pts] = try frame.at(pts) }

  /// A packet that the encoder has given.
  package func receive(_ packet: Packet) throws(MediaError) {
    try decoder.send(packet)
    try compare()
  }

  /// The mean over all frames, after the last packet. 1 is no difference.
  /// - Throws: `.unsupported` if frames have no pictures.
  package func finish() throws(MediaError) -> Double {
    try decoder.send(nil)
    try compare()
    guard count > 0, waiting.isEmpty else {
      throw MediaError(
        .unsupported, operation: "comparing", subject: name,
        message: "\(waiting.count) frames have no pictures, \(count) have")
    }
    return sum / Double(count)
  }

  private func compare() throws(MediaError) {
    while try decoder.receive() {
      let decoded = decoder.frame
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
