import CompositionModel

/// Checks a file of captions in SubRip's format (SRT), line by line. libavformat takes whatever it cannot read for the
/// text of a caption.
enum SubRipCheck {
  private static let largestSize: Int64 = 32 << 20

  /// Throws `.damaged`, with the line, if a file is text with arrows like those of SRT's times, but is not SRT.
  static func check(_ source: any ByteSource, name: String) throws(MediaError) {
    guard source.byteCount > 0, source.byteCount <= largestSize else { return }
    let head = try source.bytes(count: 4096)
    guard !head.contains(0), !isOther(head) else { return }
    let bytes = source.byteCount <= 4096 ? head : try source.bytes(count: Int(source.byteCount))
    guard bytes.firstRange(of: Array("-->".utf8)) != nil else { return }
    // What is not text is of another format, in which the bytes of an arrow may be.
    guard !bytes.contains(where: { $0 < 9 }) else { return }
    if let problem = problem(bytes) {
      throw MediaError(.damaged, operation: "reading captions", subject: name, message: problem)
    }
  }

  /// Whether a file is of another format with text, which begins otherwise.
  private static func isOther(_ head: [UInt8]) -> Bool {
    let text = head.starts(with: [0xEF, 0xBB, 0xBF]) ? head.dropFirst(3) : head[...]
    let begins = text.drop { $0 == 10 || $0 == 13 || $0 == 32 }
    return ["WEBVTT", "[Script", "<", "{", "[", "RIFF", "ID3", "Dialogue:", "OggS"].contains {
      begins.starts(with: $0.utf8)
    }
  }

  /// What is wrong with SRT. Nil: nothing.
  static func problem(_ bytes: [UInt8]) -> String? {
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    var isFirst = true
    var number = 0
    for line in text.split(separator: 10, omittingEmptySubsequences: false) {
      number += 1
      guard let line = String(validating: line, as: UTF8.self) else {
        return "line \(number) is not text in UTF-8; store the file as UTF-8"
      }
      let shown = String(line.filter { !$0.isNewline }.prefix(60))
      let words = line.split(whereSeparator: \.isWhitespace)
      if words.isEmpty { continue }
      if line.contains("-->") {
        guard words.count >= 3, words[1] == "-->", let start = time(words[0]), let end = time(words[2]) else {
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

  /// Milliseconds. Nil for what is not `hh:mm:ss,mmm`.
  private static func time(_ text: Substring) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let seconds = parts[2].split(omittingEmptySubsequences: false) { $0 == "," || $0 == "." }
    guard seconds.count == 2, (1...3).contains(seconds[1].count) else { return nil }
    let fraction = seconds[1] + String(repeating: "0", count: 3 - seconds[1].count)
    let numbers = [parts[0], parts[1], seconds[0], Substring(fraction)].map { part in
      part.allSatisfy { $0.isASCII && $0.isNumber } && part.count < 9 ? Int(part) : nil
    }
    guard let hours = numbers[0], let minutes = numbers[1], let whole = numbers[2], let rest = numbers[3],
      minutes < 60, whole < 60
    else { return nil }
    return ((hours * 60 + minutes) * 60 + whole) * 1000 + rest
  }
}
