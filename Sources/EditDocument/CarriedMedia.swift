import CompositionModel

extension DocumentReader {
  /// Reads `export.carry`.
  mutating func carried(_ value: JSONValue) -> Set<Document.Carried>? {
    if case .boolean(let isCarried) = value.content { return isCarried ? Set(Document.Carried.allCases) : [] }
    guard case .array = value.content else {
      problems.addShape(
        value.pointer,
        "\(value.shown) should be true, false, or an array of \(list(Document.Carried.allCases.map(\.rawValue)))")
      return nil
    }
    return Set(items(value, "what is carried").compactMap { choice($0, "carried kind") })
  }
}

extension Lowering {
  /// Finds what is carried of the clips that are copied, and reports what is not as losses.
  /// - Parameters:
  ///   - clips: The clips that are copied, in order: of the pictures, or of the sound if there are none.
  ///   - sound: Those of the sound.
  ///   - types: The types of the tracks that are copied.
  ///   - range: The part of the film that is exported.
  mutating func carriedMedia(
    of clips: [Clip], sound: [Clip], _ container: Container, copies types: Set<MediaType>, in range: MediaTimeRange
  ) -> (media: CarriedMedia, captions: [Captions]) {
    var media = CarriedMedia()
    var captions: [Captions] = []
    let (clips, sound) = (clips.shown(in: range), sound.shown(in: range))
    guard let first = clips.first, let asset = assets[first.asset] else { return (media, []) }
    let kinds = document.export.carried ?? Set(Document.Carried.allCases)
    // By asset.
    let taken = Dictionary(grouping: clips + sound, by: \.asset).mapValues { Set($0.map(\.sourceTrack)) }
    let named = taken[first.asset] ?? []
    // By asset, those that have a place in the film.
    var found = taken
    if kinds.contains(.tracks) {
      // Of an asset whose sound the document replaces, no other language is carried.
      let hasSound = sound.first?.asset == first.asset
      let hasCaptions = document.namesCaptions(of: first.asset)
      for track in asset.tracks where !named.contains(track.index) && isCarried(track, types, hasSound: hasSound) {
        // Captions that the document gives itself are not in the film twice.
        if track.type == .subtitle, hasCaptions { continue }
        // Sound may be cut elsewhere than its pictures.
        let clips = track.type == .audio ? sound : clips
        let obstacle =
          obstacle(to: track, container) ?? obstacle(toJoining: track, named: taken, clips, container)
        if let obstacle {
          lose(.track, track.index, first.asset, "\(track.title) is left out: \(obstacle)")
          continue
        }
        let carried = clips.compactMap { clip in
          match(track, of: first.asset, in: clip, named: taken).map { found in
            var clip = clip
            (clip.sourceTrack, clip.trackNumber) = (found.index, nil)
            return found.type == .subtitle ? clip : clip.ending(with: found)
          }
        }
        let isConverted =
          track.type == .subtitle && (track.pictureTrack != nil || !container.storesCaptions(track.codec))
        if isConverted {
          captions += carried.map { Self.captions($0, track) }
        } else {
          media.tracks.append(
            CompositionTrack(id: "carried\(media.tracks.count + 1)", type: track.type, clips: carried))
        }
        for clip in carried { found[clip.asset, default: []].insert(clip.sourceTrack) }
        loseDispositions(track, first.asset, container, kept: container.dispositions)
      }
      loseOthers(clips, sound, found, types)
      loseFailures(clips + sound, named: taken)
    }
    for index in named.sorted() {
      if let track = asset.tracks.first(where: { $0.index == index }) {
        loseDispositions(track, first.asset, container, kept: container.dispositions)
      }
    }
    carryTimecode(asset, clips, kinds, container, types, &media)
    carryAttachments(clips, kinds, container, &media)
    losePictureData(clips, container)
    if kinds.contains(.metadata), !document.export.metadata.isGiven { loseMetadata(clips + sound) }
    return (media, captions)
  }

  /// Whether a track is one that a film of these types can be expected to have.
  func isCarried(_ track: TrackDescription, _ types: Set<MediaType>, hasSound: Bool) -> Bool {
    switch track.type {
    case .video: types.contains(.video)
    // Sound that the document leaves out is left out in every language.
    case .audio: types.contains(.audio) && hasSound
    // Closed captions between pictures are copied with these.
    case .subtitle: track.pictureTrack == nil || !types.contains(.video)
    // The container's own ways of storing timecode and chapters.
    case .metadata: !track.isTimecode && !track.isChapterList
    }
  }

