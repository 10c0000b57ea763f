/// When a worker that is to end for want of work has had none for long enough. Pure: times count from a moment that the
/// caller chooses, which is when the worker starts.
struct Idleness: Sendable {
  /// How long the worker may have no task. Nil: it goes on for ever.
  private let limit: Duration?
  /// Since when it has no task. Nil: it has one.
  private var start: Duration? = .zero

  init(limit: Duration?) {
    self.limit = limit
  }

  /// When the worker is to end, if it gets no task until then.
  var end: Duration? { limit.flatMap { limit in start.map { $0 + limit } } }

  mutating func update(hasTasks: Bool, at now: Duration) {
    start = hasTasks ? nil : start ?? now
  }

  /// A coordinator that has just been reached may have tasks.
  mutating func connect(at now: Duration) {
    if start != nil { start = now }
  }

  /// The worker itself was stopped for this long.
  mutating func allow(_ gap: Duration) {
    if let start { self.start = start + gap }
  }
}
