public import CompositionModel

/// The preset `passthrough`: the stored pictures and samples are copied, and nothing is rendered.
enum Passthrough {
  static let name = "passthrough"

  /// What the track of pictures may have.
  static let videoKeys = ["rotation"] + TrackLabel.keys

  /// libavcodec's names of the codecs that a container stores. Nil: all but `unsuitableForMatroska`.
  fileprivate static func codecs(_ container: Container) -> Set<String>? {
    switch container {
    case .mkv: nil
    case .mp4:
      ["h264", "hevc", "av1", "vp9", "mpeg4", "mpeg2video", "aac", "mp3", "ac3", "eac3", "alac", "flac", "opus"]
    case .m4v: ["h264", "hevc", "mpeg4", "aac", "ac3", "eac3", "alac"]
    case .mov:
      [
        "h263", "h264", "hevc", "mpeg4", "prores", "ffv1", "mjpeg", "dvvideo", "dnxhd", "qtrle", "aac", "mp3", "ac3",
        "eac3", "alac", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le",
        "pcm_f64le",
      ]
    case .webm: ["vp8", "vp9", "av1", "opus", "vorbis"]
    case .m4a: ["aac", "alac"]
    case .wav: ["pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le"]
    case .flac: ["flac"]
    case .mp3: ["mp3"]
    case .ogg: ["opus", "vorbis", "flac"]
    case .mxf, .gif, .apng, .webp, .m3u8, .mpd: []
    }
  }

  /// libavformat's Matroska has no name for these, or one from which a reader does not learn how they are stored.
  private static let unsuitableForMatroska: Set<String> = [
    "qtrle", "smc", "gif", "apng", "dirac", "adpcm_ima_qt", "dfpwm", "gsm", "nellymoser", "pcm_s8", "pcm_s8_planar",
    "pcm_f32be", "pcm_f64be", "pcm_s16be_planar", "pcm_s16le_planar", "pcm_s24le_planar", "pcm_s32le_planar",
    "pcm_s64be",
    "pcm_u16be", "pcm_u16le", "pcm_u24be", "pcm_u24le", "pcm_u32be", "pcm_u32le",
  ]

  /// Why a container cannot store a codec. Nil: it can.
  static func obstacle(_ codec: String, in container: Container) -> String? {
    guard let codecs = codecs(container) else {
      return unsuitableForMatroska.contains(codec)
        ? "\(codec) cannot be copied into \(container): leave the preset out" : nil
    }
    guard !codecs.contains(codec) else { return nil }
    return "\(codec) cannot be copied into \(container); "
      + (codecs.isEmpty ? "nothing can" : "\(list(codecs.sorted())) can")
  }
}

/// What the preset `passthrough` gives for some media.
public struct PassthroughSettings: Sendable {
  /// Those that something can be copied into, whatever the media are.
  public static let containers = Container.allCases.filter { Passthrough.codecs($0) != [] }

  /// Those that the media can be copied into; the first is suggested. Not empty.
  public var containers: [Container] = []
  /// The track of the first clip that is copied. Nil: there are no pictures.
  public var video: TrackDescription?
  /// In the same way.
  public var audio: TrackDescription?

  /// - Parameter media: As `SuggestedSettings` has them.
  /// - Throws: Why they cannot be copied.
  public init(media: [AssetDescription]) throws(DocumentError) {
    let film = MediaFilm(media)
    try self.init(document: Document.examine(film.document, preset: .passthrough), assets: film.assets)
  }

  /// - Parameters:
  ///   - document: As `Document.examine` has read it with `passthrough`.
  ///   - assets: The descriptions of its media.
  /// - Throws: Why it cannot be copied into the container that has the fewest problems with it.
  public init(document: ExaminedDocument, assets: [AssetID: AssetDescription]) throws(DocumentError) {
    let edits = try document.edits(in: Self.containers, assets: assets)
    containers = edits.map(\.export.container)
    video = edits.first?.firstCopied(.video, assets)
    audio = edits.first?.firstCopied(.audio, assets)
    // Sound alone is suggested for a container of sound.
    if video == nil {
      containers = containers.filter(\.videoCodecs.isEmpty) + containers.filter { !$0.videoCodecs.isEmpty }
    }
  }
}

extension Edit {
  fileprivate func firstCopied(_ type: MediaType, _ assets: [AssetID: AssetDescription]) -> TrackDescription? {
    guard export.passthrough?.contains(type) == true else { return nil }
    return composition.tracks.filter { $0.type == type }.flatMap(\.clips).first.flatMap { clip in
      assets[clip.asset]?.tracks.first { $0.index == clip.sourceTrack }
    }
  }
}

