internal import CMedia
package import CompositionModel
import FoundationEssentials

/// A picture that becomes the artwork of a file: its stored bytes, or a part of them, which are not decoded.
package struct ArtworkFile: Sendable {
  let format: Artwork.Format
  /// As its head states it.
  let size: PixelSize
  let bytes: [UInt8]

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - track: The stream's index of the picture in a media file. Nil: the file is the picture.
  ///   - isForSharing: Whether it is without what is said about it.
  /// - Throws: `.noTrack` if there is no picture of the format and of at most `Artwork.greatestByteCount` bytes.
  package init(
    _ source: any ByteSource, name: String, track: Int?, format: Artwork.Format, isForSharing: Bool = false,
    liveness: Liveness?
  ) throws(MediaError) {
    self.format = format
    let greatest = Artwork.greatestByteCount
    let stored: [UInt8]
    if let track {
      let demuxer = try Demuxer(source, name: name, liveness: liveness)
      let picture = try demuxer.stream(track).pointee.attached_pic
      stored = Array(UnsafeBufferPointer(start: picture.data, count: max(0, Int(picture.size))))
    } else {
      stored = try source.bytes(count: Int(min(source.byteCount, Int64(greatest) + 1)))
    }
    guard stored.count <= greatest, let size = format.size(stored) else {
      throw MediaError(
        .noTrack, operation: "opening", subject: name,
        message:
          "it has no \(format.rawValue.uppercased()) picture of at most \(greatest) bytes as artwork, so the file "
          + "is not the one that was described")
    }
    self.size = size
    bytes = isForSharing ? format.withoutDescriptions(stored) : stored
  }
}

extension Artwork.Format {
  /// The size that the head of a picture states. Nil if it is not a picture of this format.
  fileprivate func size(_ bytes: [UInt8]) -> PixelSize? {
    func number(_ place: Int, _ count: Int) -> Int {
      guard place + count <= bytes.count else { return 0 }
      return bytes[place..<(place + count)].reduce(0) { $0 << 8 | Int($1) }
    }
    func size(width: Int, height: Int) -> PixelSize? {
      width > 0 && height > 0 ? PixelSize(width: width, height: height) : nil
    }
    switch self {
    case .png:
      guard bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else { return nil }
      return size(width: number(16, 4), height: number(20, 4))
    case .jpeg:
      guard bytes.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
      var place = 2
      while number(place, 1) == 0xFF {
        let marker = number(place + 1, 1)
        // The start of a frame: any but those that define tables.
        if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
          return size(width: number(place + 7, 2), height: number(place + 5, 2))
        }
        // Bytes may fill the space before a marker.
        place += marker == 0xFF ? 1 : 2 + max(2, number(place + 2, 2))
      }
      return nil
    }
  }

  fileprivate var mediaType: String { "image/\(rawValue)" }
  fileprivate var avCodec: AVCodecID { self == .png ? AV_CODEC_ID_PNG : AV_CODEC_ID_MJPEG }
}

/// Puts artwork into a file that libavformat writes: before its head, after it, and when it is complete.
struct ArtworkWriter {
  /// How a container stores it.
  private enum Place {
    /// With the metadata of the movie's index, which libavformat writes for some of them alone.
    case movie
    /// As an attached file.
    case attachment
    /// As a track with one packet.
    case track
    /// As a comment: a picture block of FLAC in base 64.
    case comment
  }

  private let artwork: ArtworkFile
  private let place: Place
  /// The stream of an attached picture or file. Nil: the artwork is stored without one.
  private var stream: UnsafeMutablePointer<AVStream>?

  private static let description = "Cover (front)"