  /// Why a container cannot hold a track beside the others. Nil: it can.
  private func obstacle(to track: TrackDescription, _ container: Container) -> String? {
    guard container.hasManyTracks else { return "\(container) has one track" }
    switch track.type {
    case .video, .audio:
      if track.video?.isStill == true { return "it is a still picture" }
      if track.video?.lacksStoredTimes == true { return "its file does not store when each picture is shown" }
      return Passthrough.obstacle(track.codec, in: container)
    case .subtitle:
      if track.pictureTrack == nil && container.storesCaptions(track.codec)
        || track.captions != nil && container.hasTextTracks
      {
        return nil
      }
      return "\(track.codec) captions cannot be copied into \(container)"
    case .metadata: return "data of this kind cannot be copied into \(container)"
    }
  }

  /// Why what the clips have of a track cannot be joined. Nil: it can.
  private func obstacle(
    toJoining track: TrackDescription, named: [AssetID: Set<Int>], _ clips: [Clip], _ container: Container
  ) -> String? {
    guard let first = clips.first else { return nil }
    for (index, clip) in clips.enumerated() {
      guard let found = match(track, of: first.asset, in: clip, named: named) else {
        return "'\(clip.asset)' at \(seconds(clip.target.start)) has no such track"
      }
      if track.type == .video || track.type == .audio {
        if let difference = found.difference(from: track) {
          return "that of '\(clip.asset)' at \(seconds(clip.target.start)) cannot follow it, because \(difference)"
        }
        let isInside = index < clips.count - 1
        if isInside, found.range.end < clip.source.end || index > 0 && clip.source.start < found.range.start {
          return "it has a gap where clips are joined"
        }
      }
      if track.type == .video,
        !isCuttable(found, clip, isFirst: index == 0, isLast: index == clips.count - 1, container)
      {
        return "it is cut where it has no keyframe"
      }
    }
    return nil
  }

  private func isCuttable(
    _ track: TrackDescription, _ clip: Clip, isFirst: Bool, isLast: Bool, _ container: Container
  ) -> Bool {
    guard let video = track.video else { return true }
    do throws(TimeError) {
      let start = try video.isStart(track.firstFrame(in: clip.source.start))
      let next = try track.firstFrame(from: clip.source.end)
      let end = next == nil || video.isStart(next)
      return (start || isFirst && container.hasEditLists) && (end || isLast && container.hasEditLists)
    } catch {
      return false
    }
  }

  /// The track of a clip's asset that follows a track of the first clip's asset: itself, or one of its type that the
  /// document does not name. Tracks of one language follow each other in their order, then those of which one has no
  /// language. None follows two.
  /// - Parameter named: By asset, the tracks that the document names.
  private func match(
    _ track: TrackDescription, of first: AssetID, in clip: Clip, named: [AssetID: Set<Int>]
  ) -> TrackDescription? {
    if clip.asset == first { return track }
    func unnamed(_ asset: AssetID) -> [TrackDescription] {
      (assets[asset]?.tracks ?? []).filter {
        // Closed captions between pictures are no stream that could follow one.
        $0.type == track.type && named[asset]?.contains($0.index) != true
          && ($0.pictureTrack == nil) == (track.pictureTrack == nil)
      }
    }
    var (own, others) = (unnamed(first), unnamed(clip.asset))
    func follows(_ next: TrackDescription, _ track: TrackDescription, _ isNamedAlike: Bool) -> Bool {
      isNamedAlike ? next.language == track.language : next.language == nil || track.language == nil
    }
    for isNamedAlike in [true, false] {
      var left: [TrackDescription] = []
      for candidate in own {
        guard let place = others.firstIndex(where: { follows($0, candidate, isNamedAlike) }) else {
          left.append(candidate)
          continue
        }
        let next = others.remove(at: place)
        if candidate.index == track.index { return next }
      }
      own = left
    }
    return nil
  }

  /// Captions that are stored in another way in the output.
  private static func captions(_ clip: Clip, _ track: TrackDescription) -> Captions {
    let shift = try? clip.target.start - clip.source.start
    let label = TrackLabel(language: track.language, title: track.storedTitle)
    var description = CaptionTrack(label: label, isDefault: track.isEnabled)
    description.id = "carried \(track.index)"
    description.characteristics = track.characteristics
    return Captions(
      asset: clip.asset, sourceTrack: clip.sourceTrack, start: shift ?? .zero, source: clip.source,
      use: .track(description))
  }

