import CompositionModel

/// The JSON Schema of documents (draft 2020-12), made of the tables of keys.
///
/// It says what a document's reader reports of the document's shape: the keys of each object, the types, ranges and
/// notations of their values, and which keys go together. It does not say what depends on other parts of a document or
/// on media: that a name is declared, or that a time is within a film.
public enum DocumentSchema {
  /// The schema as it is published in `docs/document.schema.json`. It ends with a newline.
  public static let text = schema.formatted() + "\n"

  /// Every object of a document. The first is the document.
  static let tables: [ObjectTable] =
    [
      DocumentKeys.table, TrackKeys.table, ClipKeys.table, StabilizeKeys.table, FadeKeys.table, SpeedPointKeys.table,
      TransitionKeys.clipTable,
      TransitionKeys.audioTable, SubtitleTrackKeys.table, SubtitleTrackKeys.clipTable, MetadataTrackKeys.table,
      MetadataTrackKeys.valueTable, MaskKeys.table, TransformKeys.table, RampTables.clip, RampTables.layer,
      RampTables.picture, RampTables.text, RampTables.value, RampTables.parameter,
    ] + FilterKind.allCases.compactMap { FilterTables.tables[$0] } + [
      VideoCompositionKeys.table, FilmColourKeys.table, TransitionKeys.table, CompositorKeys.table,
      InstructionKeys.table, LayerKeys.table, OverlayKeys.imageTable, OverlayKeys.videoTable, OverlayKeys.shapeTable,
      OverlayKeys.textTable, OverlayKeys.waveformTable, WaveformKeys.table, PictureKeys.table, NestedKeys.table,
      GradientKeys.table, GradientStopKeys.table,
      OutlineKeys.table, ShadowKeys.table, BorderKeys.table, TargetQualityKeys.table, BoxKeys.table,
      TrackTextKeys.table, RevealKeys.table,
      NumberTrackKeys.table,
      AudioMixKeys.trackTable, RampTables.volume, RampTables.clipVolume, RampTables.pan, RampTables.mix, DuckKeys.table,
      LoudnessKeys.table,
    ] + CountingKeys.all.map(\.table) + AudioFilterKind.allCases.compactMap { AudioFilterTables.tables[$0] } + [
      AudioFilterTables.presetTable,
      ParameterKeys.table, CaptionKeys.table, CueKeys.table, SpeakerKeys.table, ExportKeys.table, VideoKeys.table,
      VideoKeys.shared,
      AudioKeys.table,
      AudioKeys.shared,
      ChapterKeys.table, OutputKeys.table,
    ]

  private static let schema: JSONValue = {
    guard case .object(let document) = DocumentKeys.table.schema.content else {
      preconditionFailure("the schema of an object is an object")
    }
    let others: [(key: String, value: JSONValue)] = [
      ("track", TrackKeys.schema), ("filter", FilterTables.definition), ("overlay", OverlayKeys.schema),
      ("audioFilter", AudioFilterTables.definition), ("mix", AudioMixKeys.member),
    ]
    let definitions =
      SharedForms.all.map { (key: $0.name, value: $0.schema) } + others
      + tables.dropFirst().map { (key: $0.name, value: $0.schema) }
    return .object([
      ("$schema", "https://json-schema.org/draft/2020-12/schema"), ("title", "A document of Sheaf"),
      (
        "description",
        "An edit of films, pictures and sound. What depends on media or on other parts of a document is reported by 'sheaf check'."
      ),
      // In a document with parameters any value may be a placeholder.
      ("if", .all(["type": "object"], .requires(DocumentKeys.parameters.name))), ("then", template),
      ("else", .object(document)),
      ("$defs", .object(definitions)),
    ])
  }()

  /// A document with parameters.
  private static let template: JSONValue = [
    "properties": .object([(DocumentKeys.parameters.name, DocumentKeys.parameters.schema)])
  ]

  /// Whether the reader has no problem with a document's shape: with what its schema says.
  /// - Throws: The text is not JSON.
  package static func accepts(_ bytes: [UInt8]) throws(JSONSyntaxError) -> Bool {
    var reader = DocumentReader(output: nil, preset: nil)
    _ = reader.document(try JSONReader.read(bytes).value)
    return reader.problems.shapeCount == 0
  }
}
