import Coordinator
import FarmAPI
import HTTPTypes
import HummingbirdCore

/// The farm itself: its workers, and what those need who run it.
struct FarmRoutes: Sendable {
  private let farm: FarmService
  private let measurements: Measurements
  private let open: @Sendable () -> OpenRequests

  /// - Parameter open: What is open of the HTTP face.
  init(_ farm: FarmService, _ measurements: Measurements, open: @escaping @Sendable () -> OpenRequests) {
    self.farm = farm
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
      Route(.get, "/v1/workers") { _ in
        Response(json: Workers(workers: try await farm.workers(), notices: farm.notices))
      },
      Route(.get, "/healthz", isOpen: true) { _ in Response(json: Alive()) },
      Route(.get, "/readyz", isOpen: true) { _ in
        let health = await farm.health()
        return Response(json: health, status: health.isReady ? .ok : .serviceUnavailable)
      },
      Route(.get, "/v1/workers/desired") { _ in Response(json: try await farm.demand()) },
      Route(.get, "/metrics") { _ in try await metrics() },
    ]
  }

  private func metrics() async throws -> Response {
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
