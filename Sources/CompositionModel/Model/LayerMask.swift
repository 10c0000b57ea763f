/// A picture that decides where a layer can be seen. It fills the layer's rectangle (or, if the layer has a matrix, the
/// layer's own picture), and is transformed with it.
public struct LayerMask: Sendable, Hashable, Codable {
  /// A still picture.
  public var image: AssetID
  public var channel: Channel
  /// Whether the layer is seen where the mask is transparent or black.
  public var isInverted: Bool

  /// What of the mask is the layer's coverage. The raw value is the name in documents.
  public enum Channel: String, Sendable, Hashable, Codable, CaseIterable {
    case alpha
    /// The luma of its colours as they are stored, over black.
    case luma
  }

  public init(image: AssetID, channel: Channel = .alpha, isInverted: Bool = false) {
    self.image = image
    self.channel = channel
    self.isInverted = isInverted
  }
}
