/// The video or the audio of the output as written.
enum Choice<Settings: Sendable>: Sendable {
  /// Not given, or `true`: it is there if the composition has something for it.
  case automatic
  /// `false`.
  case none
  case settings(Settings)

  var settings: Settings? { if case .settings(let settings) = self { settings } else { nil } }
  var isNone: Bool { if case .none = self { true } else { false } }
}

/// `export` as written.
struct ExportEntry: Sendable {
  var to: String?
  var video: Choice<VideoEntry> = .automatic
  var audio: Choice<AudioEntry> = .automatic
  var optimizeForNetworkUse = true
  var metadata = MetadataEntry()
  var chapters: [ChapterEntry] = []
  /// Of the composition. Nil: all of it.
  var timeRange: WrittenRange?
  var preset: ExportPreset?
  /// Whether stored packets are copied and nothing is rendered: the preset `passthrough`.
  var isPassthrough = false
  var pointer: JSONPointer

  static let keys = [
    "to", "video", "audio", "optimizeForNetworkUse", "timeRange", "preset", "metadata", "carryMetadata",
    "metadataFilter", "chapters",
  ]
  static let notYet = ["artwork"]
  static let instead = [
    "path": "did you mean 'to'?", "file": "did you mean 'to'?", "output": "did you mean 'to'?",
    "format": "the extension of 'to' decides the container", "container": "the extension of 'to' decides the container",
    "faststart": "did you mean 'optimizeForNetworkUse'?",
  ]
}

extension ExportEntry {
  /// The video as written, or without any key, with what the preset sets and the document does not.
  var presetVideo: VideoEntry {
    var entry = video.settings ?? VideoEntry(pointer: pointer.key("video"))
    guard let preset = preset?.video else { return entry }
    entry.codec = entry.codec ?? preset.codec
    if entry.codec == preset.codec, entry.quality == nil, entry.bitRate == nil { entry.quality = preset.quality }
    return entry
  }

  /// The audio in the same way.
  var presetAudio: AudioEntry {
    var entry = audio.settings ?? AudioEntry(pointer: pointer.key("audio"))
    guard let preset = preset?.audio else { return entry }
    entry.codec = entry.codec ?? preset.codec
    if entry.codec == preset.codec, entry.bitRate == nil {
      entry.bitRate = preset.bitRate(channels: entry.channels ?? AudioSettings.standard.channels)
    }
    return entry
  }
}

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
  var pixelFormat: PixelFormat?
  var pointer: JSONPointer

  static let keys = [
    "codec", "quality", "bitRate", "maxBitRate", "bufferDuration", "preset", "profile", "level", "keyframeInterval",
    "pixelFormat", "rotation",
  ]
  static let notYet = ["color", "size", "targetQuality", "tune", "passthrough"]
  static let instead = [
    "crf": "did you mean 'quality'?", "maxrate": "did you mean 'maxBitRate'?",
    "bufsize": "'bufferDuration' is the size of the buffer divided by 'maxBitRate'",
    "gop": "did you mean 'keyframeInterval'?",
    "pix_fmt": "did you mean 'pixelFormat'?", "fps": "the rate of the film is 'frameRate' of 'videoComposition'",
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
  var pointer: JSONPointer

  static let keys = ["codec", "bitRate", "sampleRate", "channels", "bitDepth"]
  static let notYet = ["quality", "passthrough"]
  static let instead = [
    "loudness": "'loudness' is a key of 'audioMix'", "layout": "did you mean 'channels'? 6 is 5.1, and 8 is 7.1",
  ]
}

