public import CompositionModel

/// A document that was read, but not yet compared with its media: the document, its problems, and what follows from its
/// parts together.
///
/// Each section of the document has a file here, with the section's reader and its lowering, and one with its Swift
/// type, `Document+….swift`. To add a key:
///
/// 1. Add a property to the type of its object (`Document+….swift`).
/// 2. Declare the key in the object's table (`…Tables.swift`), with its form, default and meaning, and bind it to the
///    property: the reader with its checks, the writer, the JSON Schema and the row of the reference follow. Take it
///    out of `notYet` if it is there.
/// 3. Lower it, with its problems, in the section's `Lowering` extension.
/// 4. Test it. `make reference` writes its row in `docs/document/` and `docs/document.schema.json`; show it in an
///    example.
///
/// A key that no property of the model of compositions carries yet needs one that does.
public struct ExaminedDocument: Sendable {
  /// The problems that were found while reading. Empty in a document that `parse` returned.
  public let problems: [Problem]
  /// As it is written. What is wrong is left out.
  public let written: Document

  let assets: [AssetEntry]
  /// The assets that are drawn.
  let pictures: [PictureEntry]
  /// The assets that are documents.
  let nested: [NestedEntry]
  /// Those that something in the document refers to.
  let usedAssets: Set<AssetID>
  let markers: [MarkerEntry]
  let tracks: [TrackEntry]
  let subtitleTracks: [SubtitleTrackEntry]
  let metadataTracks: [Document.MetadataTrack]
  /// Those that something in the document refers to.
  let usedMetadataTracks: Set<TrackID>
  /// No problem makes the time of a clip uncertain.
  let timesAreKnown: Bool
  let videoComposition: VideoCompositionEntry
  let audioMix: AudioMixEntry
  let captions: [CaptionsEntry]
  var export: ExportEntry
  let placeholders: [Placeholder]
  let problemList: ProblemList
  /// What was read otherwise than it is written.
  let readingWarnings: ProblemList

  /// The files that the document names, in its order, and then those of the documents among its assets, whose names
  /// begin with the document's own and a slash. A relative path is relative to the document. `pointer` is its place,
  /// for a problem with the file.
  public var assetPaths: [(id: AssetID, path: String, pointer: String)] {
    assets.map { ($0.id, $0.path, $0.pointer.text) } + nestedPaths
  }

  /// What the fonts are found for: the texts of the overlays, each once.
  public var fontRequests: [FontRequest] {
    var seen: Set<FontRequest> = []
    let own = videoComposition.overlays.flatMap(texts).map(\.fontRequest)
    return (own + nested.flatMap(\.document.fontRequests)).filter { seen.insert($0).inserted }
  }

  /// The output's path as the document gives it. Nil if it gives none.
  public var outputPath: String? { export.to }

  /// Whether the document has several outputs and no playlist of them, so that `outputPath` is their folder.
  public var hasOutputs: Bool { export.hasOutputs && !hasPlaylist }

  /// Whether the film is a playlist, beside which are its other files.
  public var hasPlaylist: Bool { export.playlist != nil }

  /// The names of the outputs' files in their folder. Empty if the document has one output, or a playlist, whose files
  /// depend on the media.
  public var outputFiles: [String] { hasPlaylist ? [] : export.outputs.compactMap(\.export.to) }

  /// The names of the files that are known before the film is planned, if there are several. Nil: there is one.
  package var severalFiles: [String]? {
    export.playlistName.map { name in export.manifests.map { "\(name).\($0)" } }
      ?? (export.hasOutputs ? outputFiles : nil)
  }

  /// Whether the output's index is at the start of its file.
  public var optimizesForNetworkUse: Bool { export.optimizeForNetworkUse }

  /// The edit that the document means, with every default filled in.
  ///
  /// - Parameters:
  ///   - assets: the description of each file of `assetPaths`.
  ///   - output: the path that the command line gives. It overrides the document's `to` and decides the container.
  ///   - unreadable: for each asset without a description, the reason. It is the only problem reported for the asset.
  /// - Throws: every problem, those that `examine` kept and those that depend on the media.
  public func lower(
    assets: [AssetID: AssetDescription], output: String?, unreadable: [AssetID: String] = [:]
  ) throws(DocumentError) -> Edit {
    try lowerWithWarnings(assets: assets, output: output, unreadable: unreadable).edit
  }

  /// The same, with what is most likely not meant: warnings in the form of problems, with which the edit can be
  /// rendered all the same.
  public func lowerWithWarnings(
    assets: [AssetID: AssetDescription], output: String?, unreadable: [AssetID: String] = [:]
  ) throws(DocumentError) -> (edit: Edit, warnings: [Problem]) {
    let (edit, warnings, _) = try lowerWithTimes(assets: assets, output: output, unreadable: unreadable)
    return (edit, warnings)
  }

