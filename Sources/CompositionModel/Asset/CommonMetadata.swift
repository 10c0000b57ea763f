/// The metadata keys that all formats share: AVFoundation's common keys. The raw value is the key as it is printed.
public enum CommonMetadataKey: String, Sendable, Hashable, Codable, CaseIterable {
  case title, creator, subject, description, publisher, contributor, creationDate, lastModifiedDate, type, format,
    identifier, source, language, relation, location, copyrights, albumName, author, artist, make, model, software,
    accessibilityDescription

  /// The keys of formats that have this meaning, as libavformat reports them in lower case, the best first.
  fileprivate var formatKeys: [String] {
    switch self {
    case .title: ["title", "com.apple.quicktime.title", "inam", "tit2"]
    case .creator: ["composer", "creator", "com.apple.quicktime.creator", "tcom"]
    case .subject: ["subject", "genre", "com.apple.quicktime.genre", "keywords", "com.apple.quicktime.keywords"]
    case .description:
      ["description", "com.apple.quicktime.description", "synopsis", "comment", "com.apple.quicktime.comment"]
    case .publisher: ["publisher", "com.apple.quicktime.publisher", "label"]
    case .contributor: ["contributor", "performer"]
    case .creationDate:
      ["com.apple.quicktime.creationdate", "creation_time", "date", "date_recorded", "date_released", "year"]
    case .lastModifiedDate: ["modification_date", "date_tagged"]
    case .type: ["media_type", "content_type"]
    case .format: ["format"]
    case .identifier: ["identifier", "com.apple.quicktime.content.identifier", "isrc"]
    case .source: ["source", "original_format"]
    case .language: ["language"]
    case .relation: ["relation"]
    case .location: ["com.apple.quicktime.location.iso6709", "location", "location-eng", "recording_location"]
    case .copyrights: ["copyright", "com.apple.quicktime.copyright"]
    case .albumName: ["album", "com.apple.quicktime.album"]
    case .author: ["author", "com.apple.quicktime.author", "writer", "lyricist"]
    case .artist: ["artist", "com.apple.quicktime.artist", "album_artist"]
    case .make: ["com.apple.quicktime.make", "make", "com.android.manufacturer"]
    case .model: ["com.apple.quicktime.model", "model", "com.android.model"]
    case .software: ["com.apple.quicktime.software", "software", "encoder", "encoded_by"]
    case .accessibilityDescription: ["com.apple.quicktime.accessibility.description"]
    }
  }
}

extension AssetDescription {
  /// The values of the common keys that the file has, each from the format key that expresses it best.
  public var commonMetadata: [CommonMetadataKey: String] {
    let values = Dictionary(
      metadata.sorted { $0.key < $1.key }.map { ($0.key.lowercased(), $0.value) }
    ) { first, _ in first }
    var found: [CommonMetadataKey: String] = [:]
    for key in CommonMetadataKey.allCases {
      if let value = key.formatKeys.lazy.compactMap({ values[$0] }).first(where: { !$0.isEmpty }) { found[key] = value }
    }
    return found
  }
}

extension TrackDescription {
  /// The title for people. Nil: none that an author has given.
  public var storedTitle: String? { Self.title(in: metadata) }

  /// The title in what a file states of a track.
  package static func title(in metadata: [String: String]) -> String? {
    if let title = metadata["title"], !title.isEmpty { return title }
    guard let name = metadata["handler_name"], !name.isEmpty, !handlers.contains(name), !name.hasPrefix("Core Media")
    else { return nil }
    return name
  }

  /// What programs write where they have no title.
  private static let handlers: Set<String> = [
    "VideoHandler", "SoundHandler", "SubtitleHandler", "DataHandler", "TimeCodeHandler", "TextHandler",
    "GPAC ISO Video Handler",
    "GPAC ISO Audio Handler", "Apple Video Media Handler", "Apple Sound Media Handler",
    "Mainconcept Video Media Handler",
    "Mainconcept MP4 Video Media Handler", "Mainconcept MP4 Sound Media Handler",
    "#Mainconcept MP4 Sound Media Handler",
    "VideoHandle", "SoundHandle", "ISO Media file produced by Google Inc.",
  ]
}
