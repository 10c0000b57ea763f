import Glibc
import SystemSupport

/// How many processes the kernel has killed for lack of memory, as far as its counters are readable: in this process's
/// control group and those below it, or else on the whole machine.
struct MemoryKills: Sendable, Hashable {
  /// Nil if no counter is readable.
  var count: UInt64?

  /// Reads the kernel's counters. Blocks for as long as reading three small files takes.
  static func current() -> MemoryKills {
    // A counter that cannot be read is one that is not there.
    let group = (try? OpenFile.contents(of: "/proc/self/cgroup", limit: 64 << 10)).flatMap {
      path(inGroups: String(decoding: $0, as: UTF8.self))
    }
    let files = (group.map { ["/sys/fs/cgroup\($0)/memory.events"] } ?? []) + ["/proc/vmstat"]
    for file in files {
      guard let bytes = try? OpenFile.contents(of: file, limit: 256 << 10) else { continue }
      if let count = count(inCounters: String(decoding: bytes, as: UTF8.self)) { return MemoryKills(count: count) }
    }
    return MemoryKills(count: nil)
  }

  /// Whether a process may have been killed for lack of memory between an earlier count and this one.
  func mayHaveRisen(since earlier: MemoryKills) -> Bool {
    guard let count, let before = earlier.count else { return true }
    return count > before
  }

  /// The path of the unified control group in the text of `/proc/self/cgroup`.
  static func path(inGroups text: String) -> String? {
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
    let path = line.dropFirst(3)
    return path == "/" ? "" : String(path)
  }

  /// The counter `oom_kill` in the text of `memory.events` or `/proc/vmstat`.
  static func count(inCounters text: String) -> UInt64? {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, words[0] == "oom_kill" { return UInt64(words[1]) }
    }
    return nil
  }
}
