internal import CMedia
import CompositionModel

/// Decodes the captions of a text track, packet by packet.
final class CaptionScan {
  /// libavcodec's names of the codecs whose captions are text. Of others they are pictures.
  private static let codecs: Set<String> = ["subrip", "srt", "webvtt", "ass", "ssa", "mov_text", "text"]
  private static let codecsWithStyles: Set<String> = ["ass", "ssa"]

  private let context: UnsafeMutablePointer<AVCodecContext>
  private let timebase: AVRational
  private let name: String
  private let hasStyles: Bool
  private var events: [(start: Int64, end: Int64?, fields: String)] = []
  private var size = 0

  /// Nil for a track whose captions are no text, or that cannot be decoded.
  init?(_ stream: UnsafeMutablePointer<AVStream>, name: String) throws(MediaError) {
    let parameters = stream.pointee.codecpar!
    let codec = Decoder.codecName(parameters)
    guard Self.codecs.contains(codec), let decoder = avcodec_find_decoder(parameters.pointee.codec_id) else {
      return nil
    }
    self.name = name
    timebase = stream.pointee.time_base
    hasStyles = Self.codecsWithStyles.contains(codec)
    context = try allocated(avcodec_alloc_context3(decoder), "opening the captions of \(name)")
    guard avcodec_parameters_to_context(context, parameters) >= 0 else { return nil }
    context.pointee.pkt_timebase = timebase
    guard avcodec_open2(context, decoder, nil) >= 0 else { return nil }
  }

  deinit {
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
  }

  /// Throws `.damaged` for text that is not UTF-8, and `.tooLarge`.
  func add(_ packet: Packet) throws(MediaError) {
    guard packet.pts != sheaf_no_pts else { return }
    // A place on a screen of unknown size, which SRT may have, is not used.
    av_packet_free_side_data(packet.pointer)
    var subtitle = AVSubtitle()
    var isComplete: Int32 = 0
    let result = avcodec_decode_subtitle2(context, &subtitle, &isComplete, packet.pointer)
    guard result >= 0 else {
      let time = Double(packet.pts) * av_q2d(timebase)
      throw MediaError(
        .damaged, operation: "reading captions", subject: name,
        message: "the caption at \((time * 1000).rounded() / 1000) s is not text in UTF-8")
    }
    guard isComplete != 0 else { return }
    defer { avsubtitle_free(&subtitle) }
    let end = packet.duration > 0 ? packet.pts &+ packet.duration : nil
    for index in 0..<Int(subtitle.num_rects) {
      guard let text = subtitle.rects[index]?.pointee.ass else { continue }
      let fields = String(cString: text).replacing("\u{1}", with: "")
      events.append((packet.pts, end, fields))
      size += fields.utf8.count
      guard events.count <= CaptionsFormat.greatestCount, size <= CaptionsFormat.greatestSize else {
        throw MediaError(
          .tooLarge, operation: "reading captions", subject: name,
          message: "more than \(CaptionsFormat.greatestCount) captions, or \(CaptionsFormat.greatestSize) bytes of them"
        )
      }
    }
  }

  /// The track's first and last time, in ticks. Nil if it has no captions.
  var extent: (start: Int64, end: Int64)? {
    guard let start = events.map(\.start).min() else { return nil }
    return (start, events.map { $0.end ?? $0.start }.max() ?? start)
  }

  /// - Parameter zero: the asset's time zero, in seconds of the file's own timeline.
  func captions(zero: Rational) throws(MediaError) -> CaptionsFormat {
    let tick = MediaTime(timebase)
    func milliseconds(_ ticks: Int64) throws(MediaError) -> Int64 {
      try mapErrors(to: MediaError.init(outOfRange:)) { () throws(TimeError) in
        Int64(clamping: try ((tick.exact * Rational(ticks) - zero) * Rational(1000)).rounded)
      }
    }
    var found: [CaptionEvent] = []
    for (index, event) in events.enumerated() {
      // A caption without an end is shown until the next one, or for three seconds.
      let next = events[(index + 1)...].first { $0.start > event.start }?.start
      let start = try milliseconds(event.start)
      let end = try (event.end ?? next).map(milliseconds) ?? start + 3000
      if start < end { found.append(CaptionEvent(start: start, end: end, fields: event.fields)) }
    }
    let order = found.indices.sorted { (found[$0].start, $0) < (found[$1].start, $1) }
    let header = context.pointee.subtitle_header.map { header in
      String(
        decoding: UnsafeBufferPointer(start: header, count: Int(context.pointee.subtitle_header_size)), as: UTF8.self)
    }
    return CaptionsFormat(header: header ?? "", hasStyles: hasStyles, events: order.map { found[$0] })
  }
}
