import CompositionModel
import FarmAPI
import FarmModel

/// What the films of a file of rows took together.
struct RowCosts: Sendable {
  /// As JSON. It is stable: keys may be added, but are never changed.
  private struct Sum: Encodable {
    var rows: Int
    var done: Int
    var failed: Int
    /// From the first submission to the end of the last film.
    var seconds: Double
    /// Of the films that were made.
    var bytes: Int64
    var frames: Int
    var segments: Int
    var cached: Int
    var attempts: Int
    /// Absent if no worker has measured anything.
    var usage: UsageReport?
  }

  private let start = ContinuousClock.now
  private var (done, bytes, frames, segments, cached) = (0, Int64(0), 0, 0, 0)
  private var (attempts, usage) = (0, AttemptUsage?.none)

  /// Adds a job that has ended, as a film or not.
  mutating func add(_ status: JobStatus) {
    if status.state == .done {
      done += 1
      bytes += status.output?.bytes ?? 0
      (frames, segments, cached) = (
        frames + status.framesTotal, segments + status.segmentsTotal, cached + status.segmentsCached
      )
    }
    guard let own = status.usage else { return }
    attempts += own.attempts
    usage = (usage ?? AttemptUsage()) + own.total.usage
  }

  /// Prints the sum: as a line of JSON on standard output, or for people on standard error.
  func print(rows: Int, asJSON: Bool) throws {
    let elapsed = Double((ContinuousClock.now - start) / .milliseconds(1)).rounded() / 1000
    let total = usage.map { UsageReport($0) }
    if asJSON {
      return try Console.printJSON(
        Sum(
          rows: rows, done: done, failed: rows - done, seconds: elapsed, bytes: bytes, frames: frames,
          segments: segments, cached: cached, attempts: attempts, usage: total), lines: false)
    }
    Console.printError(
      "sheaf: \(done) of \(Measure.count(rows, "film")), \(Measure.bytes(bytes)), in \(Measure.duration(elapsed)); "
        + "\(cached) of \(Measure.count(segments, "segment")) were there already")
    guard let total else { return }
    for line in StatusText.costs(total, attempts: attempts) { Console.printError("sheaf: \(line)") }
  }
}
