import CompositionModel

/// `video` of `export` and of its outputs. `kinds` has the codecs that a key is for.
enum VideoKeys {
  private static let codecs = VideoCodec.allCases
  private static func owners(_ key: String) -> [String] {
    codecs.filter { $0.definition.settingKeys.contains(key) }.map(\.rawValue)
  }
  private static func names(_ list: (any VideoCodecDefinition) -> [String]) -> [String] {
    var seen: Set<String> = []
    return codecs.flatMap { list($0.definition) }.filter { seen.insert($0).inserted }
  }

  static let codec = Key(
    "codec", Form<VideoCodec>.choice("video codec"), default: "the container's first", "`ffv1` is lossless")
  static let quality = Key(
    "quality", .number(hull(codecs.compactMap(\.definition.qualities))),
    default: "h264: 23, hevc: 28, vp9: 32, av1: 35, webp: 75", kinds: owners("quality"),
    type: "h264, hevc: 0 to 51; vp9: 0 to 63; av1: 1 to 63; webp: 0 to 100",
    "lower is better and larger; a whole number for vp9 and av1. Of webp higher is better, and 100 is lossless")
  static let targetQuality = Key(
    "targetQuality", TargetQualityKeys.form, kinds: owners("targetQuality"),
    "h264, hevc, vp9, av1: what each part of the film is to look like, in place of `quality`, see "
      + "[target quality](video.md#target-quality)")
  static let bitRate = Key(
    "bitRate", .integer(hull(codecs.compactMap(\.definition.bitRates))), kinds: owners("bitRate"),
    "h264, hevc: bits a second on average over the film, in place of `quality`, see below")
  static let maxBitRate = Key(
    "maxBitRate", .integer(hull(codecs.compactMap(\.definition.maxBitRates))), default: "none, or that of `level`",
    kinds: owners("maxBitRate"), "h264, hevc: the most bits a second that a player takes, see below")
  static let bufferDuration = Key(
    "bufferDuration", .time, default: "1 second", kinds: owners("bufferDuration"),
    type: "0.1 to 60 seconds, 4 frames at least",
    "h264, hevc: the player's buffer holds `maxBitRate` for so long")
  static let preset = Key(
    "preset", .choice("preset", among: names { $0.presets }),
    default: "`medium`; vp9: `\"2\"`; av1: `\"8\"`; webp: `\"4\"`",
    kinds: owners("preset"),
    type: "h264, hevc: `ultrafast`, `superfast`, `veryfast`, `faster`, `fast`, `medium`, `slow`, `slower`, `veryslow`, "
      + "`placebo`; vp9: `\"5\"` to `\"0\"`; av1: `\"12\"` to `\"0\"`; webp: `\"0\"` to `\"6\"`",
    "from fast to slow: slower is smaller")
  static let profile = Key(
    "profile", .choice("profile", among: names { $0.profiles }),
    default: "the encoder's choice for the pixel format; prores: `standard`", kinds: owners("profile"),
    type: each { $0.profiles },
    "the greatest profile that a player must support: the stream states the plainest that has its `pixelFormat`, which "
      + "it does not change; of ProRes, how many bits a frame has")
  static let level = Key(
    "level", .level(among: names { $0.levels }),
    default: "with `maxBitRate` the lowest that can be; else the encoder's choice", kinds: owners("level"),
    type: each { $0.levels },
    "the level that a player must support, a number or a string; of hevc, in the main tier")
  static let keyframeInterval = Key(
    "keyframeInterval",
    Form<Document.Video.KeyframeInterval>(
      "number of frames, or a time as a string",
      .any(
        Form<Int>.integer(VideoSettings.keyframeIntervals).schema, .all(["type": "string"], .reference("time")))
    ) { $0.keyframeInterval($1) }, default: "2 seconds",
    "keyframes at the multiples of it from the film's start, whatever is shown: `60` is 60 frames, `\"2\"` is 2 "
      + "seconds, see [keyframes](video.md#keyframes). Without it, it is the greatest distance from one keyframe to the next. "
      + "Every frame of prores422, prores4444, ffv1, gif, apng and webp is a keyframe, and they take 1 alone")
  static let sceneCuts = Key(
    "sceneCuts", .boolean, default: "`true`; with `keyframeInterval` or `outputs` `false`",
    "whether h264, hevc and vp9 put a keyframe also where the picture changes, see [keyframes](video.md#keyframes)")
  static let pixelFormat = Key(
    "pixelFormat", Form<PixelFormat>.choice("pixel format", notYet: PixelFormat.notYet),
    default:
      "`yuv420p`, or `yuv420p10` if the film is HDR (PQ or HLG) and the `profile` can have 10 bits; for gif, apng and "
      + "webp `yuv444p`; for ffv1 the "
      + "nearest to that of the first clip, with 10 bits if the film is HDR",
    "how the frames are stored; prores422 has `yuv422p10` alone, prores4444 `yuv444p10`, av1 `yuv420p` and "
      + "`yuv420p10`; gif, apng and webp have red, green and blue, which are made of one of "
      + "8 bits")
  static let rotation = Key(
    "rotation", .member(of: [0, 90, 180, 270], "a rotation in degrees clockwise"), default: "0",
    "mp4, mov, m4v: degrees clockwise by which players turn the pictures, which are stored as they are")
  static let pixelAspect = Key(
    "pixelAspect",
    Form<AspectRatio>(
      "`[width, height]`",
      .tuple(Form<Int>.integer(VideoEntry.aspects).schema, Form<Int>.integer(VideoEntry.aspects).schema)
    ) { $0.pixelAspect($1) }, default: "square",
    "the shape of the stored pixels, from 1 to 16 up to 16 to 1, as `[16, 15]`. `renderSize` and all places stay in "
      + "square pixels, as the film is seen; the stored pictures are as high and, to the nearest width that the pixel "
      + "format can store, narrower or wider by it")
  static let cleanAperture: Key<PixelRect> = {
    let (place, side) = (Form<Int>.integer(VideoEntry.places).schema, Form<Int>.integer(VideoEntry.sides).schema)
    return Key(
      "cleanAperture",
      Form(
        "`[x, y, width, height]`", .tuple(place, place, side, side)
      ) { $0.cleanAperture($1) }, default: "all",
      "mp4, mov, m4v: the part of the stored pictures that players show, in stored pixels; it lies within them")
  }()
  static let dither = Key(
    "dither", Form<Dithering>.choice("dithering"), default: "`diffused`", kinds: owners("dither"),
    "how the colours between the 256 of a picture are made: `diffused` spreads the error of each pixel over its "
      + "neighbours (Sierra Lite); `ordered` is a pattern that stays in its place; `none` takes the nearest colour")
  static let plays = Key(
    "plays", .integer(0...65535), default: "0",
    "gif, apng, webp: how often players show the film; 0 is for ever")
  static let language = Key(
    "language", .language, "of the track of pictures, see [audio](audio.md)")
  static let title = Key("title", .title, "of the track of pictures, see [audio](audio.md)")

