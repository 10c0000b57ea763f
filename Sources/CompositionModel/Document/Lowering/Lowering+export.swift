extension Lowering {
  /// The output's settings with every default filled in; nil where its container is not known.
  mutating func exportSettings(_ format: LoweredFormat) -> ExportSettings? {
    let entry = document.export
    let container = container()
    let hasClips = tracks.contains { $0.entry.type == .video && !$0.entry.clips.isEmpty }
    let hasPicture = hasClips || !document.videoComposition.overlays.isEmpty
    let hasSound = tracks.flatMap(\.composed).contains { $0.type == .audio && !$0.clips.isEmpty }
    var video: VideoSettings?
    switch entry.video {
    case .none: break
    case .automatic:
      if hasPicture { video = videoSettings(VideoEntry(pointer: entry.pointer.key("video")), format, container) }
    case .settings(let written): video = videoSettings(written, format, container)
    }
    var audio: AudioSettings?
    switch entry.audio {
    case .none: break
    case .automatic: if hasSound { audio = audioSettings(AudioEntry(pointer: entry.pointer.key("audio")), container) }
    case .settings(let written): audio = audioSettings(written, container)
    }
    if let settings = audio, isFilmKnown, !film.isEmpty, !holdsASample(at: settings.sampleRate) {
      // Beside a picture it is nothing that could be missed.
      if video != nil { audio = nil } else { problems.add(entry.pointer, "the film is shorter than a sample") }
    }
    if isFilmKnown, video == nil, audio == nil, !film.isEmpty {
      problems.add(
        entry.pointer,
        "nothing would be in the output: "
          + (entry.video.isNone ? "'video' is false" : "no track has pictures") + " and "
          + (entry.audio.isNone ? "'audio' is false" : "no clip has sound"))
    }
    if isFilmKnown, video != nil, !hasClips, document.videoComposition.renderSize == nil {
      problems.add(document.videoComposition.pointer, "no clip gives the film's size: give 'renderSize'")
    }
    if document.videoComposition.scale != .one { checkFit() }
    return container.map { container in
      ExportSettings(
        path: entry.to, container: container, video: video, audio: audio,
        optimizeForNetworkUse: entry.optimizeForNetworkUse, metadata: entry.metadata)
    }
  }

  /// Whether the film is long enough to have a sample (DESIGN 5: round(t·sampleRate)).
  private mutating func holdsASample(at sampleRate: Int) -> Bool {
    let duration = film.duration
    let count = exactly(at: .root) { () throws(TimeError) in try (duration.exact * Rational(sampleRate)).rounded }
    return count != 0
  }

  /// A picture at its own size cannot follow a frame that is made smaller.
  private mutating func checkFit() {
    for clip in document.tracks.flatMap(\.clips) where clip.fit == .none {
      problems.add(
        clip.pointer.key("fit"), "the fit 'none' in a document with a 'scale' below 1 cannot be rendered yet")
    }
  }

  /// By the extension of the output's path (FEATURES F51).
  private mutating func container() -> Container? {
    let pointer = output == nil ? document.export.pointer.key("to") : .root
    let names = Container.allCases.map(\.rawValue)
    guard let path = output ?? document.export.to else {
      if document.problems.isEmpty || !document.problems.contains(where: { $0.pointer == "/export/to" }) {
        problems.add(
          document.export.pointer,
          "the output has no name: give 'to', a path that ends in .\(names.joined(separator: ", ."))")
      }
      return nil
    }
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    let parts = name.split(separator: ".")
    let ending = parts.count > 1 || name.hasPrefix(".") && parts.count == 1 ? String(parts.last ?? "").lowercased() : ""
    if let container = Container(rawValue: ending), !name.hasPrefix(".") || parts.count > 1 { return container }
    if Container.unsupported.contains(ending) {
      problems.add(
        pointer,
        "the container '.\(ending)' of '\(String(name).shortened)' is part of the document's language but this version cannot "
          + "write it yet; it can write \(list(names))")
    } else {
      let guess = ending.isEmpty ? nil : nearest(to: ending, among: names)
      problems.add(
        pointer,
        "the output '\(String(name).shortened)' must end in one of .\(names.joined(separator: ", ."))"
          + (guess.map { "; did you mean '.\($0)'?" } ?? ""))
    }
    return nil
  }

  private mutating func videoSettings(
    _ entry: VideoEntry, _ format: LoweredFormat, _ container: Container?
  ) -> VideoSettings {
    if let container, !container.videoCodecs.contains(entry.codec) {
      let others = Container.allCases.filter { $0.videoCodecs.contains(entry.codec) }.map(\.rawValue)
      problems.add(
        entry.pointer.key("codec"),
        "\(entry.codec) cannot be stored in \(container), which takes \(list(container.videoCodecs.map(\.rawValue))); "
          + "\(entry.codec) goes into \(list(others))")
    }
    var settings = VideoSettings(
      codec: entry.codec, rateControl: .lossless, preset: nil, profile: nil,
      keyframeInterval: keyframeInterval(entry), pixelFormat: format.pixelFormat, colour: format.colour)
    guard entry.codec == .h264 else { return settings }
    settings.rateControl = entry.bitRate.map { .averageBitRate($0) } ?? .quality(entry.quality ?? 23)
    settings.preset = entry.preset ?? "medium"
    settings.profile = entry.profile
    if let profile = entry.profile {
      if !H264.profile(profile, carries: format.pixelFormat) {
        let able = H264.profiles.map(\.name).filter { H264.profile($0, carries: format.pixelFormat) }
        problems.add(
          entry.pointer.key("profile"),
          "the profile '\(profile)' cannot carry \(format.pixelFormat); \(list(able)) can")
      } else if let quality = entry.quality, quality < 1, format.pixelFormat.bitDepth == 8, profile != "high444" {
        problems.add(
          entry.pointer.key("profile"),
          "a quality below 1 is lossless with \(format.pixelFormat), which only the profile 'high444' can carry")
      }
    }
    return settings
  }

  private mutating func keyframeInterval(_ entry: VideoEntry) -> Int {
    let pointer = entry.pointer.key("keyframeInterval")
    let allowed = VideoSettings.keyframeIntervals
    func frames(_ time: MediaTime) -> Int {
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
    if let container, !container.audioCodecs.contains(entry.codec) {
      let others = Container.allCases.filter { $0.audioCodecs.contains(entry.codec) }.map(\.rawValue)
      problems.add(
        entry.pointer.key("codec"),
        "\(entry.codec) cannot be stored in \(container), which takes \(list(container.audioCodecs.map(\.rawValue))); "
          + "\(entry.codec) goes into \(list(others))")
    }
    let sampleRate = entry.sampleRate ?? 44100
    let channels = entry.channels ?? 2
    // An AAC frame of 1024 samples has at most 6144 bits a channel.
    let greatest = 6 * sampleRate * channels
    if let bitRate = entry.bitRate, bitRate > greatest {
      problems.add(
        entry.pointer.key("bitRate"),
        "\(bitRate) is more than aac can use at \(sampleRate) Hz and \(channels) channels; at most \(greatest)")
    }
    let bitRate = entry.codec == .aac ? entry.bitRate ?? min(64000 * channels, greatest) : nil
    return AudioSettings(
      codec: entry.codec, bitRate: bitRate, sampleRate: sampleRate, channels: channels, bitDepth: entry.bitDepth ?? 16)
  }
}
