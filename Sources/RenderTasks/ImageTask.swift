package import CompositionModel
import FoundationEssentials

/// Makes still pictures of an asset or of a film. The inputs are the files that the parts need; the result is an
/// `ImageList` with the pictures' files. It is a task of the kind `probe`: it belongs to no film's plan.
package struct ImageTask: Sendable, Hashable, Codable {
  package var parts: [ImagePart]
  package var output: ImageOutput
  /// All pictures in one. Nil: each is a file.
  package var sheet: ImageSheet?

  package init(parts: [ImagePart], output: ImageOutput, sheet: ImageSheet? = nil) {
    self.parts = parts
    self.output = output
    self.sheet = sheet
  }

  /// The digests of the files that the task reads, in hexadecimal. One may be listed more than once.
  package var digests: [String] {
    parts.flatMap { part in
      switch part.source {
      case .asset(let source): [source.digest]
      case .film(let task): task.sourceDigests + task.otherDigests
      }
    }
  }
}

/// Pictures that are read in one go.
package struct ImagePart: Sendable, Hashable, Codable {
  package enum Source: Sendable, Hashable, Codable {
    /// A track. `PlannedSource.decodeFrom` is nil; its keyframes are those around the pictures.
    case asset(PlannedSource)
    /// Some frames of a film, as a segment of their own.
    case film(VideoTask)
  }

  package var source: Source
  /// In order of `place`.
  package var pictures: [PlannedImage]

  package init(source: Source, pictures: [PlannedImage]) {
    self.source = source
    self.pictures = pictures
  }
}

/// One picture that is asked for.
package struct PlannedImage: Sendable, Hashable, Codable {
  /// Counts the pictures of the request from 0.
  package var number: Int
  /// The stored timestamp of an asset's track that is due, or a frame of the film's segment from 0.
  package var place: Int64
  /// The time that a contact sheet writes into the picture. Nil: none.
  package var label: String?
  /// True if a later picture is due, which cannot be decoded. Otherwise nil.
  package var isInPlaceOfLost: Bool?

  package init(number: Int, place: Int64, label: String? = nil, isInPlaceOfLost: Bool? = nil) {
    self.number = number
    self.place = place
    self.label = label
    self.isInPlaceOfLost = isInPlaceOfLost
  }
}

/// How pictures are written.
package struct ImageOutput: Sendable, Hashable, Codable {
  package var format: ImageFormat
  /// Within `ImageFormat.qualities`; without effect on PNG.
  package var quality: Int
  /// The greatest size in pixels. A larger picture is made smaller, with its aspect kept. Nil: its own size.
  package var box: PixelSize?

  package init(format: ImageFormat, quality: Int, box: PixelSize? = nil) {
    self.format = format
    self.quality = quality
    self.box = box
  }

  /// The size of a picture whose own size in square pixels is this.
  package func size(of picture: PixelSize) -> PixelSize {
    guard let box, picture.width > box.width || picture.height > box.height else { return picture }
    // Whether the box's width limits it.
    if picture.width * box.height >= picture.height * box.width {
      let height = (picture.height * box.width + picture.width / 2) / picture.width
      return PixelSize(width: box.width, height: max(1, height))
    }
    let width = (picture.width * box.height + picture.height / 2) / picture.height
    return PixelSize(width: max(1, width), height: box.height)
  }
}

/// A contact sheet: pictures in rows, by their numbers.
package struct ImageSheet: Sendable, Hashable, Codable {
  package var columns: Int
  package var rows: Int
  /// Pixels around and between the pictures, within `ImageGrid.gaps`. Nil: 4.
  package var gap: Int?

  package init(columns: Int, rows: Int, gap: Int? = nil) {
    self.columns = columns
    self.rows = rows
    self.gap = gap
  }

  /// The most pictures of a sheet on a side.
  package static let most = ImageFormat.mostOfSheet
  package var grid: ImageGrid { ImageGrid(columns: columns, rows: rows, gap: gap) }
}

/// The end of the result of an `ImageTask`. The files of the pictures come first, then this as JSON, then its length as
/// UInt64, little-endian.
package struct ImageList: Sendable, Hashable, Codable {
  package struct Picture: Sendable, Hashable, Codable {
    /// As in `PlannedImage`.
    package var number: Int
    /// The stored timestamp of the picture of an asset that is shown, or the frame of the film's segment. Nil: it
    /// failed.
    package var place: Int64?
    /// In pixels.
    package var size: PixelSize?
    /// The bytes of its file, from this position on. Both are nil in a contact sheet.
    package var offset: Int64?
    package var byteCount: Int64?
    /// Whether its decoder has concealed a part, or shows an earlier picture in its place.
    package var isDamaged: Bool?
    /// Why there is no picture.
    package var error: String?

    package init(number: Int, error: String? = nil) {
      self.number = number
      self.error = error
    }
  }

  package var pictures: [Picture]
  /// The contact sheet, whose number is 0.
  package var sheet: Picture?

  package init(pictures: [Picture], sheet: Picture? = nil) {
    self.pictures = pictures
    self.sheet = sheet
  }

  package static let tailSize = 8

  /// The JSON and its length.
  package func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let json = [UInt8](try encoder.encode(self))
    return json + (0..<Self.tailSize).map { UInt8(truncatingIfNeeded: UInt64(json.count) >> (8 * $0)) }
  }

  /// The length of the JSON. Nil if the bytes are no tail.
  package static func length(inTail tail: [UInt8]) -> Int? {
    guard tail.count == tailSize else { return nil }
    return Int(exactly: tail.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  package init(json: [UInt8]) throws {
    self = try JSONDecoder().decode(ImageList.self, from: Data(json))
  }
}
