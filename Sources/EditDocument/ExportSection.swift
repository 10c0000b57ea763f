public import CompositionModel

/// The video or the audio of the output as written.
enum Choice<Settings: Sendable>: Sendable {
  /// Not given, or `true`: it is there if the composition has something for it.
  case automatic
  /// `false`.
  case none
  case settings(Settings)

  var settings: Settings? { if case .settings(let settings) = self { settings } else { nil } }
  var isNone: Bool { if case .none = self { true } else { false } }

  /// Whether it is in the output.
  /// - Parameter hasMedia: Whether the composition has something for it.
  func isEncoded(automatically hasMedia: Bool) -> Bool {
    switch self {
    case .automatic: hasMedia
    case .none: false
    case .settings: true
    }
  }
}

/// `export` as the document means it: as a whole, or as it is for one of several outputs.
struct ExportEntry: Sendable {
  /// As the document has it.
  var written = Document.Export()
  var to: String?
  var video: Choice<VideoEntry> = .automatic
  var audio: Choice<AudioEntry> = .automatic
  var optimizeForNetworkUse = true
  var metadata = MetadataEntry()
  var chapters: [Document.Chapter] { written.chapters }
  var artwork = ArtworkEntry.carried
  /// The part of the composition that is exported. Nil: all of it.
  var timeRange: Document.TimeRange? { written.timeRange }
  var presetChoice: PresetChoice?
  /// The path of the film's playlist. Nil: it has none.
  var playlist: String?
  /// Whether `outputs` are given: `to` is their folder or their playlist, and every output has a video and an audio of
  /// its own.
  var hasOutputs = false
  var outputs: [OutputEntry] = []
  /// All outputs of the document that this is an output of. Empty: it has one output.
  var siblings: [OutputEntry] = []
  /// The place of the output that this is. Nil: the document has one output.
  var outputPointer: JSONPointer?
  /// The size, or the height alone, that the document gives for the output's pictures, as `OutputEntry` has them.
  var size: (written: PixelSize?, height: Int?) = (nil, nil)
  /// What a film that is copied has beside the tracks that the document names. Nil: everything.
  var carried: Set<Document.Carried>? { written.carry }
  var pointer: JSONPointer

  /// The place of what belongs to one output.
  var place: JSONPointer { outputPointer ?? pointer }

  static let instead = [
    "path": "did you mean 'to'?", "file": "did you mean 'to'?", "output": "did you mean 'to'?",
    "format": "the extension of 'to' decides the container", "container": "the extension of 'to' decides the container",
    "renditions": "did you mean 'outputs'?", "ladder": "did you mean 'outputs'?", "variants": "did you mean 'outputs'?",
    "faststart": "did you mean 'optimizeForNetworkUse'?", "coverart": "did you mean 'artwork'?",
    "cover": "did you mean 'artwork'?", "thumbnail": "did you mean 'artwork'?",
    "playlists": "did you mean 'manifests'?",
    "manifest": "did you mean 'manifests'?", "hls": "did you mean 'manifests'?", "dash": "did you mean 'manifests'?",
  ]
}

extension ExportEntry {
  /// The preset by which the output is encoded. Nil: none.
  var preset: ExportPreset? { if case .encode(let preset) = presetChoice { preset } else { nil } }
  /// Whether stored packets are copied and nothing is rendered.
  var isPassthrough: Bool { presetChoice == .passthrough }

  /// The video as written, or without any key, with what the preset sets and the document does not.
  var presetVideo: VideoEntry {
    var entry = video.settings ?? VideoEntry(pointer: place.key("video"))
    guard let preset = preset?.video else { return entry }
    entry.codec = entry.codec ?? preset.codec
    let isOwn = entry.quality != nil || entry.bitRate != nil || entry.targetQuality != nil
    if entry.codec == preset.codec, !isOwn { entry.quality = preset.quality }
    return entry
  }

  /// The audio in the same way.
  var presetAudio: AudioEntry {
    var entry = audio.settings ?? AudioEntry(pointer: place.key("audio"))
    guard let preset = preset?.audio else { return entry }
    entry.codec = entry.codec ?? preset.codec
    if entry.codec == preset.codec, entry.bitRate == nil {
      let (codec, channels) = (preset.codec.definition, entry.channels ?? AudioSettings.standard.channels)
      let greatest = codec.greatestBitRate(
        sampleRate: entry.sampleRate ?? codec.defaultSampleRate, channels: channels)
      entry.bitRate = preset.bitRate(channels: channels).map { min($0, greatest ?? $0) }
    }
    return entry
  }
}

