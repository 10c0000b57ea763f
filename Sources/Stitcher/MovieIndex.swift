package import CompositionModel
import Glibc
package import Media
import SystemSupport

/// Finishes a film that was copied, where it stands: its edit lists present exactly the durations of its tracks, though
/// the packets go on after them, and the index is at the start of the file if that is asked for. Files without an index
/// of this kind stay as they are.
package enum MovieIndex {
  /// The longest index that is held in memory, in bytes.
  private static let longest: Int64 = 512 << 20
  private static let chunk: Int64 = 4 << 20

  struct TopBox {
    var type: String
    var offset: Int64
    var size: Int64
  }

  /// A track of pictures or of sound.
  package struct Track: Sendable, Hashable {
    /// Seconds that are presented, from zero.
    var duration: MediaTime
    /// The part of the pictures that is meant to be seen. Nil: all.
    var cleanAperture: PixelRect?
    /// The size of the pictures, in pixels.
    var size: PixelSize

    package init(duration: MediaTime, cleanAperture: PixelRect? = nil, size: PixelSize = PixelSize(width: 0, height: 0))
    {
      (self.duration, self.cleanAperture, self.size) = (duration, cleanAperture, size)
    }
  }

  /// - Parameters:
  ///   - descriptor: A descriptor of the film as `CopiedFilm` wrote it, for reading and writing. The caller closes it.
  ///   - size: The size of the film, in bytes.
  ///   - tracks: In the order of the film's. Those of captions, of chapters and of timecode follow.
  /// - Returns: The size of the film, to which the index may have added.
  package static func finish(
    _ descriptor: Int32, size: Int64, tracks: [Track], container: Container, indexFirst: Bool, liveness: Liveness? = nil
  ) throws(StitchError) -> Int64 {
    guard container.hasEditLists else { return size }
    let film = try source(descriptor)
    var (boxes, place, index) = try index(of: film, in: 0..<film.byteCount)
    let moov = boxes[place]
    try index.present(tracks.map(\.duration))
    for (number, track) in tracks.enumerated() {
      if let aperture = track.cleanAperture { index.state(aperture, of: track.size, track: number) }
    }
    let head = boxes.first { $0.type != "ftyp" }?.offset ?? 0
    guard indexFirst, boxes[..<place].contains(where: { $0.type == "mdat" }) else {
      let growth = Int64(index.bytes.count) - moov.size
      guard growth == 0 || moov.offset + moov.size == film.byteCount else {
        throw StitchError(.task, "the copied film has its index before its data")
      }
      try write(index.bytes, at: moov.offset, descriptor)
      return film.byteCount + growth
    }
    // No table of 64 bits is more than twice as large as that of 32 bits.
    if film.byteCount + 2 * moov.size > Int64(UInt32.max) { index.widenChunkOffsets() }
    let length = Int64(index.bytes.count)
    index.moveChunks(by: length)
    // What is behind the index, then what is before it.
    try move(
      (moov.offset + moov.size)..<film.byteCount, to: moov.offset + length, film, descriptor, liveness)
    try move(head..<moov.offset, to: head + length, film, descriptor, liveness)
    try write(index.bytes, at: head, descriptor)
    return film.byteCount + length - moov.size
  }

  /// States the clean aperture of a film's first track where the film stands: at the expense of the room that is left
  /// behind an index at the start, or of a longer file if the index is its end.
  /// - Parameters:
  ///   - descriptor: For reading and writing. The caller closes it. The film is its last bytes.
  ///   - size: The size of the film, in bytes.
  /// - Returns: The size of the film.
  static func state(
    _ aperture: PixelRect, of pictures: PixelSize, in descriptor: Int32, from start: Int64, size: Int64
  ) throws(StitchError) -> Int64 {
    let film = try source(descriptor)
    var (boxes, place, index) = try index(of: film, in: start..<(start + size))
    let moov = boxes[place]
    index.state(aperture, of: pictures, track: 0)
    let growth = Int64(index.bytes.count) - moov.size
    guard growth > 0 else { throw StitchError(.task, "the film's first track has no pictures to state a part of") }
    if place == boxes.endIndex - 1 {
      try write(index.bytes, at: moov.offset, descriptor)
      return size + growth
    }
    let room = boxes[place + 1]
    guard room.type == "free", room.size >= growth + 8, let left = UInt32(exactly: room.size - growth) else {
      throw StitchError(.task, "behind the index of the film there is no room for a clean aperture")
    }
    let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: left >> $0) } + Array("free".utf8)
    try write(index.bytes + head, at: moov.offset, descriptor)
    return size
  }

  /// Moves bytes towards the end of the file, the last ones first.
  static func move(
    _ range: Range<Int64>, to target: Int64, _ film: any ByteSource, _ descriptor: Int32, _ liveness: Liveness?
  ) throws(StitchError) {
    let distance = target - range.lowerBound
    guard distance != 0 else { return }
    var end = range.upperBound
    while end > range.lowerBound {
      let start = max(range.lowerBound, end - chunk)
      try write(try read(film, start, Int(end - start)), at: start + distance, descriptor)
      end = start
      liveness?.advance()
    }
  }

  static func write(_ bytes: [UInt8], at offset: Int64, _ descriptor: Int32) throws(StitchError) {
    try mapErrors(to: StitchError.systemFailure) { () throws(SystemError) in
      try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in
        try writeAll(descriptor, UnsafeRawBufferPointer(buffer), at: offset, name: "the output")
      }
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

  static func source(_ descriptor: Int32) throws(StitchError) -> FileByteSource {
    let copy = dup(descriptor)
    guard copy >= 0 else { throw StitchError.systemFailure(SystemError(errno, "dup")) }
    return FileByteSource(descriptor: copy)
  }

  /// The boxes of a film in a file, and its index, which is one of them.
  static func index(
    of film: FileByteSource, in range: Range<Int64>
  ) throws(StitchError) -> (boxes: [TopBox], place: Int, index: IndexBox) {
    let boxes = try boxes(of: film, in: range)
    guard let place = boxes.firstIndex(where: { $0.type == "moov" }), boxes[place].size <= longest,
      boxes.filter({ $0.type == "moov" }).count == 1
    else { throw StitchError(.task, "the film has no index of its own") }
    return (boxes, place, IndexBox(try read(film, boxes[place].offset, Int(boxes[place].size))))
  }

  private static func boxes(of film: any ByteSource, in range: Range<Int64>) throws(StitchError) -> [TopBox] {
    var reader = MovieBoxes(film, in: range)
    var boxes: [TopBox] = []
    while let box = try mapErrors(to: StitchError.reading(0), { () throws(MediaError) in try reader.next() }) {
      guard let size = box.size else {
        throw StitchError(.piece, piece: 0, "has a box at byte \(box.offset) that goes on after the end of the film")
      }
      boxes.append(TopBox(type: box.type, offset: box.offset, size: size))
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

  /// The scale of the movie's own times, and the number that the next track would have.
  var header: (timescale: UInt64, nextTrack: UInt32)? {
    guard let header = boxes("mvhd", in: whole).first, header.count >= 100 else { return nil }
    let isLong = bytes[header.lowerBound] == 1
    return (
      number(at: header.lowerBound + (isLong ? 20 : 12), 4),
      UInt32(truncatingIfNeeded: number(at: header.upperBound - 4, 4))
    )
  }

  /// The number of the first track.
  var firstTrack: UInt32? {
    guard let track = boxes("trak", in: whole).first, let header = boxes("tkhd", in: track).first else { return nil }
    return UInt32(truncatingIfNeeded: number(at: header.lowerBound + (bytes[header.lowerBound] == 1 ? 20 : 12), 4))
  }

  /// Adds a track, the box `trak`, behind the others. It has the number that the header gives the next one.
  mutating func append(track: [UInt8]) throws(StitchError) {
    guard let header = boxes("mvhd", in: whole).first, let last = boxes("trak", in: whole).last,
      let size = UInt32(exactly: bytes.count + track.count)
    else { throw StitchError(.task, "the index of the film takes no other track") }
    set(number(at: header.upperBound - 4, 4) + 1, at: header.upperBound - 4, 4)
    bytes.insert(contentsOf: track, at: last.upperBound)
    set(UInt64(size), at: 0, 4)
  }

  /// Sets the durations that the first tracks present, in order. Tracks of captions, of chapters and of timecode follow
  /// them.
  mutating func present(_ durations: [MediaTime]) throws(StitchError) {
    guard let header = boxes("mvhd", in: whole).first, header.count >= 20 else {
      throw StitchError(.piece, piece: 0, "has no header of the movie")
    }
    let isLong = bytes[header.lowerBound] == 1
    let timescale = number(at: header.lowerBound + (isLong ? 20 : 12), 4)
    let tracks = boxes("trak", in: whole)
    guard tracks.count >= durations.count else {
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

  /// States the part of a track's pictures that is meant to be seen (ISO/IEC 14496-12, 12.1.4).
  mutating func state(_ aperture: PixelRect, of size: PixelSize, track: Int) {
    guard paths.indices.contains(track), let tables = paths[track].last,
      let descriptions = boxes("stsd", in: tables).first
    else { return }
    // The first sample entry.
    let entry = descriptions.lowerBound + 8
    let end = entry + Int(number(at: entry, 4))
    guard end <= descriptions.upperBound, end - entry > 8 + 78 else { return }
    // The distance of the middle of the part from that of the picture, in halves.
    let right = 2 * aperture.x + aperture.size.width - size.width
    let down = 2 * aperture.y + aperture.size.height - size.height
    let fields = [aperture.size.width, 1, aperture.size.height, 1, right, 2, down, 2]
    var box: [UInt8] = [0, 0, 0, 40] + Array("clap".utf8)
    for field in fields {
      let bits = UInt32(bitPattern: Int32(clamping: field))
      box += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> $0) }
    }
    let parents = [whole.lowerBound] + paths[track].map(\.lowerBound) + [descriptions.lowerBound, entry + 8]
    bytes.insert(contentsOf: box, at: end)
    for box in parents { set(number(at: box - 8, 4) + 40, at: box - 8, 4) }
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
