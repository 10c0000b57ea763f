package import CompositionModel

/// The still pictures that a client asks for. Times are in the notation of documents; of an asset, frames count at its
/// nominal rate.
package struct ImageRequest: Sendable, Hashable, Codable {
  /// The most pictures of a request.
  package static let mostPictures = 10_000

  package var times: Times
  /// How far a picture may be before and after its time; `inf` allows any. Nil: it is the one shown at its time.
  package var tolerance: [String]?
  package var format: ImageFormat
  /// Within `ImageFormat.qualities`.
  package var quality: Int
  /// The greatest size of a picture in pixels. Nil: its own.
  package var box: PixelSize?
  /// Nil: each picture is a file.
  package var sheet: Sheet?

  package enum Times: Sendable, Hashable, Codable {
    case list([String])
    /// From zero on, one after each of this time.
    case every(String)
    /// In the middle of so many equal parts.
    case count(Int)
  }

  /// A contact sheet.
  package struct Sheet: Sendable, Hashable, Codable {
    package var columns: Int
    package var rows: Int
    /// Whether each picture has its time in it.
    package var hasTimes: Bool
    /// Pixels around and between the pictures, within `ImageGrid.gaps`. Nil: 4.
    package var gap: Int?

    package init(columns: Int, rows: Int, hasTimes: Bool, gap: Int? = nil) {
      self.columns = columns
      self.rows = rows
      self.hasTimes = hasTimes
      self.gap = gap
    }

    package var grid: ImageGrid { ImageGrid(columns: columns, rows: rows, gap: gap) }

    /// The most columns, and the most rows.
    package static let most = ImageFormat.mostOfSheet
  }

  package init(
    times: Times, tolerance: [String]? = nil, format: ImageFormat, quality: Int = ImageFormat.defaultQuality,
    box: PixelSize? = nil, sheet: Sheet? = nil
  ) {
    self.times = times
    self.tolerance = tolerance
    self.format = format
    self.quality = quality
    self.box = box
    self.sheet = sheet
  }

  private enum CodingKeys: CodingKey {
    case times, tolerance, format, quality, box, sheet
  }

  /// Sides that no picture has are problems, with the request's others.
  private struct Sides: Decodable {
    var width: Int
    var height: Int
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    times = try container.decode(Times.self, forKey: .times)
    tolerance = try container.decodeIfPresent([String].self, forKey: .tolerance)
    format = try container.decode(ImageFormat.self, forKey: .format)
    quality = try container.decode(Int.self, forKey: .quality)
    let sides = try container.decodeIfPresent(Sides.self, forKey: .box)
    box = sides.map { PixelSize(width: $0.width, height: $0.height) }
    sheet = try container.decodeIfPresent(Sheet.self, forKey: .sheet)
  }
}

/// What came of an `ImageRequest`.
package struct ImageReply: Sendable, Hashable, Codable {
  /// The bytes of a picture's file in a content of the content store.
  package struct Place: Sendable, Hashable, Codable {
    /// Lower-case hexadecimal SHA-256 of the content.
    package var digest: String
    package var offset: Int64
    package var byteCount: Int64

    package init(digest: String, offset: Int64, byteCount: Int64) {
      self.digest = digest
      self.offset = offset
      self.byteCount = byteCount
    }
  }

  package struct Time: Sendable, Hashable, Codable {
    /// A fraction of seconds, such as `1001/30`.
    package var exact: String
    package var seconds: Double

    package init(_ time: Rational) {
      exact = "\(time)"
      seconds = time.approximate
    }
  }

  package struct Picture: Sendable, Hashable, Codable {
    package var requested: Time
    /// When the picture begins to be shown. Nil: there is none.
    package var actual: Time?
    /// Nil in a contact sheet.
    package var place: Place?
    package var size: PixelSize?
    /// Whether its media are damaged there.
    package var isDamaged = false
    /// Why there is no picture.
    package var error: String?

    package init(requested: Time) {
      self.requested = requested
    }
  }

  /// In the order of the request.
  package var pictures: [Picture]
  package var sheet: Picture?
  /// How long what is shown lasts. Nil: a still, or a coordinator that does not say it.
  package var duration: Time?

  package init(pictures: [Picture]) {
    self.pictures = pictures
  }
}
