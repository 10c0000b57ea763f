public import CompositionModel

/// Captions as the document means them.
struct CaptionsEntry: Sendable {
  let written: Document.Captions
  /// The keys of the style, and of the texts, that are written.
  let styleKeys: [String]
  let textKeys: [String]
  let pointer: JSONPointer

  /// Nil if the document gives none, or one that it does not declare. A list is an asset that the document does not
  /// name.
  var asset: AssetID? { isList ? "the captions \(pointer.text)" : written.asset.isEmpty ? nil : written.asset }
  var isList: Bool { !written.cues.isEmpty }
  var listed: ListedCaptions { ListedCaptions(written.cues) }
  var use: Document.Captions.Use { written.as ?? .picture }
  /// When `part` starts; without it, when the asset's time zero is.
  var at: Document.Time? { written.at }
  var part: Document.TimeRange? { written.use }
  var font: String? { written.font }
  var isBold: Bool { written.bold ?? false }
  var isItalic: Bool { written.italic ?? false }
  var isVertical: Bool { written.vertical ?? false }
  var track: CaptionTrack {
    CaptionTrack(
      label: TrackLabel(language: written.language, title: written.title), isDefault: written.default ?? false,
      wording: wording)
  }
  var wording: CaptionWording? { written.wording }

  static let instead = [
    "file": "did you mean 'asset'?", "src": "did you mean 'asset'?", "path": "did you mean 'asset'?",
    "start": "did you mean 'at'?", "offset": "did you mean 'at'?", "delay": "did you mean 'at'?",
    "burn": "captions are drawn unless \"as\": \"track\" is given", "lang": "did you mean 'language'?",
    "fontsize": "did you mean 'size'?", "position": "did you mean 'anchor'?", "inset": "did you mean 'margin'?",
    "marginx": "did you mean 'sideMargin'?", "horizontalmargin": "did you mean 'sideMargin'?",
    "marginl": "did you mean 'leftMargin'?", "marginr": "did you mean 'rightMargin'?",
    "marginleft": "did you mean 'leftMargin'?", "marginright": "did you mean 'rightMargin'?",
    "margintop": "did you mean 'topMargin'?", "marginbottom": "did you mean 'bottomMargin'?",
    "background": "did you mean 'box'?", "backgroundcolor": "a box has its colour: \"box\": {\"color\": \"#000000a0\"}",
    "karaoke": "did you mean 'highlightColor'?", "activecolor": "did you mean 'highlightColor'?",
    "wordcolor": "did you mean 'highlightColor'?", "secondarycolor": "did you mean 'spokenColor'?",
    "marginv": "did you mean 'margin'?", "marginy": "did you mean 'margin'?",
    "linelengthmax": "did you mean 'lineLength'?", "maxlinelength": "did you mean 'lineLength'?",
    "maxchars": "did you mean 'lineLength'?", "maxcharacters": "did you mean 'lineLength'?",
    "charactersperline": "did you mean 'lineLength'?", "wrap": "did you mean 'lineLength'?",
    "speaker": "did you mean 'speakers'?", "voices": "did you mean 'speakers'?", "actors": "did you mean 'speakers'?",
    "speakercolors": "a speaker has a colour: \"speakers\": {\"Fred\": {\"color\": \"#ffd040\"}}",
    "showspeakers": "did you mean 'speakerNames'?", "speakername": "did you mean 'speakerNames'?",
    "names": "did you mean 'speakerNames'?",
    "writingmode": "did you mean 'vertical'?", "tategaki": "did you mean 'vertical'?",
    "maxlines": "lines are broken by 'lineLength', the most characters of a line",
    "style": "the keys of the style are \(list(CaptionKeys.style))",
  ]

  /// The most captions of a film, drawn and carried together.
  static let greatestCount = 32

  /// The most captions of all text tracks of the output together, and their bytes.
  static let greatestTracks = 40_000
  static let greatestTracksSize = 4 << 20

  static let standardFont = "sans-serif"
  static let margins = 0...4096
  /// More lines of a caption are hard to read.
  static let readableLines = 2

  /// What is drawn, if the file has no styles of its own. Sizes that are not written are parts of the frame's height.
  /// - Parameter scale: the size of the film to that for which sizes are written.
  func style(frame height: Int, scale: Double) -> CaptionStyle {
    let height = Double(height)
    func scaled(_ length: Int) -> Int { Int((Double(length) * scale).rounded()) }
    let box = written.box.map {
      TextBox(color: $0.color, padding: scaled($0.padding), radius: scaled($0.radius))
    }
    return CaptionStyle(
      font: font ?? Self.standardFont, isBold: isBold, isItalic: isItalic,
      size: written.size.map { $0 * scale } ?? max(1, (height / 18).rounded()), color: written.color ?? .white,
      outline: written.outline.map { $0 * scale } ?? max(1, (height / 360).rounded()),
      outlineColor: written.outlineColor ?? .black, anchor: written.anchor ?? (isVertical ? .topRight : .bottom),
      margin: written.margin.map(scaled) ?? Int((height / 27).rounded()),
      sideMargin: written.sideMargin.map(scaled),
      edges: written.edgeMargins.map {
        CaptionMargins(
          left: $0.left.map(scaled), right: $0.right.map(scaled), top: $0.top.map(scaled),
          bottom: $0.bottom.map(scaled))
      },
      box: box, highlightColor: written.highlightColor, spokenColor: written.spokenColor, wording: wording,
      isVertical: isVertical ? true : nil)
  }
}

