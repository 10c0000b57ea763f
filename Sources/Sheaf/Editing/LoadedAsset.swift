public import CompositionModel

/// A file and what it contains.
public struct LoadedAsset: Sendable, Hashable {
  public var path: String
  /// What the file contains.
  public var contents: AssetDescription

  /// - Parameters:
  ///   - path: The path of the file on the machine that is to read it.
  ///   - contents: What the file contains, from an earlier probe of the file.
  public init(path: String, contents: AssetDescription) {
    self.path = path
    self.contents = contents
  }
}
