import CompositionModel
public import EditDocument

extension Edit {
  /// The edit as a JSON document. Throws, with the place in the document, if a number of the edit is not finite or a
  /// part cannot be written otherwise.
  public func document() throws(DocumentError) -> [UInt8] {
    var written = try written()
    var problems: [Problem] = []
    if unconverted.videoComposition == Document.VideoComposition() {
      do { written.videoComposition.scale = try videoComposition.writtenScale() } catch { problems = error.problems }
    }
    do {
      let bytes = try written.bytes
      if problems.isEmpty { return bytes }
    } catch {
      problems += error.problems
    }
    throw DocumentError(problems: problems)
  }

  /// Without the scale of the video composition.
  private func written() throws(DocumentError) -> Document {
    var document = unconverted
    (document.assets, document.pictures, document.documents) = (assets, pictures, documents)
    document.tracks += try below("/tracks") { () throws(DocumentError) in
      try Sheaf.written(composition.tracks) { (track) throws(DocumentError) in .media(try track.written()) }
    }
    document.tracks += subtitleTracks.map { .subtitle($0.written) } + metadataTracks.map { .metadata($0.written) }
    if document.audioMix == Document.AudioMix() {
      document.audioMix = try below("/audioMix") { () throws(DocumentError) in
        try audioMix.written(tracks: composition.tracks)
      }
    }
    if document.videoComposition == Document.VideoComposition() {
      document.videoComposition = try below("/videoComposition") { () throws(DocumentError) in
        try videoComposition.written()
      }
    }
    if document.captions.isEmpty { document.captions = captions.map(\.written) }
    if document.export == Document.Export() { document.export = export.written }
    return document
  }

  /// Reads an edit from a document. What the edit's own types cannot hold is in `unconverted`, so that the edit means
  /// the same film. Throws what is wrong in the document; that a name is declared is left to `validate(against:)`.
  ///
  /// - Parameters:
  ///   - document: Its text, in UTF-8.
  ///   - descriptions: What the files of the document's clips contain. A composition holds clips of these alone.
  public init(document: [UInt8], assets descriptions: [AssetID: AssetDescription]) throws(DocumentError) {
    self.init(try Document(ofEdit: document), assets: descriptions)
  }

  /// An edit of a document. What the edit's own types cannot hold is in `unconverted`.
  /// - Parameters:
  ///   - document: What the edit is made of.
  ///   - descriptions: What the files of the document's clips contain. A composition holds clips of these alone.
  public init(_ document: Document, assets descriptions: [AssetID: AssetDescription]) {
    self.init()
    (assets, pictures, documents) = (document.assets, document.pictures, document.documents)
    unconverted.schema = document.schema
    unconverted.markers = document.markers
    let frame = document.videoComposition.renderSize ?? frameForPictures
    let drawn = pictures.mapValues { AssetDescription($0, film: frame) }
    // Clips of one that is not described here stay as they are written.
    let nested = documents.compactMap { id, nested in
      (try? nested.contents(assets: descriptions.ofDocument(id))).map { (id, $0) }
    }
    read(document.tracks, descriptions.merging(drawn) { $1 }.merging(nested) { $1 })
    if let mix = AudioMix(document.audioMix) { audioMix = mix } else { unconverted.audioMix = document.audioMix }
    if let video = VideoComposition(document.videoComposition, fonts: Set(document.assets.keys)) {
      videoComposition = video
    } else {
      unconverted.videoComposition = document.videoComposition
    }
    if let captions = document.captions.all({ Captions($0) }) {
      self.captions = captions
    } else {
      unconverted.captions = document.captions
    }
    if let export = ExportSettings(document.export) {
      self.export = export
    } else {
      unconverted.export = document.export
    }
  }

  /// The edit with other settings.
  func exported(with settings: ExportSettings) -> Edit {
    var edit = self
    edit.export = settings
    edit.unconverted.export = Document.Export()
    return edit
  }

  /// The output's path as the edit gives it. Nil if it gives none.
  var exportPath: String? { unconverted.export.to ?? export.path }

  /// The tracks of one kind are all the edit's own, or none is: their order counts.
  private mutating func read(_ tracks: [Document.Track], _ descriptions: [AssetID: AssetDescription]) {
    let media = tracks.compactMap { track in if case .media(let track) = track { track } else { nil } }
    let subtitles = tracks.compactMap { track in if case .subtitle(let track) = track { track } else { nil } }
    let metadata = tracks.compactMap { track in if case .metadata(let track) = track { track } else { nil } }
    if let tracks = media.all({ CompositionTrack($0, descriptions) }) {
      composition.tracks = tracks
    } else {
      unconverted.tracks += media.map { .media($0) }
    }
    if let tracks = subtitles.all({ SubtitleTrack($0) }) {
      subtitleTracks = tracks
    } else {
      unconverted.tracks += subtitles.map { .subtitle($0) }
    }
    if let tracks = metadata.all({ MetadataTrack($0) }) {
      metadataTracks = tracks
    } else {
      unconverted.tracks += metadata.map { .metadata($0) }
    }
  }
}
