import NIOCore
package import SystemSupport

/// The address of a coordinator, written as `host:port`, `[::1]:port`, or a host alone.
package struct WireAddress: Sendable, Hashable, CustomStringConvertible {
  package static let defaultPort = 7433
  /// The address that `sheaf` uses if none is given: this machine's.
  package static var defaultSetting: String { "127.0.0.1:\(defaultPort)" }

  /// A name or an IP address, without brackets.
  package var host: String
  /// 0 to 65535. When listening, 0 selects any free port.
  package var port: Int

  package init(host: String, port: Int = WireAddress.defaultPort) {
    self.host = host
    self.port = port
  }

  /// Nil if the text is not an address.
  package init?(_ text: String) {
    var host = text[...]
    var port: Int? = Self.defaultPort
    if text.hasPrefix("[") {
      guard let close = text.firstIndex(of: "]") else { return nil }
      host = text[text.index(after: text.startIndex)..<close]
      let rest = text[text.index(after: close)...]
      if !rest.isEmpty { port = rest.hasPrefix(":") ? Int(rest.dropFirst()) : nil }
    } else if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon {
      host = text[..<colon]
      port = Int(text[text.index(after: colon)...])
    }
    guard !host.isEmpty, let port, (0...65535).contains(port), Self.canBeHost(host) else { return nil }
    self.init(host: String(host), port: port)
  }

  /// Whether a text can be a name or an IP address. What has a colon must be an IPv6 address, with or without a zone.
  private static func canBeHost(_ text: Substring) -> Bool {
    guard text.contains(":") else {
      let others = "/@?#[]".unicodeScalars
      return text.unicodeScalars.allSatisfy { $0.value > 0x20 && !$0.properties.isWhitespace && !others.contains($0) }
    }
    let (address, zone) = (text.prefix { $0 != "%" }, text.drop { $0 != "%" })
    guard zone.isEmpty || (zone.count > 1 && zone.dropFirst().allSatisfy { $0.isLetter || $0.isNumber }) else {
      return false
    }
    return (try? SocketAddress(ipAddress: String(address), port: 0))?.protocol == .inet6
  }

  /// An address as an option or a variable gives it.
  /// - Parameter example: For the message if the text is not an address, such as `farm.example:7433`.
  package init(setting text: String, example: String) throws(SettingError) {
    guard let address = WireAddress(text) else {
      throw SettingError(
        "\"\(text)\" is not an address; an address is host:port, such as \(example), and ports end at 65535")
    }
    self = address
  }

  /// The addresses of a farm's coordinators, as an option or a variable gives them: one, or up to 16 with commas
  /// between them. None has port 0.
  /// - Parameter example: As for `init(setting:example:)`.
  package static func list(setting text: String, example: String) throws(SettingError) -> [WireAddress] {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count <= 16 else {
      throw SettingError("\"\(text)\" are \(parts.count) addresses of coordinators; at most 16 are allowed")
    }
    var addresses: [WireAddress] = []
    for part in parts {
      let address = try WireAddress(setting: String(part.drop { $0 == " " }), example: example)
      guard address.port > 0 else { throw SettingError("the port of the coordinator must be 1 to 65535") }
      addresses.append(address)
    }
    return addresses
  }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Whether the address can be reached from this machine only.
  package var isLoopback: Bool {
    host == "localhost" || host == "::1" || (host.hasPrefix("127.") && host.split(separator: ".").count == 4)
  }
}
