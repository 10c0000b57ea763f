import CompositionModel

/// `export.video` as written.
struct VideoEntry: Sendable {
  enum KeyframeInterval: Sendable {
    case frames(Int)
    case time(WrittenTime)
  }

  /// Nil: the container's first one.
  var codec: VideoCodec?
  var quality: Double?
  var bitRate: Int?
  var preset: String?
  var profile: String?
  var level: String?
  var maxBitRate: Int?
  var bufferDuration: WrittenTime?
  /// Degrees clockwise.
  var rotation: Int?
  var keyframeInterval: KeyframeInterval?
  /// Whether a keyframe is also where the picture changes. Nil: it is, unless the document has several outputs.
  var sceneCuts: Bool?
  var pixelFormat: PixelFormat?
  /// Nil: square.
  var pixelAspect: AspectRatio?
  /// The part of the stored pictures that players show, in stored pixels. Nil: all of them.
  var cleanAperture: PixelRect?
  var label: TrackLabel?
  var pointer: JSONPointer

  /// What each number of `pixelAspect` may be: H.264 and HEVC store 16 bits.
  static let aspects = 1...65535

  static let keys =
    [
      "codec", "quality", "bitRate", "maxBitRate", "bufferDuration", "preset", "profile", "level", "keyframeInterval",
      "sceneCuts", "pixelFormat", "rotation", "pixelAspect", "cleanAperture",
    ] + TrackLabel.keys
  static let notYet = ["targetQuality", "tune"]
  static let instead = [
    "color": "the colours of the film are 'color' of 'videoComposition'",
    "size": "the size of the film is 'renderSize' of 'videoComposition'",
    "passthrough": "what is stored is copied by the preset of the export: \"preset\": \"passthrough\"",
    "crf": "did you mean 'quality'?", "maxrate": "did you mean 'maxBitRate'?",
    "bufsize": "'bufferDuration' is the size of the buffer divided by 'maxBitRate'",
    "gop": "did you mean 'keyframeInterval'?", "scenecut": "did you mean 'sceneCuts'?",
    "pix_fmt": "did you mean 'pixelFormat'?", "fps": "the rate of the film is 'frameRate' of 'videoComposition'",
    "sar": "did you mean 'pixelAspect'?", "par": "did you mean 'pixelAspect'?",
    "aspect": "did you mean 'pixelAspect', the shape of a pixel?",
    "framerate": "the rate of the film is 'frameRate' of 'videoComposition'",
    "width": "the size of the film is 'renderSize' of 'videoComposition'",
    "height": "the size of the film is 'renderSize' of 'videoComposition'",
  ]
}

/// `export.audio` as written.
struct AudioEntry: Sendable {
  /// Nil: the container's first one.
  var codec: AudioCodec?
  var bitRate: Int?
  var sampleRate: Int?
  var channels: Int?
  var bitDepth: Int?
  var label: TrackLabel?
  var pointer: JSONPointer

  static let keys = ["codec", "bitRate", "sampleRate", "channels", "bitDepth"] + TrackLabel.keys
  static let notYet = ["quality"]
  static let instead = [
    "passthrough": "what is stored is copied by the preset of the export: \"preset\": \"passthrough\"",
    "loudness": "'loudness' is a key of 'audioMix'", "layout": "did you mean 'channels'? 6 is 5.1, and 8 is 7.1",
  ]
}

