import Synchronization

/// A value that one task sets and others read.
final class Flag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .acquiring) }

  func set(_ isSet: Bool = true) { value.store(isSet, ordering: .releasing) }
}
