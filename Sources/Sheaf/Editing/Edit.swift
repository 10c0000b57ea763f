public import CompositionModel
import EditDocument

/// A whole edit: clips on tracks, how their pictures are composited and their sound is mixed, and how the film is
/// encoded.
///
/// It is a value. `document()` writes it as the JSON document that `sheaf render` and a farm take, and `init(document:
/// assets:)` reads it, or any other document.
public struct Edit: Sendable, Hashable {
  /// One thing that is wrong in an edit, with its place in the edit's document.
  public typealias Problem = CompositionModel.Problem
  /// Values over time that drive a compositor or an overlay, without pictures or sound of their own.
  public typealias MetadataTrack = CompositionModel.MetadataTrack
  /// A number, a number that changes, or a text over a range of time: AVFoundation's `AVTimedMetadataGroup`.
  public typealias TimedMetadata = CompositionModel.TimedMetadata

  /// A picture that is described and not stored: a colour, a gradient or a shape.
  public typealias Picture = CompositionModel.DrawnPicture
  /// An edit as an asset of another one.
  public typealias NestedDocument = Document.Nested

  /// The path of each file by the name that clips and overlays refer to.
  public var assets: [AssetID: String]
  /// Pictures that are drawn, by the names that clips and overlays refer to. They differ from those of files.
  public var pictures: [AssetID: Picture] = [:]
  /// Edits that are assets of this one, as documents, by the names that clips and overlays refer to.
  public var documents: [AssetID: NestedDocument] = [:]
  public var composition: Composition
  public var audioMix: AudioMix
  public var videoComposition: VideoComposition
  /// Drawn over the pictures and their overlays, or carried as text tracks of the film.
  public var captions: [Captions]
  /// Text tracks of the film that are put together from clips.
  public var subtitleTracks: [SubtitleTrack]
  /// Each has numbers or texts. An overlay shows them by `Overlay.Content.metadata`, and a compositor of your own is
  /// given those that it names.
  public var metadataTracks: [MetadataTrack]
  public var export: ExportSettings
  /// The parts of the document that the edit was read from which the edit's own types cannot hold, as they are written:
  /// clips that follow each other or have a place in the picture, transitions between clips, lengths in per cent, times
  /// in frames. Its tracks are those of the film, before those of `composition`; its `videoComposition`, `audioMix`,
  /// `captions` and `export` take the place of the edit's, if they are not empty.
  public var unconverted = Document()

  public init(
    assets: [AssetID: String] = [:], composition: Composition = Composition(), audioMix: AudioMix = AudioMix(),
    videoComposition: VideoComposition = VideoComposition(), captions: [Captions] = [],
    subtitleTracks: [SubtitleTrack] = [], metadataTracks: [MetadataTrack] = [],
    export: ExportSettings = ExportSettings()
  ) {
    self.assets = assets
    self.composition = composition
    self.audioMix = audioMix
    self.videoComposition = videoComposition
    self.captions = captions
    self.subtitleTracks = subtitleTracks
    self.metadataTracks = metadataTracks
    self.export = export
  }

  // MARK: Assets

  /// Gives an asset a name in the edit. Its ranges can then be inserted into the composition.
  /// - Parameters:
  ///   - asset: Its path is written to the edit's document.
  ///   - name: Nil: the file's name without its extension, with a number if another file has it.
  public mutating func add(_ asset: LoadedAsset, as name: AssetID? = nil) -> AssetSource {
    let id = name ?? unusedName(for: asset.path)
    assets[id] = asset.path
    return AssetSource(id: id, contents: asset.contents)
  }

  /// Gives a picture that is drawn a name in the edit. It can then be inserted into the composition for any duration.
  /// One without a size is as large as the film.
  public mutating func add(_ picture: Picture, as name: AssetID) -> AssetSource {
    pictures[name] = picture
    return AssetSource(id: name, contents: AssetDescription(picture, film: frameForPictures))
  }

  /// Gives another edit a name in this one: its film, made wherever it is shown, is what the asset has. It can then be
  /// inserted into the composition like a file, as a whole or in parts, at any speed.
  /// - Parameters:
  ///   - edit: As it is now: what is changed in it later is not seen here. Paths of its media are relative to the same
  ///     folder as this edit's.
  ///   - name: By which clips of this edit use it.
  ///   - assets: What the edit's own files contain, such as `Asset.contents`, by their names in it.
  ///   - isTransparent: Whether its backgrounds are not drawn, so that what is below is seen where it has no picture.
  /// - Throws: The problems of the edit.
  public mutating func add(
    _ edit: Edit, as name: AssetID, assets: [AssetID: AssetDescription], isTransparent: Bool = false
  ) throws(DocumentError) -> AssetSource {
    let nested = Document.Nested(try Document(ofEdit: edit.document()), isTransparent: isTransparent)
    let contents = try nested.contents(assets: assets)
    documents[name] = nested
    return AssetSource(id: name, contents: contents)
  }

  /// The paths of its files, and of those of the edits among its assets, by name.
  var files: [AssetID: String] {
    var document = Document()
    (document.assets, document.documents) = (assets, documents)
    return document.files
  }

  /// The frame for pictures without a size: the film's may only be known with its media.
  var frameForPictures: PixelSize { videoComposition.renderSize ?? PixelSize(width: 1920, height: 1080) }

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
  ///   - assets: What each file contains, such as `Asset.contents`.
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
            pointer: "/tracks/\(unconverted.tracks.count + number)/clips/\(index)",
            message:
              "the clip has track \(clip.sourceTrack) of '\(clip.asset)', and its 'trackNumber' is that of track "
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

  /// What is allowed in the edit but most likely not meant, such as an asset that nothing uses. Throws with every
  /// problem if there are any. The parameters are those of `validate`.
  public func warnings(
    for assets: [AssetID: AssetDescription], output: String? = nil
  ) throws(DocumentError) -> [Problem] {
    try Document.parse(document(), output: output).lowerWithWarnings(assets: assets, output: output).warnings
  }
}

/// An asset of an edit, of which ranges are inserted into a composition.
public struct AssetSource: Sendable, Hashable {
  /// Its name in the edit.
  public let id: AssetID
  /// What the asset contains.
  public let contents: AssetDescription

  /// - Parameters:
  ///   - id: Its name in the edit.
  ///   - contents: What the asset contains.
  public init(id: AssetID, contents: AssetDescription) {
    self.id = id
    self.contents = contents
  }

  /// A range on the asset's timeline. For a still picture only its duration matters.
  public func range(_ range: MediaTimeRange) -> AssetRange {
    AssetRange(asset: id, contents: contents, range: range)
  }

  /// A range from `start` up to, and without, `end`. Throws `EditingError.endsBeforeStart` if the end is before the
  /// start.
  public func range(from start: MediaTime, to end: MediaTime) throws(EditingError) -> AssetRange {
    if start.isNumeric, end.isNumeric, end < start { throw .endsBeforeStart(start, end: end) }
    do { return range(try MediaTimeRange(start: start, end: end)) } catch { throw .time(error) }
  }

  /// The whole of an asset that has a duration of its own.
  public func whole() throws(EditingError) -> AssetRange { try AssetRange(whole: id, contents: contents) }
}
