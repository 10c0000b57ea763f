internal import CMedia
import CompositionModel
import Digest

/// What a film's index and headers state, for comparing.
struct FilmFacts {
  struct Track {
    /// The stream's index in the file.
    var index: Int
    var type: MediaType
    var codec: String
    /// A picture that is attached, and no film.
    var isAttached: Bool
    /// What of it is seen or heard and is not in its pictures or samples.
    var shown: [String: String]
    /// The rest.
    var stated: [String: String]
  }

  /// The name of the codec's header among what a track states.
  static let header = "header of the codec"

  var tracks: [Track] = []
  /// Of the whole file.
  var stated: [String: String] = [:]

  init(_ source: any ByteSource, name: String, liveness: Liveness?) throws(MediaError) {
    let demuxer = try Demuxer(source, name: name, liveness: liveness)
    stated["format"] = demuxer.formatName
    for (key, value) in Self.entries(demuxer.context.pointee.metadata) { stated["metadata \(key)"] = value }
    for index in 0..<Int(demuxer.context.pointee.nb_chapters) {
      guard let chapter = demuxer.context.pointee.chapters[index] else { continue }
      let tick = av_q2d(chapter.pointee.time_base)
      let title = Self.entries(chapter.pointee.metadata)["title"] ?? ""
      stated["chapter \(index + 1)"] =
        "\(seconds(Double(chapter.pointee.start) * tick)) s to \(seconds(Double(chapter.pointee.end) * tick)) s, \(title)"
    }
    for case let stream? in demuxer.streams { tracks.append(Self.track(stream)) }
  }

  private static func track(_ stream: UnsafeMutablePointer<AVStream>) -> Track {
    let parameters = stream.pointee.codecpar!
    let type: MediaType =
      switch parameters.pointee.codec_type {
      case AVMEDIA_TYPE_VIDEO: .video
      case AVMEDIA_TYPE_AUDIO: .audio
      case AVMEDIA_TYPE_SUBTITLE: .subtitle
      default: .metadata
      }
    var stated: [String: String] = [:]
    for (key, value) in entries(stream.pointee.metadata) { stated["metadata \(key)"] = value }
    let extradata = UnsafeRawBufferPointer(
      start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size))
    stated[header] = extradata.isEmpty ? "none" : String(SHA256Digest.of(extradata).hex.prefix(12))
    let tick = av_q2d(stream.pointee.time_base)
    if stream.pointee.duration != sheaf_no_pts {
      stated["duration"] = "\(seconds(Double(stream.pointee.duration) * tick)) s"
    }
    stated["default"] = stream.pointee.disposition & AV_DISPOSITION_DEFAULT == 0 ? "no" : "yes"
    var shown: [String: String] = [:]
    if type == .video {
      // Many containers state it beside the codec.
      let aspect = stream.pointee.sample_aspect_ratio
      shown["shape of the pixels"] = aspect.num > 0 && aspect.den > 0 ? "\(aspect.num):\(aspect.den)" : "1:1"
    }
    for (kind, title) in [
      (AV_PKT_DATA_DISPLAYMATRIX, "rotation"), (AV_PKT_DATA_MASTERING_DISPLAY_METADATA, "mastering display"),
      (AV_PKT_DATA_CONTENT_LIGHT_LEVEL, "light level"),
    ] where type == .video {
      var size = 0
      guard let bytes = av_stream_get_side_data(stream, kind, &size), size > 0 else { continue }
      shown[title] = UnsafeRawBufferPointer(start: bytes, count: size).map { String($0, radix: 16) }.joined(
        separator: " ")
    }
    return Track(
      index: Int(stream.pointee.index), type: type, codec: StoredCodec.name(parameters),
      isAttached: stream.pointee.disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS) != 0,
      shown: shown, stated: stated)
  }

  private static func entries(_ dictionary: OpaquePointer?) -> [String: String] {
    var entries: [String: String] = [:]
    var entry: UnsafeMutablePointer<AVDictionaryEntry>?
    while let next = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX) {
      entries[String(cString: next.pointee.key)] = String(cString: next.pointee.value)
      entry = next
    }
    return entries
  }

  /// What differs, each as "name: value, and not value", in the order of the names.
  static func differences(_ own: [String: String], _ other: [String: String]) -> [String] {
    Set(own.keys).union(other.keys).sorted().compactMap { key in
      own[key] == other[key]
        ? nil : "\(key): \(own[key]?.shortened ?? "none"), and not \(other[key]?.shortened ?? "none")"
    }
  }
}
