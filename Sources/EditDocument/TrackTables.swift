import CompositionModel

/// A track of pictures or of sound.
enum TrackKeys {
  static let id = Key(
    "id", .name("a track's id"), default: "`video1`, `video2`…, `audio1`…",
    "its name, which transitions, instructions and `audioMix` use to refer to it; the default counts the tracks of its "
      + "type")
  static let type = Key(
    "type", Form<MediaType>.choice("track type"), default: "`video`",
    "a subtitle track and a metadata track have keys of their own: see [captions](captions.md) and "
      + "[Metadata tracks](metadata-tracks.md)")
  static let sound = Key(
    "sound", .boolean, default: "`true`; `false` for the track of a mask", kinds: ["video"],
    "for a video track: whether the sound of its clips is in the output, if they have any")
  static let pitch = Key(
    "pitch", Form<PitchAlgorithm>.choice("pitch algorithm"), default: "`spectral`", kinds: ["sound"],
    "that of its clips' sound that has none; see [Pitch](speed.md#pitch)")
  static let blendMode = Key(
    "blendMode", .blendMode, default: "`normal`", kinds: ["video"], type: "see [Blend modes](blending.md#blend-modes)",
    "for a video track: that of its clips that have none")
  static let mask = Key(
    "mask", MaskKeys.form, kinds: ["video"],
    "for a video track: that of its clips that have none; see [Masks](blending.md#masks)")
  static let filters = Key(
    "filters", FilterTables.list, kinds: ["video"],
    "for a video track: applied to each clip after its own; ramps are on the film's timeline; see [Filters](filters.md)"
  )
  static let clips = Key(
    required: "clips",
    Form<[Document.Clip]>(
      "array of clips", ["type": "array", "items": ClipKeys.table.reference]
    ) { reader, value in reader.items(value, "clips").map { reader.clip($0, .video, hasSound: true).written } },
    "clips of a track must not overlap, except by a `transition`")

  /// What a track has is decided by its type, and what its clips have by the track.
  static let properties: [Property<Document.MediaTrack>] = [
    id.of(\.id), type.of(\.type), sound.of(\.sound), pitch.of(\.pitch), clips.of(\.clips).readBySection,
    blendMode.of(\.blendMode), mask.of(\.mask), filters.of(list: \.filters),
  ]
  static let table = ObjectTable(
    name: "mediaTrack", noun: "a track", keys: Array(properties),
    instead: TrackEntry.instead,
    restrictions: [
      .when(
        isAudio,
        then: .all(.lacks(["sound", "blendMode", "mask", "filters"]), clips(ClipKeys.ofAudioTracks)),
        else: .all(
          clips(ClipKeys.ofVideoTracks),
          .when(isSilent, then: .all(.lacks(["pitch"]), clips(ClipKeys.ofSilentTracks))))
      )
    ])

  private static let isAudio = JSONValue.chosen("type", among: ["audio"])
  private static let isSilent = JSONValue.all(
    .requires("sound"), ["properties": ["sound": ["const": .boolean(false)]]])
  private static func clips(_ clip: JSONValue) -> JSONValue { ["properties": ["clips": ["items": clip]]] }

  /// A track of any type.
  static let schema = JSONValue.when(
    .chosen("type", among: [MediaType.metadata.rawValue]),
    then: MetadataTrackKeys.table.reference,
    else: .when(
      .chosen("type", among: [MediaType.subtitle.rawValue]),
      then: SubtitleTrackKeys.table.reference, else: table.reference))
}

