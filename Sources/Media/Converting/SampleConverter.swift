internal import CMedia

/// Converts sound between sample rates and channel layouts with libswresample, on rows of 32-bit float.
package final class SampleConverter {
  private let context: OpaquePointer

  /// - Parameters:
  ///   - fromRate: Samples a second of what is taken.
  ///   - fromLayout: As libavutil describes it, such as `stereo`.
  package convenience init(
    fromRate: Int, fromLayout: String, toRate: Int, toLayout: String
  ) throws(MediaError) {
    let subject = "\(fromLayout) at \(fromRate) Hz to \(toLayout) at \(toRate) Hz"
    var source = AVChannelLayout()
    var target = AVChannelLayout()
    defer {
      av_channel_layout_uninit(&source)
      av_channel_layout_uninit(&target)
    }
    try check(av_channel_layout_from_string(&source, fromLayout), "converting", subject)
    try check(av_channel_layout_from_string(&target, toLayout), "converting", subject)
    try self.init(
      source: &source, format: AV_SAMPLE_FMT_FLTP, rate: fromRate, target: &target, targetRate: toRate,
      subject: subject)
  }

  /// From any sample format to rows of 32-bit float.
  init(
    source: UnsafePointer<AVChannelLayout>, format: AVSampleFormat, rate: Int, target: UnsafePointer<AVChannelLayout>,
    targetRate: Int, subject: String
  ) throws(MediaError) {
    var made: OpaquePointer?
    let result = swr_alloc_set_opts2(
      &made, UnsafeMutablePointer(mutating: target), AV_SAMPLE_FMT_FLTP, Int32(clamping: targetRate),
      UnsafeMutablePointer(mutating: source), format, Int32(clamping: rate), 0, nil)
    try check(result, "converting", subject)
    context = try allocated(made, "converting sound")
    try check(swr_init(context), "converting", subject)
  }

  deinit {
    var context: OpaquePointer? = context
    swr_free(&context)
  }

  /// Takes `count` samples of each input channel and gives as many as it has, at most `capacity`, of each output channel;
  /// what does not fit is kept. A nil input (and count 0) flushes. The first sample out is at the time of the first in.
  package func convert(
    _ input: UnsafePointer<UnsafePointer<Float>?>?, count: Int,
    into output: UnsafePointer<UnsafeMutablePointer<Float>?>, capacity: Int
  ) throws(MediaError) -> Int {
    let input = input.map { UnsafeRawPointer($0).assumingMemoryBound(to: UnsafePointer<UInt8>?.self) }
    return try convert(bytes: input, count: count, into: output, capacity: capacity)
  }

  func convert(
    bytes input: UnsafePointer<UnsafePointer<UInt8>?>?, count: Int,
    into output: UnsafePointer<UnsafeMutablePointer<Float>?>, capacity: Int
  ) throws(MediaError) -> Int {
    let output = UnsafeMutableRawPointer(mutating: output).assumingMemoryBound(to: UnsafeMutablePointer<UInt8>?.self)
    let result = swr_convert(
      context, output, Int32(clamping: capacity), UnsafeMutablePointer(mutating: input), Int32(clamping: count))
    return Int(try check(result, "converting", "sound"))
  }
}
