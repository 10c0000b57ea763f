internal import CMedia
internal import CompositionModel

/// Converts audio between sample rates, channels and sample formats with libswresample, always with the same filter.
/// The first output sample is at the time of the first input sample.
package final class SampleConverter {
  /// How the output's channels are made of the input's.
  package enum Mixing: Sendable, Equatable {
    /// By libswresample's own matrix between two layouts of libavutil's names, such as `stereo`, scaled down so that
    /// full scale in all channels at once does not clip.
    case layouts(from: String, to: String)
    /// By a gain for each output channel from each input channel, a row for each output channel.
    case matrix([Double])
  }

  /// One channel at its full level in both of stereo.
  package static let monoInStereo: [Double] = [1, 1]

  private let context: OpaquePointer

  /// A converter from rows of 32-bit float to such rows. Rates are in samples a second.
  package convenience init(
    fromRate: Int, channels fromChannels: Int, toRate: Int, channels toChannels: Int, mixing: Mixing
  ) throws(MediaError) {
    let subject = "\(fromChannels) channels at \(fromRate) Hz to \(toChannels) channels at \(toRate) Hz"
    var (source, target) = (AVChannelLayout(), AVChannelLayout())
    defer {
      av_channel_layout_uninit(&source)
      av_channel_layout_uninit(&target)
    }
    var gains: [Double]?
    switch mixing {
    case .layouts(let from, let to):
      try check(av_channel_layout_from_string(&source, from), "converting", subject)
      try check(av_channel_layout_from_string(&target, to), "converting", subject)
      guard Int(source.nb_channels) == fromChannels, Int(target.nb_channels) == toChannels else {
        throw MediaError(
          .invalidRequest, operation: "converting", subject: subject,
          message: "the layouts \(from) and \(to) have other numbers of channels")
      }
    case .matrix(let matrix):
      (source.order, source.nb_channels) = (AV_CHANNEL_ORDER_UNSPEC, Int32(clamping: fromChannels))
      (target.order, target.nb_channels) = (AV_CHANNEL_ORDER_UNSPEC, Int32(clamping: toChannels))
      gains = matrix
    }
    try self.init(
      source: &source, format: AV_SAMPLE_FMT_FLTP, rate: fromRate, target: &target, targetRate: toRate,
      options: [
        // Full scale of all channels at once still fits: a downmix is made quieter and does not clip by itself.
        ("rematrix_maxval", 1), ("internal_sample_fmt", Double(AV_SAMPLE_FMT_FLTP.rawValue)),
      ], matrix: gains, subject: subject)
  }

  /// A converter from the frame's sample format, layout and rate to rows of 32-bit float in a layout at a rate.
  convenience init(
    decoded frame: UnsafeMutablePointer<AVFrame>, layout: String, rate targetRate: Int, subject: String
  ) throws(MediaError) {
    var (source, target) = (AVChannelLayout(), AVChannelLayout())
    defer {
      av_channel_layout_uninit(&source)
      av_channel_layout_uninit(&target)
    }
    try check(av_channel_layout_copy(&source, &frame.pointee.ch_layout), "decoding", subject)
    try check(av_channel_layout_from_string(&target, layout), "decoding", subject)
    let rate = Int(frame.pointee.sample_rate)
    let isMonoInStereo = frame.pointee.ch_layout.nb_channels == 1 && layout == "stereo"
    try self.init(
      source: &source, format: AVSampleFormat(frame.pointee.format), rate: rate, target: &target,
      targetRate: targetRate, options: [], matrix: isMonoInStereo ? Self.monoInStereo : nil, subject: subject)
  }

  /// - Parameters:
  ///   - options: Set after those that every converter has.
  ///   - matrix: Replaces libswresample's own if it is not nil.
  private init(
    source: UnsafeMutablePointer<AVChannelLayout>, format: AVSampleFormat, rate: Int,
    target: UnsafeMutablePointer<AVChannelLayout>, targetRate: Int, options: [(name: String, value: Double)],
    matrix: [Double]?, subject: String
  ) throws(MediaError) {
    if matrix == nil, av_channel_layout_compare(source, target) != 0 {
      for layout in [source, target] where !Self.isMixable(layout.pointee) {
        let count = layout.pointee.nb_channels
        av_channel_layout_uninit(layout)
        av_channel_layout_default(layout, count)
      }
    }
    var made: OpaquePointer?
    let result = swr_alloc_set_opts2(
      &made, target, AV_SAMPLE_FMT_FLTP, Int32(clamping: targetRate), source, format, Int32(clamping: rate), 0, nil)
    try check(result, "converting", subject)
    context = try allocated(made, "converting audio")
    for (name, value) in SampleConverter.filter + options {
      try check(av_opt_set_double(UnsafeMutableRawPointer(context), name, value, 0), "setting \(name) of", subject)
    }
    if let matrix { try check(swr_set_matrix(context, matrix, source.pointee.nb_channels), "converting", subject) }
    try check(swr_init(context), "converting", subject)
  }

  /// Whether libswresample has a matrix for a layout: its speakers are in the usual order, one is in front, and of a
  /// pair both are there or none.
  private static func isMixable(_ layout: AVChannelLayout) -> Bool {
    guard layout.order == AV_CHANNEL_ORDER_NATIVE else { return layout.order != AV_CHANNEL_ORDER_CUSTOM }
    func mask(_ channels: [AVChannel]) -> UInt64 { channels.reduce(0) { $0 | 1 << UInt64($1.rawValue) } }
    let pairs = [
      [AV_CHAN_FRONT_LEFT, AV_CHAN_FRONT_RIGHT], [AV_CHAN_SIDE_LEFT, AV_CHAN_SIDE_RIGHT],
      [AV_CHAN_BACK_LEFT, AV_CHAN_BACK_RIGHT], [AV_CHAN_FRONT_LEFT_OF_CENTER, AV_CHAN_FRONT_RIGHT_OF_CENTER],
    ]
    let present = layout.u.mask
    return present & mask([AV_CHAN_FRONT_LEFT, AV_CHAN_FRONT_RIGHT, AV_CHAN_FRONT_CENTER]) != 0
      && pairs.allSatisfy { [0, mask($0)].contains(present & mask($0)) }
  }

  /// libswresample 4.7's defaults, stated so that another version's defaults do not change the output.
  private static let filter: [(name: String, value: Double)] = [
    ("filter_size", 32), ("phase_shift", 10), ("linear_interp", 1), ("exact_rational", 1), ("cutoff", 0.97),
    ("dither_method", Double(SWR_DITHER_NONE.rawValue)),
  ]

  deinit {
    var context: OpaquePointer? = context
    swr_free(&context)
  }

  /// Takes all of `input` and writes as many samples as are ready, at most `output.capacity`. What does not fit is kept
  /// for the next call. Returns how many were written.
  package func convert(_ input: SampleBlock, into output: SampleBlock) throws(MediaError) -> Int {
    try input.withConstantRows { rows in
      let planes = UnsafeRawPointer(rows).assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
      return Result { () throws(MediaError) in try convert(planes, count: input.capacity, into: output) }
    }.get()
  }

  /// Converts `count` samples of each plane as `convert(_:into:)` does. Nil planes are the end: what is left is
  /// written.
  func convert(
    _ planes: UnsafePointer<UnsafePointer<UInt8>?>?, count: Int, into output: SampleBlock
  ) throws(MediaError) -> Int {
    let result = output.withRows(from: 0) { rows in
      swr_convert(
        context, UnsafeMutableRawPointer(rows).assumingMemoryBound(to: UnsafeMutablePointer<UInt8>?.self),
        Int32(clamping: output.capacity), planes.map { UnsafeMutablePointer(mutating: $0) }, Int32(clamping: count))
    }
    return Int(try check(result, "converting", "audio"))
  }

  /// How many output samples the next one written is before the next input sample.
  func delay(atRate rate: Int) -> Int64 { swr_get_delay(context, Int64(rate)) }
}