/// A clip of a track of pictures or of sound. `kinds` names what its track must have: pictures (`video`) or `sound`.
enum ClipKeys {
  static let asset = Key(
    required: "asset", .asset, "a name of `assets`; the clip uses its default track of the type of the clip's track")
  static let use = Key(
    "use", .range(.own), default: "all of it",
    "the part of the asset that is used, on the asset's timeline, which starts at 0; it must lie within the asset")
  static let at = Key(
    "at", .time(.film),
    default: "the end of the clip before it in the list, earlier by the length of a `transition`; 0 for the first",
    "when it starts")
  static let duration = Key(
    "duration", .time, default: "the length of `use`",
    "how long it lasts; if it differs from the length of `use`, the speed is changed")
  static let speed = Key(
    "speed",
    Form<Document.Clip.Speed>(
      "", .any(Form<Rational>.rational(ClipEntry.speeds).schema, SpeedPointKeys.list)
    ) { $0.speed($1) }, default: "1",
    type: "1/100 to 100, or array of points",
    "in place of `duration`: 0.5 is half the speed, so that the clip lasts twice the length of `use`; a number, or a "
      + "fraction such as `\"1/3\"`; or a speed that changes: see [Speed](speed.md#speed); not for still pictures")
  static let reverse = Key(
    "reverse", .boolean, default: "`false`",
    "whether it plays backwards, from the end of `use` to its start; see [Speed](speed.md#speed)")
  static let freeze = Key(
    "freeze", .time(.own), kinds: ["video"],
    "in place of `use` and `speed`: the time of the asset whose picture is shown all the time (0 is the only one of a "
      + "still picture); with `duration` or `until`; for clips of video tracks")
  static let sound = Key(
    "sound", Form<Document.ClipSound>.choice("sound"), default: "`keep`", kinds: ["video"],
    "for a clip of a video track with sound: whether its sound is in the output")
  static let until = Key(
    "until",
    Form<Document.Clip.End>("time, or `\"end\"`", .reference("filmTime")) {
      $0.until($1)
    }, default: "",
    "when it ends at the latest, on the film's timeline: it is cut there. `\"end\"` is the end of all other clips, so "
      + "that music or a background ends with the film; only the last clip of a track may have it")
  static let name = Key(
    "name", .thingName,
    "by which other times count from its start and its end: `\"clip:NAME.end\"`; no other clip has it")
  static let loop = Key(
    "loop", .boolean, default: "`false`",
    "whether `use` plays again and again, until `until`, which is `\"end\"` by default, or for `duration`")
  static let transition = Key(
    "transition",
    Form<Document.ClipTransition>(
      "time, kind, or object", .any(TransitionKeys.ofClips, TransitionKeys.ofAudioClips)
    ) { $0.clipTransition($1, .video) }, default: "none: a cut",
    "how the clip before it in the list gives way to it: see [Transitions between clips](clip-edges.md#transitions-between-clips)"
  )

  static let fadeIn = Key(
    "fadeIn", FadeKeys.form, default: "none",
    "the time in which it appears: its picture from nothing, its sound from silence; see "
      + "[Fades of clips](clip-edges.md#fades-of-clips)")
  static let fadeOut = Key(
    "fadeOut", FadeKeys.form, default: "none", "the time at its end in which it disappears in the same way")
  static let entrance = Key(
    "in", edge, default: "none", kinds: ["video"], "in place of `fadeIn`: a transition from nothing")
  static let exit = Key(
    "out", edge, default: "none", kinds: ["video"], "in place of `fadeOut`: a transition to nothing")
  private static let edge = Form<Document.ClipTransition>("kind, or object", TransitionKeys.ofEdges) { $0.edge($1) }

