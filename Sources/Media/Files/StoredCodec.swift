import CMedia

/// What a stream says of its codec.
enum StoredCodec {
  /// libavcodec's name of the codec.
  static func name(_ parameters: UnsafePointer<AVCodecParameters>) -> String {
    String(cString: avcodec_get_name(parameters.pointee.codec_id))
  }

  /// Whether a stream is marked as VP8 or VP9 with alpha.
  static func hasAlphaBeside(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    let id = stream.pointee.codecpar.pointee.codec_id
    guard id == AV_CODEC_ID_VP8 || id == AV_CODEC_ID_VP9,
      let entry = av_dict_get(stream.pointee.metadata, "alpha_mode", nil, 0)
    else { return false }
    return String(cString: entry.pointee.value) == "1"
  }
}
