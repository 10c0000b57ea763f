package import FarmAPI
import FarmModel
import FoundationEssentials
import SwiftProtobuf
import SystemSupport
package import Wire

// Tokens and the audit as messages of the protocol, and back.

extension Sheaf_CreateToken {
  package init(_ request: TokenRequest) {
    self.init()
    role = request.role.rawValue
    owner = request.owner
    description_p = request.description ?? ""
    if let seconds = request.lifetimeSeconds { lifetimeSeconds = seconds }
    pool = request.pool ?? ""
  }
}

extension TokenRequest {
  package init(_ message: Sheaf_CreateToken) throws(FarmError) {
    guard let role = Role(rawValue: message.role) else {
      let roles = Role.allCases.map(\.rawValue).joined(separator: ", ")
      throw FarmError(.invalid, "there is no role \"\(message.role.prefix(64))\"; the roles are \(roles)")
    }
    self.init(
      role: role, owner: message.owner, description: message.description_p,
      lifetimeSeconds: message.hasLifetimeSeconds ? message.lifetimeSeconds : nil,
      pool: message.pool.isEmpty ? nil : message.pool)
  }
}

extension Sheaf_TokensReply {
  package init(_ tokens: [TokenReport]) throws {
    self.init()
    self.tokens = try JSONCoding.encoder.encode(tokens)
  }

  package var reports: [TokenReport] {
    get throws(WireError) { try decoded([TokenReport].self, tokens, "tokens") }
  }
}

extension Sheaf_AuditQuery {
  package init(_ request: AuditRequest) {
    self.init()
    if let number = request.before { before = number }
    limit = UInt32(clamping: request.limit)
    owner = request.owner ?? ""
    subject = request.subject ?? ""
    actions = request.actions
  }
}

extension AuditRequest {
  package init(_ message: Sheaf_AuditQuery) {
    self.init()
    before = message.hasBefore ? message.before : nil
    if message.limit > 0 { limit = Int(message.limit) }
    owner = message.owner.isEmpty ? nil : message.owner
    subject = message.subject.isEmpty ? nil : message.subject
    actions = message.actions
  }
}

extension Sheaf_AuditReply {
  package init(_ entries: [AuditReport]) throws {
    self.init()
    self.entries = try JSONCoding.encoder.encode(entries)
  }

  package var reports: [AuditReport] {
    get throws(WireError) { try decoded([AuditReport].self, entries, "audit") }
  }
}

private func decoded<Value: Decodable>(_: Value.Type, _ json: Data, _ what: String) throws(WireError) -> Value {
  do {
    return try JSONDecoder().decode(Value.self, from: json)
  } catch {
    throw WireError(.violation, "the coordinator's \(what) are those of another version: \(error)")
  }
}