  static let properties: [Property<Document.Video>] = [
    codec.of(\.codec), quality.of(\.quality), targetQuality.of(\.targetQuality), bitRate.of(\.bitRate),
    maxBitRate.of(\.maxBitRate), bufferDuration.of(\.bufferDuration), preset.of(\.preset), profile.of(\.profile),
    level.of(\.level),
    keyframeInterval.of(\.keyframeInterval), sceneCuts.of(\.sceneCuts), pixelFormat.of(\.pixelFormat),
    rotation.of(\.rotation), pixelAspect.of(\.pixelAspect), cleanAperture.of(\.cleanAperture), dither.of(\.dither),
    plays.of(\.plays), language.of(\.language), title.of(\.title),
  ]
  private static let keys: [any DeclaredKey] = Array(properties)
  /// Those that every codec reads alike.
  static let common = [
    keyframeInterval.name, sceneCuts.name, rotation.name, pixelAspect.name, cleanAperture.name, plays.name,
    language.name, title.name,
  ]
  /// Of an export with one output.
  static let table = ObjectTable(
    name: "video", noun: "'video'", keys: keys, notYet: VideoEntry.notYet, instead: VideoEntry.instead,
    kind: KindKey(name: "codec", standard: nil, names: codecs.map(\.rawValue)) { key, codec in
      "'\(key.name)' is for \(list(key.kinds)); \(codec) has no such setting"
    },
    rules: [
      .needs(
        "bufferDuration", "maxBitRate",
        "'bufferDuration' is the seconds of 'maxBitRate' that the buffer holds: give both"),
      .excludes("bitRate", "quality", "'quality' and 'bitRate' exclude each other: give one of them"),
      .excludes(
        "targetQuality", "quality", "'targetQuality' finds the quality of each part of the film: leave 'quality' out"),
      .excludes("targetQuality", "bitRate", "'targetQuality' and 'bitRate' exclude each other: give one of them"),
    ],
    restrictions: codecs.map { codec in
      .when(
        .chosen("codec", among: [codec.rawValue]),
        then: ["properties": .object(settings(codec.definition))])
    })
  /// What several outputs have in common, and what each sets in its place: the codec of one need not be that of the
  /// other.
  static let shared = ObjectTable(
    name: "sharedVideo", noun: "'video'", keys: keys, notYet: VideoEntry.notYet, instead: VideoEntry.instead)
  static let sharedForm = Form<Document.Stream<Document.Video>>(
    "object or `false`", .any(["type": "boolean"], shared.reference)
  ) { $0.stream($1, shared, properties, Document.Video()) }

