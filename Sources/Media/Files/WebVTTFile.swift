import CompositionModel

/// A file of captions in WebVTT as libavformat can read it, which takes a block of styles or of regions, and one that
/// is damaged, for the end of the file. In this one, blocks of styles and regions are comments.
final class WebVTTFile: ByteSource {
  private static let largestSize = Int64(CaptionsFormat.greatestSize)
  private static let example = "one is written 00:01.000 --> 00:02.500"

  private let bytes: [UInt8]
  var byteCount: Int64 { Int64(bytes.count) }

  /// Nil for a file of another format. Throws `.damaged`, with the line, for a block that is no caption, no comment, no
  /// styles and no region (WebVTT, section 4.1).
  init?(_ source: any ByteSource, name: String) throws(MediaError) {
    let head = try source.bytes(count: 9)
    let mark: [UInt8] = head.starts(with: [0xEF, 0xBB, 0xBF]) ? [0xEF, 0xBB, 0xBF] : []
    guard head.starts(with: mark + "WEBVTT".utf8) else { return nil }
    guard source.byteCount <= Self.largestSize else {
      throw MediaError(
        .unsupported, operation: "reading captions", subject: name,
        message: "it has \(source.byteCount) bytes; captions of at most \(Self.largestSize) are read")
    }
    var bytes = try source.bytes(count: Int(source.byteCount))
    let lines = textLines(bytes)
    for (number, block) in lines.indices.split(whereSeparator: { lines[$0].isEmpty }).enumerated() {
      let texts = block.map { (number: $0 + 1, text: String(decoding: lines[$0], as: UTF8.self)) }
      if let problem = number == 0 ? Self.problem(ofHead: texts) : Self.problem(texts) {
        throw MediaError(.damaged, operation: "reading captions", subject: name, message: problem)
      }
      guard number > 0 else { continue }
      let first = lines[block.lowerBound]
      if Self.isCaption(texts) {
        // A name like this makes the caption a comment for libavformat.
        let isTaken = ["WEBVTT", "NOTE", "STYLE", "REGION"].contains { first.starts(with: $0.utf8) }
        if isTaken { bytes[first.startIndex] = UInt8(ascii: "-") }
      } else {
        let word = first.prefix { $0 != 9 && $0 != 32 }
        for (place, byte) in zip(word.indices, Array("NOTE  ".utf8)) { bytes[place] = byte }
      }
    }
    self.bytes = bytes
  }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    let rest = bytes.dropFirst(Int(clamping: max(0, offset))).prefix(buffer.count)
    buffer.copyBytes(from: rest)
    return rest.count
  }

  private typealias Line = (number: Int, text: String)

  /// Whether a block has the time of a caption, written rightly or not, after a name or without.
  private static func isCaption(_ block: [Line]) -> Bool { block.prefix(2).contains { $0.text.contains("-->") } }

  private static func problem(ofHead block: [Line]) -> String? {
    block.first { $0.text.contains("-->") }.map {
      "line \($0.number), \"\($0.text.prefix(60))\": a caption begins after an empty line"
    }
  }

  /// What is wrong with a block after the file's head. Nil: nothing.
  private static func problem(_ block: [Line]) -> String? {
    guard let first = block.first else { return nil }
    guard isCaption(block) else {
      let word = first.text.prefix { $0 != " " && $0 != "\t" }
      let isKnown = ["NOTE", "STYLE", "REGION"].contains(word)
      return isKnown
        ? nil : "line \(first.number), \"\(first.text.prefix(60))\": there is no caption's time in it; \(example)"
    }
    let place = first.text.contains("-->") ? 0 : 1
    let (number, shown) = (block[place].number, block[place].text.prefix(60))
    guard let (start, end) = times(block[place].text) else {
      return "line \(number), \"\(shown)\", is not a caption's time; \(example)"
    }
    guard start <= end else { return "line \(number), \"\(shown)\": the caption ends before it starts" }
    return problem(ofHead: Array(block.dropFirst(place + 1)))
  }

  /// The times of a line, in milliseconds. Nil for what is not `[hh:]mm:ss.mmm --> [hh:]mm:ss.mmm`. Settings may
  /// follow.
  private static func times(_ line: String) -> (start: Int, end: Int)? {
    guard let arrow = line.firstRange(of: "-->") else { return nil }
    let before = line[..<arrow.lowerBound].split(whereSeparator: \.isWhitespace)
    let after = line[arrow.upperBound...].split(whereSeparator: \.isWhitespace)
    guard before.count == 1, let start = time(before[0]), let end = after.first.flatMap(time) else { return nil }
    return (start, end)
  }

  private static func time(_ text: Substring) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let second = parts.last?.split(separator: ".", omittingEmptySubsequences: false) ?? []
    guard (2...3).contains(parts.count), second.count == 2, second[1].count == 3 else { return nil }
    let digits = parts.dropLast() + second
    let numbers = digits.compactMap { part in
      part.count < 9 && part.allSatisfy { $0.isASCII && $0.isNumber } ? Int(part) : nil
    }
    guard numbers.count == digits.count, numbers.dropLast().suffix(2).allSatisfy({ $0 < 60 }) else { return nil }
    return numbers.dropLast().reduce(0) { $0 * 60 + $1 } * 1000 + numbers[numbers.count - 1]
  }
}

/// The lines of a text, whose ends are CR, LF or both, without a byte order mark, at their places in it.
func textLines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
  let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
  var lines: [ArraySlice<UInt8>] = []
  var rest = text
  while let end = rest.firstIndex(where: { $0 == 10 || $0 == 13 }) {
    lines.append(rest[..<end])
    rest = rest[(end + 1)...]
    if text[end] == 13, rest.first == 10 { rest = rest.dropFirst() }
  }
  return lines + [rest]
}
