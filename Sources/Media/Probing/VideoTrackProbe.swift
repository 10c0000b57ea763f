internal import CMedia
internal import CompositionModel

/// Describes a video track.
struct VideoTrackProbe {
  private let source: any ByteSource
  private let demuxer: Demuxer
  private let stream: UnsafeMutablePointer<AVStream>
  private let liveness: Liveness?

  init(
    _ source: any ByteSource, _ demuxer: Demuxer, _ stream: UnsafeMutablePointer<AVStream>, liveness: Liveness?
  ) {
    self.liveness = liveness
    self.source = source
    self.demuxer = demuxer
    self.stream = stream
  }

  /// Adds the format, the frames' times and the range to `finding`.
  func probe(_ finding: inout TrackFinding, _ scan: inout PacketScan) throws(MediaError) {
    let hasPacketTimes = scan.completeTimes()
    if hasPacketTimes, let first = try scan.firstPicture?.finish(stream, name: demuxer.name) {
      let starts = thinned(scan.damage.whole(scan.keyframes))
      return describe(first, scan.times, starts, scan.damage, scan, provedBy: scan.rule.proof, &finding)
    }
    let reader = try VideoReader(
      source: source, name: demuxer.name, track: finding.index, codec: finding.description.codec,
      timebase: finding.description.timebase, discontinuities: finding.description.discontinuities, decodeFrom: nil,
      shownAt: nil, liveness: liveness)
    guard let first = try reader.next() else {
      throw reader.firstFailure
        ?? MediaError(
          .damaged, operation: "decoding", subject: demuxer.name,
          message: "video track \(finding.index) has no picture that can be decoded")
    }
    var times = [first.pts]
    var keyframes = scan.keyframes
    var damage = scan.damage
    if first.isDamaged { damage.add(pictureAt: first.pts) }
    // Which pictures of interlaced MPEG-4 a decoder leaves out depends on the times of all before them.
    let isProvedByDecoding = scan.rule.proof == .decoding || finding.description.codec == "mpeg4" && first.isInterlaced
    if isProvedByDecoding {
      let trials = try StartTrials(
        source, name: demuxer.name, finding, candidates: keyframes, states: scan.states, liveness: liveness
      ).run()
      (times, keyframes) = (trials.times, trials.starts)
      damage = DamagedStretches()
      for time in trials.damaged { damage.add(pictureAt: time) }
    } else if hasPacketTimes {
      times = scan.times
    } else {
      while let frame = try reader.next() {
        times.append(frame.pts)
        if frame.isDamaged { damage.add(pictureAt: frame.pts) }
      }
      for time in reader.missing { damage.add(pictureAt: time) }
    }
    let areStored =
      !scan.lacksTimes && !scan.hasDecodingTimes && !scan.contradictsOrder
      && (isProvedByDecoding || reader.followsPackets)
      && Set(scan.times).isSuperset(of: times)
    // If the file does not store every frame's time, it depends on the frames decoded before.
    let steady = damage.whole(keyframes).filter { keyframe in scan.firstSteadyStart.map { keyframe.pts >= $0 } ?? false
    }
    let starts = areStored ? thinned(steady) : []
    describe(
      first, times, starts, damage, scan, provedBy: isProvedByDecoding ? .decoding : scan.rule.proof, &finding)
  }

  /// - Parameters:
  ///   - times: Rising; those of all pictures that are shown.
  ///   - starts: Where decoding can start.
  private func describe(
    _ first: Frame, _ times: [Int64], _ starts: [Keyframe], _ damage: DamagedStretches, _ scan: PacketScan,
    provedBy proof: StartProof, _ finding: inout TrackFinding
  ) {
    let isStill = times.count == 1 && Self.imageFormats.contains { demuxer.formatName.hasSuffix($0) }
    let (keyframes, states) = scan.states.used(by: isStill ? [] : starts)
    let step = mostFrequentStep(times)
    let lastDuration = scan.lastDuration > 0 ? scan.lastDuration : step ?? 1
    finding.start = times.first
    finding.end = times.last.map { isStill ? $0 : $0 &+ lastDuration }
    finding.description.video = VideoFormat(
      size: first.size, pixelFormat: first.format.name, bitDepth: first.format.bitDepth,
      hasAlpha: first.format.hasAlpha, pixelAspect: pixelAspect(of: first), orientation: orientation(of: first),
      colour: first.colour, isInterlaced: first.isInterlaced, nominalFrameRate: isStill ? .zero : nominalRate(step),
      frames: FrameTimes(times), keyframes: keyframes,
      startsProvedBy: isStill ? nil : self.proof(of: keyframes, proof), decoderStates: states,
      damagedFrames: damage.pictures, lacksStoredTimes: !isStill && scan.lacksStoredTimes(times) ? true : nil,
      isStill: isStill)
    finding.description.video?.hdr = HDRMetadata(first, stream)
    if !isStill { finding.description.video?.copyable = scan.copyable(times) }
    if av_stream_get_side_data(stream, AV_PKT_DATA_DOVI_CONF, nil) != nil {
      finding.description.video?.hasDolbyVision = true
    }
  }

