/// A table that keeps the entries that were used last, at most a number of them. Pure.
///
/// It has two halves. What is added or found goes to the younger one; when that is full it becomes the older one, whose
/// entries are dropped.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let half: Int
  private var younger: [Key: Value] = [:]
  private var older: [Key: Value] = [:]

  /// - Parameter maximumCount: At least two.
  init(maximumCount: Int) {
    half = maximumCount / 2
  }

  var count: Int { younger.count + older.count }

  mutating func value(for key: Key) -> Value? {
    if let value = younger[key] { return value }
    guard let value = older[key] else { return nil }
    insert(value, for: key)
    return value
  }

  mutating func insert(_ value: Value, for key: Key) {
    older[key] = nil
    if younger[key] == nil, younger.count >= half {
      older = younger
      younger = [:]
    }
    younger[key] = value
  }

  mutating func remove(_ key: Key) {
    younger[key] = nil
    older[key] = nil
  }
}
