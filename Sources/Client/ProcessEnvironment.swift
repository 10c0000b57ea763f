import Glibc

/// The environment's variables.
enum ProcessEnvironment {
  /// Nil where it is not set, or empty.
  static func value(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  static var all: [(name: String, value: String)] {
    var found: [(name: String, value: String)] = []
    var next = environ
    while let entry = next.pointee {
      let text = String(cString: entry)
      if let equals = text.firstIndex(of: "=") {
        found.append((String(text[..<equals]), String(text[text.index(after: equals)...])))
      }
      next += 1
    }
    return found
  }
}