extension DocumentReader {
  /// Reads `captions`.
  mutating func captions(_ value: JSONValue?) -> [CaptionsEntry] {
    let written = items(value, "captions")
    if let value, written.count > CaptionsEntry.greatestCount {
      problems.addShape(
        value.pointer, "\(written.count) captions; a film has at most \(CaptionsEntry.greatestCount) of them")
      return []
    }
    return written.compactMap { caption($0) }
  }

  private mutating func caption(_ value: JSONValue) -> CaptionsEntry? {
    guard let fields = fields(value, CaptionKeys.table) else { return nil }
    var captions = Document.Captions("")
    read(fields, CaptionKeys.properties, into: &captions)
    return CaptionsEntry(
      written: captions, styleKeys: CaptionKeys.style.filter { fields.has($0) },
      textKeys: CaptionKeys.texts.filter { fields.has($0) }, pointer: value.pointer)
  }
}

extension ExaminedDocument {
  /// The captions that the film draws, for which fonts are found. The sizes of the style are not those of the film.
  public var drawnCaptions: [(asset: AssetID, style: CaptionStyle)] {
    let ofNested = nested.flatMap { entry in
      entry.document.drawnCaptions.map { (asset: entry.name(of: $0.asset), style: $0.style) }
    }
    return captions.compactMap { entry in
      guard entry.use == .picture, !entry.isList, let asset = entry.asset else { return nil }
      return (asset, entry.fontStyle)
    } + ofNested
  }

  /// The captions of lists that the film draws, for which fonts are found in the same way. Their times are not those of
  /// the film.
  public var listedCaptions: [(captions: CaptionsFormat, style: CaptionStyle)] {
    captions.filter { $0.use == .picture && $0.isList }.map { ($0.listed.untimed, $0.fontStyle) }
      + nested.flatMap(\.document.listedCaptions)
  }
}

extension CaptionsEntry {
  /// What decides the fonts.
  fileprivate var fontStyle: CaptionStyle {
    CaptionStyle(
      font: font ?? CaptionsEntry.standardFont, isBold: isBold, isItalic: isItalic, size: 1, outline: 0, margin: 0,
      wording: wording?.ofFonts)
  }
}

extension Lowering {
  /// The text track of an asset, with its captions. Nil and a problem if there is none.
  mutating func captions(
    of asset: AssetDescription, _ id: AssetID, at pointer: JSONPointer
  ) -> (TrackDescription, CaptionsFormat)? {
    guard let track = asset.defaultTrack(.subtitle) else {
      if let failure = asset.failures?.first(where: { $0.type == .subtitle }) {
        problems.add(
          pointer.key("asset"), "the captions of '\(id.shortened)' cannot be read: \(failure.message)")
        return nil
      }
      problems.add(
        pointer.key("asset"),
        "'\(id.shortened)' has no captions; a file of captions is of the kind SRT, WebVTT, ASS, SSA or SCC, and a movie "
          + "may have a text track")
      return nil
    }
    guard let format = track.captions else {
      problems.add(
        pointer.key("asset"),
        "the captions of '\(id.shortened)' are pictures (\(track.codec)) or cannot be read; captions of text can be "
          + "used"
      )
      return nil
    }
    return (track, format)
  }

  /// Reports text tracks of the output that have too many captions together.
  mutating func checkSize(_ captions: [Captions]) {
    var (count, size) = (0, 0)
    var timelines: [AssetID: CaptionTimeline] = [:]
    for captions in captions {
      guard case .track = captions.use,
        let format = assets[captions.asset]?.tracks.first(where: { $0.index == captions.sourceTrack })?.captions,
        let used = exact(at: .root, { () throws(TimeError) in try captions.used })
      else { continue }
      // Captions are always of an asset's default text track.
      let timeline = timelines[captions.asset] ?? CaptionTimeline(format.events)
      timelines[captions.asset] = timeline
      let events = timeline.events(in: used)
      count += events.count
      size += format.header.utf8.count + events.reduce(0) { $0 + $1.fields.utf8.count }
      guard count > CaptionsEntry.greatestTracks || size > CaptionsEntry.greatestTracksSize else { continue }
      problems.add(
        .root,
        "the text tracks of the output have too many captions: at most \(CaptionsEntry.greatestTracks) of "
          + "\(CaptionsEntry.greatestTracksSize) bytes together are allowed")
      return
    }
  }
}

extension Lowering {
  /// The captions on the film's timeline.
  mutating func lowerCaptions(frame: PixelSize?, _ export: ExportSettings?) -> [Captions] {
    var captions: [Captions] = []
    for entry in document.captions {
      guard let lowered = lower(entry, frame: frame, export) else { continue }
      captions.append(lowered)
    }
    return captions
  }

