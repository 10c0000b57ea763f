/// The picture that players show for a file, as cover art. Its stored bytes are in the output: it is not encoded.
public struct Artwork: Sendable, Hashable, Codable {
  public enum Format: String, Sendable, Hashable, Codable, CaseIterable {
    case png, jpeg
  }

  public var asset: AssetID
  /// The stream's index of the picture in a media file. Nil: the file is the picture.
  public var track: Int?
  public var format: Format
  /// Whether what is said in it about the picture is left out, such as the place of a photograph. Nil: no.
  public var isForSharing: Bool?

  package init(asset: AssetID, track: Int?, format: Format) {
    self.asset = asset
    self.track = track
    self.format = format
  }

  /// The most bytes that a picture has: a block of metadata of FLAC holds less than 2^24 bytes.
  package static let greatestByteCount = 16_000_000
}

extension Artwork.Format {
  /// libavcodec's name.
  package var codec: String {
    switch self {
    case .png: "png"
    case .jpeg: "mjpeg"
    }
  }

  /// That of a codec that libavcodec calls so. Nil for any other codec than these.
  package init?(codec: String) {
    guard let format = Self.allCases.first(where: { $0.codec == codec }) else { return nil }
    self = format
  }
}
