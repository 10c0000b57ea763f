import CompositionModel

/// Compares a document with its media. It finds every problem, and makes the edit if there is none.
///
/// It continues after a problem, but does not check what depends on an uncertain part: a clip whose place is unknown
/// overlaps nothing, while one whose opacity is wrong still does. Each section of the document extends it in the
/// section's own file.
struct Lowering {
  let document: ExaminedDocument
  /// The assets that can be used.
  var assets: [AssetID: AssetDescription]
  /// The output's path from the command line.
  let output: String?
  var problems: ProblemList
  /// The tracks whose pictures are masks. They are not shown by derived instructions.
  let maskTracks: Set<TrackID>
  /// The audio tracks that the mix names.
  let mixedTracks: Set<TrackID>
  /// The duration of an output frame, for times in frames.
  var frameDuration = MediaTime(value: 1, timescale: 30)
  var tracks: [LoweredTrack] = [] {
    didSet {
      trackNumbers = Dictionary(
        tracks.enumerated().flatMap { number, track in track.clips.lanes.map { ($0.id, number) } }
      ) { first, _ in first }
    }
  }
  private var trackNumbers: [TrackID: Int] = [:]
  /// When the clips with a name, the markers and the end of the film are.
  var things = PlacedThings()
  /// How often the clips that are repeated play, together.
  var turnCount = 0
  /// On the composition's timeline.
  var metadata: [MetadataTrack] = []
  /// How often the texts of metadata tracks change, as far as they are lowered.
  var textChanges = 0
  /// Whether the place of every clip is known, and so the film's duration.
  var filmIsKnown = false
  /// How much smaller the film is made than its author has measured it: `scale` of the document, or less if the preset
  /// has smaller frames.
  var scale: Rational
  /// The size of a frame. Nil if it is not known.
  var frameSize: PixelSize?
  /// The place in the document of each overlay of the edit.
  var overlayPlaces: [JSONPointer] = []
  /// [0, the film's duration), as far as it is known.
  var film = MediaTimeRange(emptyAt: .zero)
  /// What of the media is not in the film, as warnings.
  var losses: [Problem] = []
  /// How many steps the ramps have, as far as they are lowered.
  var rampStepCount = 0
  /// The edits of the assets that are documents, and their warnings.
  var nested: [AssetID: NestedEdit] = [:]
  var nestedWarnings: [Problem] = []
  /// Captions of a film that is copied which are stored in another way in the output.
  var carriedCaptions: [Captions] = []

  init(
    _ document: ExaminedDocument, assets: [AssetID: AssetDescription], output: String?, unreadable: [AssetID: String]
  ) {
    self.document = document
    self.assets = assets.filter { unreadable[$0.key] == nil }
    self.output = output
    maskTracks = Set(document.masks.compactMap(\.entry.mask.track))
    mixedTracks = document.audioMix.names
    scale = document.videoComposition.scale
    problems = document.problemList
    checkAssets(unreadable: unreadable)
    lowerNested(unreadable: unreadable)
    describePictures()
    for entry in document.pictures { checkArea(of: entry.picture, at: entry.pointer.key(PictureKeys.size.name)) }
  }

  /// The edit. Nil if its size or its container is unknown.
  mutating func edit() -> Edit? {
    let entry = document.videoComposition
    lowerFrameDuration()
    lowerTracks()
    filmIsKnown = document.timesAreKnown && tracks.allSatisfy(\.isComplete)
    let composition = Composition(tracks: tracks.flatMap(\.composed))
    film =
      exact(at: .root) { () throws(TimeError) in try MediaTimeRange(start: .zero, end: composition.duration) } ?? film
    metadata = lowerMetadataTracks()
    checkMaskTracks()
    let format = outputFormat()
    frameSize = format.size
    describePictures()
    let export = exportSettings(format)
    let instructions = entry.instructions.map { lower($0) } ?? derivedInstructions()
    var overlays: [Overlay] = []
    for overlay in entry.overlays {
      let lowered = self.overlays(overlay, frame: format.size)
      overlays += lowered
      overlayPlaces += lowered.map { _ in overlay.pointer }
    }
    let filters = scaled(filters(entry.filters))
    let audioMix = lowerAudioMix()
    if let sampleRate = export?.audio?.sampleRate { checkAudioFilters(sampleRate: sampleRate) }
    let captions = lowerCaptions(frame: format.size, export) + lowerSubtitleTracks(export) + carriedCaptions
    checkSize(captions)
    if let container = export?.container { loseStyles(of: captions, container) }
    if filmIsKnown, film.isEmpty {
      problems.add(.root.key("tracks"), "the film has no frames: there is no clip on any track")
    }
    // A film without video still has a size, which is not used.
    guard let export, let size = format.size ?? (export.video == nil ? PixelSize(width: 2, height: 2) : nil)
    else { return nil }
    var edit = Edit(
      composition: composition,
      videoComposition: VideoComposition(
        renderSize: size, frameDuration: frameDuration, instructions: instructions, overlays: overlays,
        filters: filters, toneMapping: entry.toneMapping),
      audioMix: audioMix, export: export)
    edit.captions = captions.isEmpty ? nil : captions
    edit.drawn = drawnAssets
    edit.nested = nested.isEmpty ? nil : nested
    let given = Set(document.ownCompositors.flatMap { $0.compositor.metadata ?? [] })
    if !given.isEmpty { edit.metadata = metadata.filter { given.contains($0.id) } }
    // A number of frames that does not fit an `Int` is too large as well.
    if (try? edit.frameCount) ?? .max > Int(Int32.max) {
      problems.add(.root, "the film has more frames than a file can hold: it lasts \(seconds(composition.duration))")
    }
    return edit
  }

  /// The track of this name, or the one that has a lane of this name. Nil if the document has none.
  func track(_ id: TrackID) -> LoweredTrack? { trackNumbers[id].map { tracks[$0] } }

  /// The result of an exact computation. Nil and a problem if it fails.
  mutating func exact<Value>(at pointer: JSONPointer, _ compute: () throws(TimeError) -> Value) -> Value? {
    do {
      return try compute()
    } catch {
      problems.add(pointer, "\(error)")
      return nil
    }
  }
}

/// Elements that each occupy a range of time, in order, none overlapping another.
struct Timeline<Element> {
  private(set) var entries: [(range: MediaTimeRange, element: Element)] = []

  /// Sorts `entries` by time. An entry that overlaps the one before it is left out and passed to `overlap`.
  init(_ entries: [(range: MediaTimeRange, element: Element)], overlap: (_ entry: Element, _ earlier: Element) -> Void)
  {
    // Of two that start together the first as written stays.
    let order = entries.indices.sorted { a, b in
      entries[a].range.start == entries[b].range.start ? a < b : entries[a].range.start < entries[b].range.start
    }
    for entry in order.map({ entries[$0] }) {
      if let last = self.entries.last, entry.range.start < last.range.end {
        overlap(entry.element, last.element)
      } else {
        self.entries.append(entry)
      }
    }
  }

  /// The entries that overlap a range.
  subscript(_ range: MediaTimeRange) -> ArraySlice<(range: MediaTimeRange, element: Element)> {
    entries[entries.partitionPoint { range.start < $0.range.end }...].prefix { $0.range.start < range.end }
  }

  /// Whether the entries leave no gap in a range.
  func covers(_ range: MediaTimeRange) -> Bool {
    var covered = range.start
    for entry in self[range] {
      guard entry.range.start <= covered else { return false }
      covered = entry.range.end
    }
    return range.end <= covered
  }
}
