internal import Synchronization

/// Counts the steps of a task, so that another thread can distinguish slow work from a hang: a read of the source, a
/// packet that is read or written, a picture or a block of samples that is decoded, a frame that is made, a packet that
/// an encoder returns, a piece that is opened. A task that works advances it at least every few seconds, also where its
/// progress stands still: while a file is probed, on the way to the first frame that is shown, and while an encoder is
/// emptied after the last frame.
///
/// The number has no unit. Only whether it has risen is meaningful.
package final class Liveness: Sendable {
  private let steps = Atomic<UInt64>(0)

  package init() {}

  /// Counts one step. May be called in any thread.
  package func advance() {
    steps.wrappingAdd(1, ordering: .relaxed)
  }

  /// The steps so far. May be read in any thread.
  package var count: UInt64 { steps.load(ordering: .relaxed) }
}