extension DocumentReader {
  /// Reads `export`.
  mutating func export(_ value: JSONValue?, at pointer: JSONPointer) -> ExportEntry {
    var entry = ExportEntry(pointer: pointer)
    entry.preset = preset
    guard let value,
      let fields = fields(
        value, "'export'", keys: ExportEntry.keys, notYet: ExportEntry.notYet, instead: ExportEntry.instead)
    else { return entry }
    entry.to = name(fields["to"], "the output's path")
    // What is wrong with the path is found when the document is lowered.
    let container = (output ?? entry.to).flatMap { try? Container(path: $0) }
    if preset == nil { readPreset(fields["preset"], into: &entry) }
    if let video = fields["video"] { entry.video = videoChoice(video, container, entry.preset) }
    if let audio = fields["audio"] { entry.audio = audioChoice(audio, container, entry.preset) }
    if entry.isPassthrough {
      for (key, isEncoded) in [("video", entry.video.settings != nil), ("audio", entry.audio.settings != nil)]
      where isEncoded {
        problems.add(
          entry.pointer.key(key), "the preset '\(Passthrough.name)' encodes nothing: leave '\(key)' out, or write false"
        )
      }
    }
    entry.optimizeForNetworkUse = boolean(fields["optimizeForNetworkUse"]) ?? true
    entry.timeRange = range(fields["timeRange"])
    entry.metadata = metadata(fields)
    entry.chapters = chapters(fields["chapters"])
    return entry
  }

  private mutating func readPreset(_ value: JSONValue?, into entry: inout ExportEntry) {
    guard let value, let name = string(value) else { return }
    entry.preset = ExportPreset(rawValue: name)
    entry.isPassthrough = name == Passthrough.name
    if entry.preset == nil, !entry.isPassthrough { problems.add(value.pointer, ExportPreset.unknown(name)) }
  }

