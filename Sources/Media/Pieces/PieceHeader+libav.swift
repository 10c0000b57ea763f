internal import CMedia
import CompositionModel
internal import PieceFiles

// The properties of a piece as libavformat takes them.

extension PieceHeader {
  var avTimebase: AVRational { AVRational(num: Int32(clamping: timebase.value), den: max(1, timebase.timescale)) }

  /// Sets a stream's parameters to those of the piece's packets.
  func fill(_ stream: UnsafeMutablePointer<AVStream>, _ subject: String) throws(MediaError) {
    guard let descriptor = avcodec_descriptor_get_by_name(codec), timebase.value > 0, timebase.isNumeric,
      timebase.value <= Int64(Int32.max)
    else {
      throw MediaError(
        .invalidPiece, operation: "writing", subject: subject,
        message: "a piece of codec '\(codec)' with ticks of \(timebase) s")
    }
    let parameters = stream.pointee.codecpar!
    parameters.pointee.codec_type = descriptor.pointee.type
    parameters.pointee.codec_id = descriptor.pointee.id
    parameters.pointee.profile = Int32(clamping: profile)
    parameters.pointee.level = Int32(clamping: level)
    parameters.pointee.bit_rate = Int64(bitRate)
    if !extradata.isEmpty {
      let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
      let copy = try allocated(av_mallocz(extradata.count + padding), "opening the output")
      copy.copyMemory(from: extradata, byteCount: extradata.count)
      parameters.pointee.extradata = copy.assumingMemoryBound(to: UInt8.self)
      parameters.pointee.extradata_size = Int32(extradata.count)
    }
    switch media {
    case .video(let video):
      try video.size.check(subject)
      video.fill(parameters)
      try video.hdr?.fill(stream, subject)
    case .audio(let audio): try audio.fill(parameters, subject)
    }
  }
}

extension EncodedVideo {
  fileprivate func fill(_ parameters: UnsafeMutablePointer<AVCodecParameters>) {
    let colour = ColourNumbers(colour)
    parameters.pointee.width = Int32(size.width)
    parameters.pointee.height = Int32(size.height)
    parameters.pointee.format = FrameFormat(name: pixelFormat)?.rawValue ?? sheaf_pixel_format_none
    parameters.pointee.sample_aspect_ratio = pixelAspect.avRational
    parameters.pointee.color_primaries = colour.primaries
    parameters.pointee.color_trc = colour.transfer
    parameters.pointee.color_space = colour.matrix
    parameters.pointee.color_range = colour.range
    parameters.pointee.chroma_location = colour.location
    parameters.pointee.field_order = AV_FIELD_PROGRESSIVE
    parameters.pointee.video_delay = Int32(clamping: reorderDepth)
  }
}

extension EncodedAudio {
  fileprivate func fill(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ subject: String
  ) throws(MediaError) {
    try check(av_channel_layout_from_string(&parameters.pointee.ch_layout, layout), "writing", subject)
    parameters.pointee.sample_rate = Int32(clamping: sampleRate)
    parameters.pointee.frame_size = Int32(clamping: frameSize)
    parameters.pointee.initial_padding = Int32(clamping: initialPadding)
    parameters.pointee.bits_per_raw_sample = Int32(clamping: bitDepth)
    parameters.pointee.bits_per_coded_sample = Int32(clamping: bitDepth)
    parameters.pointee.block_align = Int32(clamping: bitDepth / 8 * channels)
  }
}

extension AspectRatio {
  var avRational: AVRational {
    AVRational(num: Int32(clamping: horizontal), den: Int32(clamping: max(1, vertical)))
  }
}