  /// Adds to a file's description what its head has to have.
  init(
    _ artwork: ArtworkFile, to context: UnsafeMutablePointer<AVFormatContext>, _ container: Container, name: String
  ) throws(MediaError) {
    self.artwork = artwork
    switch container {
    case .mp4, .mov, .m4v, .m4a: place = .movie
    case .mkv: place = .attachment
    case .mp3, .flac: place = .track
    case .ogg: place = .comment
    case .webm, .mxf, .wav, .gif, .apng, .webp, .m3u8, .mpd:
      throw MediaError(
        .invalidRequest, operation: "writing", subject: name, message: "\(container.rawValue) cannot have artwork")
    }
    switch place {
    case .movie: break
    case .attachment: try addStream(AVMEDIA_TYPE_ATTACHMENT, to: context)
    case .track: try addStream(AVMEDIA_TYPE_VIDEO, to: context)
    case .comment:
      av_dict_set(
        &context.pointee.metadata, "METADATA_BLOCK_PICTURE", Data(pictureBlock).base64EncodedString(), 0)
    }
  }

  private mutating func addStream(
    _ type: AVMediaType, to context: UnsafeMutablePointer<AVFormatContext>
  ) throws(MediaError) {
    let stream = try allocated(avformat_new_stream(context, nil), "opening the output")
    let parameters = stream.pointee.codecpar!
    parameters.pointee.codec_type = type
    parameters.pointee.codec_id = artwork.format.avCodec
    parameters.pointee.width = Int32(clamping: artwork.size.width)
    parameters.pointee.height = Int32(clamping: artwork.size.height)
    if type == AVMEDIA_TYPE_ATTACHMENT {
      let copy = try allocated(
        av_mallocz(artwork.bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)), "opening the output")
      copy.copyMemory(from: artwork.bytes, byteCount: artwork.bytes.count)
      parameters.pointee.extradata = copy.assumingMemoryBound(to: UInt8.self)
      parameters.pointee.extradata_size = Int32(clamping: artwork.bytes.count)
      // Players take an attached picture of this name for the cover.
      av_dict_set(&stream.pointee.metadata, "filename", artwork.format == .png ? "cover.png" : "cover.jpg", 0)
      av_dict_set(&stream.pointee.metadata, "mimetype", artwork.format.mediaType, 0)
    } else {
      stream.pointee.time_base = AVRational(num: 1, den: 90000)
      stream.pointee.disposition = AV_DISPOSITION_ATTACHED_PIC
      av_dict_set(&stream.pointee.metadata, "comment", Self.description, 0)
    }
    self.stream = stream
  }

  /// RFC 9639, section 8.8.
  private var pictureBlock: [UInt8] {
    func number(_ value: Int) -> [UInt8] { bigEndian(UInt64(value), 4) }
    func text(_ text: String) -> [UInt8] { number(text.utf8.count) + Array(text.utf8) }
    // 3: the front cover. The depth and the number of colours are unknown.
    return number(3) + text(artwork.format.mediaType) + text("") + number(artwork.size.width)
      + number(artwork.size.height) + number(0) + number(0) + number(artwork.bytes.count) + artwork.bytes
  }

  /// After the head, before any other packet.
  func writePacket(to context: UnsafeMutablePointer<AVFormatContext>, name: String) throws(MediaError) {
    guard place == .track, let stream else { return }
    let packet = try Packet(byteCount: artwork.bytes.count)
    try packet.withMutableBytes { $0.copyBytes(from: artwork.bytes) }
    packet.pointer.pointee.stream_index = stream.pointee.index
    (packet.pts, packet.dts, packet.isKeyframe) = (0, 0, true)
    try check(av_write_frame(context, packet.pointer), "writing the artwork of", name)
  }

  /// When the file is complete.
  /// - Parameters:
  ///   - start: The place of the file's first byte in that of the descriptor.
  ///   - size: The file's, in bytes.
  /// - Returns: The file's size then.
  func complete(_ descriptor: Int32, from start: Int64, size: Int64, name: String) throws(MediaError) -> Int64 {
    guard place == .movie else { return size }
    return try MovieMetadata.add(
      artwork, to: WrittenMovie(descriptor: descriptor, from: start, size: size, name: name))
  }

  /// The greatest number of bytes by which it makes the index of a movie longer.
  static func growth(_ artwork: ArtworkFile?) -> Int { artwork.map { $0.bytes.count + 512 } ?? 0 }
}

func bigEndian(_ value: UInt64, _ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64(count - 1 - $0))) }
}
