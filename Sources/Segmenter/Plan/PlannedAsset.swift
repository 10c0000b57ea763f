package import CompositionModel

/// What planning knows of an asset.
package struct PlannedAsset: Sendable, Hashable {
  package var description: AssetDescription
  /// Lower-case hexadecimal SHA-256 of the file.
  package var digest: String

  package init(description: AssetDescription, digest: String) {
    self.description = description
    self.digest = digest
  }
}