extension DocumentReader {
  /// Reads `export`.
  mutating func export(_ value: JSONValue?, at pointer: JSONPointer) -> ExportEntry {
    var entry = ExportEntry(pointer: pointer)
    entry.presetChoice = preset
    guard let value,
      let fields = fields(
        value, ExportKeys.table,
        elsewhere: [
          ("'video'", VideoKeys.table.keyNames), ("'audio'", AudioKeys.table.keyNames),
          ("'videoComposition'", VideoCompositionKeys.table.keyNames),
        ])
    else { return entry }
    read(fields, ExportKeys.properties, into: &entry.written)
    entry.to = entry.written.to
    // What is wrong with the path is found when the document is lowered.
    let container = (output ?? entry.to).flatMap { try? Container(path: $0) }
    if container?.isPlaylist == true { entry.playlist = output ?? entry.to }
    if preset == nil { entry.presetChoice = read(fields, ExportKeys.preset) }
    // A preset that takes the place of the document's is for one output.
    entry.hasOutputs = fields.has("outputs") && preset == nil
    if !entry.hasOutputs {
      if let video = fields["video"] { entry.video = videoChoice(video, container, entry.preset) }
      if let audio = fields["audio"] { entry.audio = audioChoice(audio, container, entry.preset) }
    } else if let written = fields["preset"] {
      problems.addShape(
        written.pointer,
        entry.isPassthrough
          ? "the preset '\(Passthrough.name)' copies what is stored, and 'outputs' are rendered: leave one of them out"
          : "a preset is of one output: with 'outputs', give each its 'height', and its codec and quality in 'video'")
      entry.presetChoice = nil
    }
    if preset == nil { entry.written.preset = entry.presetChoice }
    (entry.written.video, entry.written.audio) = (
      unreported(fields["video"], VideoKeys.sharedForm), unreported(fields["audio"], AudioKeys.sharedForm)
    )
    checkPassthrough(entry, fields)
    if entry.written.smart == true, let smart = fields["smart"] { checkSmart(entry, smart) }
    entry.optimizeForNetworkUse = entry.written.optimizeForNetworkUse ?? true
    entry.metadata = MetadataEntry(entry.written, isGiven: fields.has("carryMetadata"))
    switch entry.written.artwork {
    case .asset(let id): entry.artwork = .asset(id)
    case .some(.none): entry.artwork = .omitted
    case nil: entry.artwork = fields.has("artwork") ? .omitted : .carried
    }
    if entry.hasOutputs, let outputs = fields["outputs"] {
      var base = entry
      base.hasOutputs = false
      entry.outputs = self.outputs(outputs, of: base, video: fields["video"], audio: fields["audio"])
      entry.written.outputs = entry.outputs.map(\.written)
      checkShared(fields["video"], VideoKeys.sharedForm)
      checkShared(fields["audio"], AudioKeys.sharedForm)
      // What reads the document for something else than its outputs has the pictures and the sound of the first.
      if let first = entry.outputs.first { (entry.video, entry.audio) = (first.export.video, first.export.audio) }
    }
    return entry
  }

  /// Reports what a film that is copied cannot have, and what only such a film has.
  private mutating func checkPassthrough(_ entry: ExportEntry, _ fields: Fields) {
    guard entry.isPassthrough else {
      if let carry = fields[Document.Carried.key] {
        problems.add(
          carry.pointer,
          "it is for the preset '\(Passthrough.name)', which copies what is stored; in a film that is rendered, tracks, "
            + "chapters and metadata are those of the document")
      }
      return
    }
    for (key, allowed) in [("video", Passthrough.videoKeys), ("audio", TrackLabel.keys)] {
      guard case .object(let members)? = fields[key]?.content,
        members.contains(where: { !allowed.contains($0.key) })
      else { continue }
      problems.add(
        entry.pointer.key(key),
        "the preset '\(Passthrough.name)' encodes nothing: leave '\(key)' out, write false, or give "
          + "\(list(allowed)) alone")
    }
  }

  mutating func preset(_ value: JSONValue) -> PresetChoice? {
    guard let name = string(value) else { return nil }
    let choice = PresetChoice(name)
    if choice == nil { problems.addShape(value.pointer, ExportPreset.unknown(name)) }
    return choice
  }
}

