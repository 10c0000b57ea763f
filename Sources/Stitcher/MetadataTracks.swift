package import CompositionModel
import Glibc
package import Media
import PieceFiles
import SystemSupport

/// Adds tracks of timed metadata to a finished film of the mov family: their samples are behind everything else, and
/// the index has a track for each (QuickTime File Format, "Timed metadata"; ISO/IEC 14496-12, 12.9).
package enum MetadataTracks {
  /// What is stored for a track.
  package struct Track {
    /// The sample description, a box.
    package var entry: [UInt8]
    /// Ticks a second.
    package var timescale: UInt32
    /// From zero on, without a gap.
    package var samples: [(bytes: [UInt8], duration: UInt32)]

    package init(entry: [UInt8], timescale: UInt32, samples: [(bytes: [UInt8], duration: UInt32)]) {
      (self.entry, self.timescale, self.samples) = (entry, timescale, samples)
    }

    /// In ticks.
    var duration: UInt64 { samples.reduce(0) { $0 + UInt64($1.duration) } }
  }

  /// - Parameters:
  ///   - descriptor: A descriptor of the film, for reading and writing. The caller closes it.
  ///   - describesFirstTrack: Whether the metadata say something of the film's first track, and not of the film.
  package static func add(
    _ tracks: [Track], to descriptor: Int32, container: Container, describesFirstTrack: Bool,
    liveness: Liveness? = nil
  ) throws(StitchError) {
    guard !tracks.isEmpty else { return }
    let film = try MovieIndex.source(descriptor)
    var (boxes, place, index) = try MovieIndex.index(of: film, in: 0..<film.byteCount)
    let moov = boxes[place]
    let isLast = place == boxes.endIndex - 1
    guard isLast || !boxes[..<place].contains(where: { $0.type == "mdat" }) else {
      throw StitchError(.task, "the film has its index between its data")
    }
    let described = describesFirstTrack ? index.firstTrack : nil
    let isQuickTime = container == .mov
    // Their sizes do not depend on where the samples are.
    var added: Int64 = 0
    for track in tracks { added += Int64(try box(track, at: 0, index, described, isQuickTime).count) }
    // No table of 64 bits is more than twice as large as that of 32 bits.
    if !isLast, film.byteCount + 2 * moov.size + added > Int64(UInt32.max) { index.widenChunkOffsets() }
    let growth = isLast ? 0 : Int64(index.bytes.count) + added - moov.size
    let data = Box.box("mdat", tracks.flatMap { $0.samples.flatMap(\.bytes) })
    let start = isLast ? moov.offset : film.byteCount + growth
    if !isLast { index.moveChunks(by: growth) }
    var offset = UInt64(start) + 8
    for track in tracks {
      try index.append(track: box(track, at: offset, index, described, isQuickTime))
      offset += UInt64(track.samples.reduce(0) { $0 + $1.bytes.count })
    }
    guard isLast else {
      try MovieIndex.move(
        (moov.offset + moov.size)..<film.byteCount, to: moov.offset + Int64(index.bytes.count), film, descriptor,
        liveness)
      try MovieIndex.write(index.bytes, at: moov.offset, descriptor)
      return try MovieIndex.write(data, at: start, descriptor)
    }
    try MovieIndex.write(data + index.bytes, at: start, descriptor)
  }

  /// The box `trak`, for the next number of the film.
  private static func box(
    _ track: Track, at offset: UInt64, _ index: IndexBox, _ described: UInt32?, _ isQuickTime: Bool
  ) throws(StitchError) -> [UInt8] {
    guard let header = index.header, header.timescale > 0 else {
      throw StitchError(.piece, piece: 0, "has no header of the movie")
    }
    let (scale, timescale) = (UInt128(header.timescale), UInt128(track.timescale))
    let presented = UInt64(clamping: (UInt128(track.duration) * scale + timescale / 2) / timescale)
    let identity = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000].flatMap { Box.big(UInt32($0)) }
    let head = Box.full(
      "tkhd", version: 1, flags: 3, Box.zeros(16), Box.big(header.nextTrack), Box.zeros(4), Box.big(presented),
      Box.zeros(16), identity, Box.zeros(8))
    let edits = Box.box(
      "edts",
      Box.full("elst", version: 1, Box.big(UInt32(1)), Box.big(presented), Box.big(UInt64(0)), Box.big(UInt32(0x10000)))
    )
    let reference = described.map { Box.box("tref", Box.box("cdsc", Box.big($0))) } ?? []
    return Box.box("trak", head, edits, reference, media(track, at: offset, isQuickTime))
  }

  private static func media(_ track: Track, at offset: UInt64, _ isQuickTime: Bool) -> [UInt8] {
    // The language is not stated.
    let head = Box.full(
      "mdhd", version: 1, Box.zeros(16), Box.big(track.timescale), Box.big(track.duration), Box.big(UInt16(0x55C4)),
      Box.zeros(2))
    let name = Array("Timed Metadata".utf8)
    let handler = Box.full(
      "hdlr", Array((isQuickTime ? "mhlr" : "\0\0\0\0").utf8), Array("meta".utf8), Box.zeros(12),
      isQuickTime ? [UInt8(name.count)] + name : name + [0])
    let information =
      isQuickTime
      ? Box.box("gmhd", Box.full("gmin", Box.big(UInt16(0x40)), Box.zeros(6), Box.zeros(4))) : Box.full("nmhd")
    let place = Box.box("dinf", Box.full("dref", Box.big(UInt32(1)), Box.full("url ", flags: 1)))
    return Box.box("mdia", head, handler, Box.box("minf", information, place, tables(track, at: offset)))
  }

  /// The tables of the samples, which are one chunk.
  private static func tables(_ track: Track, at offset: UInt64) -> [UInt8] {
    var runs: [(count: UInt32, duration: UInt32)] = []
    for sample in track.samples {
      if runs.last?.duration == sample.duration {
        runs[runs.endIndex - 1].count += 1
      } else {
        runs.append((1, sample.duration))
      }
    }
    let times = runs.flatMap { Box.big($0.count) + Box.big($0.duration) }
    let sizes = track.samples.flatMap { Box.big(UInt32($0.bytes.count)) }
    let count = Box.big(UInt32(track.samples.count))
    return Box.box(
      "stbl", Box.full("stsd", Box.big(UInt32(1)), track.entry),
      Box.full("stts", Box.big(UInt32(runs.count)), times),
      Box.full("stsc", Box.big(UInt32(1)), Box.big(UInt32(1)), count, Box.big(UInt32(1))),
      Box.full("stsz", Box.zeros(4), count, sizes),
      Box.full("co64", Box.big(UInt32(1)), Box.big(offset)))
  }
}