  /// What the settings of a codec may be.
  private static func settings(_ codec: any VideoCodecDefinition) -> [(key: String, value: JSONValue)] {
    var settings: [(key: String, value: JSONValue)] = [
      ("pixelFormat", ["enum": .array(codec.pixelFormats.map(\.rawValue))])
    ]
    if let range = codec.qualities { settings.append(("quality", .number(range))) }
    if let range = codec.bitRates { settings.append(("bitRate", Form<Int>.integer(range).schema)) }
    if let range = codec.maxBitRates { settings.append(("maxBitRate", Form<Int>.integer(range).schema)) }
    if !codec.presets.isEmpty { settings.append(("preset", ["enum": .array(codec.presets)])) }
    if !codec.profiles.isEmpty { settings.append(("profile", ["enum": .array(codec.profiles)])) }
    if !codec.ditherings.isEmpty {
      settings.append(("dither", ["enum": .array(codec.ditherings.map(\.rawValue))]))
    }
    if !codec.levels.isEmpty { settings.append(("level", Form.level(among: codec.levels).schema)) }
    return settings
  }

  /// Names by codec: codecs that have the same are named together.
  private static func each(_ names: (any VideoCodecDefinition) -> [String]) -> String {
    codecs.compactMap { codec in
      let names = names(codec.definition)
      return names.isEmpty ? nil : "\(codec.rawValue): " + list(names.map { "`\($0)`" })
    }.joined(separator: "; ")
  }
}

/// `targetQuality` of `video`.
enum TargetQualityKeys {
  static let metric = Key(
    "metric", Form<QualityTarget.Metric>.choice("measure of quality"), default: "`ssim`",
    "structural similarity, as `ffmpeg`'s filter `ssim` has it: `All`, the mean over the frames")
  static let value = Key(
    required: "value", .number(QualityTarget.values), "what every segment has on average: 1 is the same pictures")

  static let properties: [Property<QualityTarget>] = [
    metric.of(\.metric, standard: .ssim), value.of(\.value),
  ]
  static let table = ObjectTable(
    name: "targetQuality", noun: "'targetQuality'", keys: Array(properties),
    instead: [
      "ssim": "write the number as 'value'", "target": "did you mean 'value'?", "quality": "did you mean 'value'?",
      "type": "did you mean 'metric'?",
    ])

  static let form = Form<QualityTarget>("object", table.reference) { reader, value in
    guard let fields = reader.fields(value, table) else { return nil }
    var target = QualityTarget(.ssim, 0)
    reader.read(fields, properties, into: &target)
    return target.value == 0 ? nil : target
  }
}

/// `audio` of `export` and of its outputs. `kinds` has the codecs that a key is for.
enum AudioKeys {
  private static let codecs = AudioCodec.allCases
  private static func owners(_ key: String) -> [String] {
    codecs.filter { $0.definition.settingKeys.contains(key) }.map(\.rawValue)
  }
  private static func numbers(_ list: (any AudioCodecDefinition) -> [Int]) -> [Int] {
    Set(codecs.flatMap { list($0.definition) }).sorted()
  }