  static let volume = Key(
    "volume",
    Form<Document.Level>(
      "a volume, or ramps of `volume`",
      .any(
        Form<Double>.volume(RampQuantity.volume.range).schema,
        ["type": "array", "items": RampTables.clipVolume.reference]),
      write: RampQuantity.volume.written
    ) { $0.level($1, of: .volume, RampTables.clipVolume, .own) }, default: "1", kinds: ["sound"],
    "that of its sound, by which that of its track is multiplied; see [audioMix](audio-mix.md). Ramps are on the clip's "
      + "own time, and before the first it is 1")
  static let pitch = Key(
    "pitch", Form<PitchAlgorithm>.choice("pitch algorithm"), default: "that of its track", kinds: ["sound"],
    "what happens to the pitch of its sound if its speed is changed; see [Pitch](speed.md#pitch)")
  static let track = Key(
    "track", .integer(ClipSoundEntry.numbers), default: "the first that the file enables", kinds: ["sound"],
    "which of the asset's audio tracks is heard, counted from 0")
  static let language = Key(
    "language", .language, default: "", kinds: ["sound"],
    "in place of `track`: the first audio track in this language, by its code of ISO 639-2 such as `\"deu\"` (or "
      + "`\"ger\"`)")
  static let audioChannels = Key(
    "audioChannels",
    Form<[Int]>(
      "array of 1 to \(ClipSoundEntry.greatestChannelCount) numbers",
      [
        "type": "array", "items": Form<Int>.integer(ClipSoundEntry.channels).schema, "minItems": 1,
        "maxItems": .integer(ClipSoundEntry.greatestChannelCount),
      ], write: { .array($0.map(JSONValue.integer)) }
    ) { $0.audioChannels($1) }, default: "all", kinds: ["sound"],
    "the channels of its sound that are heard, counted from 0, in this order: `[1]` is the second alone, as mono sound, "
      + "and `[1, 0]` changes left and right")
  static let layout = Key(
    "layout", Form<SpeakerLayout>.choice("layout"), default: "as the file says", kinds: ["sound"],
    "the speakers that the channels of its sound are for; needed if the file does not say, of which `sheaf check` warns"
  )
  static let pan = Key(
    "pan",
    Form<Document.Level>(
      "-1 to 1, or ramps of `value`",
      .any(.number(RampQuantity.pan.range), RampTables.list(RampTables.value, in: RampQuantity.pan.range)),
      write: RampQuantity.value(RampQuantity.pan.range).written
    ) { $0.level($1, of: .value(RampQuantity.pan.range), RampTables.value, .own) }, default: "0", kinds: ["sound"],
    "where its sound is, from left to right; see [audioMix](audio-mix.md). Ramps are on the clip's own time: "
      + "`[{ \"over\": \"0..2\", \"value\": [-1, 1] }]`")
  static let audioFilters = Key(
    "audioFilters", AudioFilterTables.list, kinds: ["sound"],
    "applied to its sound, in order, at most \(Document.AudioFilter.greatestCount); see "
      + "[Filters of sound](audio-filters.md)")

  static let ramps = Key(
    "ramps", RampTables.layers(RampTables.clip, .own), kinds: ["video"],
    "changes of `opacity`, `crop`, `frame` and `transform` on the clip's own time")
  static let filters = Key(
    "filters", FilterTables.list, kinds: ["video"],
    "see [Filters](filters.md); at most \(Document.Filter.greatestCount), in order; ramps are on the clip's own time")
  static let alpha = Key(
    "alpha", .alpha, default: "`straight`", kinds: ["video"],
    "how the colours of a picture with transparency are stored: as they are, or multiplied by it, over black")
  static let deinterlace = Key(
    "deinterlace",
    Form<Document.Deinterlace>(
      "`\"auto\"`, `true`, `false`", ["enum": ["auto", true, false]]
    ) { $0.deinterlacing($1) }, default: "`\"auto\"`", kinds: ["video"],
    "whether pictures of two fields become progressive: those that are flagged as interlaced, all, or none")

  static let stabilize = Key(
    "stabilize", StabilizeKeys.form, default: "`false`", kinds: ["video"],
    "whether the movements of a camera that shakes are evened out; see [Stabilizing](stabilize.md)")

  private static func ofPictures<Value>(_ key: Key<Value>) -> Key<Value> {
    var key = key
    key.kinds = ["video"]
    return key
  }
  static let fit = ofPictures(LayerKeys.fit)

