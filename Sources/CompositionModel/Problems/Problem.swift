/// One thing that is wrong in a document, described for its author.
public struct Problem: Sendable, Hashable, Codable {
  /// The place, as a JSON pointer (RFC 6901) such as `/tracks/0/clips/2/use`. Empty for the document as a whole.
  public var pointer: String
  /// The value that is wrong, and what is allowed.
  public var message: String
  /// The place in the document's text, from 1; the column in characters. Nil: it is not known, as of an edit that was
  /// not read from a text.
  public var line: Int?
  public var column: Int?
  /// Set for a warning that something of the media is not in the film.
  public var loss: Loss?

  public init(pointer: String, message: String, line: Int? = nil, column: Int? = nil, loss: Loss? = nil) {
    self.pointer = pointer
    self.message = message
    self.line = line
    self.column = column
    self.loss = loss
  }
}

extension Problem {
  /// A problem with the file of an asset.
  package init(asset: AssetID, message: String) {
    self.init(pointer: JSONPointer.root.key("assets").key(asset).text, message: message)
  }
}

extension Problem: CustomStringConvertible {
  /// Such as `12:7: /tracks/0/clips/2/use: …`, with the line and the column if they are known.
  public var description: String { text(in: nil) }

  /// As compilers print it: `edit.json:12:7: /tracks/0/clips/0/use: …`, as far as the place is known.
  /// - Parameters:
  ///   - document: the name of the document. Nil: it is not printed.
  ///   - kind: such as `warning`.
  package func text(in document: String?, kind: String? = nil) -> String {
    let place = place(in: document ?? "")
    return [place, kind ?? "", pointer, message].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}

extension Problem {
  /// Such as `edit.json:12:7`, as far as the place is known.
  package func place(in document: String) -> String {
    // The message of what is not JSON has its place.
    guard let line, let column, !pointer.isEmpty else { return document }
    return document + (document.isEmpty ? "" : ":") + "\(line):\(column)"
  }
}

/// Everything that is wrong with a document, in one error.
public struct DocumentError: Error, Sendable, Hashable {
  /// Never empty.
  public var problems: [Problem]

  public init(problems: [Problem]) {
    self.problems = problems
  }
}

extension DocumentError: CustomStringConvertible {
  /// One problem a line.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

// MARK: Parts of messages

/// `a, b, c`.
package func list(_ names: some Sequence<String>) -> String { names.joined(separator: ", ") }

/// A number without a needless `.0`.
package func plain(_ number: Double) -> String {
  let text = "\(number)"
  return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}

/// `35.2 s`, or `35.167 s (211/6)` if three decimals are not exact.
package func seconds(_ time: MediaTime) -> String {
  guard let scaled = try? time.exact * Rational(1000) else { return "\(time) s" }  // Too large for decimals.
  let rounded = scaled.rounded
  let (whole, rest) = rounded.magnitude.quotientAndRemainder(dividingBy: 1000)
  var text = (rounded < 0 ? "-" : "") + "\(whole)"
  if rest != 0 {
    let digits = "\(1000 + rest)".dropFirst()
    text += "." + String(digits.reversed().drop { $0 == "0" }.reversed())
  }
  return scaled.denominator == 1 ? "\(text) s" : "\(text) s (\(time))"
}

/// ` (did you mean 'tracks'?)`, or nothing if no name is near. It takes a while to compute, so it must be used only
/// within a message that `ProblemList.add` makes.
package func suggestion(for name: String, among names: some Sequence<String>) -> String {
  nearest(to: name, among: names).map { " (did you mean '\($0)'?)" } ?? ""
}

/// The same for a name that the document itself should declare. If no name is near, it lists the first that are
/// declared.
package func suggestion(for name: String, amongDeclared names: [String]) -> String {
  if let nearest = nearest(to: name, among: names) { return " (did you mean '\(nearest)'?)" }
  let shown = names.prefix(8)
  guard !shown.isEmpty else { return "" }
  let others = names.count - shown.count
  return "; declared are \(list(shown.map { "'\($0.shortened)'" }))\(others > 0 ? " and \(others) more" : "")"
}

/// The name that a mistyped one most likely means: the one with the fewest letters inserted, left out, changed or
/// swapped with their neighbour, if these are at most a third of its letters, or one. Of equally near names it is the
/// first.
/// - Parameter most: how many of the names are compared.
package func nearest(to name: String, among names: some Sequence<String>, most: Int = 200) -> String? {
  // The bounds keep the time short for a hostile document. A longer name is not a typing error.
  let letters = Array(name.lowercased().unicodeScalars.prefix(40))
  var best: (name: String, distance: Int)?
  for candidate in names.prefix(most) {
    let other = Array(candidate.lowercased().unicodeScalars.prefix(40))
    if let best, abs(letters.count - other.count) >= best.distance { continue }
    let distance = editDistance(letters, other)
    if distance < best?.distance ?? .max { best = (candidate, distance) }
  }
  return best.flatMap { $0.distance <= max(1, letters.count / 3) ? $0.name : nil }
}

private func editDistance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
  var beforeLast: [Int] = []
  var last = Array(0...b.count)
  for i in a.indices {
    var row = [i + 1]
    for j in b.indices {
      var distance = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { distance = min(distance, beforeLast[j - 1] + 1) }
      row.append(distance)
    }
    (beforeLast, last) = (last, row)
  }
  return last[b.count]
}

extension String {
  /// For a message: at most 60 characters on one line.
  package var shortened: String {
    let line = map { $0.isNewline ? " " : $0 }
    return line.count <= 60 ? String(line) : String(line.prefix(57)) + "..."
  }
}
