/// Whether a coordinator can do its work.
package struct FarmHealth: Sendable, Hashable, Codable {
  package struct Check: Sendable, Hashable, Codable {
    /// `jobStore`, `contentStore` or `draining`.
    package var name: String
    package var isOK: Bool
    /// What is wrong, for a person. Nil: nothing.
    package var message: String?

    package init(name: String, message: String?) {
      self.name = name
      isOK = message == nil
      self.message = message
    }
  }

  package var isReady: Bool
  package var checks: [Check]

  package init(_ checks: [Check]) {
    self.checks = checks
    isReady = checks.allSatisfy(\.isOK)
  }
}
