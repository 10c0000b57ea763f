import ArgumentParser
import Client
import CompositionModel
import EditDocument
import Glibc
import Runtime
import SwiftCSV
import SystemSupport

/// A file of rows, each of which makes a film of the same document.
struct RowOptions: ParsableArguments {
  private static let greatestByteCount = 64 << 20

  @Option(
    help: ArgumentHelp(
      """
      A CSV file of which each row makes a film: its first line has names of parameters, and -o, or the document's \
      export.to, has some in braces, such as out/{{name}}.mp4. In -o {{row}} is the row's number. [SHEAF_ROWS]
      """, valueName: "file"))
  var rows: String?

  /// The name of the file, for people.
  var name: String { Setting.text(rows, "SHEAF_ROWS")?.split(separator: "/").last.map(String.init) ?? "" }

  /// A row, and the film that it makes.
  struct Film: Sendable {
    /// From 1; the line of names is not counted.
    var row: Int
    var values: [ParameterValue]
    /// Nil: the document names it.
    var output: String?
    /// The path of the film, wherever it is named. Nil: nowhere.
    var path: String?
    /// For messages, such as `card.json, row 3`.
    var title: String
    /// Why there is no such film; only of `films(…, withProblems: true)`.
    var problems: [Problem] = []

    /// Makes the folder that its film is in: the films of many rows are sorted by what the rows say.
    func makeFolder() throws(CommandFailure) {
      // Of `~/films` there would be a folder named `~`.
      guard let path, !path.hasPrefix("~"), path != "-" else { return }
      let folder = Directories.parent(of: path)
      do throws(SystemError) {
        try Directories.make(folder)
      } catch {
        throw CommandFailure(.document, "the output's folder \(folder) cannot be made: \(error)")
      }
    }
  }

  /// The films of the rows, checked together. Nil: there is no file of rows.
  /// - Parameters:
  ///   - edit: The document's path.
  ///   - values: Those that every row has.
  ///   - output: The path of the films as it was given, with placeholders. Nil: the document's.
  ///   - withProblems: Whether films that cannot be made are among them, in place of an error.
  func films(
    of edit: String, _ values: [ParameterValue], output: String?, withProblems: Bool = false
  ) async throws -> [Film]? {
    guard let path = Setting.text(rows, "SHEAF_ROWS") else { return nil }
    guard edit != "-" else { throw ValidationError("with --rows the document is a file, and not standard input") }
    return try await BlockingWork.run { [self] in
      let table = try table(path)
      var films: [Film] = []
      var paths: [String: Int] = [:]
      var problems: [[Problem]] = []
      for (index, row) in table.rows.enumerated() {
        let number = index + 1
        let own = zip(table.header, row).map { (name: $0, text: $1) }
        let all = values.filter { value in !own.contains { $0.name == value.name } } + own
        var film = Film(row: number, values: all, output: nil, title: "\(edit), row \(number)")
        do throws(CommandFailure) {
          films.append(try placed(film, of: edit, output, &paths, withProblems))
          problems.append([])
        } catch {
          guard !error.problems.isEmpty else { throw error }
          film.problems = error.problems
          films.append(film)
          problems.append(withProblems ? [] : error.problems)
        }
      }
      guard problems.allSatisfy(\.isEmpty) else { throw CommandFailure(problems: Self.merged(problems)) }
      return films
    }
  }

  /// The problems of all rows in one list, each once. One that only some rows have names them.
  static func merged(_ problems: [[Problem]]) -> [Problem] {
    if problems.count == 1 { return problems[0] }
    var (rows, list): ([Problem: [Int]], [Problem]) = ([:], [])
    for (index, own) in problems.enumerated() {
      for problem in own where rows[problem]?.last != index + 1 {
        if rows[problem] == nil { list.append(problem) }
        rows[problem, default: []].append(index + 1)
      }
    }
    return list.map { problem($0, ofRows: rows[$0] ?? [], of: problems.count) }
  }

  /// A problem of some rows. One of all of them is the document's.
  private static func problem(_ problem: Problem, ofRows rows: [Int], of count: Int) -> Problem {
    guard rows.count < count else { return problem }
    let named = rows.prefix(5).map { "\($0)" }.joined(separator: ", ") + (rows.count > 5 ? " and others" : "")
    var problem = problem
    problem.message = "\(rows.count == 1 ? "row" : "rows") \(named): " + problem.message
    return problem
  }

