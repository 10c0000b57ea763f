import CompositionModel
import FarmAPI
import HTTPTypes
import HummingbirdCore

/// An error as clients get it: RFC 9457, `application/problem+json`.
struct ProblemDetails: Error, Sendable {
  /// What kind of error it is. Its name is the end of the reply's `type`.
  enum Kind: String, Sendable, CaseIterable {
    /// The request is malformed.
    case badRequest = "bad-request"
    case unauthorized
    /// The token does not allow it, or another site asks, through a browser.
    case forbidden
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case notAcceptable = "not-acceptable"
    /// It does not fit the state that its job, upload or earlier request is in.
    case conflict
    /// The film was, and is not there any more.
    case gone
    case tooLarge = "too-large"
    case unsupportedMediaType = "unsupported-media-type"
    case rangeNotSatisfiable = "range-not-satisfiable"
    /// The request has no meaning, or breaks a limit.
    case invalid
    /// The document or its media are wrong; `problems` has each.
    case document
    /// An `Idempotency-Key` was used before for another request.
    case keyReused = "key-reused"
    /// The bytes do not have their digest or size.
    case wrongContent = "wrong-content"
    case tooManyRequests = "too-many-requests"
    case `internal`
    case unavailable
    /// The content store's disk has no room.
    case full

    var status: HTTPResponse.Status {
      switch self {
      case .badRequest: .badRequest
      case .unauthorized: .unauthorized
      case .forbidden: .forbidden
      case .notFound: .notFound
      case .methodNotAllowed: .methodNotAllowed
      case .notAcceptable: .notAcceptable
      case .conflict: .conflict
      case .gone: .gone
      case .tooLarge: .contentTooLarge
      case .unsupportedMediaType: .unsupportedMediaType
      case .rangeNotSatisfiable: .rangeNotSatisfiable
      case .invalid, .document, .keyReused, .wrongContent: .unprocessableContent
      case .tooManyRequests: .tooManyRequests
      case .internal: .internalServerError
      case .unavailable: .serviceUnavailable
      case .full: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
      }
    }

    /// The same for every error of the kind.
    var title: String {
      switch self {
      case .badRequest: "The request is malformed."
      case .unauthorized: "A token of the farm is required."
      case .forbidden: "The token does not allow this, or the request is another site's."
      case .notFound: "There is no such thing."
      case .methodNotAllowed: "The path does not have this method."
      case .notAcceptable: "The reply has another media type than the request accepts."
      case .conflict: "The request does not fit the present state."
      case .gone: "The content is not there any more."
      case .tooLarge: "The body is too large."
      case .unsupportedMediaType: "The body has another media type than the path takes."
      case .rangeNotSatisfiable: "The range is not within the file."
      case .invalid: "The request cannot be carried out as it is."
      case .document: "The document or its media have problems."
      case .keyReused: "The Idempotency-Key was used for another request."
      case .wrongContent: "The bytes do not have the announced digest or size."
      case .tooManyRequests: "Too many of this kind are under way."
      case .internal: "The coordinator has failed."
      case .unavailable: "The coordinator cannot answer now."
      case .full: "The content store has no room."
      }
    }
  }

  var kind: Kind
  /// What was wrong this time, and what would be right.
  var detail: String
  /// Of the document, or of the request's body.
  var problems: [Problem] = []
  var headers = HTTPFields()

  init(_ kind: Kind, _ detail: String, problems: [Problem] = []) {
    self.kind = kind
    self.detail = detail
    self.problems = problems
    if kind == .unavailable || kind == .full || kind == .tooManyRequests { headers[.retryAfter] = "5" }
  }

  init(_ error: FarmError) {
    switch error.code {
    case .invalid: self.init(.invalid, error.message)
    case .notFound: self.init(.notFound, error.message)
    case .conflict: self.init(.conflict, error.message)
    case .lost: self.init(.gone, error.message)
    case .wrongContent: self.init(.wrongContent, error.message)
    case .full: self.init(.full, error.message)
    case .unavailable: self.init(.unavailable, error.message)
    case .unauthorized: self.init(.unauthorized, error.message)
    case .forbidden: self.init(.forbidden, error.message)
    case .tooMany: self.init(.tooManyRequests, error.message)
    }
  }

  /// The document's problems.
  init(problems: [Problem]) {
    self.init(.document, problems.first.map { "\($0)" } ?? "", problems: problems)
    if problems.count > 1 { detail = "\(problems.count) problems, the first: \(detail)" }
  }

  private struct Body: Encodable {
    var type: String
    var title: String
    var status: Int
    var detail: String
    var problems: [Problem]?
  }

  var response: Response {
    let status = kind.status
    let body = Body(
      type: "urn:sheaf:error:\(kind.rawValue)", title: kind.title, status: status.code, detail: detail,
      problems: problems.isEmpty ? nil : problems)
    var response = Response(json: body, status: status, type: "application/problem+json")
    response.headers.append(contentsOf: headers)
    response.headers[.cacheControl] = "no-store"
    return response
  }
}
