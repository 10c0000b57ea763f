import Coordinator
import HTTPTypes

/// Who may use the API: whoever has the farm's token.
struct Access: Sendable {
  /// Nil: everyone.
  let token: String?

  /// Throws if a request may not be carried out.
  func check(_ request: HTTPRequest) throws(ProblemDetails) {
    // A page of another site cannot know the token.
    if token == nil { try Self.requireOwnSite(request) }
    try check(request.headerFields[.authorization])
  }

  /// A farm without a token listens at this machine alone, but a browser of this machine shows pages of other sites,
  /// and sends what they ask for. Such a request states the page's site, or names this machine by a name of theirs.
  private static func requireOwnSite(_ request: HTTPRequest) throws(ProblemDetails) {
    guard let authority = request.authority, !authority.isEmpty else {
      throw ProblemDetails(.badRequest, "the request has no header Host")
    }
    let site = request.headerFields[HTTPField.Name("Sec-Fetch-Site")!]
    let isForeign = site.map { !["same-origin", "none"].contains($0) } ?? false
    let origin = request.headerFields[.origin]
    guard isLoopback(authority), !isForeign, origin.map({ $0 == "http://\(authority)" }) ?? true else {
      throw ProblemDetails(
        .forbidden, "a farm without a token answers programs of this machine and its own page, and no other site")
    }
  }

  /// Whether an authority such as `127.0.0.1:7480` names this machine, whatever a name server says.
  private static func isLoopback(_ authority: String) -> Bool {
    if authority == "[::1]" || authority.hasPrefix("[::1]:") { return true }
    let host = authority.prefix { $0 != ":" }.lowercased()
    if host == "localhost" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return parts.count == 4 && parts.first == 127 && parts.allSatisfy { $0 != nil }
  }

  /// - Parameter authorization: The value of the request's header. Nil: there is none.
  func check(_ authorization: String?) throws(ProblemDetails) {
    guard let token else { return }
    guard let authorization else { throw refusal("send the header Authorization: Bearer TOKEN", error: nil) }
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw refusal("the header Authorization has another scheme than Bearer", error: "invalid_request")
    }
    guard CoordinatorConfiguration.areEqual(token, String(parts[1])) else {
      throw refusal("the token is wrong", error: "invalid_token")
    }
  }

  /// - Parameter error: As RFC 6750 names it. Nil: there was no token.
  private func refusal(_ detail: String, error: String?) -> ProblemDetails {
    var problem = ProblemDetails(.unauthorized, detail)
    problem.headers[.wwwAuthenticate] = "Bearer realm=\"sheaf\"" + (error.map { ", error=\"\($0)\"" } ?? "")
    return problem
  }
}
