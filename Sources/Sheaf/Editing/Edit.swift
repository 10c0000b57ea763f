public import CompositionModel

/// A whole edit: clips on tracks, how their pictures are composited and their sound is mixed, and how the film is
/// encoded.
///
/// It is a value. `document()` writes it as the JSON document that `sheaf render` and a farm take, and `init(document:
/// assets:)` reads it back, equal to what was written.
public struct Edit: Sendable, Hashable {
  /// One thing that is wrong in an edit, with its place in the edit's document.
  public typealias Problem = CompositionModel.Problem

  /// The path of each file by the name that clips and overlays refer to.
  public var assets: [AssetID: String]
  public var composition: Composition
  public var audioMix: AudioMix
  public var videoComposition: VideoComposition
  /// Drawn over the pictures and their overlays, or carried as text tracks of the film.
  public var captions: [Captions]
  /// Text tracks of the film that are put together from clips.
  public var subtitleTracks: [SubtitleTrack]
  public var export: ExportSettings

  public init(
    assets: [AssetID: String] = [:], composition: Composition = Composition(), audioMix: AudioMix = AudioMix(),
    videoComposition: VideoComposition = VideoComposition(), captions: [Captions] = [],
    subtitleTracks: [SubtitleTrack] = [], export: ExportSettings = ExportSettings()
  ) {
    self.assets = assets
    self.composition = composition
    self.audioMix = audioMix
    self.videoComposition = videoComposition
    self.captions = captions
    self.subtitleTracks = subtitleTracks
    self.export = export
  }

  // MARK: Assets

  /// Gives an asset a name in the edit. Its ranges can then be inserted into the composition.
  /// - Parameter name: Nil: the file's name without its extension, with a number if another file has it.
  public mutating func add(_ asset: LoadedAsset, as name: AssetID? = nil) -> AssetSource {
    let id = name ?? unusedName(for: asset.path)
    assets[id] = asset.path
    return AssetSource(id: id, description: asset.description)
  }

  private func unusedName(for path: String) -> AssetID {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    let stem = file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
    let base = stem.isEmpty ? file : stem
    var (id, number) = (base, 1)
    while let other = assets[id], other != path {
      number += 1
      id = "\(base)-\(number)"
    }
    return id
  }

  // MARK: Problems

  /// Every problem of the edit and of its use of media, in one pass, as `sheaf check` reports them.
  /// - Parameters:
  ///   - assets: What each file contains, such as `Asset.description`.
  ///   - output: The output's path, which selects the container. Nil: the edit's own.
  public func validate(against assets: [AssetID: AssetDescription], output: String? = nil) -> [Problem] {
    var problems: [Problem] = []
    for (number, track) in composition.tracks.enumerated() {
      for (index, clip) in track.clips.enumerated() {
        guard let asset = assets[clip.asset], let played = asset.track(track.type, number: clip.trackNumber),
          played.index != clip.sourceTrack
        else { continue }
        problems.append(
          Problem(
            pointer: "/tracks/\(number)/clips/\(index)",
            message: "the clip has track \(clip.sourceTrack) of '\(clip.asset)', and its 'trackNumber' is that of track "
              + "\(played.index)"))
      }
    }
    do {
      let document = try Document.examine(document(), output: output)
      _ = try document.lower(assets: assets, output: output)
    } catch {
      problems += error.problems
    }
    return problems
  }
}

/// An asset of an edit, of which ranges are inserted into a composition.
public struct AssetSource: Sendable, Hashable {
  /// Its name in the edit.
  public let id: AssetID
  public let description: AssetDescription

  public init(id: AssetID, description: AssetDescription) {
    self.id = id
    self.description = description
  }

  /// A range on the asset's timeline. For a still picture only its duration matters.
  public func range(_ range: MediaTimeRange) -> AssetRange {
    AssetRange(asset: id, description: description, range: range)
  }

  /// A range from `start` up to, and without, `end`.
  public func range(from start: MediaTime, to end: MediaTime) throws(EditingError) -> AssetRange {
    do { return range(try MediaTimeRange(start: start, end: end)) } catch { throw .time(error) }
  }

