/// A fragmented movie with one track (ISO/IEC 14496-12, 8.8): where its fragments are, and what they last.
package struct FragmentedMovie: Sendable, Hashable {
  package struct Fragment: Sendable, Hashable {
    /// The bytes of its head and its samples.
    package var bytes: Range<Int64>
    /// The end of the bytes of its first sample.
    package var firstSampleEnd: Int64
    /// When its first sample is presented, in ticks. Negative before what the edit list hides.
    package var start: Int64
    /// The ticks of all its samples together.
    package var duration: Int64
  }

  /// The bytes of the head, which a player needs before any fragment.
  package let head: Range<Int64>
  /// Ticks a second.
  package let timescale: Int64
  /// The name of the codec in playlists (RFC 6381).
  package let codec: String
  /// Rising. Never empty.
  package let fragments: [Fragment]

  /// Where the last fragment ends, in ticks.
  package var end: Int64 { fragments.last.map { $0.start + $0.duration } ?? 0 }

  /// - Parameter name: The file's name, for messages.
  /// - Throws: `.damaged` if the file is none.
  package init(_ source: any ByteSource, name: String) throws(MediaError) {
    let reader = BoxReader(source: source, name: name)
    var boxes = MovieBoxes(source)
    var (head, fragments): (Head?, [Fragment]) = (nil, [])
    var pending: (start: Int64, fragment: PendingFragment)?
    while let box = try boxes.next() {
      guard let contents = box.contents, let size = box.size else { throw reader.damage("a box does not fit it") }
      switch box.type {
      case "moov" where head == nil: head = try Head(reader, contents, end: box.offset + size)
      case "moof":
        guard let head, pending == nil else { throw reader.damage("a fragment has no samples or no index before it") }
        pending = (box.offset, try PendingFragment(reader, contents, head))
      case "mdat":
        guard let head, let (start, made) = pending else { throw reader.damage("samples belong to no fragment") }
        pending = nil
        let first = start + made.dataOffset
        guard contents.contains(first), first + made.firstSize <= contents.upperBound else {
          throw reader.damage("the first sample of a fragment is not in it")
        }
        fragments.append(
          Fragment(
            bytes: start..<(box.offset + size), firstSampleEnd: first + made.firstSize, start: made.start - head.lead,
            duration: made.duration))
      default: break
      }
    }
    guard let head, pending == nil, !fragments.isEmpty else { throw reader.damage("it is no fragmented movie") }
    (self.head, timescale, codec, self.fragments) = (0..<head.end, head.timescale, head.codec, fragments)
  }

  /// What the index states.
  private struct Head {
    var timescale: Int64
    var codec: String
    /// The ticks of the track that the edit list leaves out at its start.
    var lead: Int64 = 0
    /// Of a sample, where a fragment states none.
    var sample = (duration: Int64(0), size: Int64(0))
    var end: Int64

    init(_ reader: BoxReader, _ contents: Range<Int64>, end: Int64) throws(MediaError) {
      self.end = end
      let media = ["trak", "mdia"]
      let header = try reader.bytes(of: media + ["mdhd"], in: contents)
      timescale = try reader.number(header, at: header.first == 1 ? 20 : 12, size: 4)
      guard timescale > 0 else { throw reader.damage("its timescale is zero") }
      let descriptions = try reader.contents(of: media + ["minf", "stbl", "stsd"], in: contents)
      var entries = MovieBoxes(
        reader.source, in: min(descriptions.lowerBound + 8, descriptions.upperBound)..<descriptions.upperBound)
      guard let entry = try entries.next(), let fields = entry.contents,
        let name = try CodecName(reader, type: entry.type, fields)
      else { throw reader.damage("it has no sample description of a known codec") }
      codec = name.text
      let defaults = try reader.bytes(of: ["mvex", "trex"], in: contents)
      sample = (try reader.number(defaults, at: 12, size: 4), try reader.number(defaults, at: 16, size: 4))
      if let edits = try reader.optionalBytes(of: ["trak", "edts", "elst"], in: contents) {
        let isLong = edits.first == 1
        guard try reader.number(edits, at: 4, size: 4) == 1 else { throw reader.damage("it has more than one edit") }
        lead = try reader.number(edits, at: isLong ? 16 : 12, size: isLong ? 8 : 4)
      }
    }
  }

  /// A fragment whose samples follow.
  private struct PendingFragment {
    /// When its first sample is presented, in ticks of the track.
    var start: Int64
    var duration: Int64 = 0
    /// Of the first sample's first byte, from the fragment's.
    var dataOffset: Int64
    var firstSize: Int64 = 0

    init(_ reader: BoxReader, _ contents: Range<Int64>, _ head: Head) throws(MediaError) {
      let header = try reader.bytes(of: ["traf", "tfhd"], in: contents)
      let flags = try reader.number(header, at: 1, size: 3)
      var place = 8 + (flags & 0x1 != 0 ? 8 : 0) + (flags & 0x2 != 0 ? 4 : 0)
      var sample = head.sample
      if flags & 0x8 != 0 {
        sample.duration = try reader.number(header, at: place, size: 4)
        place += 4
      }
      if flags & 0x10 != 0 { sample.size = try reader.number(header, at: place, size: 4) }
      let time = try reader.bytes(of: ["traf", "tfdt"], in: contents)
      start = try reader.number(time, at: 4, size: time.first == 1 ? 8 : 4)
      let run = try reader.bytes(of: ["traf", "trun"], in: contents)
      let has = try reader.number(run, at: 1, size: 3)
      let count = try reader.number(run, at: 4, size: 4)
      guard has & 0x1 != 0, count > 0 else { throw reader.damage("a fragment has no samples") }
      dataOffset = Int64(Int32(truncatingIfNeeded: try reader.number(run, at: 8, size: 4)))
      var next = 12 + (has & 0x4 != 0 ? 4 : 0)
      for index in 0..<count {
        var own = sample
        if has & 0x100 != 0 {
          own.duration = try reader.number(run, at: next, size: 4)
          next += 4
        }
        if has & 0x200 != 0 {
          own.size = try reader.number(run, at: next, size: 4)
          next += 4
        }
        if has & 0x400 != 0 { next += 4 }
        if has & 0x800 != 0 {
          if index == 0 { start += Int64(Int32(truncatingIfNeeded: try reader.number(run, at: next, size: 4))) }
          next += 4
        }
        if index == 0 { firstSize = own.size }
        duration += own.duration
      }
    }
  }
}

