import Glibc

/// How much the tests cover: each kind of thing once, as `make test` does, or every case at its whole length, as
/// `make thorough` and CI do.
public enum TestExtent {
  public static let isWhole = getenv("SHEAF_THOROUGH") != nil

  /// A number, a length or a list of the short tests, or that of the whole ones.
  public static func of<Value>(_ short: Value, whole: Value) -> Value { isWhole ? whole : short }
}

extension Collection {
  /// Some of the cases, evenly spread from the first to the last, or all where the tests are whole.
  /// - Parameter count: At least 1. With 1 it is the first.
  public func spread(_ count: Int) -> [Element] {
    let all = Array(self)
    if TestExtent.isWhole || all.count <= count { return all }
    return (0..<count).map { all[$0 * (all.count - 1) / Swift.max(1, count - 1)] }
  }
}
