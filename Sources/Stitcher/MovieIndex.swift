package import CompositionModel
package import Media
package import Segmenter
import SystemSupport

/// Finishes a film that was copied: its edit lists present exactly the durations of its tracks, though the packets go on
/// after them, and the index is at the start of the file if that is asked for. Files without an index of this kind are
/// copied as they are.
package enum MovieIndex {
  /// The longest index that is held in memory, in bytes.
  private static let longest: Int64 = 512 << 20
  private static let chunk = 1 << 20

  private struct Box {
    var type: [UInt8]
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
    guard let place = boxes.firstIndex(where: { $0.type == Array("moov".utf8) }), boxes[place].size <= longest,
      boxes.filter({ $0.type == Array("moov".utf8) }).count == 1
    else { throw StitchError(.task, "the copied film has no index") }
    let moov = boxes[place]
    var index = Index(try read(film, moov.offset, Int(moov.size)))
    try index.present(copied.durations)
    let isAfterData = boxes[..<place].contains { $0.type == Array("mdat".utf8) }
    // Chunk offsets of 32 bits may have no room for the move.
    let moves = indexFirst && isAfterData && film.byteCount < Int64(UInt32.max)
    if moves { index.moveChunks(by: moov.size) }
    for box in boxes {
      if box.type == Array("moov".utf8) {
        if !moves { try write(index.bytes) }
        continue
      }
      if moves, box.offset == boxes.first(where: { $0.type != Array("ftyp".utf8) })?.offset { try write(index.bytes) }
      try copy(box.offset, box.size)
    }
  }

  private static func read(_ film: any ByteSource, _ offset: Int64, _ count: Int) throws(StitchError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let part = try mapErrors(to: StitchError.reading(0)) { () throws(MediaError) in
        try bytes.withUnsafeMutableBufferPointer { buffer throws(MediaError) in
          try film.read(
            at: offset + Int64(done),
            into: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[done...])))
        }
      }
      guard part > 0 else {
        throw StitchError(.piece, piece: 0, "the copied film ends at byte \(offset + Int64(done))")
      }
      done += part
    }
    return bytes
  }

  private static func boxes(of film: any ByteSource) throws(StitchError) -> [Box] {
    var boxes: [Box] = []
    var offset: Int64 = 0
    while offset < film.byteCount {
      guard film.byteCount - offset >= 8 else { throw StitchError(.piece, piece: 0, "has a box that is cut off") }
      let head = try read(film, offset, Int(min(16, film.byteCount - offset)))
      var size = head[0..<4].reduce(Int64(0)) { $0 << 8 | Int64($1) }
      if size == 1, head.count == 16 { size = head[8..<16].reduce(Int64(0)) { $0 << 8 | Int64($1) } }
      if size == 0 { size = film.byteCount - offset }
      guard size >= 8, size <= film.byteCount - offset else {
        throw StitchError(.piece, piece: 0, "has a box of \(size) bytes at \(offset)")
      }
      boxes.append(Box(type: Array(head[4..<8]), offset: offset, size: size))
      offset += size
    }
    return boxes
  }
}

/// The index of a movie (`moov`) in memory.
private struct Index {
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

  /// Sets the durations that the tracks present, in order.
  mutating func present(_ durations: [MediaTime]) throws(StitchError) {
    guard let header = boxes("mvhd", in: whole).first, header.count >= 20 else {
      throw StitchError(.piece, piece: 0, "has no header of the movie")
    }
    let isLong = bytes[header.lowerBound] == 1
    let timescale = number(at: header.lowerBound + (isLong ? 20 : 12), 4)
    let tracks = boxes("trak", in: whole)
    guard tracks.count == durations.count else {
      throw StitchError(.piece, piece: 0, "has \(tracks.count) tracks, not \(durations.count)")
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

  /// Adds a distance to every chunk's place in the file.
  mutating func moveChunks(by distance: Int64) {
    for track in boxes("trak", in: whole) {
      guard let media = boxes("mdia", in: track).first, let information = boxes("minf", in: media).first,
        let table = boxes("stbl", in: information).first
      else { continue }
      for (type, width) in [("stco", 4), ("co64", 8)] {
        for list in boxes(type, in: table) {
          let count = min(Int(number(at: list.lowerBound + 4, 4)), (list.count - 8) / width)
          for index in 0..<max(0, count) {
            let place = list.lowerBound + 8 + index * width
            set(UInt64(Int64(bitPattern: number(at: place, width)) + distance), at: place, width)
          }
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
