import Coordinator
import FarmAPI
import FarmModel
import HTTPTypes
import HummingbirdCore

/// The farm itself: its workers, and what those need who run it.
struct FarmRoutes: Sendable {
  private let measurements: Measurements
  private let open: @Sendable () -> OpenRequests

  /// - Parameter open: What is open of the HTTP face.
  init(_ measurements: Measurements, open: @escaping @Sendable () -> OpenRequests) {
    self.measurements = measurements
    self.open = open
  }

  private struct Workers: Encodable {
    var workers: [WorkerStatus]
    /// What holds up the whole farm, for a person.
    var notices: [String]
  }

  private struct Alive: Encodable {
    var isAlive = true
  }

  var routes: [Route] {
    [
      Route(.get, "/v1/workers", for: .see) { call in
        Response(json: Workers(workers: try await call.farm.workers(), notices: call.farm.notices))
      },
      Route(.get, "/healthz", isOpen: true) { _ in Response(json: Alive()) },
      Route(.get, "/readyz", isOpen: true) { call in
        let health = await call.farm.health()
        return Response(json: health, status: health.isReady ? .ok : .serviceUnavailable)
      },
      Route(.get, "/v1/workers/desired", for: .measure, query: ["pool"]) { call in
        Response(json: try await call.farm.demand(ofPool: try call.query.text("pool")))
      },
      Route(.get, "/metrics", for: .measure) { try await metrics($0.farm) },
    ]
  }

  private func metrics(_ farm: FarmService) async throws -> Response {
    var counts: FarmCounts?
    do {
      counts = try await farm.counts()
    } catch let error as FarmError where error.code == .unavailable {
      // `sheaf_job_store_up` says so, and the others are still of use.
    }
    let text = measurements.text(counts, await farm.ownCounts(), await farm.health(), open())
    return Response(text: text, type: "text/plain; version=0.0.4; charset=utf-8")
  }
}
