import CompositionModel
package import Digest

/// The head of a fragmented movie with the track of some pieces, as CMAF has it (ISO/IEC 23000-19): what a player needs
/// before any fragment of it. Pieces with the same head are played one after the other.
package struct MovieHead: Sendable, Hashable {
  /// The bytes of the file.
  package let bytes: [UInt8]
  /// Of these bytes.
  package let digest: SHA256Digest
  /// As CODECS of a playlist states it.
  package let codec: String
  /// Ticks a second of the fragments' times.
  package let timescale: Int64
  /// The ticks of the fragments in one of the piece.
  let tick: Int64
  /// The ticks of the fragments before what is presented first: of pictures those for which the decoder is ahead, of
  /// sound what the encoder has put before the first sample.
  let lead: Int64
  /// Everything but the lead: pieces that have it in common are decoded one after the other.
  private let samples: SHA256Digest

  static let track: UInt32 = 1

  /// Nil if players have no codec for it: it is not H.264, HEVC or AAC, or its parameters cannot be read.
  package init?(_ header: PieceHeader) {
    guard let configuration = DecoderConfiguration(header), header.timebase.isNumeric, header.timebase.value > 0,
      header.timebase.value < 1 << 31, header.timebase.timescale > 0
    else { return nil }
    (codec, timescale, tick) = (configuration.codec, Int64(header.timebase.timescale), header.timebase.value)
    let entry: [UInt8]
    let handler: String
    let mediaHeader: [UInt8]
    let dimensions: [UInt8]
    switch header.media {
    case .video(let video):
      let (size, aspect) = (video.size, video.pixelAspect)
      guard (1...Int(UInt16.max)).contains(size.width), (1...Int(UInt16.max)).contains(size.height),
        aspect.horizontal > 0, aspect.vertical > 0, aspect.horizontal <= 1 << 20, aspect.vertical <= 1 << 20
      else { return nil }
      entry = Box.box(
        configuration.sampleEntry, Box.zeros(6), Box.big(UInt16(1)), Box.zeros(16), Box.big(UInt16(size.width)),
        Box.big(UInt16(size.height)), Box.big(UInt32(0x48_0000)), Box.big(UInt32(0x48_0000)), Box.zeros(4),
        Box.big(UInt16(1)), Box.zeros(32), Box.big(UInt16(24)), [0xFF, 0xFF], configuration.box,
        Box.box("pasp", Box.big(UInt32(aspect.horizontal)), Box.big(UInt32(aspect.vertical))))
      guard (0...16).contains(video.reorderDepth) else { return nil }
      lead = Int64(video.reorderDepth) * tick
      (handler, mediaHeader) = ("vide", Box.full("vmhd", flags: 1, Box.zeros(8)))
      // In square pixels, as they are shown.
      let width = min(Int(UInt16.max), size.width * aspect.horizontal / aspect.vertical)
      dimensions = Box.big(UInt32(width) << 16) + Box.big(UInt32(size.height) << 16)
    case .audio(let audio):
      guard (1...Int(UInt16.max)).contains(audio.channels), audio.sampleRate > 0,
        (0..<1 << 20).contains(audio.initialPadding), header.timebase.value < 1 << 10
      else { return nil }
      // A rate that the field cannot have is in the decoder's configuration alone.
      let rate = audio.sampleRate > Int(UInt16.max) ? 0 : UInt32(audio.sampleRate) << 16
      entry = Box.box(
        configuration.sampleEntry, Box.zeros(6), Box.big(UInt16(1)), Box.zeros(8), Box.big(UInt16(audio.channels)),
        Box.big(UInt16(16)), Box.zeros(4), Box.big(rate), configuration.box)
      lead = Int64(audio.initialPadding) * header.timebase.value
      (handler, mediaHeader, dimensions) = ("soun", Box.full("smhd", Box.zeros(4)), Box.zeros(8))
    }
    guard lead <= Int64(Int32.max) else { return nil }
    let matrix = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000].flatMap { Box.big(UInt32($0)) }
    let isSound = handler == "soun"
    let movieHeader = Box.full(
      "mvhd", Box.zeros(8), Box.big(UInt32(timescale)), Box.zeros(4), Box.big(UInt32(0x1_0000)), Box.big(UInt16(0x100)),
      Box.zeros(10), matrix, Box.zeros(24), Box.big(Self.track + 1))
    let trackHeader = Box.full(
      "tkhd", flags: 7, Box.zeros(8), Box.big(Self.track), Box.zeros(8), Box.zeros(8), Box.zeros(4),
      Box.big(UInt16(isSound ? 0x100 : 0)), Box.zeros(2), matrix, dimensions)
    // What is before the lead's end is not presented. Composition offsets below zero would need none for pictures, but
    // ffmpeg presents these late.
    let edits =
      lead == 0
      ? []
      : Box.box(
        "edts",
        Box.full("elst", Box.big(UInt32(1)), Box.zeros(4), Box.big(UInt32(lead)), Box.big(UInt32(0x1_0000))))
    let tables = Box.box(
      "stbl", Box.full("stsd", Box.big(UInt32(1)), entry), Box.full("stts", Box.zeros(4)),
      Box.full("stsc", Box.zeros(4)), Box.full("stsz", Box.zeros(8)), Box.full("stco", Box.zeros(4)))
    let references = Box.box("dinf", Box.full("dref", Box.big(UInt32(1)), Box.full("url ", flags: 1)))
    let media = Box.box(
      "mdia",
      // The language is not stated here: `und`.
      Box.full("mdhd", Box.zeros(8), Box.big(UInt32(timescale)), Box.zeros(4), Box.big(UInt16(0x55C4)), Box.zeros(2)),
      Box.full("hdlr", Box.zeros(4), Array(handler.utf8), Box.zeros(12), [0]),
      Box.box("minf", mediaHeader, references, tables))
    let defaults = Box.full("trex", Box.big(Self.track), Box.big(UInt32(1)), Box.zeros(12))
    bytes =
      Box.box("ftyp", Array("iso6".utf8), Box.zeros(4), Array("iso6cmfcmp41".utf8))
      + Box.box("moov", movieHeader, Box.box("trak", trackHeader, edits, media), Box.box("mvex", defaults))
    digest = SHA256Digest.of(bytes)
    samples = SHA256Digest.of(trackHeader + media)
  }

  /// Whether fragments of pieces with another head can be played with this one.
  package func plays(_ other: MovieHead) -> Bool { samples == other.samples }
}