extension ExaminedDocument {
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

  /// Whether it has one output and gives no name for it.
  public var lacksOutput: Bool { export.to == nil && !export.hasOutputs }

  /// The output with which a document that names none is examined: in the first container that can store what it names.
  public var provisionalOutput: String {
    let (video, audio) = (export.video.settings?.codec, export.audio.settings?.codec)
    let container = Container.allCases.first { container in
      video.map { container.videoCodecs.contains($0) } ?? true
        && audio.map { container.audioCodecs.contains($0) } ?? true
        && export.preset.map { $0.containers.contains(container) } ?? true
        // What is copied is not known yet; this one takes what cameras and editors store.
        && (!export.isPassthrough || container == .mov)
    }
    return "film.\((container ?? .mp4).rawValue)"
  }

  /// What is wrong with the name of the output, which needs no media to be found. Nil if it selects a container, or if
  /// there is none, which planning reports.
  /// - Parameter output: The path that the command line gives. It overrides the document's `to`.
  public func problem(ofOutput output: String?) -> Problem? {
    // The name is a folder's, and each of several outputs has a container.
    guard output != nil || export.to != nil, !export.hasOutputs else { return nil }
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
    let labels = (video: entry.video.settings?.label, audio: entry.audio.settings?.label)
    if let container {
      check(labels.video, at: entry.place.key("video"), isStoredIn: container)
      check(labels.audio, at: entry.place.key("audio"), isStoredIn: container)
    }
    if let container { checkManifests(container) }
    if entry.isPassthrough { return passthroughSettings(container) }
    let hasClips = tracks.contains { $0.entry.type == .video && !$0.entry.clips.isEmpty }
    let hasVideo = hasClips || !document.videoComposition.overlays.isEmpty
    let hasAudio = tracks.flatMap(\.composed).contains { $0.type == .audio && !$0.clips.isEmpty }
    // A container of sound alone has the sound of a film with pictures.
    let encodesVideo = entry.video.isEncoded(automatically: hasVideo && container?.videoCodecs.isEmpty != true)
    let video = encodesVideo ? videoSettings(format, container) : nil
    // One that shows pictures alone is without the sound, with a warning.
    let hasSound = container?.isAnimatedImage != true
    if !hasSound, entry.audio.settings != nil {
      problems.add(
        entry.place.key("audio"),
        "\(container.map { "\($0)" } ?? "the container") has no sound: leave 'audio' out, or write false")
    }
    var audio = hasSound && entry.audio.isEncoded(automatically: hasAudio) ? audioSettings(container) : nil
    if let preset = entry.preset { check(preset, container, hasVideo: hasVideo) }
    let timeRange = exportedRange()
    if let settings = audio, filmIsKnown, !film.isEmpty, !contains(timeRange ?? film, sampleAt: settings.sampleRate) {
      // A film with video is rendered without the audio, which would be empty.
      if video != nil { audio = nil } else { problems.add(entry.place, "the film is shorter than a sample") }
    }
    if filmIsKnown, video == nil, audio == nil, !film.isEmpty { addNothingToExport(hasVideo: hasVideo, container) }
    if filmIsKnown, video != nil, !hasClips, document.videoComposition.renderSize == nil {
      problems.add(document.videoComposition.pointer, "no clip gives the film's size: give 'renderSize'")
    }
    if scale != .one { checkFit() }
    checkTracks(container, video, audio)
    if let container, container.isPlaylist { checkPlaylist(container) }
    let metadata = outputMetadata(in: container)
    let chapters = outputChapters(in: container, range: timeRange ?? film)
    let artwork = outputArtwork(in: container)
    return container.map { container in
      var settings = ExportSettings(
        path: entry.to, container: container, video: video, audio: audio,
        optimizeForNetworkUse: entry.optimizeForNetworkUse, metadata: metadata, timeRange: timeRange,
        chapters: chapters.isEmpty ? nil : chapters, rotation: entry.presetVideo.rotation)
      settings.artwork = artwork
      (settings.videoLabel, settings.audioLabel) = (
        video == nil ? nil : labels.video, audio == nil ? nil : labels.audio
      )
      if let stored = format.stored, stored != format.size { settings.size = stored }
      if video != nil { settings.cleanAperture = cleanAperture(format, container) }
      if let plays = entry.presetVideo.plays, plays > 0, container.playCounts != nil { settings.plays = plays }
      if container.isPlaylist {
        settings.playlist = playlistName
        // What the container is by itself is not stated, so that such films are planned as they always were.
        let manifests = entry.manifests
        settings.manifests = manifests.count > 1 ? manifests : nil
      }
      if entry.written.smart == true {
        checkSmart(video, container)
        settings.isSmart = true
      }
      return settings
    }
  }

