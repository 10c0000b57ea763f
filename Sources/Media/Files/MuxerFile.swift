internal import CMedia
import CompositionModel

/// A file that libavformat writes to an open descriptor that can seek. The same streams and packets in the same order
/// give the same bytes.
final class MuxerFile {
  let context: UnsafeMutablePointer<AVFormatContext>
  let name: String
  private let io: LibavIO
  private let container: Container
  private let liveness: Liveness?
  private var options: [(key: String, value: String)] = []
  private let descriptor: Int32
  private let start: Int64
  private var artwork: ArtworkWriter?
  /// Codes of ISO 639-2 by the number of the track, which are written when a QuickTime file is complete.
  var languages: [Int: String] = [:]
  /// The size of the complete file, in bytes, with the artwork that is added last. Nil if there is none.
  private var size: Int64?
  private var isFinished = false
  /// Of a fragmented file, whether its head was written.
  private var hasHead = false

  /// - Parameters:
  ///   - descriptor: A descriptor of an empty file, which can be read if it is a movie. The caller closes it.
  ///   - start: The place of the file's first byte in that of the descriptor.
  ///   - name: The file's name, for messages.
  ///   - liveness: Advanced with every packet that is written.
  init(
    descriptor: Int32, from start: Int64 = 0, name: String, container: Container, liveness: Liveness?
  ) throws(MediaError) {
    sheaf_log_capture()
    self.name = name
    self.container = container
    self.liveness = liveness
    self.descriptor = descriptor
    self.start = start
    io = try LibavIO(writing: descriptor, from: start, name: name, liveness: liveness)
    var made: UnsafeMutablePointer<AVFormatContext>?
    try check(avformat_alloc_output_context2(&made, nil, container.formatName, nil), "opening the output", name)
    context = try allocated(made, "opening the output")
    context.pointee.pb = io.context
    context.pointee.flags |= AVFMT_FLAG_BITEXACT
    // Timestamps are final: the container hides the priming before time zero.
    context.pointee.avoid_negative_ts = 0
    // Allows FLAC in MP4, which libavformat still lists as experimental.
    context.pointee.strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL
    sheaf_refuse_other_files(context)
    if container == .m4v { options.append(("brand", "M4V ")) }
  }

  deinit {
    avformat_free_context(context)
  }

