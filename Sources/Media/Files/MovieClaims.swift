/// Checks what the index of a file of the mov family claims against the size of the file, before libavformat reserves
/// memory for it: a count of four bytes may claim tables of gigabytes (ISO/IEC 14496-12, 8.6 to 8.8).
///
/// A file that was cut off is not refused: places beyond its end are no error here.
struct MovieClaims {
  /// libavformat keeps the size of a sample in so many bits.
  private static let sampleSizeBits = 29
  /// The most samples of sound that a byte may hold: more than any codec with samples of equal size makes of one.
  private static let samplesPerByte: UInt64 = 64
  /// The most boxes of a file that are looked at.
  private static let mostBoxes = 1_000_000
  /// The most boxes that are within one another. libavformat refuses more than ten.
  private static let mostLevels = 16
  /// So many samples of equal size are kept in memory for any file, which may be the head of a longer one.
  private static let fewestSamples: UInt64 = 1 << 21
  /// So many bytes of a sample are reserved for any file.
  private static let fewestBytes: UInt64 = 64 << 20

  /// Boxes that are a count of entries of one size, at a place after the version and flags, and the bytes of an entry.
  private static let tables: [String: (count: Int64, entry: UInt64)] = [
    "stco": (4, 4), "co64": (4, 8), "stts": (4, 8), "ctts": (4, 8), "stsc": (4, 12), "stss": (4, 4), "stps": (4, 4),
    "elst": (4, 12), "keys": (4, 8),
  ]
  private static let parents: Set<String> = [
    "moov", "trak", "mdia", "minf", "stbl", "edts", "moof", "traf", "meta", "udta",
  ]

  private let source: any ByteSource
  private let name: String
  private var boxesLeft = mostBoxes
  /// What is known of the track that is being looked at: the samples of each chunk, by the first chunk of those that
  /// have as many, and the number of chunks.
  private var runs: [(first: UInt64, samples: UInt64)] = []
  private var chunkCount: UInt64 = 0
  private var isSound = false

  /// Whether a file begins as one of the mov family does.
  static func concern(_ source: any ByteSource) throws(MediaError) -> Bool {
    var boxes = MovieBoxes(source)
    guard let type = try boxes.next()?.type else { return false }
    return ["ftyp", "moov", "mdat", "free", "skip", "wide", "styp", "moof", "pnot", "uuid", "sidx", "udta"].contains(
      type)
  }

  /// - Parameter name: The file's, for messages.
  /// - Throws: `.damaged` for the first claim that the file cannot hold.
  static func check(_ source: any ByteSource, name: String) throws(MediaError) {
    var claims = MovieClaims(source: source, name: name)
    try claims.check(0..<source.byteCount, level: 0)
  }

  private init(source: any ByteSource, name: String) {
    self.source = source
    self.name = name
  }

  private mutating func check(_ range: Range<Int64>, level: Int) throws(MediaError) {
    guard level <= Self.mostLevels else {
      throw refused("at byte \(range.lowerBound) it has boxes that are more than \(Self.mostLevels) levels deep")
    }
    var boxes = MovieBoxes(source, in: range)
    while boxesLeft > 0, let box = try boxes.next() {
      boxesLeft -= 1
      guard let contents = box.contents else { continue }
      if Self.parents.contains(box.type) {
        if box.type == "trak" { isSound = false }
        if box.type == "stbl" { (runs, chunkCount) = ([], 0) }
        let start = box.type == "meta" ? try metadata(contents) : contents.lowerBound
        try check(start..<contents.upperBound, level: level + 1)
        if box.type == "stbl" { try checkChunks() }
        continue
      }
      switch box.type {
      // QuickTime has another one of where the media are stored.
      case "hdlr": if try number(at: contents.lowerBound + 8) == 0x736F_756E { isSound = true }
      case "stsz": try checkSizes(contents)
      case "trun": try checkRun(contents)
      default:
        guard let table = Self.tables[box.type] else { continue }
        let count = try number(at: contents.lowerBound + table.count)
        try checkTable(box.type, count, of: table.entry, at: contents.lowerBound + table.count + 4)
        if box.type == "stco" || box.type == "co64" { chunkCount = count }
        if box.type == "stsc" { try readRuns(contents, count) }
      }
    }
  }

  /// Where the boxes of `meta` begin: in QuickTime at once, in MP4 after the version and flags.
  private func metadata(_ contents: Range<Int64>) throws(MediaError) -> Int64 {
    let isPlain = try number(at: contents.lowerBound + 4) == 0x6864_6C72
    return isPlain ? contents.lowerBound : min(contents.lowerBound + 4, contents.upperBound)
  }

