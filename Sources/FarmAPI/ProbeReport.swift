package import CompositionModel

/// A file's description as JSON: its own keys, and those that follow from them.
package struct ProbeReport: Encodable {
  package var description: AssetDescription

  package init(description: AssetDescription) {
    self.description = description
  }

  private enum CodingKeys: String, CodingKey {
    case commonMetadata
  }

  package func encode(to encoder: any Encoder) throws {
    try description.encode(to: encoder)
    let common = description.commonMetadata
    if common.isEmpty { return }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(
      Dictionary(uniqueKeysWithValues: common.map { ($0.key.rawValue, $0.value) }), forKey: .commonMetadata)
  }
}