  /// Adds metadata of the whole film, by libavformat's keys, such as `title`.
  func add(_ metadata: [String: String]) {
    let keys = MetadataKeys(container: container, metadata: metadata)
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      av_dict_set(&context.pointee.metadata, keys.storedKey(key), value, 0)
    }
    if keys.hasFreeKeys { options.append(("movflags", "use_metadata_tags")) }
  }

  /// Adds the picture that players show for the file, after all streams were added.
  func add(_ artwork: ArtworkFile) throws(MediaError) {
    self.artwork = try ArtworkWriter(artwork, to: context, container, name: name)
  }

  var isQuickTime: Bool { container == .mov }

  /// Whether it is of the family of ISO/IEC 14496-12.
  var isMovie: Bool { [.mp4, .mov, .m4v, .m4a, .m3u8, .mpd].contains(container) }

  func newStream() throws(MediaError) -> UnsafeMutablePointer<AVStream> {
    try allocated(avformat_new_stream(context, nil), "opening the output")
  }

  /// States how players turn the pictures of a track.
  /// - Parameter degrees: Clockwise: 0, 90, 180 or 270.
  func turn(_ stream: UnsafeMutablePointer<AVStream>, by degrees: Int) throws(MediaError) {
    let size = 9 * MemoryLayout<Int32>.size
    let bytes = try allocated(
      av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, size), "opening the output")
    bytes.withMemoryRebound(to: Int32.self, capacity: 9) { av_display_rotation_set($0, Double(degrees)) }
  }

  /// Writes the head, after all streams were added.
  /// - Parameter options: The muxer's.
  func start(_ options: [(key: String, value: String)]) throws(MediaError) {
    var dictionary: OpaquePointer?
    defer { av_dict_free(&dictionary) }
    for option in self.options + options { av_dict_set(&dictionary, option.key, option.value, 0) }
    let result = avformat_write_header(context, &dictionary)
    try io.rethrow()
    try check(result, "starting", name)
    try artwork?.writePacket(to: context, name: name)
    try io.rethrow()
  }

  /// Writes a packet, which the muxer may change and keep.
  /// - Parameter timebase: Seconds a tick of the packet's times.
  func write(_ packet: Packet, stream index: Int, timebase: AVRational) throws(MediaError) {
    guard let stream = context.pointee.streams[index] else { throw lack(ofTrack: index) }
    packet.pointer.pointee.stream_index = Int32(index)
    packet.pointer.pointee.pos = -1
    av_packet_rescale_ts(packet.pointer, timebase, stream.pointee.time_base)
    let result = av_interleaved_write_frame(context, packet.pointer)
    try io.rethrow()
    try check(result, "writing", name)
    liveness?.advance()
  }

  /// Ends a fragment of a fragmented file.
  func endFragment() throws(MediaError) {
    // The first time only the head is written, which has waited for the first packets of the tracks.
    for _ in 0..<(hasHead ? 1 : 2) {
      let result = av_write_frame(context, nil)
      try io.rethrow()
      try check(result, "writing a fragment of", name)
    }
    hasHead = true
  }

  func lack(ofTrack index: Int) -> MediaError {
    MediaError(.invalidRequest, operation: "writing", subject: name, message: "it has no track \(index)")
  }

  /// Writes the packets that are held back, and the index.
  func finish() throws(MediaError) {
    guard !isFinished else { return }
    isFinished = true
    let result = av_write_trailer(context)
    try io.rethrow()
    try check(result, "finishing", name)
    try io.flush()
    if !languages.isEmpty {
      try WrittenMovie(descriptor: descriptor, from: start, size: io.byteCount, name: name).state(languages)
    }
    size = try artwork?.complete(descriptor, from: start, size: io.byteCount, name: name)
  }

  /// Bytes in the file so far.
  var byteCount: Int64 { size ?? io.byteCount }

  /// The smallest timescale in which the times of all tracks are whole, at least 1000. Edit lists count in it.
  /// - Parameter timescales: The tracks'.
  static func movieTimescale(_ timescales: [Int32]) -> Int32 {
    var least: Int64 = 1
    for timescale in timescales {
      var (divisor, rest) = (least, Int64(timescale))
      while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
      let product = least / divisor * Int64(timescale)
      if product <= Int64(Int32.max) { least = product }
    }
    while least < 1000 { least *= 2 }
    return Int32(least)
  }
}

extension Container {
  var isMatroska: Bool { self == .mkv || self == .webm }

  /// libavformat's name of the muxer.
  var formatName: String {
    switch self {
    case .mp4, .m4v, .m3u8, .mpd: "mp4"
    case .mov: "mov"
    case .m4a: "ipod"
    case .mkv: "matroska"
    case .webm: "webm"
    case .mxf: "mxf"
    case .wav: "wav"
    case .flac: "flac"
    case .mp3: "mp3"
    case .ogg: "ogg"
    case .gif: "gif"
    case .apng: "apng"
    case .webp: "webp"
    }
  }
}

/// The keys by which a file of a container stores metadata.
private struct MetadataKeys {
  let container: Container
  let metadata: [String: String]

  /// Keys that QuickTime's own atoms hold. Any other key needs the `mdta` form, which fewer players read.
  private static let atoms: Set<String> = [
    "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre", "copyright", "grouping",
    "lyrics", "description", "synopsis", "show", "episode_id", "network", "keywords", "track", "disc",
  ]

  /// Whether metadata are stored by their keys' names, in the form `mdta`.
  var hasFreeKeys: Bool {
    switch container {
    case .mp4, .mov, .m4v, .m4a: metadata.keys.contains { !MetadataKeys.atoms.contains($0) }
    default: false
    }
  }

  /// The names that QuickTime's players know of the form `mdta`, by those of documents.
  private static let quickTimeKeys: [String: String] = {
    let same = [
      "title", "artist", "album", "author", "comment", "copyright", "description", "genre", "keywords", "make", "model",
      "software", "director", "producer", "publisher", "year", "performer", "composer",
    ]
    var keys = Dictionary(uniqueKeysWithValues: same.map { ($0, "com.apple.quicktime.\($0)") })
    keys["location"] = "com.apple.quicktime.location.ISO6709"
    keys["date"] = "com.apple.quicktime.creationdate"
    return keys
  }()

  /// The key by which a file of this container stores what documents call `key`.
  func storedKey(_ key: String) -> String { hasFreeKeys ? Self.quickTimeKeys[key] ?? key : key }
}
