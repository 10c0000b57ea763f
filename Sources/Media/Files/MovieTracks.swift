internal import CompositionModel

/// What the index of a file of the mov family states of its tracks and libavformat does not report
/// (ISO/IEC 14496-12, 8.3 to 8.6 and 12.1).
struct MovieTracks {
  struct Track {
    /// The contents of its edit list.
    var editList: [UInt8]?
    /// The clean aperture that its first sample description states. Nil: none.
    var cleanAperture: CleanAperture?
    /// The number of the tracks of which one is played. Nil: it is played whatever others are.
    var alternateGroup: Int?
    /// Where the contents of its sample descriptions of timed metadata (`mebx`) are.
    var metadataEntries: [Range<Int64>] = []
  }

  /// Units of the movie's time in a second; zero if there is none.
  private(set) var timescale: UInt64 = 0
  private var tracks: [Int: Track] = [:]

  /// The most boxes of a file that are looked at.
  private static let mostBoxes = 100_000
  /// The most bytes of a box that are looked at.
  private static let mostBytes: Int64 = 1 << 20

  /// By the track's ID; without a value for a track that the index does not have.
  subscript(id: Int) -> Track? { tracks[id] }

  /// Reads the index. A file without one has no tracks.
  init(_ source: any ByteSource) throws(MediaError) {
    var left = Self.mostBoxes
    func children(in range: Range<Int64>) throws(MediaError) -> [MovieBoxes.Box] {
      var boxes = MovieBoxes(source, in: range)
      var all: [MovieBoxes.Box] = []
      while left > 0, let box = try boxes.next() {
        left -= 1
        all.append(box)
      }
      return all
    }
    func range(of path: [String], in boxes: [MovieBoxes.Box]) throws(MediaError) -> Range<Int64>? {
      var boxes = boxes
      for type in path.dropLast() {
        guard let range = boxes.first(where: { $0.type == type })?.contents else { return nil }
        boxes = try children(in: range)
      }
      return boxes.first { $0.type == path.last }?.contents
    }
    func contents(of path: [String], in boxes: [MovieBoxes.Box]) throws(MediaError) -> [UInt8]? {
      guard let range = try range(of: path, in: boxes) else { return nil }
      return try source.bytes(at: range.lowerBound, count: Int(min(Int64(range.count), Self.mostBytes)))
    }
    guard let movie = try range(of: ["moov"], in: try children(in: 0..<source.byteCount)) else { return }
    let boxes = try children(in: movie)
    timescale = try contents(of: ["mvhd"], in: boxes).flatMap(Self.numberAfterDates) ?? 0
    for track in boxes where track.type == "trak" {
      let parts = try track.contents.map { range throws(MediaError) in try children(in: range) } ?? []
      guard let header = try contents(of: ["tkhd"], in: parts), let id = Self.numberAfterDates(header) else { continue }
      var found = Track(editList: try contents(of: ["edts", "elst"], in: parts))
      // Behind the ID, the duration and the layer.
      let place = header.first == 1 ? 46 : 34
      if header.count >= place + 2 {
        let group = Int(bigEndian(header[place..<(place + 2)]))
        found.alternateGroup = group == 0 ? nil : group
      }
      let media = ["mdia", "minf"]
      if let descriptions = try range(of: media + ["stbl", "stsd"], in: parts), descriptions.count > 8 {
        let entries = try children(in: (descriptions.lowerBound + 8)..<descriptions.upperBound)
        // The fields of a visual sample entry stand before the boxes in it.
        if try range(of: media + ["vmhd"], in: parts) != nil, let entry = entries.first?.contents, entry.count > 78 {
          let boxes = try children(in: (entry.lowerBound + 78)..<entry.upperBound)
          found.cleanAperture = try contents(of: ["clap"], in: boxes).flatMap(CleanAperture.init)
        }
        found.metadataEntries = entries.filter { $0.type == "mebx" }.compactMap(\.contents)
      }
      tracks[Int(id)] = found
    }
  }

  /// The number after the two dates of a header: a movie's timescale, or a track's ID.
  private static func numberAfterDates(_ header: [UInt8]) -> UInt64? {
    let place = header.first == 1 ? 20 : 12
    guard header.count >= place + 4 else { return nil }
    return bigEndian(header[place..<(place + 4)])
  }
}

/// The part of a track's pictures that is meant to be seen (ISO/IEC 14496-12, 12.1.4): a size, and how far its middle
/// lies from that of the picture, in pixels that may be fractions.
struct CleanAperture {
  private let width, height, right, down: Double

  /// Nil if the box is too short or has no valid size.
  init?(_ box: [UInt8]) {
    guard box.count >= 32 else { return nil }
    let fields = (0..<8).map { UInt32(bigEndian(box[(4 * $0)..<(4 * $0 + 4)])) }
    guard fields[1] > 0, fields[3] > 0, fields[5] > 0, fields[7] > 0 else { return nil }
    width = Double(fields[0]) / Double(fields[1])
    height = Double(fields[2]) / Double(fields[3])
    right = Double(Int32(bitPattern: fields[4])) / Double(fields[5])
    down = Double(Int32(bitPattern: fields[6])) / Double(fields[7])
    guard width >= 1, height >= 1 else { return nil }
  }

  /// In whole pixels, to the nearest. Nil if it is all of a picture of a size, or not within it.
  func part(of size: PixelSize) -> PixelRect? {
    let x = (right + (Double(size.width) - width) / 2).rounded()
    let y = (down + (Double(size.height) - height) / 2).rounded()
    let (columns, rows) = (width.rounded(), height.rounded())
    guard x >= 0, y >= 0, x + columns <= Double(size.width), y + rows <= Double(size.height) else { return nil }
    let part = PixelSize(width: Int(columns), height: Int(rows))
    return part == size ? nil : PixelRect(x: Int(x), y: Int(y), size: part)
  }
}

/// The number that bytes hold, the highest first; at most eight.
func bigEndian(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
