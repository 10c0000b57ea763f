import CompositionModel
import FoundationEssentials
import Media
import RenderTasks
import Synchronization
import SystemSupport

/// Collects the damaged pictures and samples that a task shows.
final class DamageLog: Sendable {
  private struct State {
    var counter = DamageCounter(limit: ShownDamage.placesOfPiece)
    var output = 0.0
    /// Whether anything was added since the last `move`.
    var isShown = false
    /// Whether what is added is left out.
    var leavesOut = false
  }

  private let state = Mutex(State())
  /// What is added is added to this one. Nil: it is kept here.
  private let whole: DamageLog?

  init() { whole = nil }

  /// The damage of a part that has times of its own: what is added is shown at the time of the whole.
  init(within whole: DamageLog) { self.whole = whole }

  /// What was added up to now.
  var damage: ShownDamage { state.withLock { $0.counter.damage } }

  /// Whether anything was added since the last `move`, even if it was added before that too.
  var isShown: Bool { state.withLock { $0.isShown } }

  /// Sets the time of the output, in seconds, that what is added from now on is shown at.
  func move(to output: Double) {
    if whole != nil { return }
    state.withLock { state in
      state.output = output
      state.isShown = false
    }
  }

  /// Calls `body`. What is added meanwhile is left out: it is computed, and not shown.
  func leavingOut<E: Error>(_ body: () throws(E) -> Void) throws(E) {
    let before = state.withLock { state in
      defer { state.leavesOut = true }
      return state.leavesOut
    }
    defer { state.withLock { $0.leavesOut = before } }
    try body()
  }

  /// - Parameter source: On the asset's timeline, in seconds.
  func add(source: Double, digest: String, track: Int, type: MediaType) {
    if let whole { return whole.add(source: source, digest: digest, track: track, type: type) }
    state.withLock { state in
      guard !state.leavesOut else { return }
      state.isShown = true
      state.counter.add(.init(source: source, output: state.output), digest: digest, track: track, type: type)
    }
  }
}

extension ShownDamage {
  /// As a piece has it; empty if nothing is damaged.
  func encoded() throws(MediaError) -> [UInt8] {
    if isEmpty { return [] }
    do {
      return try [UInt8](JSONCoding.encoder.encode(self))
    } catch {
      throw MediaError(
        .invalidRequest, operation: "writing", subject: "a piece", message: "its damage cannot be encoded: \(error)")
    }
  }
}