extension DocumentReader {
  /// - Parameters:
  ///   - container: Its first codec is that of an object without `codec`, unless a preset gives it. Nil: it is not
  ///     known.
  mutating func videoChoice(
    _ value: JSONValue, _ container: Container?, _ preset: ExportPreset?
  ) -> Choice<VideoEntry> {
    if case .boolean(let isThere) = value.content { return isThere ? .automatic : .none }
    var entry = VideoEntry(pointer: value.pointer)
    guard
      let fields = fields(
        value, "'video'", alternative: ", or false", keys: VideoEntry.keys, notYet: VideoEntry.notYet,
        instead: VideoEntry.instead,
        elsewhere: [("'videoComposition'", VideoCompositionEntry.keys), ("'export'", ExportEntry.keys)])
    else { return .settings(entry) }
    entry.keyframeInterval = keyframeInterval(fields["keyframeInterval"])
    entry.sceneCuts = boolean(fields["sceneCuts"])
    entry.rotation = member(fields["rotation"], of: [0, 90, 180, 270], "a rotation in degrees clockwise")
    entry.pixelAspect = pixelAspect(fields["pixelAspect"])
    entry.cleanAperture = cleanAperture(fields["cleanAperture"])
    entry.label = trackLabel(fields)
    let written: VideoCodec? = choice(fields["codec"], "video codec")
    if written == nil, fields.has("codec") {
      // The codec is unknown, and with it what most of the other keys may be.
      let format: PixelFormat? = choice(fields["pixelFormat"], "pixel format", notYet: PixelFormat.notYet)
      entry.pixelFormat = format
      return .settings(entry)
    }
    entry.codec = written
    let name = written ?? preset?.video?.codec ?? .standard(in: container)
    let codec = name.definition
    if let qualities = codec.qualities { entry.quality = number(fields["quality"], in: qualities) }
    if let bitRates = codec.bitRates { entry.bitRate = integer(fields["bitRate"], in: bitRates) }
    if !codec.presets.isEmpty { entry.preset = choice(fields["preset"], "preset", among: codec.presets) }
    if !codec.profiles.isEmpty { entry.profile = choice(fields["profile"], "profile", among: codec.profiles) }
    if !codec.levels.isEmpty { entry.level = level(fields["level"], among: codec.levels) }
    if let maxBitRates = codec.maxBitRates {
      entry.maxBitRate = integer(fields["maxBitRate"], in: maxBitRates)
      entry.bufferDuration = time(fields["bufferDuration"])
      if let buffer = fields["bufferDuration"], !fields.has("maxBitRate") {
        problems.add(
          buffer.pointer, "'bufferDuration' is the seconds of 'maxBitRate' that the buffer holds: give both")
      }
    }
    if let rate = entry.bitRate, let most = entry.maxBitRate, most < rate, let value = fields["maxBitRate"] {
      problems.add(
        value.pointer, "\(most) is below 'bitRate', \(rate): the most cannot be less than the average")
    }
    entry.pixelFormat = choice(
      fields["pixelFormat"], "pixel format", among: codec.pixelFormats.map(\.rawValue), notYet: PixelFormat.notYet
    ).flatMap(PixelFormat.init(rawValue:))
    checkKeys(fields, of: name) { $0.definition.settingKeys }
    if codec.qualities != nil, codec.bitRates != nil, fields.has("quality"), let bitRate = fields["bitRate"] {
      problems.add(bitRate.pointer, "'quality' and 'bitRate' exclude each other: give one of them")
    }
    return .settings(entry)
  }

  /// The shape of a pixel: `[16, 15]`. Nil: it is square.
  private mutating func pixelAspect(_ value: JSONValue?) -> AspectRatio? {
    guard let value else { return nil }
    guard case .array(let items) = value.content, items.count == 2 else {
      problems.add(
        value.pointer,
        "\(value.shown) should be the shape of a pixel: an array of its width and its height, as [16, 15]")
      return nil
    }
    let aspects = VideoEntry.aspects
    let (horizontal, vertical) = (integer(items[0], in: aspects), integer(items[1], in: aspects))
    guard let horizontal, let vertical else { return nil }
    guard horizontal <= 16 * vertical, vertical <= 16 * horizontal else {
      problems.add(value.pointer, "\(value.shown) should not be narrower than 1 to 16 or wider than 16 to 1")
      return nil
    }
    return horizontal == vertical ? nil : AspectRatio(horizontal: horizontal, vertical: vertical)
  }

  /// A part of the stored pictures: `[8, 0, 704, 576]`.
  private mutating func cleanAperture(_ value: JSONValue?) -> PixelRect? {
    guard let value else { return nil }
    guard case .array(let items) = value.content, items.count == 4 else {
      problems.add(
        value.pointer,
        "\(value.shown) should be a part of the stored pictures: an array of x, y, width and height in pixels"
      )
      return nil
    }
    let (x, y) = (integer(items[0], in: 0...16383), integer(items[1], in: 0...16383))
    let (width, height) = (integer(items[2], in: 1...16384), integer(items[3], in: 1...16384))
    guard let x, let y, let width, let height else { return nil }
    return PixelRect(x: x, y: y, size: PixelSize(width: width, height: height))
  }

  /// A level, as a string or a number: `"4.1"`, `4.1`, `4`.
  private mutating func level(_ value: JSONValue?, among levels: [String]) -> String? {
    guard let value else { return nil }
    var name: String?
    switch value.content {
    case .string(let text), .number(let text):
      name = text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    default: break
    }
    if let name, levels.contains(name) { return name }
    problems.add(value.pointer, "\(value.shown) is not a level; allowed are \(list(levels))")
    return nil
  }

  private mutating func keyframeInterval(_ value: JSONValue?) -> VideoEntry.KeyframeInterval? {
    guard let value else { return nil }
    if case .string = value.content { return time(value).map { .time($0) } }
    return integer(value, in: VideoSettings.keyframeIntervals).map { .frames($0) }
  }

