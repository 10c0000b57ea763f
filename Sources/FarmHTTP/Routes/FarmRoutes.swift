import Coordinator
import FarmAPI
import HTTPTypes
import HummingbirdCore

/// The farm itself: its workers, and what those need who run it.
struct FarmRoutes: Sendable {
  private let farm: FarmService
  private let measurements: Measurements

  init(_ farm: FarmService, _ measurements: Measurements) {
    self.farm = farm
    self.measurements = measurements
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
      Route(.get, "/metrics") { _ in
        // Without the store's answer the others are still of use.
        let counts = try? await farm.counts()
        return Response(
          text: measurements.text(counts), type: "text/plain; version=0.0.4; charset=utf-8")
      },
    ]
  }
}
