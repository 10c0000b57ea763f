/// Wakes whoever waits for something to happen, or for a time to pass.
actor Bell {
  private var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  private var next: UInt64 = 0
  private var rings: UInt64 = 0

  /// How often it was rung: what a waiter has seen so far.
  var count: UInt64 { rings }

  func ring() {
    rings += 1
    let waiting = waiters
    waiters = [:]
    for continuation in waiting.values { continuation.resume() }
  }

  /// Returns when it was rung since `seen`, after `limit`, or when the task is cancelled; gives what to wait from next.
  func wait(since seen: UInt64, atMost limit: Duration) async -> UInt64 {
    guard rings == seen, !Task.isCancelled else { return rings }
    let id = next
    next += 1
    let timer = Task {
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
    return rings
  }

  private func release(_ id: UInt64) {
    waiters.removeValue(forKey: id)?.resume()
  }
}
