/// The names of pools: of workers that take the jobs of the pool, and of the pool's jobs.
///
/// A job has at most one pool. A worker takes jobs of its own pools and jobs without one; a worker without pools takes
/// jobs without one only.
package enum PoolName {
  /// The most bytes of a name.
  package static let longest = 64
  /// The most pools of a worker.
  package static let mostOfWorker = 16
  /// What a name is, for messages.
  package static let rule =
    "1 to \(longest) letters, digits, '.', '_' and '-' of ASCII, the first of them a letter or a digit"

  package static func isValid(_ name: String) -> Bool {
    let isAlphanumeric = { (byte: UInt8) in
      (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }
    guard let first = name.utf8.first, isAlphanumeric(first), name.utf8.count <= longest else { return false }
    return name.utf8.allSatisfy { isAlphanumeric($0) || [45, 46, 95].contains($0) }
  }

  /// The same names, each once and in their order as bytes, as every place has them.
  package static func sorted(_ names: some Sequence<String>) -> [String] {
    Set(names).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// What is wrong with the pools of a worker, for a person. Nil: nothing.
  package static func problem(with names: [String]) -> String? {
    if let name = names.first(where: { !isValid($0) }) { return "\"\(name.prefix(80))\" is no pool's name: \(rule)" }
    return names.count > mostOfWorker ? "a worker has at most \(mostOfWorker) pools, not \(names.count)" : nil
  }

  /// Whether a worker of some pools takes the jobs of a pool.
  package static func takes(_ pools: [String], jobsOf pool: String?) -> Bool {
    pool.map(pools.contains) ?? true
  }
}
