package import FarmModel

/// The slots of a claim that are left. Both stores match tasks with slots by this rule.
package struct SlotAssignment: Sendable {
  private var slots: [Holder?]
  /// All slots before this one are taken.
  private var first = 0
  package private(set) var count: Int

  /// - Parameter slots: In the order in which they are served.
  package init(_ slots: [Holder]) {
    self.slots = slots
    count = slots.count
  }

  /// The slots that are left, in their order.
  package var holders: [Holder] { slots[first...].compactMap(\.self) }

  /// The workers that have a slot left, each once, in the order of their slots.
  package var workers: [WorkerID] {
    var seen: Set<WorkerID> = []
    return slots[first...].compactMap { $0?.worker }.filter { seen.insert($0).inserted }
  }

  /// Takes the first slot that is left and whose worker may have the task.
  ///
  /// - Returns: The slot's holder, or nil if no slot that is left may have the task.
  package mutating func take(where mayHave: (WorkerID) -> Bool) -> Holder? {
    for index in slots.indices[first...] {
      guard let holder = slots[index], mayHave(holder.worker) else { continue }
      slots[index] = nil
      count -= 1
      while first < slots.count, slots[first] == nil { first += 1 }
      return holder
    }
    return nil
  }
}