extension Lowering {
  /// Reports everything that copying cannot do, each with its place.
  /// - Parameter range: The part of the film that is exported. Nil: all of it.
  /// - Returns: The part of the film that is copied, to the end of its longer track. Nil: nothing is, or it is unknown.
  mutating func checkPassthrough(_ container: Container?, _ range: MediaTimeRange?) -> MediaTimeRange? {
    if let container { checkRotation(container) }
    let composition = document.videoComposition
    refuse(
      [
        ("renderSize", composition.renderSize != nil), ("scale", composition.scale != .one),
        ("background", composition.background != .black), ("transitions", !composition.transitions.isEmpty),
        ("instructions", composition.instructions != nil), ("overlays", !composition.overlays.isEmpty),
        ("filters", !composition.filters.isEmpty), ("color", composition.color != nil),
        ("toneMapping", composition.toneMapping != nil),
      ], at: composition.pointer)
    for captions in document.captions where captions.use == .picture {
      problems.add(
        captions.pointer,
        "the preset '\(Passthrough.name)' copies the pictures as they are stored: write \"as\": \"track\" for captions that "
          + "players show, or leave the preset out")
    }
    refuse(document.audioMix.tracks.map { ($0.track, true) }, at: .root.key("audioMix"))
    refuse([(AudioMixEntry.loudnessKey, document.audioMix.loudness != nil)], at: .root.key("audioMix"))
    var taken: Set<MediaType> = []
    var end = MediaTime.zero
    for track in tracks {
      let entry = track.entry
      refuse(
        [
          ("blendMode", entry.blendMode != nil), ("mask", entry.mask != nil), ("filters", !entry.filters.isEmpty),
          ("pitch", entry.pitch != nil),
        ], at: entry.pointer)
      for clip in entry.clips { check(clip) }
      let parts = copied(of: track, in: range ?? film)
      for type in [MediaType.video, .audio] where isCopied(type) && parts.contains(where: { $0.type == type }) {
        if !taken.insert(type).inserted {
          problems.add(
            entry.pointer,
            "the preset '\(Passthrough.name)' copies one track of \(type == .video ? "pictures" : "sound"); this is "
              + "another"
          )
        }
        checkPlaces(parts.filter { $0.type == type }, from: (range ?? film).start, container)
        end = max(end, parts.last { $0.type == type }?.part.target.end ?? .zero)
      }
    }
    if filmIsKnown, taken.isEmpty, !film.isEmpty {
      problems.add(
        range == nil ? document.export.pointer : document.export.pointer.key("timeRange"),
        "nothing would be in the output: no clip has what is to be copied")
    }
    guard filmIsKnown, !taken.isEmpty else { return nil }
    let start = (range ?? film).start
    let copied = exact(at: document.export.pointer) { () throws(TimeError) in
      try MediaTimeRange(start: start, duration: end)
    }
    if let range, let copied, copied.end < range.end {
      problems.add(
        document.export.pointer.key("timeRange"),
        "the preset '\(Passthrough.name)' leaves no gap, and what is copied ends at \(seconds(copied.end)): end the range "
          + "there")
    }
    return copied
  }

  /// What is carried beside the tracks that are named.
  mutating func carryMedia(_ container: Container, _ range: MediaTimeRange) -> CarriedMedia? {
    let clips = copiedClips
    guard let first = [MediaType.video, .audio].map({ clips[$0] ?? [] }).first(where: { !$0.isEmpty }) else {
      return nil
    }
    let types = Set([MediaType.video, .audio].filter(isCopied))
    let carried = carriedMedia(of: first, sound: clips[.audio] ?? [], container, copies: types, in: range)
    carriedCaptions = carried.captions
    return carried.media
  }

  /// The clips of the tracks that are copied, on the film's timeline.
  var copiedClips: [MediaType: [Clip]] {
    var clips: [MediaType: [Clip]] = [:]
    for track in tracks.flatMap(\.composed)
    where isCopied(track.type) && clips[track.type] == nil && !track.clips.isEmpty {
      clips[track.type] = track.clips
    }
    return clips
  }

  /// Whether the output has tracks of this type.
  private func isCopied(_ type: MediaType) -> Bool {
    type == .video ? !document.export.video.isNone : !document.export.audio.isNone
  }

  private mutating func refuse(_ keys: [(key: String, isUsed: Bool)], at pointer: JSONPointer) {
    for (key, isUsed) in keys where isUsed {
      problems.add(
        pointer.key(key),
        "the preset '\(Passthrough.name)' copies what is stored, and this has to be rendered: leave it out, or leave "
          + "the preset out")
    }
  }

