import Glibc
import SystemSupport

/// How much memory a worker's tasks may use: that of the machine, or what the worker's control groups and its own
/// limits leave of it.
struct MachineMemory: Sendable, Hashable {
  /// Bytes for all tasks together. Nil if the machine's memory is not known.
  var shared: Int64?
  /// Bytes that any one process may have: the limits of address space and of data that this process has inherited. Nil
  /// without limit.
  var ofProcess: Int64?

  /// The least share of a slot: with less, hardly any film can be rendered. Slots that have more than their part of the
  /// machine are rarely all in need of it at once.
  static let leastShare: Int64 = 2 << 30

  /// The bytes that each of `slots` tasks may use. Zero if nothing is known to limit them.
  func share(ofSlots slots: Int) -> Int64 {
    // A tenth is left to the system, to the worker itself, and to the pages of the files that are read.
    let share = shared.map { max($0 / 10 * 9 / Int64(max(slots, 1)), Self.leastShare) }
    return [share, ofProcess].compactMap(\.self).min() ?? 0
  }

  /// Reads the kernel's files. Blocks for as long as reading some small files takes.
  static func current() -> MachineMemory {
    let groups = text(of: "/proc/self/cgroup").map(groupFiles) ?? []
    var limits = groups.compactMap { text(of: $0).flatMap(limit) }
    if let total = text(of: "/proc/meminfo").flatMap(total) { limits.append(total) }
    let ownLimits = [limit(RLIMIT_AS), limit(RLIMIT_DATA)].compactMap(\.self)
    return MachineMemory(shared: limits.min(), ofProcess: ownLimits.min())
  }

  private static func text(of path: String) -> String? {
    // A file that cannot be read sets no limit.
    (try? OpenFile.contents(of: path, limit: 256 << 10)).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func limit(_ resource: __rlimit_resource) -> Int64? {
    var limit = rlimit()
    guard getrlimit(Int32(resource.rawValue), &limit) == 0, limit.rlim_max < rlim_t(Int64.max) else { return nil }
    return Int64(limit.rlim_max)
  }

  /// The files with the limits of the memory groups in the text of `/proc/self/cgroup`, and of all groups around them:
  /// of the unified hierarchy, and of that of memory alone.
  static func groupFiles(inGroups text: String) -> [String] {
    var files: [String] = []
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let isUnified = parts[0] == "0" && parts[1].isEmpty
      guard isUnified || parts[1].split(separator: ",").contains("memory") else { continue }
      let (root, name) = isUnified ? ("", "memory.max") : ("/memory", "memory.limit_in_bytes")
      var path = Substring(parts[2])
      while true {
        if path.last == "/" { path = path.dropLast() }
        files.append("/sys/fs/cgroup\(root)\(path)/\(name)")
        guard let end = path.lastIndex(of: "/") else { break }
        path = path[..<end]
      }
    }
    return files
  }

  /// The number of a control group's limit. Nil if there is none: "max", or a number beyond all memories.
  static func limit(inFile text: String) -> Int64? {
    let word = text.split(whereSeparator: \.isWhitespace).first ?? ""
    guard let number = UInt64(word), number < 1 << 60 else { return nil }
    return Int64(number)
  }

  /// The bytes of the line `MemTotal` of `/proc/meminfo`.
  static func total(inFile text: String) -> Int64? {
    let line = text.split(separator: "\n").first { $0.hasPrefix("MemTotal:") }
    guard let words = line?.split(separator: " "), words.count == 3, words[2] == "kB" else { return nil }
    return Int64(words[1]).flatMap { $0 < 1 << 50 ? $0 << 10 : nil }
  }
}
