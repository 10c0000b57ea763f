/// Converts sound between sample rates and channel layouts with libswresample, on rows of 32-bit float.
package final class SampleConverter {
  /// - Parameters: rates in samples a second; layouts as libavutil describes them, such as `stereo`.
  package init(
    fromRate: Int, fromLayout: String, toRate: Int, toLayout: String
  ) throws(MediaError) {
    throw MediaError(.unsupported, operation: "resampling", subject: "", message: "not there yet")
  }

  /// Takes `count` samples of each input channel and gives as many as it has, at most `capacity`, of each output channel;
  /// what does not fit is kept. A nil input (and count 0) flushes. The first sample out is at the time of the first in.
  package func convert(
    _ input: UnsafePointer<UnsafePointer<Float>?>?, count: Int,
    into output: UnsafePointer<UnsafeMutablePointer<Float>?>, capacity: Int
  ) throws(MediaError) -> Int { 0 }
}