  /// A table must end where the file does, at the latest.
  private func checkTable(_ type: String, _ count: UInt64, of entry: UInt64, at offset: Int64) throws(MediaError) {
    let room = UInt64(max(0, source.byteCount - offset))
    guard count * entry <= room else {
      throw refused("its box '\(type)' states \(count) entries, of \(count * entry) bytes, and \(room) bytes follow")
    }
  }

  private func checkSizes(_ contents: Range<Int64>) throws(MediaError) {
    let size = try number(at: contents.lowerBound + 4)
    let count = try number(at: contents.lowerBound + 8)
    if size > 0 {
      let most = isSound ? UInt64(source.byteCount) * Self.samplesPerByte : UInt64(source.byteCount) / size + 1
      guard count <= max(most, Self.fewestSamples) else {
        throw refused("its box 'stsz' states \(count) samples of \(size) bytes, and the file has \(source.byteCount)")
      }
      return try checkSize(size, of: 0)
    }
    try checkTable("stsz", count, of: 4, at: contents.lowerBound + 12)
    // In parts, because the table may be long.
    let part: UInt64 = 1 << 16
    var sample: UInt64 = 0
    while sample < count {
      let bytes = try source.bytes(
        at: contents.lowerBound + 12 + Int64(sample * 4), count: Int(min(part, count - sample) * 4))
      guard bytes.count >= 4 else { return }
      var index = 0
      while index + 4 <= bytes.count {
        let size = bytes.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: index, as: UInt32.self)) }
        try checkSize(UInt64(size), of: sample)
        (index, sample) = (index + 4, sample + 1)
      }
    }
  }

  private func checkSize(_ size: UInt64, of sample: UInt64) throws(MediaError) {
    guard size <= max(UInt64(source.byteCount), Self.fewestBytes), size < 1 << Self.sampleSizeBits else {
      throw refused(
        "its box 'stsz' states that sample \(sample + 1) has \(size) bytes, and the file has \(source.byteCount)")
    }
  }

  /// Samples of a fragment. A run may state nothing of each of them.
  private func checkRun(_ contents: Range<Int64>) throws(MediaError) {
    let flags = try number(at: contents.lowerBound)
    let count = try number(at: contents.lowerBound + 4)
    let fields = (flags >> 8 & 0xF).nonzeroBitCount
    if fields > 0 { return try checkTable("trun", count, of: UInt64(4 * fields), at: contents.lowerBound + 8) }
    // Each sample has a byte at least.
    guard count <= UInt64(source.byteCount) else {
      throw refused("its box 'trun' states \(count) samples, and the file has \(source.byteCount) bytes")
    }
  }

  private mutating func readRuns(_ contents: Range<Int64>, _ count: UInt64) throws(MediaError) {
    let bytes = try source.bytes(at: contents.lowerBound + 8, count: Int(min(count, 1 << 20) * 12))
    runs = stride(from: 0, to: bytes.count - 11, by: 12).map { place in
      (bigEndian(bytes[place..<(place + 4)]), bigEndian(bytes[(place + 4)..<(place + 8)]))
    }
  }

  /// Samples of sound in all chunks together. libavformat limits those of pictures to the number of their sizes.
  private func checkChunks() throws(MediaError) {
    guard isSound else { return }
    var samples: UInt64 = 0
    for (index, run) in runs.enumerated() {
      let next = index + 1 < runs.count ? runs[index + 1].first : chunkCount + 1
      let chunks = min(next, chunkCount + 1) > run.first ? min(next, chunkCount + 1) - run.first : 0
      samples = samples.addingReportingOverflow(chunks * run.samples).partialValue
      guard samples <= UInt64(source.byteCount) * Self.samplesPerByte + (1 << 20) else {
        throw refused("its box 'stsc' states \(samples) samples of sound, and the file has \(source.byteCount) bytes")
      }
    }
  }

  /// Four bytes; 0 where the file ends.
  private func number(at offset: Int64) throws(MediaError) -> UInt64 {
    let bytes = try source.bytes(at: offset, count: 4)
    return bytes.count == 4 ? bigEndian(bytes) : 0
  }

  private func refused(_ claim: String) -> MediaError {
    MediaError(.damaged, operation: "opening", subject: name, message: "the index is damaged: \(claim)")
  }
}
