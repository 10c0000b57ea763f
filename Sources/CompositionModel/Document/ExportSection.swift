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
  var metadata: [String: String] = [:]
  var pointer: JSONPointer

  static let keys = ["to", "video", "audio", "optimizeForNetworkUse", "metadata"]
  static let notYet = ["preset", "timeRange", "metadataFilter"]
  static let instead = [
    "path": "did you mean 'to'?", "file": "did you mean 'to'?", "output": "did you mean 'to'?",
    "format": "the extension of 'to' decides the container", "container": "the extension of 'to' decides the container",
    "faststart": "did you mean 'optimizeForNetworkUse'?",
  ]
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
  var keyframeInterval: KeyframeInterval?
  var pixelFormat: PixelFormat?
  var pointer: JSONPointer

  static let keys = ["codec", "quality", "bitRate", "preset", "profile", "keyframeInterval", "pixelFormat"]
  static let notYet = ["level", "maxBitRate", "color", "size", "targetQuality", "tune", "passthrough"]
  static let instead = [
    "crf": "did you mean 'quality'?", "gop": "did you mean 'keyframeInterval'?",
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
    guard let value,
      let fields = fields(
        value, "'export'", keys: ExportEntry.keys, notYet: ExportEntry.notYet, instead: ExportEntry.instead)
    else { return entry }
    entry.to = name(fields["to"], "the output's path")
    // What is wrong with the path is found when the document is lowered.
    let container = (output ?? entry.to).flatMap { try? Container(path: $0) }
    if let video = fields["video"] { entry.video = videoChoice(video, container) }
    if let audio = fields["audio"] { entry.audio = audioChoice(audio, container) }
    entry.optimizeForNetworkUse = boolean(fields["optimizeForNetworkUse"]) ?? true
    for (key, value) in members(fields["metadata"], "strings by name, such as {\"title\": \"A day\"}") {
      if key.isEmpty || key.utf8.contains(0) || key.contains("=") {
        problems.add(value.pointer, "a name of metadata must not be empty or contain '=' or a null character")
      }
      guard let text = string(value) else { continue }
      if text.utf8.contains(0) { problems.add(value.pointer, "metadata must not contain a null character") }
      entry.metadata[key] = text
    }
    return entry
  }

  /// - Parameter container: Its first codec is that of an object without `codec`. Nil: it is not known.
  private mutating func videoChoice(_ value: JSONValue, _ container: Container?) -> Choice<VideoEntry> {
    if case .boolean(let isThere) = value.content { return isThere ? .automatic : .none }
    var entry = VideoEntry(pointer: value.pointer)
    guard
      let fields = fields(
        value, "'video' (which may also be false)", keys: VideoEntry.keys, notYet: VideoEntry.notYet,
        instead: VideoEntry.instead)
    else { return .settings(entry) }
    entry.keyframeInterval = keyframeInterval(fields["keyframeInterval"])
    let written: VideoCodec? = choice(fields["codec"], "video codec")
    if written == nil, fields.has("codec") {
      // The codec is unknown, and with it what most of the other keys may be.
      let format: PixelFormat? = choice(fields["pixelFormat"], "pixel format", notYet: PixelFormat.notYet)
      entry.pixelFormat = format
      return .settings(entry)
    }
    entry.codec = written
    let name = written ?? .standard(in: container)
    let codec = name.definition
    if let qualities = codec.qualities { entry.quality = number(fields["quality"], in: qualities) }
    if let bitRates = codec.bitRates { entry.bitRate = integer(fields["bitRate"], in: bitRates) }
    if !codec.presets.isEmpty { entry.preset = choice(fields["preset"], "preset", among: codec.presets) }
    if !codec.profiles.isEmpty { entry.profile = choice(fields["profile"], "profile", among: codec.profiles) }
    entry.pixelFormat = choice(
      fields["pixelFormat"], "pixel format", among: codec.pixelFormats.map(\.rawValue), notYet: PixelFormat.notYet
    ).flatMap(PixelFormat.init(rawValue:))
    checkKeys(fields, of: name) { $0.definition.settingKeys }
    if codec.qualities != nil, codec.bitRates != nil, fields.has("quality"), let bitRate = fields["bitRate"] {
      problems.add(bitRate.pointer, "'quality' and 'bitRate' exclude each other: give one of them")
    }
    return .settings(entry)
  }

  private mutating func keyframeInterval(_ value: JSONValue?) -> VideoEntry.KeyframeInterval? {
    guard let value else { return nil }
    if case .string = value.content { return time(value).map { .time($0) } }
    return integer(value, in: VideoSettings.keyframeIntervals).map { .frames($0) }
  }

  private mutating func audioChoice(_ value: JSONValue, _ container: Container?) -> Choice<AudioEntry> {
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
    let name = written ?? .standard(in: container)
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
    let hasClips = tracks.contains { $0.entry.type == .video && !$0.entry.clips.isEmpty }
    let hasVideo = hasClips || !document.videoComposition.overlays.isEmpty
    let hasAudio = tracks.flatMap(\.composed).contains { $0.type == .audio && !$0.clips.isEmpty }
    var video: VideoSettings?
    switch entry.video {
    case .none: break
    case .automatic:
      // A container of sound alone has the sound of a film with pictures.
      if hasVideo, container?.videoCodecs.isEmpty != true {
        video = videoSettings(VideoEntry(pointer: entry.pointer.key("video")), format, container)
      }
    case .settings(let written): video = videoSettings(written, format, container)
    }
    var audio: AudioSettings?
    switch entry.audio {
    case .none: break
    case .automatic: if hasAudio { audio = audioSettings(AudioEntry(pointer: entry.pointer.key("audio")), container) }
    case .settings(let written): audio = audioSettings(written, container)
    }
    if let settings = audio, filmIsKnown, !film.isEmpty, !containsSample(at: settings.sampleRate) {
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
    if document.videoComposition.scale != .one { checkFit() }
    return container.map { container in
      ExportSettings(
        path: entry.to, container: container, video: video, audio: audio,
        optimizeForNetworkUse: entry.optimizeForNetworkUse, metadata: entry.metadata)
    }
  }

  /// Whether the film lasts for at least one sample, rounded to nearest.
  private mutating func containsSample(at sampleRate: Int) -> Bool {
    let duration = film.duration
    let count = exact(at: .root) { () throws(TimeError) in try (duration.exact * Rational(sampleRate)).rounded }
    return count != 0
  }

  /// Reports pictures at their own size in a frame that is made smaller, which does not make them smaller yet.
  private mutating func checkFit() {
    for clip in document.tracks.flatMap(\.clips) where clip.fit == .none {
      problems.add(
        clip.pointer.key("fit"), "the fit 'none' in a document with a 'scale' below 1 cannot be rendered yet")
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
    document.export.video.settings?.codec ?? .standard(in: try? document.container(for: output))
  }

  private mutating func videoSettings(
    _ entry: VideoEntry, _ format: LoweredFormat, _ container: Container?
  ) -> VideoSettings {
    let name = videoCodec
    check(name, isStoredIn: container, codecs: \.videoCodecs, at: entry.pointer)
    let codec = name.definition
    let settings = VideoSettings(
      codec: name, rateControl: codec.rateControl(quality: entry.quality, bitRate: entry.bitRate),
      preset: entry.preset ?? codec.defaultPreset, profile: entry.profile, keyframeInterval: keyframeInterval(entry),
      pixelFormat: format.pixelFormat, colour: format.colour, hdr: format.hdr)
    if let problem = codec.problem(with: settings) { problems.add(entry.pointer.key(problem.key), problem.message) }
    return settings
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

  private mutating func audioSettings(_ entry: AudioEntry, _ container: Container?) -> AudioSettings {
    let name = entry.codec ?? .standard(in: container)
    check(name, isStoredIn: container, codecs: \.audioCodecs, at: entry.pointer)
    let (codec, standard) = (name.definition, AudioSettings.standard)
    let (sampleRate, channels) = (entry.sampleRate ?? codec.defaultSampleRate, entry.channels ?? standard.channels)
    let settings = AudioSettings(
      codec: name,
      bitRate: entry.bitRate ?? codec.defaultBitRate(sampleRate: sampleRate, channels: channels),
      sampleRate: sampleRate, channels: channels, bitDepth: entry.bitDepth ?? standard.bitDepth)
    if let problem = codec.problem(with: settings) { problems.add(entry.pointer.key(problem.key), problem.message) }
    return settings
  }
}
