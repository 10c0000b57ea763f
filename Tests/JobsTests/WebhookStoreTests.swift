import FarmModel
import Testing

@testable import Jobs

@Suite("Webhooks in the store", .timeLimit(.minutes(10)))
struct WebhookStoreTests {
  private static let (all, ends) = (WebhookID("wh_all"), WebhookID("wh_ends"))

  private static func fill(_ store: any JobStore) async throws {
    #expect(try await store.add(Webhook(id: all, url: "https://a.example/", secret: [1])))
    #expect(
      try await store.add(
        Webhook(id: ends, url: "https://b.example/", types: ["job.failed", "job.cancelled"], secret: [2])))
    try await store.submit(.sample("j1"))
    _ = try await store.cancel(JobID("j1"))
    try await store.submit(.sample("i1", purpose: .inspection))
  }

  @Test(arguments: StoreKind.allCases)
  func `each webhook is sent what it takes, once, by whoever asks first`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await Self.fill(store)
      let taken = try await store.takeDeliveries(limit: 10, except: [], for: .seconds(60))
      #expect(taken.map(\.delivery.type) == ["job.submitted", "job.cancelled", "job.cancelled"])
      #expect(taken.map(\.webhook.id) == [Self.all, Self.all, Self.ends])
      #expect(taken.allSatisfy { $0.delivery.event.job == JobID("j1") && $0.delivery.attempts == 1 })
      #expect(try await store.takeDeliveries(limit: 10, except: [], for: .seconds(60)).isEmpty)
      #expect(try await store.endDelivery(taken[0].delivery, DeliveryOutcome(.delivered, status: 204)))
      #expect(try await !store.endDelivery(taken[0].delivery, DeliveryOutcome(.failed)))
      #expect(
        try await store.endDelivery(taken[1].delivery, DeliveryOutcome(.retry(after: .seconds(300)), message: "no")))
      // Whoever took the third is gone.
      try farm.advance(.seconds(61))
      let again = try await store.takeDeliveries(limit: 10, except: [], for: .seconds(60))
      #expect(again.map(\.webhook.id) == [Self.ends])
      #expect(again.map(\.delivery.attempts) == [2])
      #expect(try await !store.endDelivery(taken[2].delivery, DeliveryOutcome(.delivered)))
      #expect(try await store.endDelivery(again[0].delivery, DeliveryOutcome(.failed, status: 500, message: "bad")))
      try farm.advance(.seconds(300))
      #expect(try await store.takeDeliveries(limit: 10, except: [Self.all], for: .seconds(60)).isEmpty)
      let retried = try await store.takeDeliveries(limit: 10, except: [], for: .seconds(60))
      #expect(retried.map(\.delivery.type) == ["job.cancelled"] && retried.map(\.delivery.turn) == [2])
      #expect(try await store.pendingDeliveries() == 1)
      let listed = try await store.deliveries(of: Self.all, before: nil, state: nil, limit: 10)
      #expect(listed.map(\.state) == [.pending, .delivered] && listed.map(\.status) == [nil, 204])
      let number = try #require(listed.first?.event.position.number)
      #expect(try await store.deliveries(of: Self.all, before: number, state: nil, limit: 10) == Array(listed[1...]))
      #expect(try await store.deliveries(of: Self.all, before: nil, state: .failed, limit: 10).isEmpty)
      let failed = try await store.deliveries(of: Self.ends, before: nil, state: .failed, limit: 10)
      #expect(failed.map(\.message) == ["bad"] && failed.map(\.status) == [500])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a webhook that is gone is disabled, and what was failed is sent again`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await Self.fill(store)
      let taken = try await store.takeDeliveries(limit: 1, except: [Self.ends], for: .seconds(60))
      #expect(taken.map(\.delivery.type) == ["job.submitted"])
      let gone = DeliveryOutcome(.failed, status: 410, message: "410", disables: "it is gone")
      #expect(try await store.endDelivery(taken[0].delivery, gone))
      #expect(try await store.webhooks().map(\.disabled) == ["it is gone", nil])
      // What was due waits, and what comes is not recorded.
      #expect(try await store.takeDeliveries(limit: 10, except: [Self.ends], for: .seconds(60)).isEmpty)
      try await store.submit(.sample("j2"))
      var change = WebhookChange()
      change.activity = .enabled
      #expect(try await store.change(Self.all, change)?.disabled == nil)
      let event = taken[0].delivery.event.position.number
      #expect(try await store.sendAgain(Self.all, event: event))
      #expect(try await !store.sendAgain(Self.all, event: event + 100))
      let again = try await store.takeDeliveries(limit: 10, except: [Self.ends], for: .seconds(60))
      #expect(again.map(\.delivery.type) == ["job.submitted", "job.cancelled"])
      #expect(again.map(\.delivery.attempts) == [2, 1] && again.map(\.delivery.turn) == [1, 1])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a secret that was changed is used for some time`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await Self.fill(store)
      var change = WebhookChange()
      (change.secret, change.overlap) = ([9, 9], .seconds(100))
      let changed = try #require(try await store.change(Self.all, change))
      #expect(changed.secret == [9, 9] && changed.previousSecret == [1])
      try farm.advance(.seconds(99))
      #expect(try await store.webhooks().first?.previousSecret == [1])
      try farm.advance(.seconds(1))
      #expect(try await store.webhooks().first?.previousSecret == nil)
      #expect(try await store.change(WebhookID("wh_none"), change) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `an event stays for its deliveries`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await Self.fill(store)
      #expect(try await store.removeEvents(olderThan: .zero, most: 0, limit: 100) == 2)
      #expect(try await store.events(after: nil, limit: 10) == [])
      #expect(try await store.deliveries(of: Self.all, before: nil, state: nil, limit: 10).count == 2)
      try farm.advance(.seconds(100))
      #expect(try await store.removeDeliveries(olderThan: .seconds(100), limit: 10) == 0)
      try farm.advance(.seconds(1))
      #expect(try await store.removeDeliveries(olderThan: .seconds(100), limit: 2) == 2)
      #expect(try await store.removeDeliveries(olderThan: .seconds(100), limit: 2) == 1)
      #expect(try await store.remove(Self.all))
      #expect(try await !store.remove(Self.all))
      #expect(try await store.webhooks().map(\.id) == [Self.ends])
    }
  }
}
