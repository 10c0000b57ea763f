extension DocumentReader {
  mutating func export(_ value: JSONValue?, at pointer: JSONPointer) -> ExportEntry {
    var entry = ExportEntry(pointer: pointer)
    guard let value else { return entry }
    let keys = ["to", "video", "audio", "optimizeForNetworkUse", "metadata"]
    guard
      let fields = fields(value, "'export'", keys: keys, unsupported: ["preset", "timeRange", "metadataFilter"])
    else { return entry }
    entry.to = name(fields["to"], "the output's path")
    if let video = fields["video"] { entry.video = videoChoice(video) }
    if let audio = fields["audio"] { entry.audio = audioChoice(audio) }
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

  private mutating func videoChoice(_ value: JSONValue) -> Choice<VideoEntry> {
    if case .boolean(let wanted) = value.content { return wanted ? .automatic : .none }
    let keys = ["codec", "quality", "bitRate", "preset", "profile", "keyframeInterval", "pixelFormat"]
    var entry = VideoEntry(pointer: value.pointer)
    guard
      let fields = fields(
        value, "'video' (which may also be false)", keys: keys,
        unsupported: ["level", "maxBitRate", "color", "size", "targetQuality", "tune", "passthrough"])
    else { return .settings(entry) }
    if let codec: VideoSettings.Codec = choice(
      fields["codec"], "video codec", unsupported: ["hevc", "prores422", "prores4444", "vp9", "av1"])
    {
      entry.codec = codec
    } else if fields.has("codec") {
      // What the other keys may be depends on the codec.
      return .settings(entry)
    }
    entry.quality = number(fields["quality"], in: 0...51)
    entry.bitRate = integer(fields["bitRate"], in: 1000...1_000_000_000)
    entry.preset = choice(fields["preset"], "preset", among: H264.presets)
    entry.profile = choice(fields["profile"], "profile", among: H264.profiles.map(\.name))
    entry.keyframeInterval = keyframeInterval(fields["keyframeInterval"])
    entry.pixelFormat = choice(
      fields["pixelFormat"], "pixel format", unsupported: ["gray", "rgb24", "gbrp", "yuva420p"])
    if entry.codec == .ffv1 {
      for key in ["quality", "bitRate", "preset", "profile"] where fields.has(key) {
        problems.add(fields.pointer.key(key), "'\(key)' is for h264; ffv1 loses nothing and has no such setting")
      }
    } else if fields.has("quality"), let bitRate = fields["bitRate"] {
      problems.add(bitRate.pointer, "'quality' and 'bitRate' exclude each other: give one of them")
    }
    return .settings(entry)
  }

  private mutating func keyframeInterval(_ value: JSONValue?) -> VideoEntry.KeyframeInterval? {
    guard let value else { return nil }
    if case .string = value.content { return time(value).map { .time($0) } }
    return integer(value, in: VideoSettings.keyframeIntervals).map { .frames($0) }
  }

  private mutating func audioChoice(_ value: JSONValue) -> Choice<AudioEntry> {
    if case .boolean(let wanted) = value.content { return wanted ? .automatic : .none }
    var entry = AudioEntry(pointer: value.pointer)
    guard
      let fields = fields(
        value, "'audio' (which may also be false)", keys: ["codec", "bitRate", "sampleRate", "channels", "bitDepth"],
        unsupported: ["layout", "quality", "loudness", "passthrough"])
    else { return .settings(entry) }
    if let codec: AudioSettings.Codec = choice(
      fields["codec"], "audio codec", unsupported: ["alac", "opus", "mp3"])
    {
      entry.codec = codec
    } else if fields.has("codec") {
      return .settings(entry)
    }
    entry.sampleRate = member(fields["sampleRate"], of: entry.codec.sampleRates, "a sample rate for \(entry.codec)")
    entry.channels = member(fields["channels"], of: [1, 2, 6, 8], "a number of channels")
    entry.bitRate = integer(fields["bitRate"], in: 8000...6_000_000)
    entry.bitDepth = member(fields["bitDepth"], of: [16, 24], "a bit depth")
    if entry.codec == .aac, fields.has("bitDepth") {
      problems.add(fields.pointer.key("bitDepth"), "'bitDepth' is for pcm and flac; aac has no such setting")
    }
    if entry.codec != .aac, fields.has("bitRate") {
      problems.add(
        fields.pointer.key("bitRate"), "'bitRate' is for aac; \(entry.codec) loses nothing and has no such setting")
    }
    return .settings(entry)
  }

  private mutating func member(_ value: JSONValue?, of allowed: [Int], _ noun: String) -> Int? {
    guard let value else { return nil }
    if case .number(let text) = value.content, let exact = try? exactDecimal(text),
      let number = allowed.first(where: { Rational($0) == exact })
    {
      return number
    }
    problems.add(value.pointer, "\(value.shown) is not \(noun); allowed are \(list(allowed.map(String.init)))")
    return nil
  }
}
