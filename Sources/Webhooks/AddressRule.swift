import Glibc

/// Which addresses messages may be sent to: those of the public Internet, and the networks that the operator allows.
/// Without it, whoever may add a webhook could have the coordinator ask services of its own network.
package struct AddressRule: Sendable {
  /// Networks that are not of the public Internet (IANA's registries of special-purpose addresses, RFC 6890).
  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
    // Only 2000::/3 is assigned.
    "::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "3fff::/20",
  ].compactMap { Network($0) }
  /// Networks of IPv6 in whose addresses one of IPv4 stands, and from which of its bytes on.
  private static let mapped = [("::ffff:0:0/96", 12), ("64:ff9b::/96", 12), ("2002::/16", 2)].compactMap {
    text, first in
    Network(text).map { (network: $0, first: first) }
  }

  private let allowed: [Network]

  package init(allowing allowed: [Network] = []) {
    self.allowed = allowed
  }

  /// - Parameter address: 4 or 16 bytes.
  package func allows(_ address: [UInt8]) -> Bool {
    if allowed.contains(where: { $0.contains(address) }) { return true }
    if let first = Self.mapped.first(where: { $0.network.contains(address) })?.first {
      return allows(Array(address[first..<first + 4]))
    }
    return [4, 16].contains(address.count) && !Self.special.contains { $0.contains(address) }
  }
}

/// The addresses that begin with the same bits.
package struct Network: Sendable, Hashable {
  private let bytes: [UInt8]
  private let bits: Int

  /// Reads `10.0.0.0/8`, `fd00::/8`, or one address. Nil if the text has another form, or the address has bits beyond
  /// those of the network.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let bytes = Self.address(String(parts[0])) else { return nil }
    let most = bytes.count * 8
    let bits = parts.count == 2 ? Int(parts[1]) : most
    guard let bits, (0...most).contains(bits), parts.count == 1 || parts[1].allSatisfy(\.isNumber) else { return nil }
    self.bytes = bytes
    self.bits = bits
    for bit in bits..<most where bytes[bit / 8] & (0x80 >> (bit % 8)) != 0 { return nil }
  }

  /// The bytes of an address of IPv4 or IPv6. Nil: the text is none.
  static func address(_ text: String) -> [UInt8]? {
    var (four, sixteen) = (in_addr(), in6_addr())
    if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: &four) { Array($0) } }
    if inet_pton(AF_INET6, text, &sixteen) == 1 { return withUnsafeBytes(of: &sixteen) { Array($0) } }
    return nil
  }

  func contains(_ address: [UInt8]) -> Bool {
    guard address.count == bytes.count else { return false }
    let whole = bits / 8
    guard address[..<whole] == bytes[..<whole] else { return false }
    let rest = bits % 8
    return rest == 0 || (address[whole] ^ bytes[whole]) >> (8 - rest) == 0
  }
}
