internal import CMedia

/// Gives each decoded picture its time. Describing and reading both ask it, so they agree.
///
/// The time is libavcodec's best effort: the stored presentation time where the file has one that makes sense, else the
/// decoding time. A picture without either comes one frame's duration after the one before. A picture whose time lies
/// before that of the one before is not shown.
struct FrameClock {
  private let defaultStep: Int64
  private var last: Int64?

  init(_ stream: UnsafeMutablePointer<AVStream>) {
    let rates = [stream.pointee.avg_frame_rate, stream.pointee.r_frame_rate, AVRational(num: 25, den: 1)]
    let rate = rates.first { $0.num > 0 && $0.den > 0 }!
    defaultStep = max(1, av_rescale_q(1, AVRational(num: rate.den, den: rate.num), stream.pointee.time_base))
  }

  /// The picture's presentation time in ticks of the track's timebase; nil where it is not shown.
  mutating func time(of frame: UnsafePointer<AVFrame>) -> Int64? {
    var time = frame.pointee.best_effort_timestamp
    if time == sheaf_no_pts {
      let step = frame.pointee.pkt_duration > 0 ? frame.pointee.pkt_duration : defaultStep
      time = last.map { $0 &+ step } ?? 0
    }
    if let last, time < last { return nil }
    last = time
    return time
  }
}
