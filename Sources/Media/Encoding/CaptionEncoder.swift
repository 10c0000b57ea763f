internal import CMedia
package import CompositionModel

/// Encodes captions for a text track, each by itself.
package final class CaptionEncoder {
  private let context: UnsafeMutablePointer<AVCodecContext>
  private let codec: CaptionCodec

  /// - Parameter header: the head of the captions' script.
  package init(_ codec: CaptionCodec, header: String) throws(MediaError) {
    sheaf_log_capture()
    self.codec = codec
    guard let found = avcodec_find_encoder_by_name(codec.rawValue) else {
      throw MediaError(
        .unsupported, operation: "encoding", subject: codec.rawValue,
        message: "this build of libavcodec has no such encoder")
    }
    context = try allocated(avcodec_alloc_context3(found), "making an encoder of captions")
    context.pointee.flags |= AV_CODEC_FLAG_BITEXACT
    context.pointee.time_base = AVRational(num: 1, den: 1000)
    // libavcodec frees it with the context.
    let bytes = Array(header.utf8)
    let copy = try allocated(av_mallocz(bytes.count + 1), "making an encoder of captions")
    copy.copyMemory(from: bytes, byteCount: bytes.count)
    context.pointee.subtitle_header = copy.assumingMemoryBound(to: UInt8.self)
    context.pointee.subtitle_header_size = Int32(bytes.count)
    try check(avcodec_open2(context, nil, nil), "setting up", codec.rawValue)
  }

  deinit {
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
  }

  /// The codec's own head, such as the styles of QuickTime's text. Empty if it has none.
  package var extradata: [UInt8] {
    Array(UnsafeBufferPointer(start: context.pointee.extradata, count: Int(context.pointee.extradata_size)))
  }

  /// The bytes of a packet with one caption.
  /// - Parameter fields: as in `CaptionEvent`. Empty: nothing is shown.
  package func encode(_ fields: String) throws(MediaError) -> [UInt8] {
    // QuickTime's text has a packet for every moment.
    if fields.isEmpty { return codec == .movText ? [0, 0] : [] }
    var text = Array(fields.utf8CString)
    var bytes = [UInt8](repeating: 0, count: max(4096, 4 * text.count))
    let size = text.withUnsafeMutableBufferPointer { text in
      var rectangle = AVSubtitleRect()
      rectangle.type = SUBTITLE_ASS
      rectangle.ass = text.baseAddress
      return withUnsafeMutablePointer(to: &rectangle) { rectangle in
        var pointer: UnsafeMutablePointer<AVSubtitleRect>? = rectangle
        return withUnsafeMutablePointer(to: &pointer) { pointers in
          var subtitle = AVSubtitle()
          subtitle.num_rects = 1
          subtitle.rects = pointers
          return bytes.withUnsafeMutableBufferPointer {
            avcodec_encode_subtitle(context, $0.baseAddress, Int32($0.count), &subtitle)
          }
        }
      }
    }
    try check(size, "encoding captions as", codec.rawValue)
    return Array(bytes[..<Int(size)])
  }
}
