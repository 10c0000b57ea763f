package import CompositionModel
package import Media
package import Segmenter
import SystemSupport

/// Finishes a film that was copied: its edit lists present exactly the durations of its tracks, though the packets go
/// on after them, and the index is at the start of the file if that is asked for. Files without an index of this kind
/// are copied as they are.
package enum MovieIndex {
  /// The longest index that is held in memory, in bytes.
  private static let longest: Int64 = 512 << 20
  private static let chunk = 1 << 20

  private struct Box {
    var type: String
    var offset: Int64
    var size: Int64
  }

  /// - Parameters:
  ///   - film: As `CopiedFilm` wrote it.
  ///   - descriptor: An empty file. The caller closes it.
  package static func finish(
    _ copied: CopiedOutput, container: Container, indexFirst: Bool, film: any ByteSource, to descriptor: Int32,
    movement: Movement? = nil, progress: (Int64) -> Void
  ) throws(StitchError) {
    var written: Int64 = 0
    func write(_ bytes: [UInt8]) throws(StitchError) {
      try mapErrors(to: StitchError.systemFailure) {
        () throws(SystemError) in
        try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in
          try writeAll(descriptor, UnsafeRawBufferPointer(buffer), name: "the output")
        }
      }
      written += Int64(bytes.count)
      movement?.advance()
      progress(written)
    }
    func copy(_ offset: Int64, _ size: Int64) throws(StitchError) {
      var place = offset
      while place < offset + size {
        let part = try read(film, place, Int(min(Int64(chunk), offset + size - place)))
        try write(part)
        place += Int64(part.count)
      }
    }
    guard container.hasEditLists else { return try copy(0, film.byteCount) }
    let boxes = try boxes(of: film)
    guard let place = boxes.firstIndex(where: { $0.type == "moov" }), boxes[place].size <= longest,
      boxes.filter({ $0.type == "moov" }).count == 1
    else { throw StitchError(.task, "the copied film has no index") }
    let moov = boxes[place]
    var index = IndexBox(try read(film, moov.offset, Int(moov.size)))
    try index.present(copied.durations, otherTracks: copied.otherTracks ?? 0)
    let isAfterData = boxes[..<place].contains { $0.type == "mdat" }
    let moves = indexFirst && isAfterData
    if moves {
      // No table of 64 bits is more than twice as large as that of 32 bits.
      if film.byteCount + 2 * moov.size > Int64(UInt32.max) { index.widenChunkOffsets() }
      index.moveChunks(by: Int64(index.bytes.count))
    }
    for box in boxes {
      if box.type == "moov" {
        if !moves { try write(index.bytes) }
        continue
      }
      if moves, box.offset == boxes.first(where: { $0.type != "ftyp" })?.offset { try write(index.bytes) }
      try copy(box.offset, box.size)
    }
  }

  private static func read(_ film: any ByteSource, _ offset: Int64, _ count: Int) throws(StitchError) -> [UInt8] {
    let bytes = try mapErrors(to: StitchError.reading(0)) { () throws(MediaError) in
      try film.bytes(at: offset, count: count)
    }
    guard bytes.count == count else {
      throw StitchError(.piece, piece: 0, "the copied film ends at byte \(offset + Int64(bytes.count))")
    }
    return bytes
  }

  private static func boxes(of film: any ByteSource) throws(StitchError) -> [Box] {
    var reader = MovieBoxes(film)
    var boxes: [Box] = []
    while let box = try mapErrors(to: StitchError.reading(0), { () throws(MediaError) in try reader.next() }) {
      guard let size = box.size else {
        throw StitchError(.piece, piece: 0, "has a box at byte \(box.offset) that goes on after the end of the film")
      }
      boxes.append(Box(type: box.type, offset: box.offset, size: size))
    }
    return boxes
  }
}

/// The index of a movie (`moov`) in memory.
struct IndexBox {
  private(set) var bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  private typealias Range = Swift.Range<Int>

  /// The contents of the boxes of a type in another box's contents.
  private func boxes(_ type: String, in range: Range) -> [Range] {
    var found: [Range] = []
    var place = range.lowerBound
    while place + 8 <= range.upperBound {
      let size = Int(number(at: place, 4))
      guard size >= 8, size <= range.upperBound - place else { break }
      if bytes[(place + 4)..<(place + 8)].elementsEqual(type.utf8) { found.append((place + 8)..<(place + size)) }
      place += size
    }
    return found
  }

  private func number(at place: Int, _ count: Int) -> UInt64 {
    guard place + count <= bytes.count else { return 0 }
    return bytes[place..<(place + count)].reduce(0) { $0 << 8 | UInt64($1) }
  }

