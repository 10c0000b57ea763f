import FarmModel
import HTTPTypes
import HummingbirdCore

/// One operation of the API: a method, a path, and what answers it.
struct Route: Sendable {
  typealias Handler = @Sendable (Call) async throws -> Response

  let method: HTTPRequest.Method
  /// As `docs/openapi.yaml` has it: a part in braces is a parameter.
  let template: String
  /// The names of its query's parameters.
  let query: [String]
  /// Whether it is answered without the farm's token.
  let isOpen: Bool
  /// What the caller must be allowed before anything of the request is read. Nil: it is for every client.
  let permission: Permission?
  let handler: Handler
  fileprivate let parts: [Part]

  fileprivate enum Part: Sendable {
    case fixed(Substring)
    case parameter(String)
  }

  init(
    _ method: HTTPRequest.Method, _ template: String, for permission: Permission? = nil, query: [String] = [],
    isOpen: Bool = false, _ handler: @escaping Handler
  ) {
    self.method = method
    self.template = template
    self.query = query
    self.isOpen = isOpen
    self.permission = permission
    self.handler = handler
    parts = template.split(separator: "/").map { part in
      part.hasPrefix("{") ? .parameter(String(part.dropFirst().dropLast())) : .fixed(part)
    }
  }
}

/// The operations of the API by path and method: pure.
struct RouteTable: Sendable {
  enum Match: Sendable {
    /// With the values of the path's parameters.
    case route(Route, [String: String])
    /// The path has other methods, which these are, and this template.
    case otherMethods([HTTPRequest.Method], template: String)
    case nothing
  }

  let routes: [Route]

  init(_ routes: [Route]) {
    self.routes = routes
  }

  /// - Parameter path: As the request has it, percent-encoded and without its query.
  func match(_ method: HTTPRequest.Method, _ path: some StringProtocol) -> Match {
    // A slash at the end, or two in a row, make another path, which nothing has.
    let written = path == "/" ? [] : path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    let parts = written.map { PercentEncoding.decoded($0) }
    let found = routes.compactMap { route in route.values(of: parts).map { (route: route, values: $0) } }
    // `/v1/jobs/cancel` is no job: the path with the fewest parameters is meant.
    let fewest = found.map(\.values.count).min()
    let meant = found.filter { $0.values.count == fewest }
    if let match = meant.first(where: { $0.route.method == method }) { return .route(match.route, match.values) }
    var others = meant.map(\.route.method)
    guard !others.isEmpty else { return .nothing }
    // What can be got can be asked for without its body.
    if others.contains(.get), !others.contains(.head) {
      if method == .head { return match(.get, path) }
      others.append(.head)
    }
    return .otherMethods(others.sorted { $0.rawValue < $1.rawValue }, template: meant.first?.route.template ?? "")
  }
}

extension Route {
  /// The values of the parameters if the path is one of this route. Nil: it is another path.
  fileprivate func values(of path: [String?]) -> [String: String]? {
    guard path.count == parts.count else { return nil }
    var values: [String: String] = [:]
    for (part, found) in zip(parts, path) {
      guard let found else { return nil }
      switch part {
      case .fixed(let text): if found != text { return nil }
      case .parameter(let name):
        if found.isEmpty { return nil }
        values[name] = found
      }
    }
    return values
  }
}

/// Percent-encoded text, as in paths and queries.
enum PercentEncoding {
  /// Nil if an escape is malformed, or the bytes are not UTF-8.
  /// - Parameter plusIsSpace: As in the query of a form.
  static func decoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Every byte that is no letter, digit or one of `-._~` as an escape (RFC 3986, RFC 8187).
  static func encoded(_ text: String) -> String {
    let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    return text.utf8.map { byte in
      if plain.contains(byte) { return String(UnicodeScalar(byte)) }
      let digits = String(byte, radix: 16, uppercase: true)
      return "%" + (digits.count < 2 ? "0" : "") + digits
    }.joined()
  }
}
