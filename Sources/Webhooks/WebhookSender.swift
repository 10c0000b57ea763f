package import Coordinator
import FarmAPI
import FarmModel
import FoundationEssentials
package import Logging
import Runtime
import Synchronization

/// Sends the messages of the farm's outbox. Any number of coordinators do so: a message is taken by one of them.
package struct WebhookSender: Sendable {
  /// How often it is looked for messages.
  private static let period = Duration.seconds(1)

  private let farm: FarmService
  private let rule: AddressRule
  private let logger: Logger

  package init(_ farm: FarmService, rule: AddressRule, logger: Logger) {
    self.farm = farm
    self.rule = rule
    self.logger = logger
  }

  /// Until it is cancelled. What is being sent then is taken up by the next coordinator.
  package func run() async {
    let busy = BusyWebhooks()
    await withDiscardingTaskGroup { group in
      while !Task.isCancelled {
        let taken = await take(except: busy.ids)
        for (webhook, messages) in Dictionary(grouping: taken, by: \.webhook) {
          busy.insert(webhook)
          group.addTask {
            // One after another, in their order.
            for message in messages where !Task.isCancelled { await send(message) }
            busy.remove(webhook)
          }
        }
        do { try await Task.sleep(for: Self.period) } catch { return }
      }
    }
  }

  private func take(except busy: [String]) async -> [OutgoingMessage] {
    do {
      return try await farm.takeMessages(except: busy)
    } catch let error as FarmError where error.code == .unavailable {
      // The coordinator logs that its store does not answer.
    } catch is CancellationError {
      // The coordinator stops.
    } catch {
      logger.error("messages to webhooks cannot be read from the job store", metadata: ["error": "\(error)"])
    }
    return []
  }

  private func send(_ message: OutgoingMessage) async {
    let post = HTTPPost(rule)
    do {
      let signed = try SignedMessage(message, time: Int64(Date.now.timeIntervalSince1970))
      let attempt = try await withTaskCancellationHandler {
        try await BlockingWork.run(.requests) { post.run(signed, to: message.url) }
      } onCancel: {
        post.stop()
      }
      // It is sent again by the next coordinator.
      if Task.isCancelled, case .failed = attempt { return }
      let outcome = SendingSchedule.outcome(
        of: attempt, turn: Int(message.ticket.turn), jitter: Double.random(in: 0...1))
      try await farm.ended(message, outcome)
      log(message, outcome)
    } catch {
      // It is tried again when its time is over.
      logger.warning(
        "the outcome of a message to a webhook was not recorded",
        metadata: ["webhook": "\(message.webhook)", "message": "\(message.id)", "error": "\(error)"])
    }
  }

  private func log(_ message: OutgoingMessage, _ outcome: DeliveryOutcome) {
    var metadata: Logger.Metadata = [
      "webhook": "\(message.webhook)", "message": "\(message.id)", "type": "\(message.message.type)",
    ]
    if let status = outcome.status { metadata["status"] = "\(status)" }
    if let error = outcome.message { metadata["error"] = "\(error)" }
    if outcome.disables != nil { return logger.warning("webhook disabled", metadata: metadata) }
    switch outcome.next {
    case .delivered: logger.debug("message sent to a webhook", metadata: metadata)
    case .retry: logger.info("message not sent to a webhook, and tried again later", metadata: metadata)
    case .failed: logger.warning("message not sent to a webhook", metadata: metadata)
    }
  }
}

/// The webhooks that are sent something now.
private final class BusyWebhooks: Sendable {
  private let webhooks = Mutex<Set<String>>([])

  var ids: [String] { webhooks.withLock { Array($0) } }

  func insert(_ webhook: String) { webhooks.withLock { _ = $0.insert(webhook) } }

  func remove(_ webhook: String) { webhooks.withLock { _ = $0.remove(webhook) } }
}