  /// The whole of an asset that has a duration of its own.
  public func whole() throws(EditingError) -> AssetRange { try AssetRange(whole: id, description: description) }
}

// MARK: As a document

extension Edit {
  /// The edit as a JSON document. Throws, with the place in the document, if a number of the edit is not finite or a part
  /// cannot be written otherwise.
  public func document() throws(DocumentError) -> [UInt8] {
    var tracks: [JSONValue] = []
    for track in composition.tracks {
      tracks.append(try Self.at("/tracks/\(tracks.count)") { () throws(DocumentError) in try track.written() })
    }
    for track in subtitleTracks { tracks.append(try track.written()) }
    var members: [(String, JSONValue?)] = [
      ("sheaf", .integer(1)), ("assets", .object(assets.map { ($0.key, .text($0.value)) })), ("tracks", .array(tracks)),
    ]
    if audioMix != AudioMix() {
      let mix = try Self.at("/audioMix") { () throws(DocumentError) in try audioMix.written(tracks: composition.tracks) }
      members.append(("audioMix", mix))
    }
    if videoComposition != VideoComposition() {
      let video = try Self.at("/videoComposition") { () throws(DocumentError) in try videoComposition.written() }
      members.append(("videoComposition", video))
    }
    members.append(("captions", try .list(captions)))
    if export != ExportSettings() { members.append(("export", try export.written())) }
    let document = JSONValue.object(members)
    try document.checkNumbers()
    return Array(document.canonicalText.utf8)
  }

  /// Puts the problems of a part of the document below the part's place.
  private static func at(
    _ pointer: String, _ write: () throws(DocumentError) -> JSONValue
  ) throws(DocumentError) -> JSONValue {
    do {
      return try write()
    } catch {
      throw DocumentError(problems: error.problems.map { Problem(pointer: pointer + $0.pointer, message: $0.message) })
    }
  }

  /// Reads an edit from a document that gives the place and the part of each clip, as `document()` writes it. Throws if
  /// the document has what an edit has not, such as clips that follow each other without `at`.
  ///
  /// - Parameter assets: What the files of the document's clips contain.
  public init(document: [UInt8], assets descriptions: [AssetID: AssetDescription]) throws(DocumentError) {
    let read: (value: JSONValue, duplicates: [JSONPointer])
    do {
      read = try JSONReader.read(document)
    } catch {
      let message = "not JSON at line \(error.line), column \(error.column): \(error.message)"
      throw DocumentError(problems: [Problem(pointer: "", message: message)])
    }
    if let duplicate = read.duplicates.first {
      let problem = Problem(pointer: duplicate.text, message: "this key occurs twice in its object")
      throw DocumentError(problems: [problem])
    }
    let fields = try read.value.fields(
      "a document", ["sheaf", "assets", "tracks", "videoComposition", "audioMix", "captions", "export"])
    let version = try fields.required("sheaf")
    guard case .number("1") = version.content else { throw version.problem("\(version.shown) is not version 1") }
    self.init()
    for (id, path) in try fields["assets"]?.members ?? [] { assets[id] = try path.text }
    for track in try fields.required("tracks").items {
      switch try track.trackType {
      case .subtitle: subtitleTracks.append(try SubtitleTrack(track))
      case let type: composition.tracks.append(try CompositionTrack(track, type, descriptions))
      }
    }
    if let mix = fields["audioMix"] { audioMix = try AudioMix(mix, tracks: composition.tracks) }
    if let video = fields["videoComposition"] { videoComposition = try VideoComposition(video) }
    captions = try fields.list("captions")
    if let export = fields["export"] { self.export = try ExportSettings(export) }
    for index in videoComposition.overlays.indices {
      // The name of an asset is a font's file, and any other a family.
      guard case .text(var text) = videoComposition.overlays[index].content, assets[text.font] != nil else { continue }
      (text.fontFile, text.font) = (text.font, "sans-serif")
      videoComposition.overlays[index].content = .text(text)
    }
  }
}
