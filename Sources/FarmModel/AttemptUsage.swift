/// What an attempt at a task took of its worker, as the worker has measured it. All from 0.
package struct AttemptUsage: Sendable, Hashable, Codable {
  /// From the grant until a slot was free.
  package var wait: Duration = .zero
  /// How long inputs were opened, fetched and verified while the task could not go on, and its process was started.
  package var fetch: Duration = .zero
  /// How long the task process worked.
  package var render: Duration = .zero
  /// From the end of the process until the result was reported.
  package var upload: Duration = .zero
  /// User and system time of the task process.
  package var cpu: Duration = .zero
  /// The most memory that the task process had at a time.
  package var peakBytes: Int64 = 0
  /// Content that came from the coordinator because the task read it.
  package var fetchedBytes: Int64 = 0
  /// What of the result was sent to the coordinator.
  package var uploadedBytes: Int64 = 0

  package init() {}

  /// Waiting, fetching, rendering and uploading, in this order.
  package var phases: [Duration] { [wait, fetch, render, upload] }

  /// Of both together. The peak is the higher one: the two need not be at the same time.
  package static func + (left: AttemptUsage, right: AttemptUsage) -> AttemptUsage {
    var sum = left
    for time in [\AttemptUsage.wait, \.fetch, \.render, \.upload, \.cpu] { sum[keyPath: time] += right[keyPath: time] }
    for bytes in [\AttemptUsage.fetchedBytes, \.uploadedBytes] {
      let (total, overflows) = sum[keyPath: bytes].addingReportingOverflow(right[keyPath: bytes])
      sum[keyPath: bytes] = overflows ? .max : total
    }
    sum.peakBytes = max(left.peakBytes, right.peakBytes)
    return sum
  }
}