  private mutating func set(_ value: UInt64, at place: Int, _ count: Int) {
    guard place + count <= bytes.count else { return }
    for index in 0..<count {
      bytes[place + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(count - 1 - index)))
    }
  }

  private var whole: Range { 8..<bytes.count }

  /// Sets the durations that the first tracks present, in order. Tracks of texts and of chapters follow them.
  mutating func present(_ durations: [MediaTime], otherTracks: Int = 0) throws(StitchError) {
    guard let header = boxes("mvhd", in: whole).first, header.count >= 20 else {
      throw StitchError(.piece, piece: 0, "has no header of the movie")
    }
    let isLong = bytes[header.lowerBound] == 1
    let timescale = number(at: header.lowerBound + (isLong ? 20 : 12), 4)
    let tracks = boxes("trak", in: whole)
    guard tracks.count == durations.count + otherTracks else {
      throw StitchError(.piece, piece: 0, "has \(tracks.count) tracks, not \(durations.count + otherTracks)")
    }
    var longest: UInt64 = 0
    for (track, duration) in zip(tracks, durations) {
      let ticks = try mapErrors(to: StitchError.outputTime) { () throws(TimeError) in
        UInt64(clamping: try (duration.exact * Rational(timescale)).rounded)
      }
      longest = max(longest, ticks)
      if let header = boxes("tkhd", in: track).first {
        let isLong = bytes[header.lowerBound] == 1
        set(ticks, at: header.lowerBound + (isLong ? 28 : 20), isLong ? 8 : 4)
      }
      guard let edits = boxes("edts", in: track).first, let list = boxes("elst", in: edits).first else {
        throw StitchError(.piece, piece: 0, "has a track without an edit list")
      }
      setLastEdit(list, total: ticks)
    }
    set(longest, at: header.lowerBound + (isLong ? 24 : 16), isLong ? 8 : 4)
  }

  /// An edit without media may be before the one that presents them.
  private mutating func setLastEdit(_ list: Range, total: UInt64) {
    let isLong = bytes[list.lowerBound] == 1
    let (width, entry) = isLong ? (8, 20) : (4, 12)
    let count = Int(number(at: list.lowerBound + 4, 4))
    guard count > 0, list.count >= 8 + count * entry else { return }
    var before: UInt64 = 0
    for index in 0..<(count - 1) { before += number(at: list.lowerBound + 8 + index * entry, width) }
    set(total > before ? total - before : 0, at: list.lowerBound + 8 + (count - 1) * entry, width)
  }

  /// The contents of the boxes that lead to each track's tables, from `trak` to `stbl`.
  private var paths: [[Range]] {
    boxes("trak", in: whole).compactMap { track in
      guard let media = boxes("mdia", in: track).first, let information = boxes("minf", in: media).first,
        let tables = boxes("stbl", in: information).first
      else { return nil }
      return [track, media, information, tables]
    }
  }

  /// How many chunks a list of their places has.
  private func chunkCount(_ list: Range, width: Int) -> Int {
    max(0, min(Int(number(at: list.lowerBound + 4, 4)), (list.count - 8) / width))
  }

  /// Adds a distance to every chunk's place in the file.
  mutating func moveChunks(by distance: Int64) {
    for tables in paths.compactMap(\.last) {
      for (type, width) in [("stco", 4), ("co64", 8)] {
        for list in boxes(type, in: tables) {
          for index in 0..<chunkCount(list, width: width) {
            let place = list.lowerBound + 8 + index * width
            set(UInt64(Int64(bitPattern: number(at: place, width)) + distance), at: place, width)
          }
        }
      }
    }
  }

  /// Stores the places of chunks in 64 bits, for which those in a film of 4 GiB have no room in 32.
  mutating func widenChunkOffsets() {
    // Backwards, so that what is before a table stays where it is.
    for path in paths.reversed() {
      guard let tables = path.last else { continue }
      for list in boxes("stco", in: tables).reversed() {
        let count = chunkCount(list, width: 4)
        var widened = Array("co64".utf8) + bytes[list.lowerBound..<(list.lowerBound + 4)]
        widened += [UInt8](repeating: 0, count: 4 + 8 * count)
        let places = (0..<count).map { number(at: list.lowerBound + 8 + 4 * $0, 4) }
        let start = list.lowerBound - 4
        let growth = widened.count - (list.upperBound - start)
        bytes.replaceSubrange(start..<list.upperBound, with: widened)
        set(UInt64(count), at: list.lowerBound + 4, 4)
        for (index, place) in places.enumerated() { set(place, at: list.lowerBound + 8 + 8 * index, 8) }
        for box in [whole.lowerBound] + path.map(\.lowerBound) + [list.lowerBound] {
          set(UInt64(Int(number(at: box - 8, 4)) + growth), at: box - 8, 4)
        }
      }
    }
  }
}

extension StitchError {
  /// The output could not be written.
  fileprivate static func systemFailure(_ error: SystemError) -> StitchError {
    StitchError(.infrastructure, "the output could not be written: \(error)")
  }
}
