/// A picture that decides where a layer can be seen. It fills the layer's rectangle (or, if the layer has a matrix, the
/// layer's own picture), and is transformed with it.
public struct LayerMask: Sendable, Hashable, Codable {
  public var source: Source
  public var channel: Channel
  /// Whether the layer is seen where the mask is transparent or black.
  public var isInverted: Bool

  /// What the mask's picture is.
  public enum Source: Sendable, Hashable, Codable {
    /// A still picture.
    case image(AssetID)
    /// That of a video track at the same time. In its gaps it is transparent.
    case track(TrackID)
  }

  /// What of the mask is the layer's coverage. The raw value is the name in documents.
  public enum Channel: String, Sendable, Hashable, Codable, CaseIterable {
    case alpha
    /// The luma of its colours as they are stored, over black.
    case luma
  }

  public init(_ source: Source, channel: Channel = .alpha, isInverted: Bool = false) {
    self.source = source
    self.channel = channel
    self.isInverted = isInverted
  }

  public init(image: AssetID, channel: Channel = .alpha, isInverted: Bool = false) {
    self.init(.image(image), channel: channel, isInverted: isInverted)
  }

  /// The track that has the mask's pictures.
  package var track: TrackID? { if case .track(let id) = source { id } else { nil } }
}
