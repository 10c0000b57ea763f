internal import CompositionModel

/// The edits of a movie's tracks that libavformat plays otherwise than the file states them.
///
/// An empty edit is a delay before the first edit with media; after it, libavformat plays the beginning of the track's
/// media in its place. Every edit is played at rate 1, whatever rate it has (ISO/IEC 14496-12, 8.6.6).
enum EditListScan {
  /// The most boxes of a file that are looked at.
  private static let mostBoxes = 100_000
  /// The most bytes of a track's edit list that are looked at.
  private static let mostBytes: Int64 = 1 << 20

  /// In order, by the track's ID. Tracks whose edits are played as they are stated are left out.
  static func misplayedEdits(_ source: any ByteSource) throws(MediaError) -> [Int: [MisplayedEdit]] {
    var left = mostBoxes
    func children(in range: Range<Int64>) throws(MediaError) -> [MovieBoxes.Box] {
      var boxes = MovieBoxes(source, in: range)
      var all: [MovieBoxes.Box] = []
      while left > 0, let box = try boxes.next() {
        left -= 1
        all.append(box)
      }
      return all
    }
    func contents(of type: String, in boxes: [MovieBoxes.Box]) throws(MediaError) -> [UInt8]? {
      guard let range = boxes.first(where: { $0.type == type })?.contents else { return nil }
      return try source.bytes(at: range.lowerBound, count: Int(min(Int64(range.count), mostBytes)))
    }
    guard let movie = try children(in: 0..<source.byteCount).first(where: { $0.type == "moov" })?.contents
    else { return [:] }
    let boxes = try children(in: movie)
    guard let timescale = try contents(of: "mvhd", in: boxes).flatMap(numberAfterDates).flatMap({ Int32(exactly: $0) }),
      timescale > 0
    else { return [:] }
    var found: [Int: [MisplayedEdit]] = [:]
    for track in boxes where track.type == "trak" {
      let parts = try track.contents.map { range throws(MediaError) in try children(in: range) } ?? []
      guard let id = try contents(of: "tkhd", in: parts).flatMap(numberAfterDates),
        let edits = parts.first(where: { $0.type == "edts" })?.contents,
        let list = try contents(of: "elst", in: try children(in: edits))
      else { continue }
      let misplayed = misplayedEdits(list, timescale: timescale)
      if !misplayed.isEmpty { found[id] = misplayed }
    }
    return found
  }

  /// The number after the two dates of a header: a movie's timescale, or a track's ID.
  private static func numberAfterDates(_ header: [UInt8]) -> Int? {
    let place = header.first == 1 ? 20 : 12
    guard header.count >= place + 4 else { return nil }
    return Int(bigEndian(header[place..<(place + 4)]))
  }

  private static func misplayedEdits(_ list: [UInt8], timescale: Int32) -> [MisplayedEdit] {
    let width = list.first == 1 ? 8 : 4
    var edits: [MisplayedEdit] = []
    var place = 8
    var start: Int64 = 0
    var hasMedia = false
    while place + 2 * width + 4 <= list.count {
      let fields = [place..<(place + width), (place + width)..<(place + 2 * width)].map { list[$0] }
      let duration = Int64(clamping: bigEndian(fields[0]))
      let isEmpty = fields[1].allSatisfy { $0 == 0xFF }
      // 16 bits before the point and 16 after it.
      let rate = Int32(bitPattern: UInt32(bigEndian(list[(place + 2 * width)..<(place + 2 * width + 4)])))
      place += 2 * width + 4
      let (end, isTooLate) = start.addingReportingOverflow(duration)
      guard !isTooLate,
        let range = try? MediaTimeRange(
          start: MediaTime(value: start, timescale: timescale), end: MediaTime(value: end, timescale: timescale))
      else { break }
      start = end
      hasMedia = hasMedia || !isEmpty
      guard duration > 0, hasMedia, isEmpty || rate != 1 << 16 else { continue }
      edits.append(MisplayedEdit(range: range, rate: isEmpty ? nil : Double(rate) / 65536))
    }
    return edits
  }

  private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