  /// That of the captions of an asset, which ends with the later of the two.
  private func ownTimeline(of asset: AssetDescription, _ track: TrackDescription) -> WrittenTimeline {
    .own(end: max(asset.duration, track.range.end), "the asset")
  }

  private mutating func lower(_ entry: CaptionsEntry, frame: PixelSize?, _ export: ExportSettings?) -> Captions? {
    let pointer = entry.pointer
    let at = entry.at.map { resolve($0, at: pointer.key("at"), mayBeNegative: true) } ?? .zero
    // `.some(.none)` is a part that cannot be used.
    var part = entry.part.map { resolve($0, at: pointer.key("use"), on: .own(end: nil, "the asset")) }
    addListed(entry)
    guard let id = entry.asset, let asset = assets[id] else { return nil }
    guard let (track, format) = self.captions(of: asset, id, at: pointer) else { return nil }
    if let written = entry.part, !written.origins.isEmpty {
      part = resolve(written, at: pointer.key("use"), on: ownTimeline(of: asset, track))
    }
    if format.hasStyles, let key = (entry.use == .picture ? entry.styleKeys : []).first ?? entry.textKeys.first {
      problems.add(pointer.key(key), "'\(id.shortened)' has styles of its own, which are used; leave out '\(key)'")
      return nil
    }
    guard let at, part != .some(.none) else { return nil }
    let source = part ?? nil
    let start = exact(at: pointer.key("at")) { () throws(TimeError) in
      try source.map { range throws(TimeError) in try at - range.start } ?? at
    }
    guard let start else { return nil }
    let use: CaptionUse
    switch entry.use {
    case .picture:
      if entry.isVertical, entry.written.box != nil {
        problems.add(pointer.key(CaptionKeys.box.name), "vertical captions have no box; leave out 'box', or 'vertical'")
        return nil
      }
      guard export?.video != nil else {
        if export != nil, !document.export.isPassthrough, !document.export.siblings.contains(where: \.hasPictures) {
          problems.add(pointer, "captions cannot be drawn, because the output has no video; write \"as\": \"track\"")
        }
        return nil
      }
      use = .drawn(
        format.hasStyles
          ? nil : entry.style(frame: frame?.height ?? 1080, scale: document.videoComposition.scale.approximate))
    case .track:
      guard let container = export?.container else { return nil }
      guard container.hasTextTracks else {
        if isLeftToOtherOutputs(\.hasTextTracks) { return nil }
        let possible = Container.allCases.filter(\.hasTextTracks).map(\.rawValue)
        problems.add(
          pointer.key("as"),
          "a .\(container.rawValue) file cannot have a text track; \(list(possible)) can, or leave out 'as' to draw "
            + "them"
        )
        return nil
      }
      checkColors(entry)
      use = .track(entry.track)
    }
    return Captions(asset: id, sourceTrack: track.index, start: start, source: source, use: use)
  }
}

extension Lowering {
  /// Captions of which the film shows none that are drawn.
  func addUnseenCaptions(_ edit: Edit, to warnings: inout ProblemList) {
    guard filmIsKnown, !film.isEmpty else { return }
    for entry in document.captions where entry.use == .picture {
      guard let id = entry.asset, let shown = shown(entry, of: edit) else { continue }
      if shown.isEmpty {
        warnings.add(entry.pointer, "none of the captions of '\(id.shortened)' is shown within the film")
      }
    }
  }

  /// The captions of an entry that are within the film, on the timeline of their asset. Nil: nothing is known of them.
  func shown(_ entry: CaptionsEntry, of edit: Edit) -> [CaptionEvent]? {
    guard let id = entry.asset,
      let captions = edit.captions?.first(where: {
        $0.asset == id && $0.isDrawn == (entry.use == .picture) && isLowered(entry, $0)
      }),
      let format = assets[id]?.tracks.first(where: { $0.index == captions.sourceTrack })?.captions,
      // A time that cannot be computed exactly is reported by the planner.
      let used = try? captions.used, let range = try? captions.milliseconds(of: film)
    else { return nil }
    return CaptionTimeline(format.events).events(in: used.clamped(to: range))
  }

  /// Whether these are the captions of an entry.
  private func isLowered(_ entry: CaptionsEntry, _ captions: Captions) -> Bool {
    let at = entry.at.map { known($0) } ?? .zero
    guard let asset = assets[captions.asset],
      let track = asset.tracks.first(where: { $0.index == captions.sourceTrack })
    else { return false }
    let part = entry.part.flatMap { known($0, on: ownTimeline(of: asset, track)) }
    guard captions.source == part, let at else { return false }
    return captions.start == (part.map { try? at - $0.start } ?? at)
  }
}

extension Captions {
  fileprivate var isDrawn: Bool { if case .drawn = use { true } else { false } }

  /// A range of the film in whole milliseconds of the asset's timeline.
  fileprivate func milliseconds(of film: MediaTimeRange) throws(TimeError) -> Range<Int64> {
    let start = Int64(clamping: try ((film.start - start).exact * Rational(1000)).floor)
    let end = Int64(clamping: try ((film.end - self.start).exact * Rational(1000)).ceiling)
    return start..<max(start, end)
  }
}
