import Coordinator
import FarmAPI
import FarmModel
import HTTPTypes

/// Who may use the API: whoever has a token of the farm.
struct Access: Sendable {
  let farm: FarmService
  /// Whether the farm has a token.
  let isGuarded: Bool
  /// Of the addresses of the API: `http` or `https`.
  let scheme: String

  /// The farm, as whoever has sent a request may ask it. A failure if nobody who may has sent it.
  /// - Parameter address: Where from, without a port.
  func asked(for request: HTTPRequest, from address: String) async -> Result<FarmService, any Error> {
    do {
      return .success(try await farm(for: request, from: address))
    } catch {
      return .failure(error)
    }
  }

  private func farm(for request: HTTPRequest, from address: String) async throws -> FarmService {
    // A page of another site cannot know a token.
    if !isGuarded { try Self.requireOwnSite(request, scheme: scheme) }
    let token = isGuarded ? try Self.token(request.headerFields[.authorization]) : nil
    do {
      return farm.asked(by: try await farm.caller(presenting: token, from: address))
    } catch  where error.code == .unauthorized {
      throw Self.refusal(error.message, error: "invalid_token")
    }
  }

  /// A farm without a token listens at this machine alone, but a browser of this machine shows pages of other sites,
  /// and sends what they ask for. Such a request states the page's site, or names this machine by a name of theirs.
  static func requireOwnSite(_ request: HTTPRequest, scheme: String) throws(ProblemDetails) {
    guard let authority = request.authority, !authority.isEmpty else {
      throw ProblemDetails(.badRequest, "the request has no header Host")
    }
    let site = request.headerFields[HTTPField.Name("Sec-Fetch-Site")!]
    let isForeign = site.map { !["same-origin", "none"].contains($0) } ?? false
    let origin = request.headerFields[.origin]
    guard isLoopback(authority), !isForeign, origin.map({ $0 == "\(scheme)://\(authority)" }) ?? true else {
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
  private static func token(_ authorization: String?) throws(ProblemDetails) -> String {
    guard let authorization else { throw refusal("send the header Authorization: Bearer TOKEN", error: nil) }
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw refusal("the header Authorization has another scheme than Bearer", error: "invalid_request")
    }
    return String(parts[1])
  }

  /// - Parameter error: As RFC 6750 names it. Nil: there was no token.
  private static func refusal(_ detail: String, error: String?) -> ProblemDetails {
    var problem = ProblemDetails(.unauthorized, detail)
    problem.headers[.wwwAuthenticate] = "Bearer realm=\"sheaf\"" + (error.map { ", error=\"\($0)\"" } ?? "")
    return problem
  }
}