  /// The times of a clip, and what decides them.
  static let times: [Property<Document.Clip>] = [
    asset.of(\.asset), use.of(\.use), at.of(\.at), duration.of(\.duration), speed.of(\.speed), reverse.of(\.reverse),
    until.of(\.until), loop.of(\.loop),
  ]
  /// Of an audio track a transition has other kinds.
  private static let transitions: [Property<Document.Clip>] = [transition.of(\.transition).readBySection]
  static let sounds: [Property<Document.Clip>] = [
    pitch.of(\.pitch), track.of(\.track), language.of(\.language), audioChannels.of(\.audioChannels),
    layout.of(\.layout), pan.of(\.pan),
    audioFilters.of(list: \.audioFilters), volume.of(\.volume),
  ]
  static let pictures: [Property<Document.Clip>] = [
    fit.of(\.fit), ofPictures(LayerKeys.crop).of(\.crop), ofPictures(LayerKeys.frame).of(\.frame),
    ofPictures(LayerKeys.transform).of(\.transform), ofPictures(LayerKeys.opacity).of(\.opacity),
    ofPictures(LayerKeys.blendMode).of(\.blendMode), ofPictures(LayerKeys.mask).of(\.mask),
    ofPictures(LayerKeys.cornerRadius).of(\.cornerRadius), ofPictures(LayerKeys.border).of(\.border),
    ofPictures(LayerKeys.shadow).of(\.shadow), ramps.of(list: \.ramps),
    filters.of(list: \.filters), deinterlace.of(\.deinterlace), stabilize.of(\.stabilize),
    alpha.of(\.alpha), entrance.of(\.in), exit.of(\.out),
  ]
  private static let names: [Property<Document.Clip>] = [name.of(\.name).readBySection]
  static let moments: [Property<Document.Clip>] = [freeze.of(\.freeze), sound.of(\.sound)]
  static let fades: [Property<Document.Clip>] = [fadeIn.of(\.fadeIn), fadeOut.of(\.fadeOut)]
  static let properties = names + times + transitions + fades + sounds + pictures + moments
  static let keys: [any DeclaredKey] = Array(properties)
  static let table = ObjectTable(
    name: "clip", noun: "a clip", keys: keys, instead: ClipEntry.instead,
    rules: [
      .excludes("until", "duration", "a clip has 'until' or 'duration', not both"),
      .excludes("in", "fadeIn", "a clip has 'fadeIn' or 'in', not both"),
      .excludes("out", "fadeOut", "a clip has 'fadeOut' or 'out', not both"),
    ]
      + ["fadeIn", "in"].map {
        .excludes($0, "transition", "a clip appears by a 'transition' from the one before it or by '\($0)', not both")
      }
      + ["use", "speed", "reverse", "loop"].map {
        .excludes("freeze", $0, "a clip has 'freeze', the time of the one picture that it shows, or '\($0)', not both")
      },
    restrictions: [["not": .requires("track", "language")]])

  // What clips have by their tracks.
  static let ofAudioTracks = JSONValue.all(
    .lacks(table.keyNames(ofKind: "video")), ["properties": ["transition": TransitionKeys.ofAudioClips]])
  static let ofVideoTracks: JSONValue = ["properties": ["transition": TransitionKeys.ofClips]]
  static let ofSilentTracks = JSONValue.all(
    .lacks(table.keyNames(ofKind: "sound")), ["properties": ["sound": ["const": "drop"]]])
}

/// A gradual beginning or end of a clip.
enum FadeKeys {
  static let duration = Key(required: "duration", .time, "how long it lasts, more than 0")
  static let curve = Key(
    "curve", Form<Document.FadeCurve>.choice("curve"), default: "`linear`",
    "how the sound becomes louder or softer: the samples times a number that changes linearly, or (`equal-power`) as a "
      + "quarter of a sine; the picture's opacity changes linearly")
  static let properties: [Property<Document.Fade>] = [duration.of(\.duration), curve.of(\.curve)]
  static let table = ObjectTable(
    name: "fade", noun: "a fade", keys: Array(properties), instead: ["easing": "did you mean 'curve'?"])
  static let form = Form<Document.Fade>("time, or object", .any(.reference("time"), table.reference)) { $0.fade($1) }
}

/// A point of a speed that changes.
enum SpeedPointKeys {
  static let at = Key("at", .time, default: "0", "on the clip's own time")
  static let value = Key(
    required: "value", .rational(RetimingEntry.speeds),
    "the speed then; a number, or a fraction such as `\"1/3\"`. 0 is a frozen picture")
  static let properties: [Property<Document.SpeedPoint>] = [at.of(\.at), value.of(\.value)]
  static let table = ObjectTable(
    name: "speedPoint", noun: "a point of a speed", keys: Array(properties), instead: Document.SpeedPoint.instead)
  static let list: JSONValue = [
    "type": "array", "items": table.reference, "minItems": 1, "maxItems": .integer(RetimingEntry.greatestCount),
  ]
}

/// A track of captions.
enum SubtitleTrackKeys {
  static let id = Key(
    "id", .name("a track's id"), default: "`subtitle1`, `subtitle2`…", "its name, which no other track has")
  static let type = Key(
    "type", .choice("track type", among: MediaType.allCases.map(\.rawValue)), default: "required", type: "`subtitle`",
    "")
  static let clips = Key(
    required: "clips",
    Form<[Document.SubtitleClip]>(
      "array of clips",
      [
        "type": "array", "items": clipTable.reference, "maxItems": .integer(SubtitleTrackEntry.greatestCount),
      ]
    ) { $0.subtitleClips($1) }, "with the text tracks of assets")
  static let properties: [Property<Document.SubtitleTrack>] = [
    id.of(\.id), type.always(MediaType.subtitle.rawValue), CaptionKeys.language.of(\.language),
    CaptionKeys.title.of(\.title), CaptionKeys.isDefault.of(\.default), clips.of(\.clips),
  ]
  static let table = ObjectTable(
    name: "subtitleTrack", noun: "a subtitle track", keys: Array(properties),
    instead: TrackEntry.instead)

