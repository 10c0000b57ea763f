// A task has one lease or two (DESIGN 4); what several statements do to them.

extension Statement {
  /// No second lease. `twin_epoch` stays, so that its epoch is never granted again.
  static let clearTwin = """
    twin_worker = NULL, twin_until = NULL, twin_moved_at = NULL, twin_granted_at = NULL, twin_progress = 0
    """

  /// One lease of a task goes: where it is the first, the twin takes its place; without a twin the task is ready.
  ///
  /// - Parameters:
  ///   - first: Whether it is the first one, in SQL.
  ///   - isLast: Whether the task has failed for good and both go, in SQL.
  static func losing(first: String, isLast: String = "false") -> String {
    """
    state = CASE WHEN \(isLast) THEN 'failed' WHEN \(first) AND twin_worker IS NULL THEN 'ready' ELSE 'leased' END,
    worker = CASE WHEN \(isLast) THEN NULL WHEN \(first) THEN twin_worker ELSE worker END,
    epoch = CASE WHEN NOT \(isLast) AND \(first) AND twin_worker IS NOT NULL THEN twin_epoch ELSE task.epoch END,
    twin_epoch = CASE WHEN NOT \(isLast) AND \(first) AND twin_worker IS NOT NULL THEN task.epoch ELSE twin_epoch END,
    leased_until = CASE WHEN \(isLast) THEN NULL WHEN \(first) THEN twin_until ELSE leased_until END,
    moved_at = CASE WHEN \(isLast) THEN NULL WHEN \(first) THEN twin_moved_at ELSE moved_at END,
    granted_at = CASE WHEN \(isLast) THEN NULL WHEN \(first) THEN twin_granted_at ELSE granted_at END,
    progress = CASE WHEN \(isLast) THEN 0 WHEN \(first) THEN twin_progress ELSE progress END,
    \(clearTwin)
    """
  }

  /// Whether a task has a lease that is past its time, or without progress for `$2` microseconds.
  static let isLost = """
    leased_until <= sheaf.now() OR moved_at <= sheaf.now() - $2 * interval '1 microsecond'
    OR twin_until <= sheaf.now() OR twin_moved_at <= sheaf.now() - $2 * interval '1 microsecond'
    """
}
