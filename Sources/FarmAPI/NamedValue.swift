/// One of a closed set of values, written in JSON as its name. A name that this version does not know is nil, and
/// `unknown` as JSON.
@propertyWrapper
package struct NamedValue<Value>: Sendable, Hashable, Codable
where Value: RawRepresentable & Sendable & Hashable, Value.RawValue == String {
  package var wrappedValue: Value?

  package init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }

  package init(from decoder: any Decoder) throws {
    wrappedValue = Value(rawValue: try decoder.singleValueContainer().decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue.nameOrUnknown)
  }
}

extension Optional where Wrapped: RawRepresentable, Wrapped.RawValue == String {
  /// The name of the value, or `unknown` for one that this version does not know.
  package var nameOrUnknown: String { self?.rawValue ?? "unknown" }
}
