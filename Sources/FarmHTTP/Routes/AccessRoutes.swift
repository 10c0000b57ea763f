import CompositionModel
import Coordinator
import FarmAPI
import FarmModel
import HTTPTypes
import HummingbirdCore

/// Tokens, owners, pools, workers that are held, and the audit.
struct AccessRoutes: Sendable {
  private let bodies: BodyReader

  init(_ bodies: BodyReader) {
    self.bodies = bodies
  }

  var routes: [Route] {
    [
      Route(.get, "/v1/me") { call in Response(json: Me(call.farm.caller)) },
      Route(.get, "/v1/tokens", for: .operate) { try await Response(json: TokenList(tokens: $0.farm.tokens())) },
      Route(.post, "/v1/tokens", for: .operate) { call in
        try await bodies.run(call, as: TokenBody.self, limit: BodyReader.longestPlainBody) { body in
          var response = Response(
            json: try await call.farm.createToken(try body.value.request), status: .created)
          // It has the token.
          response.headers[.cacheControl] = "no-store"
          return response
        }
      },
      Route(.delete, "/v1/tokens/{token}", for: .operate) { call in
        let id = call.parameter("token")
        guard let token = try await call.farm.revokeToken(id) else {
          throw ProblemDetails(.notFound, "there is no token \(id.prefix(64))")
        }
        return Response(json: token)
      },
      Route(.get, "/v1/owners", for: .see) { try await Response(json: OwnerList(owners: $0.farm.owners())) },
      Route(.patch, "/v1/owners", for: .operate) { call in
        try await bodies.run(call, as: OwnerBody.self, limit: BodyReader.longestPlainBody) { body in
          let changed = try await call.farm.changeOwner(body.value.owner, body.value.request)
          return Response(json: OwnerList(owners: changed))
        }
      },
      Route(.get, "/v1/pools", for: .see) { try await Response(json: PoolList(pools: $0.farm.pools())) },
      Route(.put, "/v1/pools/{pool}", for: .operate) { call in
        try await bodies.run(call, as: PoolBody.self, limit: BodyReader.longestPlainBody) { body in
          Response(json: try await call.farm.changePool(call.parameter("pool"), body.value.request))
        }
      },
      Route(.delete, "/v1/pools/{pool}", for: .operate) { call in
        let pool = call.parameter("pool")
        guard let report = try await call.farm.removePool(pool) else {
          throw ProblemDetails(.notFound, "the pool \(pool.prefix(64)) has no working hours")
        }
        return Response(json: report)
      },
      Route(.get, "/v1/holds", for: .see) { try await Response(json: HoldList(holds: $0.farm.holds())) },
      Route(.patch, "/v1/holds", for: .operate) { call in
        try await bodies.run(call, as: HoldBody.self, limit: BodyReader.longestPlainBody) { body in
          Response(json: HoldList(holds: try await call.farm.hold(body.value.request)))
        }
      },
      Route(.get, "/v1/audit", for: .operate, query: ["before", "limit", "owner", "subject", "action"]) {
        try await audit($0)
      },
    ]
  }

  private struct TokenList: Encodable {
    var tokens: [TokenReport]
  }

  private struct OwnerList: Encodable {
    var owners: [OwnerReport]
  }

  private struct PoolList: Encodable {
    var pools: [PoolReport]
  }

  private struct HoldList: Encodable {
    var holds: [WorkerHoldReport]
  }

  /// Who asks.
  private struct Me: Encodable {
    var role: Role
    var owner: String?
    /// The token's id.
    var token: String?
    /// Its only pool. Nil: any.
    var pool: String?

    init(_ caller: Caller) {
      (role, owner, token, pool) = (caller.role, caller.owner, caller.token?.description, caller.pool)
    }
  }

  private struct Page: Encodable {
    var entries: [AuditReport]
    /// The `before` of the next page. Nil: there is none.
    var next: String?
  }

  private func audit(_ call: Call) async throws -> Response {
    var request = AuditRequest()
    request.before = try call.query.number("before", in: 0...Int.max).map { Int64($0) }
    let limit = try call.query.number("limit", in: 1...AuditRequest.mostLimit - 1) ?? 100
    request.limit = limit + 1
    request.owner = try call.query.text("owner")
    request.subject = try call.query.text("subject")
    request.actions = try call.query.text("action").map { $0.split(separator: ",").map(String.init) } ?? []
    let found = try await call.farm.audit(request)
    let shown = Array(found.prefix(limit))
    return Response(json: Page(entries: shown, next: found.count > limit ? shown.last.map { "\($0.number)" } : nil))
  }
}

private struct OwnerBody: RequestBody {
  static let keys = ["owner", "weight", "mostRunning", "mostJobs", "mostBytes"]

  var owner: String
  var weight: Double?
  var mostRunning: Int64?
  var mostJobs: Int64?
  var mostBytes: Int64?

  var request: OwnerRequest {
    var request = OwnerRequest()
    (request.weight, request.mostRunning, request.mostJobs) = (weight, mostRunning, mostJobs)
    request.mostBytes = mostBytes
    return request
  }
}

private struct PoolBody: RequestBody {
  static let keys = ["hours", "timeZone"]

  var hours: String
  /// UTC if it is not there.
  var timeZone: String?

  var request: PoolRequest { PoolRequest(hours: hours, timeZone: timeZone ?? "UTC") }
}

private struct HoldBody: RequestBody {
  static let keys = ["worker", "hold", "reason"]

  var worker: String
  /// `none`: they are granted tasks again.
  var hold: String
  var reason: String?

  var request: WorkerHoldRequest {
    WorkerHoldRequest(worker: worker, hold: hold == "none" ? nil : hold, reason: reason ?? "")
  }
}

private struct TokenBody: RequestBody {
  static let keys = ["role", "owner", "pool", "description", "lifetimeSeconds"]

  var role: String
  var owner: String
  var pool: String?
  var description: String?
  var lifetimeSeconds: Int64?

  var request: TokenRequest {
    get throws(ProblemDetails) {
      guard let known = Role(rawValue: role) else {
        let roles = Role.allCases.map(\.rawValue).joined(separator: ", ")
        let problem = Problem(
          pointer: "/role", message: "there is no role \"\(role.prefix(64))\"; the roles are \(roles)")
        throw ProblemDetails(.invalid, "\(problem)", problems: [problem])
      }
      return TokenRequest(
        role: known, owner: owner, description: description, lifetimeSeconds: lifetimeSeconds, pool: pool)
    }
  }
}
