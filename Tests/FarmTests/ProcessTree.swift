import Foundation

/// The parents of all processes at one moment.
struct ProcessTree {
  private var parents: [pid_t: pid_t] = [:]

  static func now() -> ProcessTree {
    var tree = ProcessTree()
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
      guard let process = pid_t(name), let fields = Self.fields(of: process), let parent = pid_t(fields[1]) else {
        continue
      }
      tree.parents[process] = parent
    }
    return tree
  }

  func children(of process: pid_t) -> [pid_t] { parents.filter { $0.value == process }.keys.sorted() }

  /// Whether a signal has stopped the process.
  static func isStopped(_ process: pid_t) -> Bool { fields(of: process)?[0] == "T" }

  /// The fields of its `stat` from the state on. The name before it is in parentheses and may contain anything.
  private static func fields(of process: pid_t) -> [Substring]? {
    guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let end = stat.lastIndex(of: ")")
    else { return nil }
    let fields = stat[end...].dropFirst().split(separator: " ")
    return fields.count > 1 ? fields : nil
  }
}
