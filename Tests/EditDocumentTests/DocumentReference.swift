@testable import CompositionModel
@testable import EditDocument

/// The tables of keys of `docs/document/`, made of the declarations. In its page each is between
/// `<!-- keys: name -->` and `<!-- end -->`.
enum DocumentReference {
  /// Keys that one table of the page shows.
  struct Section: Sendable {
    var name: String
    var keys: [any DeclaredKey]
  }

  static let sections: [Section] = [
    Section(name: "document", keys: DocumentKeys.table.keys),
    Section(name: "parameter", keys: ParameterKeys.table.keys),
    Section(name: "track", keys: TrackKeys.table.keys),
    Section(name: "clip", keys: ClipKeys.reference),
    Section(name: "speedPoint", keys: SpeedPointKeys.table.keys),
    Section(name: "clipTransition", keys: [TransitionKeys.duration, TransitionKeys.sound]),
    Section(name: "fade", keys: FadeKeys.table.keys),
    Section(name: "stabilize", keys: StabilizeKeys.table.keys),
    Section(name: "border", keys: BorderKeys.table.keys),
    Section(name: "transform", keys: TransformKeys.table.keys),
    Section(name: "mask", keys: MaskKeys.table.keys),
    Section(
      name: "ramp",
      keys: RampTables.clip.keys + RampTables.parameter.keys.suffix(1) + RampTables.mix.keys.suffix(2)),
    Section(name: "videoComposition", keys: VideoCompositionKeys.table.keys),
    Section(name: "filmColor", keys: FilmColourKeys.table.keys),
    Section(name: "transition", keys: [TransitionKeys.from, TransitionKeys.to, TransitionKeys.over]),
    Section(name: "transitionStyle", keys: TransitionKeys.style),
    Section(name: "instruction", keys: InstructionKeys.table.keys),
    Section(name: "compositor", keys: CompositorKeys.table.keys),
    Section(name: "layer", keys: LayerKeys.table.keys),
    Section(name: "overlay", keys: OverlayKeys.common + [OverlayKeys.ramps]),
    Section(
      name: "pictureOverlay", keys: [OverlayKeys.image, OverlayKeys.video, OverlayKeys.use] + OverlayKeys.ofPictures),
    Section(name: "shapeOverlay", keys: OverlayKeys.ofShapes.filter { $0.name != "crop" }),
    Section(name: "picture", keys: PictureKeys.table.keys),
    Section(name: "nested", keys: NestedKeys.table.keys),
    Section(name: "gradient", keys: GradientKeys.table.keys),
    Section(name: "gradientStop", keys: GradientStopKeys.table.keys),
    Section(name: "textOverlay", keys: OverlayKeys.ofTexts),
    Section(
      name: "waveformOverlay",
      keys: [OverlayKeys.waveform, OverlayKeys.color, OverlayKeys.waveformWidth, OverlayKeys.waveformHeight]),
    Section(name: "waveform", keys: WaveformKeys.table.keys),
    Section(name: "countingText", keys: CountingKeys.reference),
    Section(name: "outline", keys: OutlineKeys.table.keys),
    Section(name: "shadow", keys: ShadowKeys.table.keys),
    Section(name: "box", keys: BoxKeys.table.keys),
    Section(name: "reveal", keys: RevealKeys.table.keys),
    Section(name: "metadataTrack", keys: MetadataTrackKeys.table.keys),
    Section(name: "metadataValue", keys: MetadataTrackKeys.valueTable.keys),
    Section(name: "trackText", keys: TrackTextKeys.table.keys),
    Section(name: "trackMix", keys: AudioMixKeys.trackTable.keys),
    Section(name: "duck", keys: DuckKeys.table.keys),
    Section(name: "loudness", keys: LoudnessKeys.table.keys),
    Section(name: "captions", keys: CaptionKeys.table.keys),
    Section(name: "cue", keys: CueKeys.table.keys),
    Section(name: "speaker", keys: SpeakerKeys.table.keys),
    Section(name: "subtitleTrack", keys: SubtitleTrackKeys.table.keys),
    Section(name: "subtitleClip", keys: SubtitleTrackKeys.clipTable.keys),
    Section(name: "export", keys: ExportKeys.table.keys),
    Section(name: "video", keys: VideoKeys.table.keys),
    Section(name: "targetQuality", keys: TargetQualityKeys.table.keys),
    Section(name: "audio", keys: AudioKeys.table.keys),
    Section(name: "output", keys: OutputKeys.table.keys),
    Section(name: "chapter", keys: ChapterKeys.table.keys),
  ]

