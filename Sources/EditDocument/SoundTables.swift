import CompositionModel

/// `audioMix`: of each track its volume, ramps, or an object.
enum AudioMixKeys {
  static let volume = Key(
    "volume", .level("a volume, or ramps of `volume`", .any(volumes, list(RampTables.volume)), .volume), default: "1",
    "")
  static let pan = Key(
    "pan", .level("-1 to 1, or ramps of `pan`", .any(.number(RampQuantity.pan.range), list(RampTables.pan)), .pan),
    default: "0", "-1 is the left speakers alone, and 1 the right ones")
  static let filters = Key(
    "filters", AudioFilterTables.list,
    "before the volume, in order, at most \(Document.AudioFilter.greatestCount); see [Filters of sound](audio-filters.md)"
  )
  static let duck = Key(
    "duck", Form<Ducking>("object", DuckKeys.table.reference) { $0.ducking($1) },
    "lowers the track while another is heard")

  static let properties: [Property<Document.TrackMix>] = [
    volume.of(\.volume), pan.of(\.pan), filters.of(list: \.filters), duck.of(\.duck),
  ]
  static let trackTable = ObjectTable(
    name: "trackMix", noun: "a track's mix", keys: Array(properties), instead: TrackMixEntry.instead)

  private static let volumes = Form<Double>.volume(RampQuantity.volume.range).schema
  private static func list(_ table: ObjectTable) -> JSONValue { ["type": "array", "items": table.reference] }

  /// A member of `audioMix`.
  static let member = JSONValue.any(volumes, list(RampTables.mix), trackTable.reference)
  static let schema: JSONValue = [
    "type": "object",
    "properties": .object([(AudioMixEntry.loudnessKey, loudness.schema)]),
    "additionalProperties": .reference("mix"),
  ]

  /// `loudness` is a track where one has this name.
  static let loudness = Form<Bool>("", .any(LoudnessKeys.table.reference, .reference("mix")), write: JSONValue.boolean)
  { reader, value in
    if reader.accepts(value, Form<Document.TrackMix>("", [:]) { $0.trackMix("", $1).written }) { return true }
    return reader.loudness(value) != nil
  }
}

extension Form where Value == Document.Level {
  /// A number, or ramps of a quantity.
  static func level(_ type: String, _ schema: JSONValue, _ quantity: RampQuantity) -> Form {
    Form(type, schema, write: quantity.written) { $0.level($1, of: quantity) }
  }
}

/// `duck` of a track's mix.
enum DuckKeys {
  static let under = Key(required: "under", .text, "the audio track that is listened to, as it is in the mix")
  static let by = Key("by", .decibels(-60...0), default: "-12", "decibels by which the track is lowered")
  static let threshold = Key(
    "threshold", .decibels(-80...0), default: "-36", "decibels of full scale that a sample of the other track must have"
  )
  static let attack = Key("attack", .number(0...10), default: "0.2", "seconds that lowering takes, linearly")
  static let hold = Key(
    "hold", .number(0...10), default: "0.4", "seconds for which the track stays lowered after the last such sample")
  static let release = Key("release", .number(0...30), default: "0.8", "seconds that rising again takes, linearly")
  private static let standard = DuckingLevels()
  static let properties: [Property<Ducking>] = [
    under.of(\.under), by.of(\.levels.by, standard: standard.by),
    threshold.of(\.levels.threshold, standard: standard.threshold),
    attack.of(\.levels.attack, standard: standard.attack), hold.of(\.levels.hold, standard: standard.hold),
    release.of(\.levels.release, standard: standard.release),
  ]
  static let table = ObjectTable(
    name: "duck", noun: "'duck'", keys: Array(properties),
    instead: TrackMixEntry.duckingInstead)
}

/// `loudness` of `audioMix`.
enum LoudnessKeys {
  static let target = Key(
    required: "target", .number(AudioMixEntry.targets),
    "integrated loudness in LUFS, such as -23 for broadcasting or -16 for the web")
  static let truePeak = Key(
    "truePeak", .decibels(AudioMixEntry.truePeaks), default: "-1",
    "the highest true peak, in decibels of full scale")
  static let properties: [Property<LoudnessTarget>] = [
    target.of(\.target), truePeak.of(\.truePeak, standard: LoudnessTarget(target: 0).truePeak),
  ]
  static let table = ObjectTable(
    name: "loudness", noun: "'loudness'", keys: Array(properties), instead: AudioMixEntry.loudnessInstead)
}

extension Form where Value == String {
  /// Of a track, for people. How many characters it has is counted as they are seen, which a schema cannot do.
  static var title: Form { shared("string", "name", write: JSONValue.text) { $0.title($1) } }
}