  /// The film with its path, which no row before it has.
  private func placed(
    _ film: Film, of edit: String, _ output: String?, _ paths: inout [String: Int], _ withProblems: Bool
  ) throws(CommandFailure) -> Film {
    var film = film
    if let output {
      var values = Dictionary(film.values.map { ($0.name, $0.text) }) { first, _ in first }
      values["row"] = "\(film.row)"
      try Self.checkNames(values, in: output)
      guard let path = Template.text(output, values) else {
        throw CommandFailure(.document, "\(output) names a parameter to which row \(film.row) gives no value")
      }
      film.output = path
    }
    let document = try EditFile(edit, output: film.output, values: film.values)
    guard withProblems || document.document.problems.isEmpty else {
      throw CommandFailure(problems: document.located(document.document.problems))
    }
    guard let path = film.output ?? document.outputPath else { return film }
    film.path = path
    if let other = paths.updateValue(film.row, forKey: path) {
      throw CommandFailure(
        .document,
        "rows \(other) and \(film.row) make the same file, \(path): name the films by what differs, such as {{row}}")
    }
    return film
  }

  /// Throws if a value would name another folder than the path says.
  private static func checkNames(_ values: [String: String], in output: String) throws(CommandFailure) {
    for (name, text) in values.sorted(by: { $0.key < $1.key }) where text.contains("/") || [".", ".."].contains(text) {
      // Whether the path names it: without its value there is no path.
      guard Template.text(output, values.filter { $0.key != name }) == nil else { continue }
      throw CommandFailure(
        problems: [
          Problem(
            pointer: "/parameters/\(name)",
            message:
              "\"\(text.prefix(64))\" in the path of -o is no part of a file's name, because of its slash or its "
              + "dots: name the films by another column, or by {{row}}")
        ])
    }
  }

  private func table(_ path: String) throws(CommandFailure) -> (header: [String], rows: [[String]]) {
    let text: String
    do throws(SystemError) {
      let bytes = try OpenFile.contents(of: path, limit: Self.greatestByteCount)
      guard
        let read = String(
          validating: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...], as: UTF8.self)
      else { throw SystemError(EILSEQ, "reading \(path), which is not UTF-8,") }
      text = read
    } catch {
      throw CommandFailure(.document, "the rows cannot be read: \(error)")
    }
    let table: CSV<Enumerated>
    // As they are: in `table.rows` each has as many values as the longest.
    var lines: [[String]] = []
    do {
      table = try CSV<Enumerated>(string: text)
      try table.enumerateAsArray(startAt: 0, rowLimit: nil) { lines.append($0) }
    } catch {
      throw CommandFailure(.document, "\(path) is not CSV: \(error)")
    }
    let rows = lines.dropFirst().filter { $0 != [""] }
    guard !rows.isEmpty else { throw CommandFailure(.document, "\(path) has no rows below its line of names") }
    for (index, row) in rows.enumerated() where row.count != table.header.count {
      throw CommandFailure(
        .document, "\(path): row \(index + 1) has \(row.count) values, and the line of names has \(table.header.count)")
    }
    for (index, name) in table.header.enumerated() where table.header[..<index].contains(name) {
      throw CommandFailure(.document, "\(path) has two columns '\(name)'")
    }
    return (table.header, rows)
  }
}

/// How many rows of a file did not end well, of which each was reported.
struct RowFailures {
  private(set) var count = 0
  private var code = CommandFailure.Code.work

  mutating func add(_ error: any Error, in title: String, json: CommandFailure.JSONForm) throws {
    if error is CancellationError { throw error }
    let failure = CommandFailure(error)
    // The command was ended, and not the row.
    guard failure.code != .interrupted, failure.code != .terminated else { throw failure }
    var named = failure
    if !named.message.isEmpty { named.message = "\(title): \(named.message)" }
    try named.report(document: title, json: json)
    (count, code) = (count + 1, failure.code)
  }

  /// Throws if a row failed.
  func end(of total: Int) throws {
    guard count > 0 else { return }
    Console.printError("sheaf: \(count) of \(total) rows failed")
    throw ExitCode(code.rawValue)
  }
}
