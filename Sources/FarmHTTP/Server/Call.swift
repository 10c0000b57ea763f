import Coordinator
import FarmAPI
import HTTPTypes
import HummingbirdCore

/// A request that has found its route.
struct Call: Sendable {
  let request: Request
  /// By name, decoded.
  let parameters: [String: String]
  let query: Query
  /// The farm, as whoever has sent the request may ask it.
  let farm: FarmService

  func header(_ name: HTTPField.Name) -> String? { request.headers[name] }

  /// The value of a parameter of the path.
  func parameter(_ name: String) -> String { parameters[name] ?? "" }
}

/// The names and values of a request's query.
struct Query: Sendable {
  private let items: [(name: String, value: String)]

  /// - Parameters:
  ///   - text: What follows the question mark. Nil: there is none.
  ///   - names: Those that the route has. Throws `.invalid` for any other, and for what is no text.
  init(_ text: String?, names: [String]) throws(ProblemDetails) {
    var items: [(String, String)] = []
    for item in (text ?? "").split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentEncoding.decoded(parts[0], plusIsSpace: true),
        let value = PercentEncoding.decoded(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
      else { throw ProblemDetails(.badRequest, "the query has an escape that is not UTF-8") }
      guard names.contains(name) else {
        let known = names.isEmpty ? "there are none" : "those of this path are \(names.joined(separator: ", "))"
        throw ProblemDetails(.badRequest, "there is no parameter \"\(name.prefix(64))\"; \(known)")
      }
      items.append((name, value))
    }
    self.items = items
  }

  /// Nil: it is not there. Throws if it is there twice.
  func text(_ name: String) throws(ProblemDetails) -> String? {
    let found = items.filter { $0.name == name }
    guard found.count < 2 else { throw ProblemDetails(.badRequest, "the parameter \(name) is there twice") }
    return found.first?.value
  }

  func number(_ name: String, in range: ClosedRange<Int>) throws(ProblemDetails) -> Int? {
    guard let text = try text(name) else { return nil }
    guard let number = Int(text), range.contains(number), !text.hasPrefix("+") else {
      throw ProblemDetails(
        .badRequest, "\(name) is a number from \(range.lowerBound) to \(range.upperBound), not \"\(text.prefix(64))\"")
    }
    return number
  }

  /// A date and a time of RFC 3339. Nil: it is not there.
  func time(_ name: String) throws(ProblemDetails) -> Timestamp? {
    guard let text = try text(name) else { return nil }
    guard let time = Timestamp(text) else {
      throw ProblemDetails(
        .badRequest, "\(name) is \(Timestamp.form), with + as %2B, not \"\(text.prefix(64))\"")
    }
    return time
  }

  /// The values, of which each is one of a closed set, separated by commas.
  func values<Value: RawRepresentable<String> & CaseIterable>(_ name: String) throws(ProblemDetails) -> [Value] {
    guard let text = try text(name) else { return [] }
    var values: [Value] = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let value = Value(rawValue: String(word)) else {
        let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
        throw ProblemDetails(.badRequest, "\(name): \"\(word.prefix(64))\" is none of \(names)")
      }
      values.append(value)
    }
    return values
  }
}
