// Sizes and times as options give them, and sizes as messages do.

extension Setting {
  /// A number of bytes: plain, or with K, M, G or T for powers of 1024, such as `500M`. Nil if neither the option nor
  /// the variable is set. Throws if the value has another form.
  /// - Parameter name: The option's, for the message, such as `--store-limit`.
  package static func bytes(
    _ option: String?, _ name: String, _ variable: String, environment: Environment = ProcessEnvironment.value
  ) throws(SettingError) -> Int64? {
    guard let text = text(option, variable, environment: environment) else { return nil }
    guard let bytes = measure(text, units: ["": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]) else {
      throw SettingError(
        "\(option == nil ? variable : name) is \"\(text)\"; it must be a number of bytes, such as 1000000, 500M or 20G")
    }
    return bytes
  }

  /// A time in whole seconds, minutes, hours or days, such as `30m`. Nil if neither the option nor the variable is set.
  /// Throws if the value has another form.
  /// - Parameter name: The option's, for the message, such as `--keep-jobs`.
  package static func duration(
    _ option: String?, _ name: String, _ variable: String, environment: Environment = ProcessEnvironment.value
  ) throws(SettingError) -> Duration? {
    guard let text = text(option, variable, environment: environment) else { return nil }
    let units: [String: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let seconds = measure(text, units: units), seconds <= 100 * 366 * 86_400 else {
      throw SettingError(
        "\(option == nil ? variable : name) is \"\(text)\"; it must be a time up to 100 years, such as 90s, 30m, 12h or 7d"
      )
    }
    return .seconds(seconds)
  }

  /// Nil if the text is not a whole number with one of the units, or is too large.
  private static func measure(_ text: String, units: [String: Int64]) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits), let unit = units[String(text[digits.endIndex...])] else { return nil }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: unit)
    return overflow ? nil : bytes
  }
}

/// A number of bytes for people.
package enum ByteCount {
  /// Such as `512 bytes`, `0.4 GiB` or `20 GiB`: in GiB from 0.1 GiB, else in MiB or KiB. Rounded down, so that what is
  /// below a limit never reads as the limit.
  package static func text(_ bytes: Int64) -> String {
    let units: [(name: String, size: Int64)] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    guard let unit = units.first(where: { bytes >= $0.size / 10 }), bytes < 1 << 59 else { return "\(bytes) bytes" }
    let tenths = bytes * 10 / unit.size
    return tenths % 10 == 0 ? "\(tenths / 10) \(unit.name)" : "\(tenths / 10).\(tenths % 10) \(unit.name)"
  }
}
