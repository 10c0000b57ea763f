import Synchronization

/// Goes up once and stays up.
final class Latch: Sendable {
  private let raised = Atomic(false)

  var isRaised: Bool { raised.load(ordering: .acquiring) }

  func raise() { raised.store(true, ordering: .releasing) }
}
