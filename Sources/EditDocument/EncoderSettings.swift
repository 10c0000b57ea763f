import CompositionModel

/// `export.video` as it is for one output.
@dynamicMemberLookup struct VideoEntry: Sendable {
  var written = Document.Video()
  var pointer: JSONPointer

  init(pointer: JSONPointer) { self.pointer = pointer }

  subscript<Value>(dynamicMember path: WritableKeyPath<Document.Video, Value>) -> Value {
    get { written[keyPath: path] }
    set { written[keyPath: path] = newValue }
  }

  var label: TrackLabel? { TrackLabel(language: written.language, title: written.title).orNil }
  /// Nil: square.
  var shape: AspectRatio? { written.pixelAspect.flatMap { $0.horizontal == $0.vertical ? nil : $0 } }

  /// What each number of `pixelAspect` may be: H.264 and HEVC store 16 bits.
  static let aspects = 1...65535
  /// Places and sides of `cleanAperture`, in pixels.
  static let places = 0...16383
  static let sides = 1...16384

  static let notYet = ["tune"]
  static let instead = [
    "color": "the colours of the film are 'color' of 'videoComposition'",
    "size": "the size of the film is 'renderSize' of 'videoComposition'",
    "passthrough": "what is stored is copied by the preset of the export: \"preset\": \"passthrough\"",
    "crf": "did you mean 'quality'?", "ssim": "did you mean 'targetQuality'?", "vmaf": "did you mean 'targetQuality'?",
    "maxrate": "did you mean 'maxBitRate'?",
    "bufsize": "'bufferDuration' is the size of the buffer divided by 'maxBitRate'",
    "gop": "did you mean 'keyframeInterval'?", "scenecut": "did you mean 'sceneCuts'?",
    "pix_fmt": "did you mean 'pixelFormat'?", "fps": "the rate of the film is 'frameRate' of 'videoComposition'",
    "loop": "did you mean 'plays'?", "loops": "did you mean 'plays'?", "loopcount": "did you mean 'plays'?",
    "dithering": "did you mean 'dither'?", "sar": "did you mean 'pixelAspect'?", "par": "did you mean 'pixelAspect'?",
    "aspect": "did you mean 'pixelAspect', the shape of a pixel?",
    "framerate": "the rate of the film is 'frameRate' of 'videoComposition'",
    "width": "the size of the film is 'renderSize' of 'videoComposition'",
    "height": "the size of the film is 'renderSize' of 'videoComposition'",
  ]
}

/// `export.audio` as it is for one output.
@dynamicMemberLookup struct AudioEntry: Sendable {
  var written = Document.Audio()
  var pointer: JSONPointer

  init(pointer: JSONPointer) { self.pointer = pointer }

  subscript<Value>(dynamicMember path: WritableKeyPath<Document.Audio, Value>) -> Value {
    get { written[keyPath: path] }
    set { written[keyPath: path] = newValue }
  }

  var label: TrackLabel? { TrackLabel(language: written.language, title: written.title).orNil }

  static let notYet = ["quality"]
  static let instead = [
    "passthrough": "what is stored is copied by the preset of the export: \"preset\": \"passthrough\"",
    "loudness": "'loudness' is a key of 'audioMix'", "layout": "did you mean 'channels'? 6 is 5.1, and 8 is 7.1",
  ]
}

