import CompositionModel

/// `export.metadata`, `export.carryMetadata` and `export.metadataFilter` as the document means them.
struct MetadataEntry: Sendable {
  /// Where metadata are carried from.
  enum Source: Sendable {
    /// The asset that is seen first, or else heard first.
    case first
    case asset(AssetID)
  }

  var texts: [String: String] = [:]
  var source: Source?
  /// Whether the document says from where.
  var isGiven = false
  var filter: Document.MetadataFilter?

  init() {}

  /// - Parameter isGiven: Whether the document says from where metadata are carried.
  init(_ export: Document.Export, isGiven: Bool) {
    (texts, filter, self.isGiven) = (export.metadata, export.metadataFilter, isGiven)
    switch export.carryMetadata {
    case nil, .some(.none): source = nil
    case .first: source = .first
    case .asset(let id): source = .asset(id)
    }
  }

  /// The most names that a file has.
  static let greatestCount = 200
  /// The most bytes of UTF-8 of a text that is carried. Longer ones are no texts for people.
  static let longestText = 65_536

  /// What the filter keeps.
  static let shared: Set<String> = [
    "title", "subtitle", "artist", "album", "album_artist", "author", "composer", "performer", "conductor", "director",
    "producer", "publisher", "genre", "track", "disc", "grouping", "copyright", "license", "description", "synopsis",
    "comment", "keywords", "language", "lyrics", "show", "season_number", "episode_id", "episode_sort", "network",
    "compilation", "rating", "isrc",
  ]

  /// What a file states of itself, which is not so of another file.
  static let ofFile: Set<String> = [
    "major_brand", "minor_version", "compatible_brands", "encoder", "encoded_by", "handler_name", "vendor_id",
    "duration", "timecode", "material_package_umid", "product_uid", "modification_date", "uid", "generation_uid",
    "company_name", "product_name", "product_version", "application_platform", "project_name",
    "material_package_name", "operational_pattern_ul", "metadatacreator", "hasvideo", "hasaudio", "hasmetadata",
    "haskeyframes", "cansseektoend", "datasize", "filesize", "videosize", "audiosize", "videodatarate",
    "audiodatarate", "lasttimestamp", "lastkeyframetimestamp", "lastkeyframelocation",
  ]
}

extension DocumentReader {
  /// Reads `export.metadata`: texts by name.
  mutating func metadataTexts(_ value: JSONValue) -> [String: String] {
    let members = members(value, "strings by name, such as {\"title\": \"A day\"}")
    if members.count > MetadataEntry.greatestCount {
      problems.addShape(
        value.pointer, "there are \(members.count) metadata; at most \(MetadataEntry.greatestCount) are possible")
    }
    var texts: [String: String] = [:]
    /// The names as written, by those in lower case.
    var written: [String: String] = [:]
    for (key, value) in members {
      if key.isEmpty || key.utf8.contains(0) || key.contains("=") {
        problems.addShape(value.pointer, "a name of metadata must not be empty or contain '=' or a null character")
      }
      guard let text = string(value) else { continue }
      if text.utf8.contains(0) { problems.addShape(value.pointer, "metadata must not contain a null character") }
      // Most containers have names without regard to case.
      if let other = written.updateValue(key, forKey: key.lowercased()) {
        problems.add(value.pointer, "'\(key.shortened)' and '\(other.shortened)' are the same name of metadata")
      }
      texts[key] = text
    }
    return texts
  }

  /// Reads `export.carryMetadata`.
  mutating func metadataSource(_ value: JSONValue) -> Document.MetadataSource? {
    switch value.content {
    case .boolean(let isCarried): return isCarried ? .first : Document.MetadataSource.none
    case .string: return asset(value).map { .asset($0) }
    default:
      problems.addShape(value.pointer, "\(value.shown) should be true, false or the name of an asset")
      return nil
    }
  }
}

extension Lowering {
  /// What the output's metadata are: those that are carried, and those of the document, which override them.
  mutating func outputMetadata(in container: Container?) -> [String: String] {
    var entry = document.export.metadata
    if let container, let names = container.metadataNames {
      for key in entry.texts.keys.sorted() where !names.contains(key) {
        if isLeftToOtherOutputs({ $0.metadataNames?.contains(key) != false }) {
          entry.texts[key] = nil
          continue
        }
        problems.add(
          document.export.pointer.key("metadata").key(key),
          "\(container) cannot store '\(key.shortened)'; "
            + (names.isEmpty ? "it has no metadata" : "it has \(list(names))"))
      }
    }
    var metadata: [String: String] = [:]
    let written = Set(entry.texts.keys.map { $0.lowercased() })
    if let id = carriedAsset(metadataSource), let own = assets[id]?.metadata {
      for (key, text) in own.sorted(by: { $0.key < $1.key }) {
        // QuickTime's own fields come a second time, by their language.
        if let dash = key.lastIndex(of: "-"), own[String(key[..<dash])] != nil { continue }
        let name = Self.commonName(of: key)
        guard !written.contains(name), !MetadataEntry.ofFile.contains(name), !name.isEmpty,
          entry.filter == nil || MetadataEntry.shared.contains(name), metadata[name] == nil
        else { continue }
        let isFull = metadata.count + written.count >= MetadataEntry.greatestCount
        if let obstacle = isFull ? "there are too many" : obstacle(to: name, text, in: container) {
          lose(.metadata, nil, id, "'\(name.shortened)' is left out: \(obstacle)")
          continue
        }
        metadata[name] = text
      }
    }
    return metadata.merging(entry.texts) { $1 }
  }