  /// The tables by their names.
  static let tables: [(name: String, text: String)] =
    sections.map { ($0.name, table($0.keys)) } + [("filters", filters), ("audioFilters", audioFilters)]

  private static func table(_ keys: [any DeclaredKey]) -> String {
    rows(
      ["Key", "Type", "Default", "Meaning"],
      keys.map { key in
        ["`\(key.name)`", key.type, key.standard, key.summary + (key.since.map { " (since \($0))" } ?? "")]
      })
  }

  private static let filters = rows(
    ["`kind`", "Parameters", "Range", "Default", "Meaning"],
    FilterKind.allCases.flatMap { kind in
      (FilterTables.tables[kind]?.keys.dropFirst() ?? []).enumerated().map { number, key in
        [number == 0 ? "`\(kind.rawValue)`" : "", "`\(key.name)`", key.type, key.standard, key.summary]
      }
    })

  private static let audioFilters = rows(
    ["`kind`", "Parameters", "Range", "Default", "Meaning"],
    AudioFilterKind.allCases.flatMap { kind in
      (AudioFilterTables.tables[kind]?.keys.dropFirst() ?? []).enumerated().map { number, key in
        [number == 0 ? "`\(kind.rawValue)`" : "", "`\(key.name)`", key.type, key.standard, key.summary]
      }
    }
      + AudioFilterTables.presetTable.keys.dropFirst().map { key in
        ["`\(AudioFilterTables.presetKind)`", "`\(key.name)`", key.type, key.standard, key.summary]
      })

  private static func rows(_ head: [String], _ rows: [[String]]) -> String {
    func line(_ cells: [String]) -> String { "|" + cells.map { $0.isEmpty ? " |" : " \($0) |" }.joined() }
    return ([line(head), "|" + String(repeating: "---|", count: head.count)] + rows.map(line)).joined(separator: "\n")
  }

  /// A page with its tables as the declarations have them.
  /// - Throws: A table that the page names and that there is not, or one that does not end.
  static func updated(_ page: String) throws(ReferenceError) -> String {
    var lines: [Substring] = []
    var skipped: String?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if let name = skipped {
        guard line == end else { continue }
        guard let table = tables.first(where: { $0.name == name }) else {
          throw ReferenceError(table: name, isOpen: false)
        }
        lines += ["", Substring(table.text), "", line]
        skipped = nil
        continue
      }
      lines.append(line)
      if line.hasPrefix(start), line.hasSuffix(" -->") {
        skipped = String(line.dropFirst(start.count).dropLast(" -->".count))
      }
    }
    if let skipped { throw ReferenceError(table: skipped, isOpen: true) }
    return lines.joined(separator: "\n")
  }

  /// The names of the tables that a page has.
  static func names(in page: String) -> [String] {
    page.split(separator: "\n").filter { $0.hasPrefix(start) && $0.hasSuffix(" -->") }
      .map { String($0.dropFirst(start.count).dropLast(" -->".count)) }
  }

  private static let start = "<!-- keys: "
  private static let end = "<!-- end -->"
}

/// Why a page's tables cannot be written.
struct ReferenceError: Error, CustomStringConvertible {
  var table: String
  /// The page ends within the table.
  var isOpen: Bool

  var description: String {
    isOpen
      ? "the table '\(table)' has no end: a line '<!-- end -->' should follow it"
      : "there is no table '\(table)'; there are \(list(DocumentReference.tables.map(\.name)))"
  }
}