extension Document.Video.KeyframeInterval {
  /// Frames are a number, and a time a string.
  var json: JSONValue {
    switch self {
    case .frames(let count): .integer(count)
    case .time(let time): .text(time.text)
    }
  }
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
        value, VideoKeys.table, alternative: ", or false",
        elsewhere: [
          ("'videoComposition'", VideoCompositionKeys.table.keyNames), ("'export'", ExportKeys.table.keyNames),
        ])
    else { return .settings(entry) }
    read(fields, VideoKeys.properties, into: &entry.written) { VideoKeys.common.contains($0.name) }
    let written = read(fields, VideoKeys.codec)
    if written == nil, fields.has("codec") {
      // The codec is unknown, and with it what most of the other keys may be.
      entry.pixelFormat = read(fields, VideoKeys.pixelFormat)
      return .settings(entry)
    }
    entry.codec = written
    let name = written ?? preset?.video?.codec ?? .standard(in: container)
    let codec = name.definition
    let isKnown = written != nil
    if let qualities = codec.qualities {
      entry.quality = setting(fields, VideoKeys.quality, .number(qualities), isKnown)
    }
    if codec.qualityModel != nil { entry.targetQuality = read(fields, VideoKeys.targetQuality) }
    if let bitRates = codec.bitRates { entry.bitRate = setting(fields, VideoKeys.bitRate, .integer(bitRates), isKnown) }
    if !codec.presets.isEmpty {
      entry.preset = setting(fields, VideoKeys.preset, .choice("preset", among: codec.presets), isKnown)
    }
    if !codec.profiles.isEmpty {
      entry.profile = setting(fields, VideoKeys.profile, .choice("profile", among: codec.profiles), isKnown)
    }
    if !codec.levels.isEmpty {
      entry.level = setting(fields, VideoKeys.level, .level(among: codec.levels), isKnown)
    }
    if !codec.ditherings.isEmpty {
      entry.dither = setting(fields, VideoKeys.dither, .choice("dithering"), isKnown)
    }
    if let maxBitRates = codec.maxBitRates {
      entry.maxBitRate = setting(fields, VideoKeys.maxBitRate, .integer(maxBitRates), isKnown)
      entry.bufferDuration = read(fields, VideoKeys.bufferDuration)
    }
    if let rate = entry.bitRate, let most = entry.maxBitRate, most < rate, let value = fields["maxBitRate"] {
      problems.add(
        value.pointer, "\(most) is below 'bitRate', \(rate): the most cannot be less than the average")
    }
    let formats = Form<String>.choice(
      "pixel format", among: codec.pixelFormats.map(\.rawValue), notYet: PixelFormat.notYet)
    entry.pixelFormat = setting(fields, VideoKeys.pixelFormat, formats, isKnown).flatMap(PixelFormat.init(rawValue:))
    if !isKnown { checkKeys(fields, VideoKeys.table, of: name.rawValue) }
    return .settings(entry)
  }

  /// The shape of a pixel: `[16, 15]`.
  mutating func pixelAspect(_ value: JSONValue) -> AspectRatio? {
    guard case .array(let items) = value.content, items.count == 2 else {
      problems.addShape(
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
    return AspectRatio(horizontal: horizontal, vertical: vertical)
  }

  /// A part of the stored pictures: `[8, 0, 704, 576]`.
  mutating func cleanAperture(_ value: JSONValue) -> PixelRect? {
    guard case .array(let items) = value.content, items.count == 4 else {
      problems.addShape(
        value.pointer,
        "\(value.shown) should be a part of the stored pictures: an array of x, y, width and height in pixels"
      )
      return nil
    }
    let (x, y) = (integer(items[0], in: VideoEntry.places), integer(items[1], in: VideoEntry.places))
    let (width, height) = (integer(items[2], in: VideoEntry.sides), integer(items[3], in: VideoEntry.sides))
    guard let x, let y, let width, let height else { return nil }
    return PixelRect(x: x, y: y, size: PixelSize(width: width, height: height))
  }

  /// A level, as a string or a number: `"4.1"`, `4.1`, `4`.
  mutating func level(_ value: JSONValue, among levels: [String]) -> String? {
    var name: String?
    switch value.content {
    case .string(let text), .number(let text):
      name = text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    default: break
    }
    if let name, levels.contains(name) { return name }
    problems.addShape(value.pointer, "\(value.shown) is not a level; allowed are \(list(levels))")
    return nil
  }

  mutating func keyframeInterval(_ value: JSONValue) -> Document.Video.KeyframeInterval? {
    if case .string = value.content { return time(value).map { .time($0) } }
    return integer(value, in: VideoSettings.keyframeIntervals).map { .frames($0) }
  }

  mutating func audioChoice(
    _ value: JSONValue, _ container: Container?, _ preset: ExportPreset?
  ) -> Choice<AudioEntry> {
    if case .boolean(let isThere) = value.content { return isThere ? .automatic : .none }
    var entry = AudioEntry(pointer: value.pointer)
    guard let fields = fields(value, AudioKeys.table, alternative: ", or false") else { return .settings(entry) }
    (entry.language, entry.title) = (read(fields, AudioKeys.language), read(fields, AudioKeys.title))
    let written = read(fields, AudioKeys.codec)
    if written == nil, fields.has("codec") {
      entry.sampleRate = read(fields, AudioKeys.sampleRate)
      entry.channels = read(fields, AudioKeys.channels)
      return .settings(entry)
    }
    entry.codec = written
    let name = written ?? preset?.audio.codec ?? .standard(in: container)
    let codec = name.definition
    let isKnown = written != nil
    entry.sampleRate = setting(
      fields, AudioKeys.sampleRate, .member(of: codec.sampleRates, "a sample rate for \(name)"), isKnown)
    entry.channels = setting(
      fields, AudioKeys.channels, .member(of: codec.channelCounts, "a number of channels"), isKnown)
    if let bitRates = codec.bitRates { entry.bitRate = setting(fields, AudioKeys.bitRate, .integer(bitRates), isKnown) }
    if !codec.bitDepths.isEmpty {
      entry.bitDepth = setting(fields, AudioKeys.bitDepth, .member(of: codec.bitDepths, "a bit depth"), isKnown)
    }
    if !isKnown { checkKeys(fields, AudioKeys.table, of: name.rawValue) }
    return .settings(entry)
  }

  /// A setting of a codec.
  /// - Parameters:
  ///   - form: What the codec allows.
  ///   - isKnown: Whether the object names the codec. If not, it follows from other parts of the document.
  private mutating func setting<Value, General>(
    _ fields: Fields, _ key: Key<General>, _ form: Form<Value>, _ isKnown: Bool
  ) -> Value? {
    guard let value = fields[key.name] else { return nil }
    return isKnown ? form.read(&self, value) : within(value, key.form) { reader in form.read(&reader, value) }
  }

  /// Refuses keys of settings that only other codecs have, in an object that does not name its codec.
  private mutating func checkKeys(_ fields: Fields, _ table: ObjectTable, of codec: String) {
    for key in table.keys.sorted(by: { $0.name < $1.name }) where !key.kinds.isEmpty && !key.kinds.contains(codec) {
      guard let value = fields[key.name], let message = table.kind?.message(key, codec) else { continue }
      let before = problems
      key.check(value, &self)
      let isShape = problems.shapeCount > before.shapeCount
      problems = before
      if isShape { problems.addShape(value.pointer, message) } else { problems.add(value.pointer, message) }
    }
  }

  /// Reports what is wrong with settings that several outputs have in common, if no output has found anything there.
  mutating func checkShared<Value>(_ value: JSONValue?, _ form: Form<Value>) {
    guard let value, !accepts(value, form) else { return }
    if problems.problems.contains(where: { $0.pointer.hasPrefix(value.pointer.text) }) {
      problems.shapeCount += 1
    } else {
      _ = form.read(&self, value)
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
    let keyframes = keyframes(entry, of: name, in: container)
    var settings = VideoSettings(
      codec: name, rateControl: codec.rateControl(quality: entry.quality, bitRate: entry.bitRate),
      preset: entry.preset ?? codec.defaultPreset, profile: entry.profile,
      keyframeInterval: keyframes.interval,
      pixelFormat: format.pixelFormat, colour: format.colour, hdr: format.hdr, level: entry.level,
      rateLimit: rateLimit(entry))
    if let target = entry.targetQuality, let model = codec.qualityModel {
      (settings.targetQuality, settings.rateControl) = (target, .quality(model.first(for: target)))
    }
    (settings.pixelAspect, settings.dither, settings.keyframeGrid) = (entry.shape, entry.dither, keyframes.grid)
    if codec.isOfScreens { checkScreenColours(format.colour, of: name) }
    // Players change from one output to another at a keyframe, so all have theirs at the same times.
    let hasSceneCuts = entry.sceneCuts ?? (document.export.outputPointer == nil && keyframes.grid == nil)
    if !hasSceneCuts { settings.sceneCuts = false }
    if let problem = codec.problem(with: settings) { problems.add(entry.pointer.key(problem.key), problem.message) }
    guard let size = format.stored else { return settings }
    if entry.targetQuality != nil, min(size.width, size.height) < QualityTarget.smallestSide {
      problems.add(
        entry.pointer.key("targetQuality"),
        "pictures of \(size.width)x\(size.height) are too small to be compared; their sides must have at least "
          + "\(QualityTarget.smallestSide) pixels")
    }
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

  /// The most frames from one keyframe to the next: 1 if the codec has no other frames, and by default as many as fit
  /// best into two seconds. With an interval that the document gives there is a grid, unless every frame is a keyframe.
  /// A playlist always has one, because its segments have to begin with keyframes.
  private mutating func keyframes(
    _ entry: VideoEntry, of codec: VideoCodec, in container: Container?
  ) -> (interval: Int, grid: KeyframeGrid?) {
    let written = keyframes(entry, isFixed: container?.isPlaylist == true)
    guard codec.definition.isIntraOnly else { return written }
    if entry.keyframeInterval != nil, written.interval != 1 {
      problems.add(
        entry.pointer.key("keyframeInterval"),
        "every frame of \(codec.rawValue) is a keyframe: leave it out, or give 1, not \(written.interval) frames")
    }
    return (1, nil)
  }

  /// - Parameter isFixed: Whether there is a grid even if the document gives no interval.
  private mutating func keyframes(_ entry: VideoEntry, isFixed: Bool) -> (interval: Int, grid: KeyframeGrid?) {
    let pointer = entry.pointer.key("keyframeInterval")
    let allowed = VideoSettings.keyframeIntervals
    let frameDuration = frameDuration
    func rounded(_ frames: Rational?) -> Int {
      // A number that cannot be computed is too large.
      frames.flatMap { Int(exactly: $0.rounded) } ?? .max
    }
    let interval: Rational
    switch entry.keyframeInterval {
    case nil:
      let standard = try? MediaTime(seconds: 2) / frameDuration
      guard isFixed, let standard, allowed.contains(rounded(standard)) else {
        return (min(max(rounded(standard), allowed.lowerBound), allowed.upperBound), nil)
      }
      interval = standard
    case .frames(let count): interval = Rational(count)
    case .time(let written):
      guard let time = resolve(written, at: pointer) else { return (allowed.lowerBound, nil) }
      let frames = try? time / frameDuration
      guard let frames, allowed.contains(rounded(frames)) else {
        problems.add(
          pointer,
          "\(seconds(time)) should be from \(allowed.lowerBound) to \(allowed.upperBound) frames of \(seconds(frameDuration))"
        )
        return (allowed.lowerBound, nil)
      }
      interval = frames
    }
    guard interval > .one else { return (1, nil) }
    guard let grid = KeyframeGrid(interval: interval) else {
      problems.add(pointer, "it is \(interval) frames, which is too fine a fraction to be counted")
      return (allowed.lowerBound, nil)
    }
    return (grid.longest, grid)
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