  static let clipAsset = Key(required: "asset", .asset, "a name of `assets`")
  static let at = Key("at", .time(.film), default: "the end of the clip before it; 0 for the first", "when it starts")
  static let clipProperties: [Property<Document.SubtitleClip>] = [
    clipAsset.of(\.asset), ClipKeys.use.of(\.use), at.of(\.at),
  ]
  static let clipTable = ObjectTable(
    name: "subtitleClip", noun: "a clip of a subtitle track", keys: Array(clipProperties),
    instead: ClipEntry.instead)
}

/// A track of values over time.
enum MetadataTrackKeys {
  static let id = Key(required: "id", .name("a track's id"), "no other track has this name")
  static let type = Key(
    "type", .choice("track type", among: MediaType.allCases.map(\.rawValue)), default: "required", type: "`metadata`",
    "")
  static let values = Key(
    required: "values",
    Form<[Document.MetadataValue]>(
      "array", ["type": "array", "items": valueTable.reference]
    ) { reader, value in reader.items(value, "values").compactMap { reader.metadataValue($0) } },
    "in any order, none overlapping another; all numbers, or all texts")
  static let interpolation = Key(
    "interpolation", Form<Document.MetadataTrack.Interpolation>.choice("interpolation"), default: "`hold`",
    "for numbers that are given at a time: whether each goes linearly to the next one")
  static let properties: [Property<Document.MetadataTrack>] = [
    id.of(\.id), type.always(MediaType.metadata.rawValue), interpolation.of(\.interpolation),
    values.of(\.values).readBySection,
  ]
  static let table = ObjectTable(
    name: "metadataTrack", noun: "a metadata track", keys: Array(properties),
    instead: Document.MetadataTrack.instead)

  static let at = Key(
    "at", .time, default: "required, or `over`",
    "in place of `over`: the value lasts until the next one, and the last until the film's end")
  static let over = Key(
    "over", .range, default: "required, or `at`", "the time of the value, on the film's timeline")
  private static let numbers = JSONValue.number(Document.MetadataTrack.numbers)
  static let value = Key(
    required: "value",
    .raw("number, string, or an array of two numbers", .any(.reference("text"), numbers, .tuple(numbers, numbers))),
    "from -1000000000 to 1000000000, or at most \(OverlayEntry.greatestTextLength) characters. Two numbers are those at "
      + "the start and at the end of `over`, between which it is linear")
  /// The two keys of the time are one property.
  static let valueProperties: [Property<Document.MetadataValue>] = [
    at.written { value in if case .at(let time) = value.when { time } else { nil } },
    over.written { value in if case .over(let range) = value.when { range } else { nil } }, value.written { $0.value },
  ]
  static let valueTable = ObjectTable(
    name: "metadataValue", noun: "a value of a metadata track", keys: Array(valueProperties),
    instead: Document.MetadataTrack.insteadOfItems,
    rules: [
      .excludes("at", "over", "a value has 'over', a range, or 'at', a time, not both"),
      .needsOne(of: ["at", "over"], "a value of a metadata track needs 'at', a time, or 'over', a range"),
    ],
    restrictions: [.when(.requires("over"), else: ["properties": ["value": .any(.reference("text"), numbers)]])])
}

extension ClipKeys {
  /// In the order of the reference: what plays when, what is seen, what is heard.
  static let reference: [any DeclaredKey] =
    [
      asset, use, at, duration, speed, reverse, freeze, sound, until, loop, name, transition, fadeIn, fadeOut, entrance,
      exit, fit,
    ]
    + keys.filter {
      ["crop", "frame", "transform", "opacity", "blendMode", "mask", "cornerRadius", "border", "shadow"].contains(
        $0.name)
    }
    + [
      ramps, filters, stabilize, alpha, deinterlace, pitch, track, language, audioChannels, layout, volume, pan,
      audioFilters,
    ]
}
