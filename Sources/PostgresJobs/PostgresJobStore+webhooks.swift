package import FarmModel
package import Jobs

// Webhooks and their deliveries.

extension PostgresJobStore {
  package func add(_ webhook: Webhook) async throws(JobStoreError) -> Bool {
    try webhook.id.validate()
    let webhook = webhook.withoutNul
    return try await results.perform { (connection) throws(JobStoreError) in
      try !connection.run(
        .addWebhook,
        [
          .text(webhook.id.description), .text(webhook.url), .text(webhook.description), .texts(webhook.types),
          .bytes(webhook.secret), .text(webhook.disabled),
        ]
      ).isEmpty
    }
  }

  package func webhooks() async throws(JobStoreError) -> [Webhook] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.webhooks).map { (fields) throws(JobStoreError) in try fields.webhook() }
    }
  }

  package func change(_ webhook: WebhookID, _ change: WebhookChange) async throws(JobStoreError) -> Webhook? {
    let change = change.withoutNul
    let (isChanged, reason): (Bool, String?) =
      switch change.activity {
      case nil: (false, nil)
      case .enabled: (true, nil)
      case .disabled(let reason): (true, reason)
      }
    return try await results.perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(
        .changeWebhook,
        [
          .text(webhook.description.withoutNul), .text(change.url), .text(change.description),
          .flag(change.types != nil), .texts(change.types ?? []), .flag(isChanged), .text(reason),
          .bytes(change.secret), .long(change.overlap.microseconds),
        ]
      ).first
      return try fields?.webhook()
    }
  }

  package func remove(_ webhook: WebhookID) async throws(JobStoreError) -> Bool {
    try await results.perform { (connection) throws(JobStoreError) in
      try !connection.run(.removeWebhook, [.text(webhook.description.withoutNul)]).isEmpty
    }
  }

  package func takeDeliveries(
    limit: Int, except busy: [WebhookID], for time: Duration
  ) async throws(JobStoreError) -> [DueDelivery] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(
        .takeDeliveries,
        [
          .long(Int64(max(limit, 0))), .texts(busy.map(\.description.withoutNul)), .long(time.microseconds),
        ]
      ).map { (fields) throws(JobStoreError) in
        DueDelivery(delivery: try fields.delivery(), webhook: try fields.webhook())
      }
    }
  }

  package func endDelivery(
    to webhook: WebhookID, event: Int64, attempt: Int32, turn: Int32, _ outcome: DeliveryOutcome
  ) async throws(JobStoreError) -> Bool {
    let (state, pause): (DeliveryState, Duration?) =
      switch outcome.next {
      case .delivered: (.delivered, nil)
      case .failed: (.failed, nil)
      case .retry(let time): (.pending, time)
      }
    let delivery: [Parameter] = [.text(webhook.description.withoutNul), .long(event)]
    return try await results.perform { (connection) throws(JobStoreError) in
      let results = try connection.transaction([
        (
          .endDelivery,
          delivery + [
            .int(attempt), .int(turn), .text(state.rawValue), .long(pause?.microseconds), .int(outcome.status),
            .text(outcome.message?.withoutNul),
          ]
        ),
        (.disableWebhook, delivery + [.text(outcome.disables?.withoutNul)]),
      ])
      return !results[0].isEmpty
    }
  }

  package func deliveries(
    of webhook: WebhookID, before event: Int64?, state: DeliveryState?, limit: Int
  ) async throws(JobStoreError) -> [Delivery] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(
        .deliveries,
        [
          .text(webhook.description.withoutNul), .long(event), .text(state?.rawValue), .long(Int64(max(limit, 0))),
        ]
      ).map { (fields) throws(JobStoreError) in try fields.delivery() }
    }
  }

  package func sendAgain(_ webhook: WebhookID, event: Int64) async throws(JobStoreError) -> Bool {
    try await results.perform { (connection) throws(JobStoreError) in
      try !connection.run(.sendAgain, [.text(webhook.description.withoutNul), .long(event)]).isEmpty
    }
  }

  package func removeDeliveries(olderThan age: Duration, limit: Int) async throws(JobStoreError) -> Int {
    try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.run(.removeDeliveries, [.long(age.microseconds), .long(Int64(max(limit, 0)))]).count
    }
  }

  package func pendingDeliveries() async throws(JobStoreError) -> Int64 {
    try await results.perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(.pendingDeliveries).first
      return try fields?.count() ?? 0
    }
  }
}

extension Fields {
  /// Reads `Statement.webhookColumns`.
  fileprivate mutating func webhook() throws(JobStoreError) -> Webhook {
    var webhook = Webhook(
      id: WebhookID(try text()), url: try text(), description: try text(), types: try texts(), secret: try bytes())
    webhook.previousSecret = optionalBytes()
    webhook.disabled = optionalText()
    webhook.created = .microseconds(try long())
    return webhook
  }

  /// Reads `Statement.deliveryColumns`.
  fileprivate mutating func delivery() throws(JobStoreError) -> Delivery {
    Delivery(
      webhook: WebhookID(try text()), event: try event(), type: try text(),
      state: try named("state of a delivery"), attempts: try int(), turn: try int(), due: .microseconds(try long()),
      attempted: try optionalLong().map { .microseconds($0) }, status: try optionalInt(), message: optionalText())
  }
}

