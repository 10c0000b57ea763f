/// The `Range` of a request (RFC 9110, section 14), on a file of some length: pure.
enum ByteRange: Sendable, Hashable {
  /// The whole file: there is no range, or none that this server takes, such as several.
  case whole
  /// Not empty.
  case part(Range<Int64>)
  /// No byte of the file is in it.
  case unsatisfiable

  /// - Parameters:
  ///   - header: Nil: there is none.
  ///   - size: Of the file, in bytes.
  init(_ header: String?, size: Int64) {
    guard let header, let equals = header.firstIndex(of: "="), header[..<equals].lowercased() == "bytes" else {
      self = .whole
      return
    }
    let set = header[header.index(after: equals)...].filter { $0 != " " && $0 != "\t" }
    guard let dash = set.firstIndex(of: "-"), !set.contains(",") else {
      self = .whole
      return
    }
    let (first, last) = (set[..<dash], set[set.index(after: dash)...])
    guard Self.isNumber(first), Self.isNumber(last), !(first.isEmpty && last.isEmpty) else {
      self = .whole
      return
    }
    // A number with more digits than any size is beyond every file.
    let end = last.isEmpty ? .max : Int64(last) ?? .max
    guard let start = first.isEmpty ? nil : Int64(first) ?? .max else {
      // The last so many bytes.
      self = end == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - end)..<size)
      return
    }
    guard start <= end else {
      self = .whole
      return
    }
    self = start < size ? .part(start..<min(end, size - 1) + 1) : .unsatisfiable
  }

  private static func isNumber(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}

/// The entity tags of a header such as `If-None-Match` (RFC 9110, section 8.8.3): pure.
enum EntityTags {
  /// Whether the header's list has the tag, or is `*`.
  /// - Parameters:
  ///   - tag: A strong one, with its quotation marks.
  ///   - isWeak: Whether a weak tag of the list counts too.
  static func contain(_ header: String?, _ tag: String, isWeak: Bool) -> Bool {
    guard let header else { return false }
    return header.split(separator: ",").contains { item in
      var item = item.drop { $0 == " " || $0 == "\t" }
      while item.last == " " || item.last == "\t" { item.removeLast() }
      if item == "*" { return true }
      if item.hasPrefix("W/") { return isWeak && item.dropFirst(2) == tag }
      return item == tag
    }
  }
}