  static let codec = Key(
    "codec", Form<AudioCodec>.choice("audio codec"), default: "the container's first",
    "`flac`, `alac` and `pcm` are lossless")
  static let bitRate = Key(
    "bitRate", .integer(hull(codecs.compactMap(\.definition.bitRates))),
    default: "64000 a channel: 128000 for stereo", kinds: owners("bitRate"),
    type:
      "aac: from 8000, up to 6 bits a sample; opus: from 6000 to 256000 a channel; mp3: one of its table's, such as "
      + "128000, 192000 or 320000", "bits a second")
  static let sampleRate = Key(
    "sampleRate", .member(of: numbers { $0.sampleRates }, "a sample rate"), default: "44100; opus: 48000",
    type:
      "8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 64000, 88200, 96000; for flac, alac and pcm also "
      + "176400, 192000; mp3: up to 48000; opus: 48000", "samples a second")
  static let channels = Key(
    "channels", .member(of: numbers { $0.channelCounts }, "a number of channels"), default: "2",
    type: "1, 2, 6 (5.1), 8 (7.1); alac: up to 6; mp3: up to 2", "")
  static let bitDepth = Key(
    "bitDepth", .member(of: numbers { $0.bitDepths }, "a bit depth"), default: "16", kinds: owners("bitDepth"),
    "flac, alac and pcm: bits a sample")
  static let language = Key(
    "language", .language,
    "mp4, mov, m4v, m4a, mkv, webm: the language of the track, three letters of ISO 639-2, such as `eng`")
  static let title = Key(
    "title", .title,
    "the same containers: the track's title for people, at most \(TrackLabel.greatestTitle) characters; movies have it "
      + "as the name of the track's handler, and `mov` has its first 127 bytes")

  static let properties: [Property<Document.Audio>] = [
    codec.of(\.codec), bitRate.of(\.bitRate), sampleRate.of(\.sampleRate), channels.of(\.channels),
    bitDepth.of(\.bitDepth), language.of(\.language), title.of(\.title),
  ]
  private static let keys: [any DeclaredKey] = Array(properties)
  static let table = ObjectTable(
    name: "audio", noun: "'audio'", keys: keys, notYet: AudioEntry.notYet, instead: AudioEntry.instead,
    kind: KindKey(name: "codec", standard: nil, names: codecs.map(\.rawValue)) { key, codec in
      "'\(key.name)' is for \(list(key.kinds)); \(codec) has no such setting"
    },
    restrictions: codecs.map { codec in
      .when(
        .chosen("codec", among: [codec.rawValue]),
        then: ["properties": .object(settings(codec.definition))])
    })
  static let shared = ObjectTable(
    name: "sharedAudio", noun: "'audio'", keys: keys, notYet: AudioEntry.notYet, instead: AudioEntry.instead)
  static let sharedForm = Form<Document.Stream<Document.Audio>>(
    "object or `false`", .any(["type": "boolean"], shared.reference)
  ) { $0.stream($1, shared, properties, Document.Audio()) }

  private static func settings(_ codec: any AudioCodecDefinition) -> [(key: String, value: JSONValue)] {
    var settings: [(key: String, value: JSONValue)] = [
      ("sampleRate", ["enum": .array(codec.sampleRates)]), ("channels", ["enum": .array(codec.channelCounts)]),
    ]
    if let range = codec.bitRates { settings.append(("bitRate", Form<Int>.integer(range).schema)) }
    if !codec.bitDepths.isEmpty { settings.append(("bitDepth", ["enum": .array(codec.bitDepths)])) }
    return settings
  }
}

extension Form where Value == String {
  /// A level of a codec, as a string or a number: `"4.1"`, `4.1`, `4`.
  static func level(among levels: [String]) -> Form {
    let numbers = levels.map { JSONValue(content: .number($0)) }
    let texts = levels.flatMap { $0.contains(".") ? [$0] : [$0, "\($0).0"] }
    return Form(
      list(levels.map { "`\($0)`" }), ["enum": .array(numbers + texts.map(JSONValue.text))],
      write: JSONValue.text
    ) { $0.level($1, among: levels) }
  }
}

/// The range that has all of some ranges.
private func hull<Bound>(_ ranges: [ClosedRange<Bound>]) -> ClosedRange<Bound> {
  guard let least = ranges.map(\.lowerBound).min(), let most = ranges.map(\.upperBound).max() else {
    preconditionFailure("no codec has the setting")
  }
  return least...most
}