  /// - Parameters:
  ///   - container: Its first codec is that of an object without `codec`, unless a preset gives it. Nil: it is not known.
  private mutating func videoChoice(
    _ value: JSONValue, _ container: Container?, _ preset: ExportPreset?
  ) -> Choice<VideoEntry> {
    if case .boolean(let isThere) = value.content { return isThere ? .automatic : .none }
    var entry = VideoEntry(pointer: value.pointer)
    guard
      let fields = fields(
        value, "'video' (which may also be false)", keys: VideoEntry.keys, notYet: VideoEntry.notYet,
        instead: VideoEntry.instead)
    else { return .settings(entry) }
    entry.keyframeInterval = keyframeInterval(fields["keyframeInterval"])
    entry.rotation = member(fields["rotation"], of: [0, 90, 180, 270], "a rotation in degrees clockwise")
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

  private mutating func audioChoice(
    _ value: JSONValue, _ container: Container?, _ preset: ExportPreset?
  ) -> Choice<AudioEntry> {
    if case .boolean(let isThere) = value.content { return isThere ? .automatic : .none }
    var entry = AudioEntry(pointer: value.pointer)
    guard
      let fields = fields(
        value, "'audio' (which may also be false)", keys: AudioEntry.keys, notYet: AudioEntry.notYet,
        instead: AudioEntry.instead)
    else { return .settings(entry) }
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

extension Document {
  /// Why an output has no container.
  struct UnknownContainer: Error {
    var pointer: JSONPointer
    /// Nil: it is among the document's problems.
    var problem: String?
  }

  /// The container for the extension of the output's path.
  /// - Parameter output: The path that the command line gives. It overrides the document's `to`.
  func container(for output: String?) throws(UnknownContainer) -> Container {
    let pointer = output == nil ? export.pointer.key("to") : .root
    guard let path = output ?? export.to else {
      // A path that could not be read is a problem already.
      if problems.contains(where: { $0.pointer == pointer.text }) { throw UnknownContainer(pointer: pointer) }
      let endings = Container.allCases.map(\.rawValue).joined(separator: ", .")
      throw UnknownContainer(
        pointer: export.pointer, problem: "the output has no name: give 'to', a path that ends in .\(endings)")
    }
    do {
      return try Container(path: path)
    } catch {
      throw UnknownContainer(pointer: pointer, problem: error.message)
    }
  }

  /// What is wrong with the name of the output, which needs no media to be found. Nil if it selects a container, or if there
  /// is none, which planning reports.
  /// - Parameter output: The path that the command line gives. It overrides the document's `to`.
  public func problem(ofOutput output: String?) -> Problem? {
    guard output != nil || export.to != nil else { return nil }
    do {
      _ = try container(for: output)
      return nil
    } catch {
      return error.problem.map { Problem(pointer: error.pointer.text, message: $0) }
    }
  }
}

extension Lowering {
  /// The output's settings with every default filled in. Nil if its container is unknown.
  mutating func exportSettings(_ format: LoweredFormat) -> ExportSettings? {
    let entry = document.export
    let container = container()
    if entry.isPassthrough {
      checkPassthrough(container)
      let metadata = outputMetadata(in: container)
      return container.map { container in
        var settings = ExportSettings(
          path: entry.to, container: container, video: nil, audio: nil,
          optimizeForNetworkUse: entry.optimizeForNetworkUse, metadata: metadata)
        settings.passthrough = (entry.video.isNone ? [] : [.video]) + (entry.audio.isNone ? [] : [.audio])
        return settings
      }
    }
    let hasClips = tracks.contains { $0.entry.type == .video && !$0.entry.clips.isEmpty }
    let hasVideo = hasClips || !document.videoComposition.overlays.isEmpty
    let hasAudio = tracks.flatMap(\.composed).contains { $0.type == .audio && !$0.clips.isEmpty }
    var video: VideoSettings?
    switch entry.video {
    case .none: break
    case .automatic:
      // A container of sound alone has the sound of a film with pictures.
      if hasVideo, container?.videoCodecs.isEmpty != true { video = videoSettings(format, container) }
    case .settings: video = videoSettings(format, container)
    }
    var audio: AudioSettings?
    switch entry.audio {
    case .none: break
    case .automatic: if hasAudio { audio = audioSettings(container) }
    case .settings: audio = audioSettings(container)
    }
    if let preset = entry.preset { check(preset, container, hasVideo: hasVideo) }
    let timeRange = exportedRange()
    if let settings = audio, filmIsKnown, !film.isEmpty, !contains(timeRange ?? film, sampleAt: settings.sampleRate) {
      // A film with video is rendered without the audio, which would be empty.
      if video != nil { audio = nil } else { problems.add(entry.pointer, "the film is shorter than a sample") }
    }
    if filmIsKnown, video == nil, audio == nil, !film.isEmpty {
      problems.add(
        entry.pointer,
        "nothing would be in the output: "
          + (entry.video.isNone
            ? "'video' is false"
            : hasVideo ? "\(container.map { "\($0)" } ?? "the container") has no pictures" : "no track has pictures")
          + " and "
          + (entry.audio.isNone ? "'audio' is false" : "no clip has sound"))
    }
    if filmIsKnown, video != nil, !hasClips, document.videoComposition.renderSize == nil {
      problems.add(document.videoComposition.pointer, "no clip gives the film's size: give 'renderSize'")
    }
    if scale != .one { checkFit() }
    checkTracks(container, video, audio)
    let metadata = outputMetadata(in: container)
    let chapters = outputChapters(in: container, range: timeRange ?? film)
    return container.map { container in
      ExportSettings(
        path: entry.to, container: container, video: video, audio: audio,
        optimizeForNetworkUse: entry.optimizeForNetworkUse, metadata: metadata, timeRange: timeRange,
        chapters: chapters.isEmpty ? nil : chapters, rotation: entry.presetVideo.rotation)
    }
  }

  /// Reports a preset that the container cannot hold or the film cannot meet.
  private mutating func check(_ preset: ExportPreset, _ container: Container?, hasVideo: Bool) {
    let pointer = document.export.pointer.key("preset")
    if let container, !preset.containers.contains(container) {
      let able = ExportPreset.allCases.filter { $0.containers.contains(container) }.map(\.rawValue)
      problems.add(
        pointer,
        "the preset '\(preset.rawValue)' cannot be written to \(container): it goes into "
          + "\(list(preset.containers.map(\.rawValue)))"
          + (able.isEmpty ? "" : "; presets for \(container) are \(list(able))"))
    }
    if preset.video != nil, !hasVideo, filmIsKnown, !film.isEmpty {
      problems.add(
        pointer, "the preset '\(preset.rawValue)' has pictures, and no track has any; 'appleM4A' has sound alone")
    }
  }

  /// The part of the film that is exported. Nil: all of it, or it cannot be used.
  private mutating func exportedRange() -> MediaTimeRange? {
    let pointer = document.export.pointer.key("timeRange")
    guard let written = document.export.timeRange, let range = resolve(written, at: pointer) else { return nil }
    guard filmIsKnown, !film.isEmpty else { return range }
    if film.end < range.end {
      problems.add(pointer, "\(range) ends after the film, which is \(seconds(film.duration)) long")
      return nil
    }
    return range
  }

  /// Reports what the container cannot have besides codecs: rates, turned pictures, and sound alone.
  private mutating func checkTracks(_ container: Container?, _ video: VideoSettings?, _ audio: AudioSettings?) {
    guard let container else { return }
    let pointer = document.export.pointer
    if let rates = container.sampleRates, let audio, !rates.contains(audio.sampleRate) {
      problems.add(
        pointer.key("audio").key("sampleRate"),
        "\(audio.sampleRate) samples a second cannot be stored in \(container), which takes "
          + list(rates.map(String.init)))
    }
    if let durations = container.frameDurations {
      if video == nil, audio != nil { problems.add(pointer, "\(container) has no sound without pictures") }
      if video != nil, !durations.contains(frameDuration) {
        problems.add(
          document.videoComposition.pointer,
          "a frame every \(frameDuration) s cannot be stored in \(container), which takes one every "
            + list(durations.map { "\($0)" }))
      }
    }
    if let rotation = document.export.presetVideo.rotation, rotation != 0, !container.hasTransforms {
      let others = Container.allCases.filter(\.hasTransforms).map(\.rawValue)
      problems.add(
        pointer.key("video").key("rotation"),
        "\(container) cannot state how its pictures are turned; \(list(others)) can")
    }
  }

  /// Whether a part of the film has at least one sample, where both its ends are rounded to the nearest one.
  private mutating func contains(_ range: MediaTimeRange, sampleAt sampleRate: Int) -> Bool {
    let rate = Rational(sampleRate)
    let count = exact(at: .root) { () throws(TimeError) in
      try (range.end.exact * rate).rounded - (range.start.exact * rate).rounded
    }
    return count != 0
  }

  /// Reports pictures at their own size in a frame that is made smaller, which does not make them smaller yet.
  private mutating func checkFit() {
    let reason = scale == document.videoComposition.scale ? "'scale'" : "the preset"
    for clip in document.tracks.flatMap(\.clips) where clip.fit == .none {
      problems.add(
        clip.pointer.key("fit"), "the fit 'none' in a film that \(reason) makes smaller cannot be rendered yet")
    }
  }

  // MARK: Container

  /// The container for the extension of the output's path.
  private mutating func container() -> Container? {
    do {
      return try document.container(for: output)
    } catch {
      if let problem = error.problem { problems.add(error.pointer, problem) }
      return nil
    }
  }

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

  private mutating func videoSettings(_ format: LoweredFormat, _ container: Container?) -> VideoSettings {
    let entry = document.export.presetVideo
    let name = videoCodec
    // What a preset cannot be written to is reported for the preset.
    if document.export.preset == nil || document.export.video.settings?.codec != nil {
      check(name, isStoredIn: container, codecs: \.videoCodecs, at: entry.pointer)
    }
    let codec = name.definition
    let settings = VideoSettings(
      codec: name, rateControl: codec.rateControl(quality: entry.quality, bitRate: entry.bitRate),
      preset: entry.preset ?? codec.defaultPreset, profile: entry.profile, keyframeInterval: keyframeInterval(entry),
      pixelFormat: format.pixelFormat, colour: format.colour, hdr: format.hdr, level: entry.level,
      rateLimit: rateLimit(entry))
    if let problem = codec.problem(with: settings) { problems.add(entry.pointer.key(problem.key), problem.message) }
    guard let size = format.size else { return settings }
    if let problem = codec.problem(with: settings, size: size, frameDuration: frameDuration) {
      problems.add(entry.pointer.key(problem.key), problem.message)
    }
    return codec.completed(settings, size: size, frameDuration: frameDuration)
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

  /// The frames from one keyframe to the next, by default as many as fit best into two seconds.
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

  private mutating func audioSettings(_ container: Container?) -> AudioSettings {
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
