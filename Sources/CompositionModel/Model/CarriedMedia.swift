/// What a film that is copied has beside the tracks that its document names.
public struct CarriedMedia: Sendable, Hashable, Codable {
  /// A file that another file has in it, such as a font.
  public struct Attachment: Sendable, Hashable, Codable {
    public var asset: AssetID
    /// The stream's index in the asset.
    public var index: Int

    public init(asset: AssetID, index: Int) {
      (self.asset, self.index) = (asset, index)
    }
  }

  /// Their clips are on the film's timeline and follow one another as those of the tracks that are named.
  public var tracks: [CompositionTrack] = []
  public var attachments: [Attachment] = []
  /// Whether the timecode of the pictures is stated.
  public var hasTimecode = false

  public init() {}
}
