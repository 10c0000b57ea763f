/// JSON with comments and trailing commas, as files named `.jsonc` have.
package enum JSONComments {
  /// The text with spaces in the place of comments (`//` to the end of the line, `/* */`) and of commas before a
  /// closing bracket, so that every other byte keeps its place. What is not closed is left as it is, for the reader to
  /// report.
  package static func blanked(_ text: [UInt8]) -> [UInt8] {
    var text = text
    var index = 0
    /// The last comma after which there were only spaces and comments.
    var comma: Int?
    while index < text.count {
      switch (text[index], index + 1 < text.count ? text[index + 1] : 0) {
      case (UInt8(ascii: "\""), _):
        comma = nil
        index += 1
        while index < text.count, text[index] != UInt8(ascii: "\"") {
          index += text[index] == UInt8(ascii: "\\") ? 2 : 1
        }
      case (UInt8(ascii: "/"), UInt8(ascii: "/")):
        while index < text.count, text[index] != UInt8(ascii: "\n"), text[index] != UInt8(ascii: "\r") {
          text[index] = UInt8(ascii: " ")
          index += 1
        }
        continue
      case (UInt8(ascii: "/"), UInt8(ascii: "*")):
        guard let end = endOfBlock(in: text, after: index + 2) else { return text }
        for place in index..<end where text[place] != UInt8(ascii: "\n") && text[place] != UInt8(ascii: "\r") {
          text[place] = UInt8(ascii: " ")
        }
        index = end
        continue
      case (UInt8(ascii: ","), _): comma = index
      case (UInt8(ascii: "]"), _), (UInt8(ascii: "}"), _):
        if let comma { text[comma] = UInt8(ascii: " ") }
        comma = nil
      case (0x20, _), (0x09, _), (0x0A, _), (0x0D, _): break
      default: comma = nil
      }
      index += 1
    }
    return text
  }

  /// Just after `*/`. Nil: there is none.
  private static func endOfBlock(in text: [UInt8], after start: Int) -> Int? {
    var index = start
    while index + 1 < text.count {
      if text[index] == UInt8(ascii: "*"), text[index + 1] == UInt8(ascii: "/") { return index + 2 }
      index += 1
    }
    return nil
  }
}
