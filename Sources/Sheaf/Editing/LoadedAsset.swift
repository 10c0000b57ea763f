public import CompositionModel

/// A file and what it contains.
public struct LoadedAsset: Sendable, Hashable {
  public var path: String
  public var description: AssetDescription

  /// - Parameters:
  ///   - path: The path of the file on the machine that is to read it.
  ///   - description: From an earlier probe of the file.
  public init(path: String, description: AssetDescription) {
    self.path = path
    self.description = description
  }
}
