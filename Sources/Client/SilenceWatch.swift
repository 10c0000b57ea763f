/// How long a peer has been silent, as far as this process was there to hear it. A process that was stopped and goes on
/// (Ctrl-Z and `fg`, or a machine that slept) has missed what it would have asked and received meanwhile.
struct SilenceWatch {
  /// A longer time between two looks means that this process did not run.
  private let longestGap: Duration
  private var lastLook: ContinuousClock.Instant
  /// When this process went on after it had not run.
  private var wentOn: ContinuousClock.Instant

  init(longestGap: Duration, now: ContinuousClock.Instant) {
    self.longestGap = longestGap
    (lastLook, wentOn) = (now, now)
  }

  /// The time since the peer's last bytes, or since this process went on if that was later.
  mutating func silence(since lastReceived: ContinuousClock.Instant, now: ContinuousClock.Instant) -> Duration {
    if now - lastLook > longestGap { wentOn = now }
    lastLook = now
    return now - max(lastReceived, wentOn)
  }
}