  /// Why an output cannot have what is carried. Nil: it can.
  private func obstacle(to name: String, _ text: String, in container: Container?) -> String? {
    if let container, container.metadataNames?.contains(name) == false { return "\(container) cannot store it" }
    if text.utf8.count > MetadataEntry.longestText { return "it has more than \(MetadataEntry.longestText) bytes" }
    return name.contains("=") || text.utf8.contains(0) ? "it has characters that cannot be stored" : nil
  }

  /// Where metadata are carried from. Of a film that copies one asset they are that asset's, unless the document says
  /// otherwise.
  var metadataSource: MetadataEntry.Source? {
    let entry = document.export
    guard entry.isPassthrough, !entry.metadata.isGiven, entry.carried?.contains(.metadata) ?? true else {
      return entry.metadata.source
    }
    let assets = Set(copiedClips.values.joined().map(\.asset))
    return assets.count == 1 ? assets.first.map { .asset($0) } : nil
  }

  /// The asset whose metadata are carried. Nil: none.
  func carriedAsset(_ source: MetadataEntry.Source?) -> AssetID? {
    switch source {
    case nil: return nil
    case .asset(let id): return id
    case .first:
      if let first = shownAssets.first { return first.asset }
      let heard = tracks.flatMap(\.composed).flatMap(\.clips)
      return heard.min { $0.target.start < $1.target.start }?.asset
    }
  }

  /// The name that documents have for a key of a file: QuickTime's own keys have a prefix.
  private static func commonName(of key: String) -> String {
    let prefix = "com.apple.quicktime."
    guard key.hasPrefix(prefix) else { return key.lowercased() }
    let name = key.dropFirst(prefix.count).lowercased()
    switch name {
    case "location.iso6709": return "location"
    case "creationdate": return "date"
    default: return name
    }
  }
}

extension Container {
  /// The names of the metadata that files can hold. Nil: any.
  fileprivate var metadataNames: [String]? {
    switch self {
    // What RIFF has fields for.
    case .wav:
      ["title", "artist", "album", "track", "date", "genre", "comment", "copyright", "language", "encoded_by"]
    // What playlists and presentation descriptions have fields for.
    case .m3u8: ["title"]
    case .mpd: ["title", "copyright"]
    case .mxf, .gif, .apng, .webp: []
    case .mp4, .mov, .m4v, .m4a, .mkv, .webm, .flac, .mp3, .ogg: nil
    }
  }
}

// MARK: Chapters

extension Document.Chapter {
  /// The most chapters of a film.
  static let greatestCount = 1000
  /// The most bytes of UTF-8 of a title, which the index of an MP4 file can hold.
  static let longestTitle = 255
}

extension DocumentReader {
  /// Reads `export.chapters`.
  mutating func chapters(_ value: JSONValue?) -> [Document.Chapter] {
    let items = items(value, "chapters")
    if let value, items.count > Document.Chapter.greatestCount {
      problems.addShape(
        value.pointer, "there are \(items.count) chapters; at most \(Document.Chapter.greatestCount) are possible")
    }
    var chapters: [Document.Chapter] = []
    for item in items.prefix(Document.Chapter.greatestCount) {
      guard let fields = fields(item, ChapterKeys.table) else { continue }
      let found = problems.count
      var chapter = Document.Chapter(at: 0, "")
      chapter.pointer = fields.pointer
      read(fields, ChapterKeys.properties, into: &chapter)
      let isWhole = problems.count == found && ChapterKeys.table.keyNames.allSatisfy(fields.has)
      if chapter.title.utf8.count > Document.Chapter.longestTitle {
        problems.add(
          fields.pointer.key("title"),
          "the title has \(chapter.title.utf8.count) bytes of UTF-8; at most \(Document.Chapter.longestTitle) are possible"
        )
      }
      if isWhole { chapters.append(chapter) }
    }
    return chapters
  }
}

extension Lowering {
  /// The chapters on the output's own timeline. Each lasts until the next one, the last one until the end.
  /// - Parameter range: what is exported.
  mutating func outputChapters(in container: Container?, range: MediaTimeRange) -> [Chapter] {
    let entries = document.export.chapters
    guard !entries.isEmpty else { return [] }
    let isPossible = container.map(Container.withChapters.contains) ?? true
    if let container, !isPossible, !isLeftToOtherOutputs(Container.withChapters.contains) {
      problems.add(
        document.export.pointer.key("chapters"),
        "\(container) has no chapters; \(list(Container.withChapters.map(\.rawValue))) have")
    }
    var starts: [(time: MediaTime, title: String)] = []
    for entry in entries {
      let pointer = entry.pointer.key("at")
      guard let time = resolve(entry.at, at: pointer) else { continue }
      if let last = starts.last, time <= last.time {
        problems.add(pointer, "\(time) is not after the chapter before it, which starts at \(last.time)")
        continue
      }
      if filmIsKnown, !film.isEmpty, film.end <= time {
        problems.add(pointer, "\(time) is not in the film, which is \(seconds(film.duration)) long")
        continue
      }
      starts.append((time, entry.title))
    }
    var chapters: [Chapter] = []
    for (index, chapter) in starts.enumerated() {
      let end = index + 1 < starts.count ? starts[index + 1].time : range.end
      let (from, to) = (max(chapter.time, range.start), min(end, range.end))
      guard from < to else { continue }
      let place = exact(at: document.export.pointer.key("chapters")) { () throws(TimeError) in
        try MediaTimeRange(start: from - range.start, end: to - range.start)
      }
      if let place { chapters.append(Chapter(range: place, title: chapter.title)) }
    }
    return isPossible ? chapters : []
  }
}

extension Container {
  /// Those whose files can have chapters.
  static let withChapters = [Container.mp4, .mov, .m4v, .m4a, .mkv, .webm]
}
