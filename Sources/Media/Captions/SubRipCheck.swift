import CompositionModel

/// Checks a file of captions in SubRip's format (SRT), line by line. libavformat takes whatever it cannot read for the
/// text of a caption.
enum SubRipCheck {
  private static let largestSize: Int64 = 32 << 20

  /// Whether a file is SRT, which libavformat recognizes only by the number and the time of its first caption. Throws
  /// `.damaged`, with the line, if it is text with arrows like those of SRT's times, but is not SRT.
  static func isOne(_ source: any ByteSource, name: String) throws(MediaError) -> Bool {
    guard source.byteCount > 0, source.byteCount <= largestSize else { return false }
    let head = try source.bytes(count: 4096)
    let isLikeOne = startsLikeOne(head)
    guard isLikeOne || !head.contains(0), !isOther(head) else { return false }
    let bytes = source.byteCount <= 4096 ? head : try source.bytes(count: Int(source.byteCount))
    let hasArrows = bytes.firstRange(of: Array("-->".utf8)) != nil
    guard hasArrows || isLikeOne else { return false }
    // What is not text is of another format, in which the bytes of an arrow may be.
    guard isLikeOne || !bytes.contains(where: { $0 < 9 }) else { return false }
    if let problem = problem(bytes) {
      throw MediaError(.damaged, operation: "reading captions", subject: name, message: problem)
    }
    return true
  }

  /// Whether a file is of another format with text, which begins otherwise.
  private static func isOther(_ head: [UInt8]) -> Bool {
    let text = head.starts(with: [0xEF, 0xBB, 0xBF]) ? head.dropFirst(3) : head[...]
    let begins = text.drop { $0 == 10 || $0 == 13 || $0 == 32 }
    return ["WEBVTT", "[Script", "<", "{", "[", "RIFF", "ID3", "Dialogue:", "OggS"].contains {
      begins.starts(with: $0.utf8)
    }
  }

  /// Whether a file begins with a number and something like a time below it.
  private static func startsLikeOne(_ head: [UInt8]) -> Bool {
    let lines = textLines(head).lazy.compactMap { String(validating: $0, as: UTF8.self) }
      .map { $0.filter { !$0.isWhitespace } }.filter { !$0.isEmpty }.prefix(2)
    guard let number = lines.first, let time = lines.dropFirst().first else { return false }
    return number.allSatisfy(\.isNumber) && isLikeTime(time)
  }

  /// What is wrong with SRT. Nil: nothing.
  static func problem(_ bytes: [UInt8]) -> String? {
    var isFirst = true
    for (index, line) in textLines(bytes).enumerated() {
      let number = index + 1
      guard let line = String(validating: line, as: UTF8.self) else {
        return "line \(number) is not text in UTF-8; store the file as UTF-8"
      }
      // libavformat takes it for the end of the caption.
      guard !line.utf8.contains(0) else { return "line \(number) has a NUL character; remove it" }
      let shown = line.prefix(60)
      let words = line.split(whereSeparator: \.isWhitespace)
      if words.isEmpty { continue }
      if isLikeTime(line) {
        guard let (start, end) = times(line) else {
          return "line \(number), \"\(shown)\", is not a caption's time; one is written 00:00:01,000 --> 00:00:02,500"
        }
        guard start <= end else { return "line \(number), \"\(shown)\": the caption ends before it starts" }
        isFirst = false
      } else if isFirst, !(words.count == 1 && words[0].allSatisfy(\.isNumber)) {
        return "line \(number), \"\(shown)\", is neither the number nor the time of a caption; a time is written "
          + "00:00:01,000 --> 00:00:02,500"
      }
    }
    return nil
  }

  /// Whether a line is one of a caption's times, written rightly or not: a text may have arrows too.
  private static func isLikeTime(_ line: String) -> Bool {
    let text = line.drop(while: \.isWhitespace)
    let parts = (text.first == "-" ? text.dropFirst() : text).split(separator: ":", omittingEmptySubsequences: false)
    func isNumber(_ index: Int) -> Bool { parts.indices.contains(index) && parts[index].allSatisfy(isDigit) }
    guard parts.count > 1, isNumber(0), parts[0] != "" else { return false }
    return text.contains("-->") || isNumber(1) && parts.count > 2 && text.contains { $0 == ">" || $0 == "→" }
  }

  private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }

  /// The times of a line, in milliseconds. Nil for what is not `hh:mm:ss,mmm --> hh:mm:ss,mmm`. Spaces between the
  /// parts, and what follows, are no matter; a fraction of fewer digits is one of milliseconds, as libavformat has it.
  private static func times(_ line: String) -> (start: Int, end: Int)? {
    guard let arrow = line.firstRange(of: "-->") else { return nil }
    var start = line[..<arrow.lowerBound]
    var end = line[arrow.upperBound...]
    guard let first = time(&start), let last = time(&end), start.allSatisfy(\.isWhitespace) else { return nil }
    return (first, last)
  }

  /// Takes a time off the beginning of a text.
  private static func time(_ text: inout Substring) -> Int? {
    var numbers: [Int] = []
    for separators in [":", ":", ",.", ""] {
      text = text.drop(while: \.isWhitespace)
      let digits = text.prefix(while: isDigit)
      guard digits.count < 9, let number = Int(digits) else { return nil }
      numbers.append(number)
      text = text[digits.endIndex...]
      if separators.isEmpty, digits.count > 3 { return nil }
      guard !separators.isEmpty else { break }
      guard let separator = text.first, separators.contains(separator) else { return nil }
      text = text.dropFirst()
    }
    guard numbers[1] < 60, numbers[2] < 60 else { return nil }
    return ((numbers[0] * 60 + numbers[1]) * 60 + numbers[2]) * 1000 + numbers[3]
  }
}
