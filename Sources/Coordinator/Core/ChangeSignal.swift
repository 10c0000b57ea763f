/// Wakes the tasks that wait for a change, or for a time to pass.
package actor ChangeSignal {
  private var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  private var next: UInt64 = 0

  package init() {}

  /// How many changes there were.
  package private(set) var count: UInt64 = 0

  /// Wakes all who wait.
  package func signal() {
    count += 1
    let waiting = waiters
    waiters = [:]
    for continuation in waiting.values { continuation.resume() }
  }

  /// Waits until there is a change after `seen`, `limit` has passed, or the task is cancelled. Returns the count of
  /// changes, to be passed to the next wait.
  package func wait(since seen: UInt64, atMost limit: Duration) async -> UInt64 {
    guard count == seen, !Task.isCancelled else { return count }
    let id = next
    next += 1
    let timer = Task {
      // Cancelled: the wait is over.
      do { try await Task.sleep(for: limit) } catch { return }
      release(id)
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled { continuation.resume() } else { waiters[id] = continuation }
      }
    } onCancel: {
      Task { await release(id) }
    }
    timer.cancel()
    return count
  }

  private func release(_ id: UInt64) {
    waiters.removeValue(forKey: id)?.resume()
  }
}