  /// Ends of the names of demuxers for image files. With one frame, such a file is a still.
  private static let imageFormats = ["_pipe", "gif", "apng"]

  /// A decoder that starts at the head gives the pictures of the head, which proves nothing.
  private func proof(of keyframes: [Keyframe], _ proof: StartProof) -> StartProof {
    keyframes.count > (proof == .decoding ? 1 : 0) ? proof : .headOnly
  }

  /// About one in a quarter of a second.
  private func thinned(_ keyframes: [Keyframe]) -> [Keyframe] {
    let gap = av_rescale_q(1, AVRational(num: 1, den: 4), stream.pointee.time_base)
    var kept: [Keyframe] = []
    for keyframe in keyframes {
      if let last = kept.last, keyframe.pts - last.pts < gap { continue }
      kept.append(keyframe)
    }
    return kept
  }

  /// The most frequent difference of neighbouring times, in ticks; of those that are equally frequent the smallest, so
  /// that the result depends on nothing else.
  private func mostFrequentStep(_ times: [Int64]) -> Int64? {
    var counts: [Int64: Int] = [:]
    for (time, next) in zip(times, times.dropFirst()) where next > time { counts[next - time, default: 0] += 1 }
    return counts.max { $0.value == $1.value ? $0.key > $1.key : $0.value < $1.value }?.key
  }

  private static let fractionalRates = [24000, 30000, 48000, 60000, 120_000].map { AVRational(num: $0, den: 1001) }

  /// In frames a second: the rate that the file states if it rounds to the most frequent step, else that step's rate.
  private func nominalRate(_ step: Int64?) -> MediaTime {
    func time(_ rate: AVRational) -> MediaTime {
      // Matroska states a frame's duration in nanoseconds, which libavformat makes 19001/317 of 60000/1001.
      let standard = Self.fractionalRates.first { abs(av_q2d($0) / av_q2d(rate) - 1) < 2e-7 } ?? rate
      return MediaTime(value: Int64(standard.num), timescale: standard.den)
    }
    let stated = [stream.pointee.r_frame_rate, stream.pointee.avg_frame_rate].filter { $0.num > 0 && $0.den > 0 }
    guard let step else { return stated.last.map(time) ?? MediaTime(value: 25, timescale: 1) }
    let timebase = stream.pointee.time_base
    for rate in stated {
      let exact = Double(rate.den) / Double(rate.num) * Double(timebase.den) / Double(timebase.num)
      if abs(exact - Double(step)) < 1 { return time(rate) }
    }
    var (numerator, denominator): (Int32, Int32) = (0, 1)
    av_reduce(&numerator, &denominator, Int64(timebase.den), step &* Int64(timebase.num), Int64(Int32.max))
    return time(AVRational(num: max(1, numerator), den: max(1, denominator)))
  }

  private func pixelAspect(of frame: Frame) -> AspectRatio {
    let ratio = av_guess_sample_aspect_ratio(demuxer.context, stream, frame.pointer)
    guard ratio.num > 0, ratio.den > 0 else { return .square }
    var (horizontal, vertical): (Int32, Int32) = (1, 1)
    av_reduce(&horizontal, &vertical, Int64(ratio.num), Int64(ratio.den), 65535)
    return AspectRatio(horizontal: max(1, Int(horizontal)), vertical: max(1, Int(vertical)))
  }

  /// The matrix of the picture (a photograph has one) has priority over the track's, as for the ffmpeg tool.
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

extension Orientation {
  /// The nearest of the eight to a display matrix in the form of ISO 14496-12: a point (x, y), y downward, is shown at
  /// (m0·x + m3·y, m1·x + m4·y).
  fileprivate init(displayMatrix matrix: [Int32]) {
    let (a, b, c, d) = (Int64(matrix[0]), Int64(matrix[1]), Int64(matrix[3]), Int64(matrix[4]))
    if abs(b) + abs(c) > abs(a) + abs(d) {
      let isMirrored = (b > 0) == (c > 0)
      // Without mirroring, the x axis points down after 90° clockwise; with it, after 270°.
      self.init(clockwise: (b > 0) != isMirrored ? 90 : 270, isMirrored: isMirrored)
    } else {
      let isMirrored = (a < 0) != (d < 0)
      self.init(clockwise: d < 0 ? 180 : 0, isMirrored: isMirrored)
    }
  }
}
