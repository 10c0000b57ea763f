import Digest
import FarmAPI
import FoundationEssentials
import SystemSupport

/// A message as it is sent: its body, and the headers of the Standard Webhooks specification.
struct SignedMessage: Sendable {
  let body: [UInt8]
  let headers: [(name: String, value: String)]

  /// - Parameter time: Of this attempt, in whole seconds since 1970.
  init(_ message: OutgoingMessage, time: Int64) throws {
    body = [UInt8](try JSONCoding.encoder.encode(message.message))
    let signed = Array("\(message.id).\(time).".utf8) + body
    let signatures = message.secrets.map { secret in
      "v1,\(Data(MessageCode.sha256(of: signed, key: secret)).base64EncodedString())"
    }
    headers = [
      ("Content-Type", "application/json"), ("webhook-id", message.id), ("webhook-timestamp", "\(time)"),
      ("webhook-signature", signatures.joined(separator: " ")),
    ]
  }
}