  mutating func audioChoice(
    _ value: JSONValue, _ container: Container?, _ preset: ExportPreset?
  ) -> Choice<AudioEntry> {
    if case .boolean(let isThere) = value.content { return isThere ? .automatic : .none }
    var entry = AudioEntry(pointer: value.pointer)
    guard
      let fields = fields(
        value, "'audio'", alternative: ", or false", keys: AudioEntry.keys, notYet: AudioEntry.notYet,
        instead: AudioEntry.instead)
    else { return .settings(entry) }
    entry.label = trackLabel(fields)
    let written: AudioCodec? = choice(fields["codec"], "audio codec")
    if written == nil, fields.has("codec") {
      let codecs = AudioCodec.allCases.map(\.definition)
      let rates = Set(codecs.flatMap(\.sampleRates)).sorted()
      entry.sampleRate = member(fields["sampleRate"], of: rates, "a sample rate")
      let counts = Set(codecs.flatMap(\.channelCounts)).sorted()
      entry.channels = member(fields["channels"], of: counts, "a number of channels")
      return .settings(entry)
    }
    entry.codec = written
    let name = written ?? preset?.audio.codec ?? .standard(in: container)
    let codec = name.definition
    entry.sampleRate = member(fields["sampleRate"], of: codec.sampleRates, "a sample rate for \(name)")
    entry.channels = member(fields["channels"], of: codec.channelCounts, "a number of channels")
    if let bitRates = codec.bitRates { entry.bitRate = integer(fields["bitRate"], in: bitRates) }
    if !codec.bitDepths.isEmpty { entry.bitDepth = member(fields["bitDepth"], of: codec.bitDepths, "a bit depth") }
    checkKeys(fields, of: name) { $0.definition.settingKeys }
    return .settings(entry)
  }

  /// Refuses keys of settings that only other codecs have.
  private mutating func checkKeys<Codec: CaseIterable & RawRepresentable>(
    _ fields: Fields, of codec: Codec, keys: (Codec) -> [String]
  ) where Codec.RawValue == String {
    let refused = Set(Codec.allCases.flatMap(keys)).subtracting(keys(codec))
    for key in refused.sorted() where fields.has(key) {
      let owners = Codec.allCases.filter { keys($0).contains(key) }.map(\.rawValue)
      problems.add(
        fields.pointer.key(key), "'\(key)' is for \(list(owners)); \(codec.rawValue) has no such setting")
    }
  }
}

extension Lowering {
  /// Reports a codec that the container cannot store.
  private mutating func check<Codec: CaseIterable & RawRepresentable & Equatable>(
    _ codec: Codec, isStoredIn container: Container?, codecs: (Container) -> [Codec], at pointer: JSONPointer
  ) where Codec.RawValue == String {
    guard let container, !codecs(container).contains(codec) else { return }
    let others = Container.allCases.filter { codecs($0).contains(codec) }.map(\.rawValue)
    let stored = codecs(container).map(\.rawValue)
    problems.add(
      pointer.key("codec"),
      "\(codec.rawValue) cannot be stored in \(container), which \(stored.isEmpty ? "has sound alone" : "takes \(list(stored))"); "
        + "\(codec.rawValue) goes into \(list(others))")
  }

  // MARK: Codecs

  /// The codec of the output's video, if it has any.
  var videoCodec: VideoCodec {
    document.export.presetVideo.codec ?? .standard(in: try? document.container(for: output))
  }

  mutating func videoSettings(_ format: LoweredFormat, _ container: Container?) -> VideoSettings {
    let entry = document.export.presetVideo
    let name = videoCodec
    // What a preset cannot be written to is reported for the preset.
    if document.export.preset == nil || document.export.video.settings?.codec != nil {
      check(name, isStoredIn: container, codecs: \.videoCodecs, at: entry.pointer)
    }
    let codec = name.definition
    var settings = VideoSettings(
      codec: name, rateControl: codec.rateControl(quality: entry.quality, bitRate: entry.bitRate),
      preset: entry.preset ?? codec.defaultPreset, profile: entry.profile,
      keyframeInterval: keyframeInterval(entry, of: name),
      pixelFormat: format.pixelFormat, colour: format.colour, hdr: format.hdr, level: entry.level,
      rateLimit: rateLimit(entry))
    settings.pixelAspect = entry.pixelAspect
    // Players change from one output to another at a keyframe, so all have theirs at the same times.
    if !(entry.sceneCuts ?? (document.export.outputPointer == nil)) { settings.sceneCuts = false }
    if let problem = codec.problem(with: settings) { problems.add(entry.pointer.key(problem.key), problem.message) }
    guard let size = format.stored else { return settings }
    if let problem = codec.problem(with: settings, size: size, frameDuration: frameDuration) {
      problems.add(entry.pointer.key(problem.key), problem.message)
    }
    return codec.completed(settings, size: size, frameDuration: frameDuration)
  }

