package import FarmModel

// Webhooks and their deliveries. `WebhookStore` specifies each operation.

struct WebhookRecord: Sendable {
  /// Its `previousSecret` is there also when it is past its time.
  var webhook: Webhook
  var previousUntil: Duration
}

struct DeliveryRecord: Sendable {
  var webhook: WebhookID
  /// The event's number.
  var event: Int64
  var type: String
  var state = DeliveryState.pending
  var attempts: Int32 = 0
  var turn: Int32 = 0
  var due: Duration
  var attempted: Duration?
  var status: Int32?
  var message: String?
}

extension FarmState {
  /// Records what each webhook is to be sent about an event.
  mutating func address(_ event: JournalEvent, number: Int64, now: Duration) {
    guard let type = event.messageType?.rawValue else { return }
    for record in webhooks {
      let webhook = record.webhook
      guard webhook.disabled == nil, webhook.types.isEmpty || webhook.types.contains(type) else { continue }
      let place = deliveries.partitioningIndex { ($0.webhook, $0.event) >= (webhook.id, number) }
      deliveries.insert(DeliveryRecord(webhook: webhook.id, event: number, type: type, due: now), at: place)
    }
  }

  package mutating func add(_ webhook: Webhook, now: Duration) throws(JobStoreError) -> Bool {
    let webhook = webhook.withoutNul
    try webhook.id.validate()
    let place = webhooks.partitioningIndex { $0.webhook.id >= webhook.id }
    guard place == webhooks.count || webhooks[place].webhook.id != webhook.id else { return false }
    var added = webhook
    added.previousSecret = nil
    added.created = now
    webhooks.insert(WebhookRecord(webhook: added, previousUntil: now), at: place)
    return true
  }

  package func webhooks(now: Duration) -> [Webhook] { webhooks.map { $0.at(now) } }

  package mutating func change(_ id: WebhookID, _ change: WebhookChange, now: Duration) -> Webhook? {
    guard let index = webhooks.firstIndex(where: { $0.webhook.id == id }) else { return nil }
    let change = change.withoutNul
    if let url = change.url { webhooks[index].webhook.url = url }
    if let description = change.description { webhooks[index].webhook.description = description }
    if let types = change.types { webhooks[index].webhook.types = types }
    switch change.activity {
    case nil: break
    case .enabled: webhooks[index].webhook.disabled = nil
    case .disabled(let reason): webhooks[index].webhook.disabled = reason
    }
    if let secret = change.secret {
      webhooks[index].webhook.previousSecret = webhooks[index].webhook.secret
      webhooks[index].previousUntil = now + change.overlap
      webhooks[index].webhook.secret = secret
    }
    return webhooks[index].at(now)
  }

  package mutating func remove(_ id: WebhookID) -> Bool {
    guard let index = webhooks.firstIndex(where: { $0.webhook.id == id }) else { return false }
    webhooks.remove(at: index)
    deliveries.removeAll { $0.webhook == id }
    return true
  }

  package mutating func takeDeliveries(
    limit: Int, except busy: [WebhookID], for time: Duration, now: Duration
  ) -> [DueDelivery] {
    var taken: [DueDelivery] = []
    for record in webhooks where record.webhook.disabled == nil && !busy.contains(record.webhook.id) {
      let due = deliveries.indices.filter { index in
        let delivery = deliveries[index]
        return delivery.webhook == record.webhook.id && delivery.state == .pending && delivery.due <= now
      }
      let first = due.sorted { left, right in
        (deliveries[left].due, deliveries[left].event) < (deliveries[right].due, deliveries[right].event)
      }
      for index in first.prefix(max(limit, 0)) {
        deliveries[index].attempts += 1
        deliveries[index].turn += 1
        deliveries[index].due = now + time
        deliveries[index].attempted = now
        guard let delivery = delivery(deliveries[index]) else { continue }
        taken.append(DueDelivery(delivery: delivery, webhook: record.at(now)))
      }
    }
    return taken.sorted { left, right in
      (left.delivery.event.position.number, left.webhook.id) < (right.delivery.event.position.number, right.webhook.id)
    }
  }

  package mutating func endDelivery(
    to webhook: WebhookID, event: Int64, attempt: Int32, turn: Int32, _ outcome: DeliveryOutcome, now: Duration
  ) -> Bool {
    guard let place = place(of: webhook, event), deliveries[place].state == .pending,
      deliveries[place].attempts == attempt, deliveries[place].turn == turn
    else { return false }
    switch outcome.next {
    case .delivered: deliveries[place].state = .delivered
    case .failed: deliveries[place].state = .failed
    case .retry(let time): deliveries[place].due = now + time
    }
    deliveries[place].status = outcome.status
    deliveries[place].message = outcome.message?.withoutNul
    if let reason = outcome.disables, let index = webhooks.firstIndex(where: { $0.webhook.id == webhook }) {
      webhooks[index].webhook.disabled = reason.withoutNul
    }
    return true
  }

  package func deliveries(
    of webhook: WebhookID, before event: Int64?, state: DeliveryState?, limit: Int
  ) -> [Delivery] {
    let some = deliveries.reversed().lazy.filter { record in
      record.webhook == webhook && event.map { record.event < $0 } ?? true && state.map { record.state == $0 } ?? true
    }
    return some.prefix(max(limit, 0)).compactMap { delivery($0) }
  }

  package mutating func sendAgain(_ webhook: WebhookID, event: Int64, now: Duration) -> Bool {
    guard let place = place(of: webhook, event) else { return false }
    deliveries[place].state = .pending
    deliveries[place].turn = 0
    deliveries[place].due = now
    return true
  }

  package mutating func removeDeliveries(olderThan age: Duration, limit: Int, now: Duration) -> Int {
    let old = deliveries.filter { record in self.event(record.event).map { now - $0.at > age } ?? true }
    let oldest = old.sorted { ($0.event, $0.webhook) < ($1.event, $1.webhook) }.prefix(max(limit, 0))
    for record in oldest {
      if let place = place(of: record.webhook, record.event) { deliveries.remove(at: place) }
    }
    return oldest.count
  }

  package func pendingDeliveries() -> Int64 { Int64(deliveries.count { $0.state == .pending }) }

  private func place(of webhook: WebhookID, _ event: Int64) -> Int? {
    let place = deliveries.partitioningIndex { ($0.webhook, $0.event) >= (webhook, event) }
    guard place < deliveries.count, deliveries[place].webhook == webhook, deliveries[place].event == event
    else { return nil }
    return place
  }

  private func event(_ number: Int64) -> JournalEvent? {
    let place = journal.partitioningIndex { $0.position.number >= number }
    return place < journal.count && journal[place].position.number == number ? journal[place] : nil
  }

  private func delivery(_ record: DeliveryRecord) -> Delivery? {
    event(record.event).map { event in
      Delivery(
        webhook: record.webhook, event: event, type: record.type, state: record.state, attempts: record.attempts,
        turn: record.turn, due: record.due, attempted: record.attempted, status: record.status,
        message: record.message)
    }
  }
}

extension WebhookRecord {
  fileprivate func at(_ now: Duration) -> Webhook {
    var webhook = webhook
    if previousUntil <= now { webhook.previousSecret = nil }
    return webhook
  }
}