extension Statement {
  private static let webhookColumns = """
    webhook.id, webhook.url, webhook.description, webhook.types, webhook.secret,
    CASE WHEN webhook.previous_until > sheaf.now() THEN webhook.previous_secret END, webhook.disabled,
    \(microseconds("webhook.created_at"))
    """

  private static let deliveryColumns = """
    delivery.webhook, \(eventColumns), delivery.type, delivery.state, delivery.attempts, delivery.turn,
    \(microseconds("delivery.due_at")), \(microseconds("delivery.attempted_at")), delivery.status, delivery.message
    """

  fileprivate static let addWebhook = Statement(
    "add-webhook",
    """
    INSERT INTO sheaf.webhook (id, url, description, types, secret, disabled, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, sheaf.now())
    ON CONFLICT (id) DO NOTHING RETURNING id
    """)

  fileprivate static let webhooks = Statement(
    "webhooks", "SELECT \(webhookColumns) FROM sheaf.webhook ORDER BY id")

  fileprivate static let changeWebhook = Statement(
    "change-webhook",
    """
    UPDATE sheaf.webhook SET url = coalesce($2, url), description = coalesce($3, description),
      types = CASE WHEN $4 THEN $5 ELSE types END, disabled = CASE WHEN $6 THEN $7 ELSE disabled END,
      previous_secret = CASE WHEN $8 IS NULL THEN previous_secret ELSE secret END,
      previous_until = CASE WHEN $8 IS NULL THEN previous_until
        ELSE sheaf.now() + $9 * interval '1 microsecond' END,
      secret = coalesce($8, secret)
    WHERE id = $1 RETURNING \(webhookColumns)
    """)

  fileprivate static let removeWebhook = Statement(
    "remove-webhook", "DELETE FROM sheaf.webhook WHERE id = $1 RETURNING id")

  /// A delivery that another coordinator is taking, or an operator changes, is passed over.
  fileprivate static let takeDeliveries = Statement(
    "take-deliveries",
    """
    WITH due AS MATERIALIZED (
      SELECT picked.webhook, picked.event FROM sheaf.webhook CROSS JOIN LATERAL (
        SELECT delivery.webhook, delivery.event FROM sheaf.delivery
        WHERE delivery.webhook = webhook.id AND delivery.state = 'pending' AND delivery.due_at <= sheaf.now()
        ORDER BY delivery.due_at, delivery.event LIMIT $1 FOR UPDATE SKIP LOCKED
      ) AS picked
      WHERE webhook.disabled IS NULL AND webhook.id <> ALL ($2)
    ), delivery AS (
      UPDATE sheaf.delivery SET attempts = attempts + 1, turn = turn + 1,
        due_at = sheaf.now() + $3 * interval '1 microsecond', attempted_at = sheaf.now()
      FROM due WHERE delivery.webhook = due.webhook AND delivery.event = due.event
      RETURNING delivery.*
    )
    SELECT \(deliveryColumns), \(webhookColumns)
    FROM delivery JOIN sheaf.event ON event.number = delivery.event
      JOIN sheaf.webhook ON webhook.id = delivery.webhook
    ORDER BY delivery.event, delivery.webhook
    """)

  fileprivate static let endDelivery = Statement(
    "end-delivery",
    """
    UPDATE sheaf.delivery SET state = $5, due_at = coalesce(sheaf.now() + $6 * interval '1 microsecond', due_at),
      status = $7, message = $8
    WHERE webhook = $1 AND event = $2 AND state = 'pending' AND attempts = $3 AND turn = $4
    RETURNING event
    """)

  /// After this transaction has ended a delivery, and not another one.
  fileprivate static let disableWebhook = Statement(
    "disable-webhook",
    """
    UPDATE sheaf.webhook SET disabled = $3
    WHERE id = $1 AND $3 IS NOT NULL AND EXISTS (
      SELECT FROM sheaf.delivery
      WHERE delivery.webhook = $1 AND delivery.event = $2 AND xmin = pg_current_xact_id()::xid)
    """)

  fileprivate static let deliveries = Statement(
    "deliveries",
    """
    SELECT \(deliveryColumns) FROM sheaf.delivery JOIN sheaf.event ON event.number = delivery.event
    WHERE delivery.webhook = $1 AND delivery.event < coalesce($2, \(Int64.max))
      AND ($3::text IS NULL OR delivery.state = $3)
    ORDER BY delivery.event DESC LIMIT $4
    """)

  fileprivate static let sendAgain = Statement(
    "send-again",
    """
    UPDATE sheaf.delivery SET state = 'pending', turn = 0, due_at = sheaf.now()
    WHERE webhook = $1 AND event = $2 RETURNING event
    """)

  fileprivate static let removeDeliveries = Statement(
    "remove-deliveries",
    """
    DELETE FROM sheaf.delivery WHERE (webhook, event) IN (
      SELECT delivery.webhook, delivery.event
      FROM sheaf.delivery JOIN sheaf.event ON event.number = delivery.event
      WHERE event.at < sheaf.now() - $1 * interval '1 microsecond'
      ORDER BY delivery.event, delivery.webhook LIMIT $2)
    RETURNING event
    """)

  fileprivate static let pendingDeliveries = Statement(
    "pending-deliveries", "SELECT count(*) FROM sheaf.delivery WHERE state = 'pending'")
}