  private mutating func check(_ clip: ClipEntry) {
    refuse(
      [
        ("speed", clip.speed.map { $0 != .one } ?? false), ("loop", clip.loops), ("transition", clip.transition != nil),
        ("fadeIn", clip.written.fadeIn != nil), ("fadeOut", clip.written.fadeOut != nil),
        ("in", clip.written.in != nil), ("out", clip.written.out != nil), ("volume", clip.sound.volume != nil),
        ("fit", clip.fit != .contain), ("opacity", clip.opacity != 1), ("ramps", !clip.ramps.isEmpty),
        ("filters", !clip.filters.isEmpty), ("deinterlace", clip.deinterlace != nil),
        ("stabilize", clip.stabilize != nil), ("alpha", clip.alpha != nil),
        ("blendMode", clip.blendMode != nil), ("mask", clip.mask != nil),
        ("cornerRadius", clip.written.cornerRadius != nil), ("border", clip.written.border != nil),
        ("shadow", clip.written.shadow != nil), ("pitch", clip.sound.pitch != nil),
        ("audioChannels", clip.sound.channels != nil), ("layout", clip.sound.layout != nil),
        ("pan", !clip.sound.pan.isEmpty),
        ("audioFilters", !clip.sound.filters.isEmpty),
      ] + (clip.retiming.keys + clip.geometry.used).map { ($0, true) }, at: clip.pointer)
  }

  /// A clip of which something is copied.
  private struct CopiedClip {
    var type: MediaType
    /// On the film's timeline.
    var whole: Clip
    /// On the output's own timeline.
    var part: Clip
    var pointer: JSONPointer
    /// Whether it is a problem already that its speed is not its own.
    var isRetimed: Bool

    var startsWhole: Bool { whole.source.start == part.source.start }
    var endsWhole: Bool { whole.source.end == part.source.end }
  }

  /// What a part of the film has of a track, as far as it is stored.
  private mutating func copied(of track: LoweredTrack, in range: MediaTimeRange) -> [CopiedClip] {
    let entries = Dictionary(track.clips.entries.map { ($0.range, $0.element.entry) }) { first, _ in first }
    return track.composed.flatMap { composed in
      composed.clips.compactMap { clip -> CopiedClip? in
        let entry = entries[clip.target]
        let pointer = entry?.pointer ?? track.entry.pointer
        guard let source = assets[clip.asset]?.tracks.first(where: { $0.index == clip.sourceTrack }),
          let part = exact(at: pointer, { () throws(TimeError) in try clip.copiedPart(range, of: source) }) ?? nil
        else { return nil }
        return CopiedClip(
          type: composed.type, whole: clip, part: part, pointer: pointer,
          isRetimed: entry.map { $0.speed != nil || !$0.retiming.keys.isEmpty } ?? false)
      }
    }
  }

  /// Checks that the clips of a track of the output can follow one another as they are stored.
  /// - Parameter start: The start of the output, on the film's timeline.
  private mutating func checkPlaces(_ clips: [CopiedClip], from start: MediaTime, _ container: Container?) {
    var last: TrackDescription?
    var end = MediaTime.zero
    for (index, copied) in clips.enumerated() {
      let (clip, type, pointer) = (copied.part, copied.type, copied.pointer)
      guard let source = assets[clip.asset]?.tracks.first(where: { $0.index == clip.sourceTrack && $0.type == type })
      else { continue }
      if clip.source.isEmpty || source.video?.isStill == true {
        problems.add(pointer.key("asset"), "the preset '\(Passthrough.name)' cannot make a film of a still picture")
        continue
      }
      if source.video?.lacksStoredTimes == true {
        problems.add(
          pointer.key("asset"),
          "the preset '\(Passthrough.name)' copies times that are stored, and only decoding shows when each picture of "
            + "this file is shown, as of H.264 in AVI and of raw streams: leave the preset out")
      }
      if clip.source.duration != clip.target.duration, !copied.isRetimed {
        problems.add(
          pointer.key("duration"), "the preset '\(Passthrough.name)' keeps the speed: leave 'duration' out, or 'speed'")
      }
      if clip.target.start != end {
        let place = exact(at: pointer) { () throws(TimeError) in try start + end }
        problems.add(
          pointer,
          "the preset '\(Passthrough.name)' leaves no gap in the \(type == .video ? "pictures" : "sound"): this clip "
            + "must start at \(seconds(place ?? end))"
        )
      }
      end = clip.target.end
      if let container, let obstacle = Passthrough.obstacle(source.codec, in: container) {
        problems.add(pointer.key("asset"), obstacle)
      }
      if let container, container == .mkv || container == .webm, let video = source.video,
        video.orientation != .upright, document.export.video.settings?.rotation == nil
      {
        problems.add(
          pointer.key("asset"),
          "its pictures are stored turned, which \(container) does not state; copy it into mp4 or mov, or leave the "
            + "preset out"
        )
      }
      if let last, let difference = source.difference(from: last) {
        problems.add(
          pointer.key("asset"), "it cannot be joined to the clip before without encoding, because \(difference)")
      }
      if let video = source.video {
        checkCuts(copied, source, video, isFirst: index == 0, isLast: index == clips.count - 1, container)
      }
      last = source
    }
  }