  /// The same, with the places in the film of what the warnings may be about.
  package func lowerWithTimes(
    assets: [AssetID: AssetDescription], output: String?, unreadable: [AssetID: String] = [:]
  ) throws(DocumentError) -> (edit: Edit, warnings: [Problem], times: FilmTimes) {
    if export.hasOutputs { return try lowerOutputs(assets: assets, unreadable: unreadable) }
    var lowering = Lowering(self, assets: assets, output: output, unreadable: unreadable)
    let edit = lowering.edit()
    guard let edit, lowering.problems.count == 0 else {
      throw DocumentError(problems: lowering.problems.problems)
    }
    return (edit, lowering.warnings(edit), lowering.times(edit))
  }
}

extension Document {
  /// Reads a document. Throws every problem that can be found without its media.
  /// - Parameters:
  ///   - bytes: Its text, in UTF-8.
  ///   - output: As in `examine`.
  public static func parse(_ bytes: [UInt8], output: String? = nil) throws(DocumentError) -> ExaminedDocument {
    let document = try examine(bytes, output: output)
    guard document.problems.isEmpty else { throw DocumentError(problems: document.problems) }
    return document
  }

  /// Reads a document as far as possible and keeps its problems, so that `lower` can report them together with the
  /// problems that depend on its media. Throws only if the bytes are not a JSON object.
  /// - Parameters:
  ///   - bytes: Its text, in UTF-8.
  ///   - output: the path that the command line gives, with which the document will be lowered. Its container has the
  ///     codecs that settings without one are for.
  ///   - preset: takes the place of the document's preset. Nil: the document's.
  public static func examine(
    _ bytes: [UInt8], output: String? = nil, preset: PresetChoice? = nil
  ) throws(DocumentError) -> ExaminedDocument {
    let root: (value: JSONValue, duplicates: [JSONReader.Duplicate])
    do {
      root = try JSONReader.read(bytes)
    } catch {
      throw DocumentError(problems: [error.problem])
    }
    var reader = DocumentReader(output: output, preset: preset)
    for duplicate in root.duplicates { reader.problems.add(duplicate.pointer, JSONReader.duplicateKey) }
    guard let document = reader.document(root.value) else {
      throw DocumentError(problems: reader.problems.problems)
    }
    return document
  }
}

extension DocumentReader {
  /// Reads the whole document. Nil if it is not an object.
  mutating func document(_ template: JSONValue) -> ExaminedDocument? {
    let value = expanded(template)
    // Its braces are filled in, or meant.
    let isTemplate = template.member(DocumentKeys.parameters.name) != nil
    let shapeCount = problems.shapeCount
    // The schema of a template says nothing of what its placeholders may be in.
    defer { if isTemplate { problems.shapeCount = shapeCount } }
    guard
      let fields = fields(
        value, DocumentKeys.table,
        elsewhere: [
          ("'videoComposition'", VideoCompositionKeys.table.keyNames), ("'export'", ExportKeys.table.keyNames),
          ("'video' of 'export'", VideoKeys.table.keyNames),
        ])
    else { return nil }
    var written = Document()
    _ = read(fields, DocumentKeys.version)
    written.schema = read(fields, DocumentKeys.schema)
    let (assets, pictures, nested) = assets(fields["assets"])
    let markers = markers(fields["markers"])
    let (tracks, subtitleTracks, writtenTracks) = tracks(fields["tracks"])
    let metadataTracks = metadataTracks
    let timesAreKnown = fields.has("tracks") && names.tracksAreKnown && tracks.allSatisfy(\.timesAreKnown)
    let videoComposition = videoComposition(fields["videoComposition"], at: fields.pointer.key("videoComposition"))
    let audioMix = audioMix(fields["audioMix"])
    let captions = captions(fields["captions"])
    let export = export(fields["export"], at: fields.pointer.key("export"))
    checkMetadataUses(metadataTracks)
    checkThings()
    written.assets = Dictionary(assets.map { ($0.id, $0.path) }) { first, _ in first }
    written.pictures = Dictionary(pictures.map { ($0.id, $0.picture) }) { first, _ in first }
    written.documents = Dictionary(nested.map { ($0.id, $0.written) }) { first, _ in first }
    written.markers = Dictionary(markers.map { ($0.name, $0.time) }) { first, _ in first }
    written.tracks = writtenTracks
    written.videoComposition = videoComposition.written
    written.audioMix = audioMix.written
    written.captions = captions.map(\.written)
    written.export = export.written
    return ExaminedDocument(
      problems: problems.problems, written: written, assets: assets + fontFiles, pictures: pictures,
      nested: nested, usedAssets: names.usedAssets,
      markers: markers, tracks: tracks,
      subtitleTracks: subtitleTracks, metadataTracks: metadataTracks,
      usedMetadataTracks: Set(metadataUses.map(\.track)), timesAreKnown: timesAreKnown,
      videoComposition: videoComposition, audioMix: audioMix, captions: captions, export: export,
      placeholders: isTemplate ? [] : Placeholder.list(in: value), problemList: problems,
      readingWarnings: warnings)
  }
}
