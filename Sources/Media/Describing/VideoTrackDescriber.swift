internal import CMedia
internal import CompositionModel

/// Finds out what is in a video track.
struct VideoTrackDescriber {
  private let source: any ByteSource
  private let demuxer: Demuxer
  private let stream: UnsafeMutablePointer<AVStream>

  init(_ source: any ByteSource, _ demuxer: Demuxer, _ stream: UnsafeMutablePointer<AVStream>) {
    self.source = source
    self.demuxer = demuxer
    self.stream = stream
  }

  func describe(_ finding: inout TrackFinding, _ scan: inout PacketScan) throws(MediaError) {
    let reader = try VideoReader(
      source: source, name: demuxer.name, track: finding.index, codec: finding.description.codec,
      timebase: finding.description.timebase, decodeFrom: nil, wanted: nil)
    guard let first = try reader.next() else {
      throw reader.firstFailure
        ?? MediaError(
          .damaged, operation: "decoding", subject: demuxer.name,
          message: "video track \(finding.index) has no picture that can be decoded")
    }
    var times = [first.pts]
    let isTold = scan.sortTimes()
    if isTold, !scan.startsAmidst, !scan.isDamaged, !hidesPackets {
      times = scan.times
    } else {
      while let frame = try reader.next() { times.append(frame.pts) }
    }
    let areStored = !scan.lacksTimes && Set(scan.times).isSuperset(of: times)
    let isStill = times.count == 1 && Self.pictureFormats.contains { demuxer.formatName.hasSuffix($0) }
    let step = NominalRate.mostFrequentStep(times)
    let rate = isStill ? .zero : NominalRate.of(stream, times: times)
    let lasting = scan.lastDuration > 0 ? scan.lastDuration : step ?? 1
    finding.start = times.first
    finding.end = times.last.map { isStill ? $0 : $0 &+ lasting }
    finding.description.video = VideoFormat(
      size: first.size, pixelFormat: first.format.name, bitDepth: first.format.bitDepth,
      hasAlpha: first.format.hasAlpha, pixelAspect: pixelAspect(of: first), orientation: orientation(of: first),
      colour: first.colour, isInterlaced: first.isInterlaced, nominalFrameRate: rate, frames: FrameTimes(times),
      keyframes: isStill ? [] : thinned(scan.keyframes, areStored: areStored), isStill: isStill)
  }

  /// Demuxers of files that hold pictures: with one frame, the picture has no duration.
  private static let pictureFormats = ["_pipe", "gif", "apng"]

  /// Whether a packet may decode to no picture of its own. VP8 and VP9 keep pictures for reference alone.
  private var hidesPackets: Bool {
    switch stream.pointee.codecpar.pointee.codec_id {
    case AV_CODEC_ID_VP8, AV_CODEC_ID_VP9, AV_CODEC_ID_MPEG4, AV_CODEC_ID_AV1: true
    default: false
    }
  }

  /// About one in a quarter of a second. None where the file does not store every frame's time: there it depends on what
  /// was decoded before.
  private func thinned(
    _ keyframes: [(pts: Int64, dts: Int64, position: Int64)], areStored: Bool
  ) -> [Keyframe] {
    guard areStored else { return [] }
    let gap = av_rescale_q(1, AVRational(num: 1, den: 4), stream.pointee.time_base)
    var kept: [Keyframe] = []
    for keyframe in keyframes {
      if let last = kept.last, keyframe.pts - last.pts < gap { continue }
      kept.append(Keyframe(pts: keyframe.pts, dts: keyframe.dts, position: keyframe.position))
    }
    return kept
  }

  private func pixelAspect(of frame: Frame) -> AspectRatio {
    let ratio = av_guess_sample_aspect_ratio(demuxer.context, stream, frame.pointer)
    guard ratio.num > 0, ratio.den > 0 else { return .square }
    var (horizontal, vertical): (Int32, Int32) = (1, 1)
    av_reduce(&horizontal, &vertical, Int64(ratio.num), Int64(ratio.den), 65535)
    return AspectRatio(horizontal: max(1, Int(horizontal)), vertical: max(1, Int(vertical)))
  }

  /// As ffmpeg turns pictures by itself: a picture's own matrix (a photograph's) before the track's.
  private func orientation(of frame: Frame) -> Orientation {
    if let side = av_frame_get_side_data(frame.pointer, AV_FRAME_DATA_DISPLAYMATRIX), side.pointee.size >= 36 {
      return Orientation(displayMatrix: matrix(side.pointee.data))
    }
    var size = 0
    guard let data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size), size >= 36 else {
      return .upright
    }
    return Orientation(displayMatrix: matrix(data))
  }

  private func matrix(_ bytes: UnsafePointer<UInt8>) -> [Int32] {
    (0..<9).map { UnsafeRawPointer(bytes).loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self) }
  }
}