/// Reads boxes that have to be there.
struct BoxReader {
  let source: any ByteSource
  let name: String
  private static let mostBytes = 1 << 24

  func damage(_ message: String) -> MediaError {
    MediaError(.damaged, operation: "reading", subject: name, message: message)
  }

  /// What is in the first box at a path. Nil: there is none.
  private func optionalContents(of path: [String], in range: Range<Int64>) throws(MediaError) -> Range<Int64>? {
    var range = range
    for type in path {
      var (boxes, found) = (MovieBoxes(source, in: range), Range<Int64>?.none)
      while found == nil, let box = try boxes.next() { if box.type == type { found = box.contents } }
      guard let found else { return nil }
      range = found
    }
    return range
  }

  func contents(of path: [String], in range: Range<Int64>) throws(MediaError) -> Range<Int64> {
    guard let found = try optionalContents(of: path, in: range) else {
      throw damage("it has no box \(path.joined(separator: "/"))")
    }
    return found
  }

  func bytes(of path: [String], in range: Range<Int64>) throws(MediaError) -> [UInt8] {
    let found = try contents(of: path, in: range)
    return try source.bytes(at: found.lowerBound, count: min(found.count, Self.mostBytes))
  }

  func optionalBytes(of path: [String], in range: Range<Int64>) throws(MediaError) -> [UInt8]? {
    guard let found = try optionalContents(of: path, in: range) else { return nil }
    return try source.bytes(at: found.lowerBound, count: min(found.count, Self.mostBytes))
  }

  /// A number of a box, of 8 bytes at most. One of 8 bytes that is too large is the largest.
  func number(_ bytes: [UInt8], at place: Int, size: Int) throws(MediaError) -> Int64 {
    guard place + size <= bytes.count else { throw damage("a box is too short") }
    return Int64(clamping: bigEndian(bytes[place..<(place + size)]))
  }
}