  /// The settings of an output whose packets are copied.
  private mutating func passthroughSettings(_ container: Container?) -> ExportSettings? {
    let entry = document.export
    var timeRange = exportedRange()
    // Of tracks that are left out the film may be longer.
    if let copied = checkPassthrough(container, timeRange), copied != (timeRange ?? film) { timeRange = copied }
    let carried = container.flatMap { carryMedia($0, timeRange ?? film) }
    let metadata = outputMetadata(in: container)
    let chapters =
      entry.chapters.isEmpty
      ? container.map { carriedChapters(in: $0, range: timeRange ?? film) } ?? []
      : outputChapters(in: container, range: timeRange ?? film)
    let artwork = outputArtwork(in: container)
    return container.map { container in
      var settings = ExportSettings(
        path: entry.to, container: container, video: nil, audio: nil,
        optimizeForNetworkUse: entry.optimizeForNetworkUse, metadata: metadata, timeRange: timeRange,
        chapters: chapters.isEmpty ? nil : chapters)
      settings.artwork = artwork
      (settings.videoLabel, settings.audioLabel) = (entry.video.settings?.label, entry.audio.settings?.label)
      settings.rotation = entry.video.settings?.rotation
      settings.carried = carried
      settings.passthrough = (entry.video.isNone ? [] : [.video]) + (entry.audio.isNone ? [] : [.audio])
      return settings
    }
  }

  private mutating func addNothingToExport(hasVideo: Bool, _ container: Container?) {
    let entry = document.export
    problems.add(
      entry.place,
      "nothing would be in the output: "
        + (entry.video.isNone
          ? "'video' is false"
          : hasVideo ? "\(container.map { "\($0)" } ?? "the container") has no pictures" : "no track has pictures")
        + " and "
        + (entry.audio.isNone ? "'audio' is false" : "no clip has sound"))
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
    let pointer = document.export.place
    if let rates = container.sampleRates, let audio, !rates.contains(audio.sampleRate) {
      problems.add(
        pointer.key("audio").key("sampleRate"),
        "\(audio.sampleRate) samples a second cannot be stored in \(container), which takes "
          + list(rates.map(String.init)))
    }
    if !container.hasSoundAlone, video == nil, audio != nil {
      problems.add(pointer, "\(container) has no sound without pictures")
    }
    if let durations = container.frameDurations {
      if video != nil, !durations.contains(frameDuration) {
        problems.add(
          document.videoComposition.pointer,
          "a frame every \(frameDuration) s cannot be stored in \(container), which takes one every "
            + list(durations.map { "\($0)" }))
      }
    }
    checkRotation(container)
    if video != nil { checkImage(container) }
  }

  mutating func checkRotation(_ container: Container) {
    guard let rotation = document.export.presetVideo.rotation, rotation != 0, !container.hasTransforms else { return }
    let others = Container.allCases.filter(\.hasTransforms).map(\.rawValue)
    problems.add(
      document.export.place.key("video").key("rotation"),
      "\(container) cannot state how its pictures are turned; \(list(others)) can")
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
    var places: [JSONPointer] = []
    // The tracks that are shown as their clips are fitted. Nil: all.
    var fitted: Set<TrackID>?
    for instruction in document.videoComposition.instructions ?? [] {
      fitted = fitted ?? []
      switch instruction.content {
      case .unknown: break
      case .passthrough(let track): fitted?.insert(track)
      case .layers(let layers):
        for layer in layers where layer.fit == nil { fitted?.insert(layer.track) }
        places += layers.filter { $0.fit == Fit.none }.map(\.pointer)
      }
    }
    for track in document.tracks where fitted?.contains(track.id) ?? true {
      places += track.clips.filter { $0.fit == Fit.none }.map(\.pointer)
    }
    for pointer in places {
      problems.add(
        pointer.key("fit"), "the fit 'none' in a film that \(reason) makes smaller cannot be rendered yet")
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
}
