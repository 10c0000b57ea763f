import Synchronization

/// How many requests of one kind may be under way at once.
final class Quota: Sendable {
  private let most: Int
  private let name: String
  private let count = Mutex(0)

  /// - Parameter name: In the plural, for the error.
  init(_ most: Int, of name: String) {
    self.most = most
    self.name = name
  }

  var underWay: Int { count.withLock(\.self) }

  /// Throws `.tooManyRequests` if as many are under way as may be.
  func run<R>(_ body: () async throws -> R) async throws -> R {
    try begin()
    defer { end() }
    return try await body()
  }

  /// The same, for what goes on after this returns: `end` must follow.
  func begin() throws(ProblemDetails) {
    let fits = count.withLock { count in
      guard count < most else { return false }
      count += 1
      return true
    }
    if !fits { throw refusal }
  }

  /// Throws as `begin` would now, and counts nothing.
  func check() throws(ProblemDetails) {
    if count.withLock({ $0 >= most }) { throw refusal }
  }

  func end() { count.withLock { $0 -= 1 } }

  private var refusal: ProblemDetails {
    ProblemDetails(.tooManyRequests, "\(most) \(name) are under way, which is the most; try again later")
  }
}
