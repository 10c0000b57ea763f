import Coordinator
import FarmAPI
import FarmModel
import HTTPTypes
import HummingbirdCore

/// Webhooks and their deliveries.
struct WebhookRoutes: Sendable {
  private static let mostDeliveries = 1000

  private let bodies: BodyReader

  init(_ bodies: BodyReader) {
    self.bodies = bodies
  }

  var routes: [Route] {
    [
      Route(.get, "/v1/webhooks", for: .operate) {
        try await Response(json: WebhookList(webhooks: $0.farm.webhooks()))
      },
      Route(.post, "/v1/webhooks", for: .operate) { try await add($0) },
      Route(.get, "/v1/webhooks/{webhook}", for: .operate) { try await Response(json: $0.farm.webhook($0.webhook)) },
      Route(.patch, "/v1/webhooks/{webhook}", for: .operate) { call in
        try await bodies.run(call, as: WebhookBody.self, limit: BodyReader.longestPlainBody) { body in
          try await Response(json: call.farm.changeWebhook(call.webhook, body.value.request))
        }
      },
      Route(.delete, "/v1/webhooks/{webhook}", for: .operate) { call in
        try await call.farm.removeWebhook(call.webhook)
        return Response(status: .noContent)
      },
      Route(.post, "/v1/webhooks/{webhook}/secret", for: .operate) { call in
        try await bodies.run(call, as: SecretBody.self, limit: BodyReader.longestPlainBody) { body in
          try await Response(json: call.farm.rotateSecret(of: call.webhook, overlap: try body.value.overlap))
        }
      },
      Route(.get, "/v1/webhooks/{webhook}/deliveries", for: .operate, query: ["state", "after", "limit"]) {
        try await list($0)
      },
      Route(.post, "/v1/webhooks/{webhook}/deliveries/{event}/send", for: .operate) { call in
        guard let event = Int64(call.parameter("event")) else {
          throw ProblemDetails(.notFound, "there is no delivery \(call.parameter("event").prefix(64))")
        }
        try await call.farm.sendAgain(event, to: call.webhook)
        return Response(status: .noContent)
      },
    ]
  }

  private struct WebhookList: Encodable {
    var webhooks: [WebhookReport]
  }

  private func add(_ call: Call) async throws -> Response {
    try await bodies.run(call, as: WebhookBody.self, limit: BodyReader.longestPlainBody) { body in
      let added = try await call.farm.addWebhook(body.value.request)
      var response = Response(json: added, status: .created)
      response.headers[.location] = "/v1/webhooks/\(added.id)"
      return response
    }
  }

  private struct DeliveryList: Encodable {
    var deliveries: [DeliveryReport]
    /// The `after` of the next page. Nil: there is none.
    var next: String?
  }

  private func list(_ call: Call) async throws -> Response {
    let limit = try call.query.number("limit", in: 1...Self.mostDeliveries) ?? 100
    let after = try call.query.number("after", in: 0...Int.max)
    let states: [DeliveryState] = try call.query.values("state")
    guard states.count <= 1 else { throw ProblemDetails(.badRequest, "state is one state, or is left out") }
    let found = try await call.farm.deliveries(
      of: call.webhook, before: after.map { Int64($0) }, state: states.first, limit: limit + 1)
    let shown = Array(found.prefix(limit))
    return Response(
      json: DeliveryList(deliveries: shown, next: found.count > limit ? shown.last.map { "\($0.event)" } : nil))
  }
}

extension Call {
  fileprivate var webhook: String { parameter("webhook") }
}

private struct WebhookBody: RequestBody {
  static let keys = ["url", "description", "types", "isDisabled"]

  var url: String?
  var description: String?
  var types: [String]?
  var isDisabled: Bool?

  var request: WebhookRequest {
    var request = WebhookRequest()
    (request.url, request.description, request.types) = (url, description, types)
    request.isDisabled = isDisabled
    return request
  }
}

private struct SecretBody: RequestBody {
  static let keys = ["overlapSeconds"]
  private static let (usual, most) = (86_400.0, 30 * 86_400.0)

  var overlapSeconds: Double?

  var overlap: Duration {
    get throws(ProblemDetails) {
      let seconds = overlapSeconds ?? Self.usual
      guard (0...Self.most).contains(seconds) else {
        throw ProblemDetails(.invalid, "overlapSeconds is from 0 to \(Int(Self.most))")
      }
      return .seconds(seconds)
    }
  }
}