  private mutating func carryTimecode(
    _ asset: AssetDescription, _ clips: [Clip], _ kinds: Set<Document.Carried>, _ container: Container,
    _ types: Set<MediaType>, _ media: inout CarriedMedia
  ) {
    guard let clip = clips.first else { return }
    let track = asset.tracks.first { $0.index == clip.sourceTrack && $0.type == .video }
    let hasTimecode = track?.timecode != nil || asset.tracks.contains(where: \.isTimecode)
    guard kinds.contains(.timecode), types.contains(.video) else { return }
    guard hasTimecode else {
      for clip in clips.firstOfEachAsset where self.track(of: clip)?.timecode != nil {
        lose(
          .timecode, clip.sourceTrack, clip.asset,
          "the timecode is left out: a film states that of its first picture, which has none")
      }
      return
    }
    guard let track, track.timecode != nil else {
      return lose(.timecode, nil, clip.asset, "the timecode is left out: it is not of the track that is copied")
    }
    guard container == .mov || container == .mp4 || container == .mkv else {
      return lose(.timecode, track.index, clip.asset, "the timecode is left out: \(container) has none")
    }
    media.hasTimecode = true
  }

  private mutating func carryAttachments(
    _ clips: [Clip], _ kinds: Set<Document.Carried>, _ container: Container, _ media: inout CarriedMedia
  ) {
    guard kinds.contains(.attachments) else { return }
    for clip in clips.firstOfEachAsset {
      for attachment in assets[clip.asset]?.attachments ?? [] {
        if container == .mkv {
          media.attachments.append(CarriedMedia.Attachment(asset: clip.asset, index: attachment.index))
        } else {
          lose(
            .attachment, attachment.index, clip.asset,
            "the attached file '\(attachment.name.shortened)' is left out: \(container) has none")
        }
      }
    }
  }

  func track(of clip: Clip) -> TrackDescription? {
    assets[clip.asset]?.tracks.first { $0.index == clip.sourceTrack }
  }

}

extension ExaminedDocument {
  /// Whether the document says what becomes of an asset's captions.
  func namesCaptions(of asset: AssetID) -> Bool {
    captions.contains { $0.asset == asset } || subtitleTracks.contains { $0.clips.contains { $0.asset == asset } }
  }
}

extension [Clip] {
  /// The first clip of each asset, in order.
  var firstOfEachAsset: [Clip] {
    var seen: Set<AssetID> = []
    return filter { seen.insert($0.asset).inserted }
  }

  /// Those that are in a part of the film.
  fileprivate func shown(in range: MediaTimeRange) -> [Clip] {
    filter { $0.target.start < range.end && range.start < $0.target.end }
  }
}

extension Clip {
  /// The clip, or the part of it that a track which ends before it has.
  fileprivate func ending(with track: TrackDescription) -> Clip {
    guard track.range.end < source.end, source.start < track.range.end,
      let length = try? track.range.end - source.start,
      let used = try? MediaTimeRange(start: source.start, duration: length),
      let place = try? MediaTimeRange(start: target.start, duration: length)
    else { return self }
    var clip = self
    (clip.source, clip.target) = (used, place)
    return clip
  }
}

extension TrackDescription {
  /// Such as `track 2 (aac, deu)`, for messages.
  var title: String {
    let parts = [codec, language].compactMap(\.self)
    return "track \(index) (\(list(parts)))"
  }

  /// A track of a movie that counts the pictures.
  var isTimecode: Bool { type == .metadata && formatTag == "tmcd" }

  /// A movie's track of the titles of chapters.
  var isChapterList: Bool { type == .metadata && formatTag == "text" }
}

extension Container {
  /// Whether files can have several tracks of a type.
  package var hasManyTracks: Bool {
    switch self {
    case .mp4, .mov, .m4v, .m4a, .mkv, .webm: true
    case .mxf, .wav, .flac, .mp3, .ogg, .gif, .apng, .webp, .m3u8, .mpd: false
    }
  }

  /// Whether captions of a codec are copied as they are stored.
  func storesCaptions(_ codec: String) -> Bool {
    switch self {
    case .mp4, .mov, .m4v: codec == "mov_text"
    case .mkv: ["subrip", "ass", "webvtt", "hdmv_pgs_subtitle", "dvd_subtitle", "dvb_subtitle"].contains(codec)
    case .webm: codec == "webvtt"
    case .m4a, .mxf, .wav, .flac, .mp3, .ogg, .gif, .apng, .webp, .m3u8, .mpd: false
    }
  }

  /// libavformat's names of what files state of a track besides whether it is enabled.
  var dispositions: Set<String> {
    switch self {
    case .mkv: ["dub", "original", "comment", "forced", "hearing_impaired", "visual_impaired"]
    case .webm: ["forced"]
    case .mp4, .m4v:
      ["dub", "comment", "forced", "hearing_impaired", "visual_impaired", "captions", "descriptions"]
    default: []
    }
  }
}
