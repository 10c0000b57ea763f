/// The formats of still pictures that are written.
public enum ImageFormat: String, Sendable, Hashable, Codable, CaseIterable {
  /// Without loss, with alpha, 8 bits a component.
  case png
  /// Without alpha: transparent pixels are drawn over black.
  case jpeg
  /// With alpha; without loss at the quality 100.
  case webp

  /// By the extension of a file's name, in any case. Nil for another.
  public init?(fileExtension: some StringProtocol) {
    switch fileExtension.lowercased() {
    case "png": self = .png
    case "jpg", "jpeg": self = .jpeg
    case "webp": self = .webp
    default: return nil
    }
  }

  /// The extension of a file of the format, without the point.
  public var fileExtension: String { self == .jpeg ? "jpg" : rawValue }

  /// Whether its quality can be chosen.
  public var hasQuality: Bool { self != .png }

  /// 1 is the smallest file, 100 the best picture.
  public static let qualities = 1...100
  public static let defaultQuality = 90
  /// The most pictures of a contact sheet on a side.
  package static let mostOfSheet = 64
  /// The longest side of a picture in pixels.
  public var largestSide: Int { self == .webp ? 16383 : PixelSize.largestSide }
}
