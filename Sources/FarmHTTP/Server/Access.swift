import Coordinator
import HTTPTypes

/// Who may use the API: whoever has the farm's token.
struct Access: Sendable {
  /// Nil: everyone.
  let token: String?

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
