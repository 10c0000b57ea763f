import Digest
import FoundationEssentials

/// Reads bytes of content from the coordinator: from `offset`, so many, fewer only at the content's end.
typealias ContentReader = @Sendable (_ digest: SHA256Digest, _ offset: UInt64, _ length: Int) async throws -> Data

/// Lets so many through at a time, first come first served.
actor Gate {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ width: Int) {
    free = width
  }

  func pass<R: Sendable>(_ body: @Sendable () async throws -> R) async rethrows -> R {
    await enter()
    defer { exit() }
    return try await body()
  }

  private func enter() async {
    if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
  }

  private func exit() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