  /// The clean aperture of the output's pictures, if its container can state one.
  mutating func cleanAperture(_ format: LoweredFormat, _ container: Container?) -> PixelRect? {
    let entry = document.export.presetVideo
    guard let aperture = entry.cleanAperture, let container, let size = format.stored else { return nil }
    let pointer = entry.pointer.key("cleanAperture")
    guard container.hasEditLists else {
      let able = Container.allCases.filter { $0.hasEditLists && !$0.videoCodecs.isEmpty }.map(\.rawValue)
      problems.add(pointer, "\(container) cannot state a clean aperture: \(list(able)) can")
      return nil
    }
    guard aperture.x + aperture.size.width <= size.width, aperture.y + aperture.size.height <= size.height else {
      problems.add(
        pointer,
        "\(aperture.size.width)x\(aperture.size.height) at (\(aperture.x), \(aperture.y)) is not within the stored "
          + "pictures of \(size.width)x\(size.height)")
      return nil
    }
    return aperture
  }

  /// The limit of `maxBitRate` and `bufferDuration`.
  private mutating func rateLimit(_ entry: VideoEntry) -> RateLimit? {
    guard let rate = entry.maxBitRate else { return nil }
    let pointer = entry.pointer.key("bufferDuration")
    let frameDuration = frameDuration
    let frames = exact(at: pointer) { () throws(TimeError) in
      try frameDuration * Rational(RateLimit.fewestFrames)
    }
    guard let frames else { return nil }
    var duration = max(RateLimit.bufferDurations.standard, frames)
    if let written = entry.bufferDuration {
      guard let time = resolve(written, at: pointer) else { return nil }
      let shortest = max(RateLimit.bufferDurations.shortest, frames)
      let longest = max(RateLimit.bufferDurations.longest, frames)
      guard shortest <= time, time <= longest else {
        problems.add(
          pointer,
          "\(seconds(time)) should be from \(seconds(shortest)) to \(seconds(longest)), and "
            + "\(RateLimit.fewestFrames) frames at least")
        return nil
      }
      duration = time
    }
    let size = exact(at: pointer) { () throws(TimeError) in
      try (duration.exact * Rational(rate)).rounded
    }
    return size.map { RateLimit(bitRate: rate, bufferSize: Int(clamping: $0)) }
  }

  /// The frames from one keyframe to the next: 1 if the codec has no other frames, and by default as many as fit best
  /// into two seconds.
  private mutating func keyframeInterval(_ entry: VideoEntry, of codec: VideoCodec) -> Int {
    let written = keyframeInterval(entry)
    guard codec.definition.isIntraOnly else { return written }
    if entry.keyframeInterval != nil, written != 1 {
      problems.add(
        entry.pointer.key("keyframeInterval"),
        "every frame of \(codec.rawValue) is a keyframe: leave it out, or give 1, not \(written) frames")
    }
    return 1
  }

  private mutating func keyframeInterval(_ entry: VideoEntry) -> Int {
    let pointer = entry.pointer.key("keyframeInterval")
    let allowed = VideoSettings.keyframeIntervals
    let frameDuration = frameDuration
    func frames(_ time: MediaTime) -> Int {
      // A number that cannot be computed is too large.
      (try? time / frameDuration).flatMap { Int(exactly: $0.rounded) } ?? .max
    }
    switch entry.keyframeInterval {
    case nil: return min(max(frames(MediaTime(seconds: 2)), allowed.lowerBound), allowed.upperBound)
    case .frames(let count): return count
    case .time(let written):
      guard let time = resolve(written, at: pointer) else { return allowed.lowerBound }
      let count = frames(time)
      if allowed.contains(count) { return count }
      problems.add(
        pointer,
        "\(seconds(time)) should be from \(allowed.lowerBound) to \(allowed.upperBound) frames of \(seconds(frameDuration))"
      )
      return allowed.lowerBound
    }
  }

  mutating func audioSettings(_ container: Container?) -> AudioSettings {
    let entry = document.export.presetAudio
    let name = entry.codec ?? .standard(in: container)
    if document.export.preset == nil || document.export.audio.settings?.codec != nil {
      check(name, isStoredIn: container, codecs: \.audioCodecs, at: entry.pointer)
    }
    let (codec, standard) = (name.definition, AudioSettings.standard)
    let standardRate = container?.sampleRates?.first ?? codec.defaultSampleRate
    let (sampleRate, channels) = (entry.sampleRate ?? standardRate, entry.channels ?? standard.channels)
    let settings = AudioSettings(
      codec: name,
      bitRate: entry.bitRate ?? codec.defaultBitRate(sampleRate: sampleRate, channels: channels),
      sampleRate: sampleRate, channels: channels, bitDepth: entry.bitDepth ?? standard.bitDepth)
    if let problem = codec.problem(with: settings) { problems.add(entry.pointer.key(problem.key), problem.message) }
    return settings
  }
}
