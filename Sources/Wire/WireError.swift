/// Why a connection did not do what it was asked.
package struct WireError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: Sendable, Hashable {
    /// Nobody answers at the address.
    case unreachable
    /// The other end said why and closed.
    case refused(Sheaf_Refusal.Code)
    /// The other end said something that it may not say.
    case violation
    /// The other end took too long.
    case timeout
    /// The connection is gone.
    case closed
    /// Content could not be read or taken; the connection stands.
    case content
  }

  package var code: Code
  /// A sentence for a person.
  package var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
