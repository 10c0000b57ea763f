/// Where the samples of subsampled chroma lie among the pixels of their cell.
package struct ChromaSite: Sendable, Hashable {
  /// Along one axis.
  package enum Place: Int32, Sendable, Hashable {
    /// At the middle of the cell's first pixel, of the cell, and of its last pixel.
    case first, middle, last

    fileprivate var mirrored: Place {
      switch self {
      case .first: .last
      case .middle: .middle
      case .last: .first
      }
    }

    /// Pixels from the start of a cell of so many pixels.
    package func distance(in count: Int) -> Double {
      switch self {
      case .first: 0.5
      case .middle: Double(count) / 2
      case .last: Double(count) - 0.5
      }
    }
  }

  package var across: Place
  package var down: Place

  package init(across: Place, down: Place) {
    self.across = across
    self.down = down
  }

  /// At the left of the cell and half-way down: that of MPEG-2, and of most codecs after it.
  package static let left = ChromaSite(across: .first, down: .middle)

  /// By libavutil's name of a chroma location. A track that states none has `left`.
  package init(tag: String?) {
    switch tag {
    case "center": self.init(across: .middle, down: .middle)
    case "topleft": self.init(across: .first, down: .first)
    case "top": self.init(across: .middle, down: .first)
    case "bottomleft": self.init(across: .first, down: .last)
    case "bottom": self.init(across: .middle, down: .last)
    default: self = .left
    }
  }

  /// In the picture that is made upright from the stored one.
  package func upright(_ orientation: Orientation) -> ChromaSite {
    let across = orientation.isMirrored ? across.mirrored : across
    return switch orientation.clockwise {
    case 90: ChromaSite(across: down.mirrored, down: across)
    case 180: ChromaSite(across: across.mirrored, down: down.mirrored)
    case 270: ChromaSite(across: down, down: across.mirrored)
    default: ChromaSite(across: across, down: down)
    }
  }
}