  /// Reports cuts of pictures that the container, or the clips beside it, do not allow: those of the clip with times of
  /// its asset, those of the part of the film that is copied with times of the film.
  private mutating func checkCuts(
    _ clip: CopiedClip, _ track: TrackDescription, _ video: VideoFormat, isFirst: Bool, isLast: Bool,
    _ container: Container?
  ) {
    let hidesRunUp = container?.hasEditLists ?? true
    let reason = hidesRunUp ? "where clips are joined" : "in \(container.map { "\($0)" } ?? "this container")"
    func check(
      isOfClip: Bool, _ problem: (_ subject: String, _ shift: Rational) throws(TimeError) -> String?
    ) {
      let pointer = isOfClip ? clip.pointer.key("use") : document.export.pointer.key("timeRange")
      let found = exact(at: pointer) { () throws(TimeError) in
        try problem(
          isOfClip ? "the clip" : "the range",
          isOfClip ? .zero : clip.whole.target.start.exact - clip.whole.source.start.exact)
      }
      if let found = found ?? nil {
        problems.add(pointer, "without encoding, pictures are cut at keyframes \(reason); \(found)")
      }
    }
    let source = clip.part.source
    check(isOfClip: clip.startsWhole) { subject, shift throws(TimeError) in
      if isFirst, hidesRunUp { return nil }
      if video.isStart(try track.firstFrame(in: source.start)) { return nil }
      return try "\(subject) starts at \(source.start.exact + shift) s, which is no keyframe"
        + track.nearestKeyframes(source.start, shift)
    }
    check(isOfClip: clip.endsWhole) { subject, shift throws(TimeError) in
      if isLast, hidesRunUp { return nil }
      guard let next = try track.firstFrame(from: source.end), !video.isStart(next) else { return nil }
      return try "\(subject) ends at \(source.end.exact + shift) s, before a picture that is no keyframe"
        + track.nearestKeyframes(source.end, shift)
    }
  }
}

extension TrackDescription {
  /// The keyframes before and after a time, for a message.
  /// - Parameter shift: Added to their times.
  fileprivate func nearestKeyframes(_ time: MediaTime, _ shift: Rational) throws(TimeError) -> String {
    guard let video else { return "" }
    let tick = StoredTime.tick(try (time.exact / timebase.exact).floor, origin: origin)
    let next = video.keyframes.partitionPoint { tick < $0.pts }
    let times = try [next - 1, next].filter { video.keyframes.indices.contains($0) }.map { index throws(TimeError) in
      "\(try timebase.exact * Rational(video.keyframes[index].pts - origin) + shift)"
    }
    return times.isEmpty ? "" : "; the nearest are at \(times.joined(separator: " and ")) s"
  }

  /// Why the packets of another track cannot follow those of this one, or the other way round. Nil: they can.
  func difference(from other: TrackDescription) -> String? {
    func text(_ what: String, _ own: some Equatable, _ theirs: some Equatable) -> String? {
      "\(own)" == "\(theirs)" ? nil : "\(what) differs: \(own) after \(theirs)"
    }
    return text("the codec", codec, other.codec) ?? text("the profile", profile ?? "none", other.profile ?? "none")
      ?? text("the timescale", timebase, other.timebase)
      ?? text("the size", video?.size.text ?? "", other.video?.size.text ?? "")
      ?? text("the pixel format", video?.pixelFormat ?? "", other.video?.pixelFormat ?? "")
      ?? text("the orientation", video?.orientation.clockwise ?? 0, other.video?.orientation.clockwise ?? 0)
      ?? text("the sample rate", audio?.sampleRate ?? 0, other.audio?.sampleRate ?? 0)
      ?? text("the channel layout", audio?.layout ?? "", other.audio?.layout ?? "")
      ?? (parameterSets == other.parameterSets
        ? nil
        : text("the bit depth", audio?.bitDepth ?? 0, other.audio?.bitDepth ?? 0) ?? "their parameter sets differ")
  }
}

extension PixelSize {
  fileprivate var text: String { "\(width)x\(height)" }
}
