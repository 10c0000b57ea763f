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

/// Where the pictures of a contact sheet are, row by row.
package struct ImageGrid: Sendable, Hashable {
  package var columns: Int
  package var rows: Int
  /// Pixels around and between the pictures.
  package var gap: Int

  /// - Parameter gap: Nil: 4.
  package init(columns: Int, rows: Int, gap: Int?) {
    (self.columns, self.rows, self.gap) = (columns, rows, gap ?? 4)
  }

  package static let gaps = 0...256

  /// The whole sheet in pixels.
  package func size(cell: PixelSize) -> PixelSize {
    PixelSize(width: columns * (cell.width + gap) + gap, height: rows * (cell.height + gap) + gap)
  }

  /// A picture of a sheet of this size.
  package func cell(ofSheet size: PixelSize) -> PixelSize {
    PixelSize(width: (size.width - gap) / columns - gap, height: (size.height - gap) / rows - gap)
  }

  /// The corner at the top left of a picture.
  /// - Parameter number: Counts the pictures from 0.
  package func corner(of number: Int, cell: PixelSize) -> (x: Int, y: Int) {
    (gap + number % columns * (cell.width + gap), gap + number / columns * (cell.height + gap))
  }
}
