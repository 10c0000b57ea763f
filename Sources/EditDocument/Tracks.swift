import CompositionModel

/// A track as the document means it: with its name and its type, and with what is known of its clips.
@dynamicMemberLookup struct TrackEntry: Sendable {
  private var written: Document.MediaTrack
  var id: TrackID
  var type: MediaType
  /// Whether a video track may have an audio track `<id>.sound` with the same clips: it has one if an asset has sound.
  var hasSound: Bool
  var clips: [ClipEntry]
  var pointer: JSONPointer
  /// No problem makes the time of its clips uncertain.
  var timesAreKnown: Bool

  fileprivate init(
    _ track: Document.MediaTrack, id: TrackID, _ type: MediaType, hasSound: Bool, _ clips: [ClipEntry],
    pointer: JSONPointer, timesAreKnown: Bool
  ) {
    (written, self.id, self.type, self.hasSound, self.clips) = (track, id, type, hasSound, clips)
    (self.pointer, self.timesAreKnown) = (pointer, timesAreKnown)
  }

  subscript<Value>(dynamicMember path: KeyPath<Document.MediaTrack, Value>) -> Value { written[keyPath: path] }

  /// As the document has it.
  var track: Document.MediaTrack {
    var track = written
    track.clips = clips.map(\.written)
    return track
  }

  /// The blend mode of clips that have none of their own.
  var blendMode: BlendMode? { written.blendMode?.mode }

  static let instead = [
    "audio": "did you mean 'sound'?", "mute": "a video track is silent if it has \"sound\": false",
    "muted": "a video track is silent if it has \"sound\": false",
    "volume": "the volume of a track is set in 'audioMix'", "name": "did you mean 'id'?",
    "items": "did you mean 'clips'?",
  ]
  /// Whether the film's other clips decide when its last clip ends.
  var endsWithTheFilm: Bool { clips.contains(where: \.endsWithTheFilm) }

  /// The name of the audio track of a video track.
  static func audioTrack(of id: TrackID) -> TrackID { id + ".sound" }

  /// What is set on layers if there are explicit instructions.
  var keysOfLayers: [String] {
    (blendMode == nil ? [] : ["blendMode"]) + (written.mask == nil ? [] : ["mask"])
      + (written.filters.isEmpty ? [] : ["filters"])
  }

  /// Whether there are transitions between its clips, or from nothing and to it.
  var hasTransitions: Bool { clips.contains { $0.transition != nil || $0.entrance != nil || $0.exit != nil } }
}

extension DocumentReader {
  /// Reads `tracks` and declares their names.
  mutating func tracks(
    _ value: JSONValue?
  ) -> (tracks: [TrackEntry], subtitles: [SubtitleTrackEntry], written: [Document.Track]) {
    var written: [Document.Track] = []
    var tracks: [TrackEntry] = []
    var subtitles: [SubtitleTrackEntry] = []
    if let value, case .array = value.content {} else { names.tracksAreKnown = false }
    var taken: Set<TrackID> = []
    for item in items(value, "tracks") {
      if Self.isMetadataTrack(item) {
        guard let track = metadataTrack(item) else {
          names.tracksAreKnown = false
          continue
        }
        if taken.insert(track.id).inserted {
          metadataTracks.append(track)
          written.append(.metadata(track))
          names.tracks[track.id] = .metadata
        } else {
          addTaken(track.id, at: item)
        }
        continue
      }
      if SubtitleTrackEntry.isOne(item) {
        guard let track = subtitleTrack(item, number: subtitles.count + 1) else { continue }
        if !taken.insert(track.id).inserted { addTaken(track.id, at: item) }
        subtitles.append(track)
        written.append(.subtitle(track.track))
        continue
      }
      guard let track = track(item) else {
        names.tracksAreKnown = false
        continue
      }
      let audioTrack = TrackEntry.audioTrack(of: track.id)
      let ids = track.hasSound ? [track.id, audioTrack] : [track.id]
      let lanes = track.hasTransitions ? ids.map(Document.ClipTransition.lane(of:)) : []
      if let id = (ids + lanes).filter({ !taken.insert($0).inserted }).first { addTaken(id, at: item) }
      for id in ids where names.tracks[id] == nil { names.tracks[id] = id == track.id ? track.type : .audio }
      if track.type == .video { names.videoTracks.append(track.id) } else { names.audioTracks.append(track.id) }
      if track.hasSound {
        names.audioTracks.append(audioTrack)
        names.videoTrackAudioCount += 1
      }
      tracks.append(track)
      written.append(.media(track.track))
    }
    return (tracks, subtitles, written)
  }

  private mutating func addTaken(_ id: TrackID, at track: JSONValue) {
    var hasName = false
    if case .object(let members) = track.content { hasName = members.contains { $0.key == "id" } }
    if hasName {
      problems.add(
        track.pointer.key("id"), "there is another track '\(id.shortened)'; every track needs a name of its own")
    } else {
      problems.add(
        track.pointer,
        "without 'id' this track is named '\(id.shortened)', as another track is: give it an 'id' of its own")
    }
  }

  private mutating func track(_ value: JSONValue) -> TrackEntry? {
    let found = problems.count
    guard let fields = fields(value, TrackKeys.table) else { return nil }
    var track = Document.MediaTrack()
    let decisive = [TrackKeys.id.name, TrackKeys.type.name, TrackKeys.sound.name]
    read(fields, TrackKeys.properties, into: &track) { decisive.contains($0.name) }
    // A track without a usable name or type is left out, but the problems of its clips are found.
    let (type, isKnown) = (track.type ?? .video, track.type != nil || !fields.has("type"))
    let number =
      1 + (type == .video ? names.videoTracks.count : names.audioTracks.count - names.videoTrackAudioCount)
    let id = fields.has("id") ? track.id : "\(type)\(number)"
    if type == .audio, let sound = fields["sound"] {
      problems.addShape(sound.pointer, "'sound' is for video tracks; an audio track is always in the mix")
      track.sound = nil
    }
    let hasSound = track.sound ?? (type == .video)
    let written = fields["clips"].map { items($0, "clips") } ?? []
    let isReadable = problems.count == found
    if type != .video {
      // Of 'sound' there is a message already.
      for key in TrackKeys.table.keyNames(ofKind: "video") where key != "sound" && fields.has(key) {
        problems.addShape(fields.pointer.key(key), "'\(key)' is for video tracks")
      }
    }
    let isSilent = type == .video && !hasSound
    if let pitch = fields["pitch"], isSilent {
      problems.addShape(pitch.pointer, "'pitch' is for sound, which this track does not have: give it \"sound\": true")
    }
    read(fields, TrackKeys.properties, into: &track) { key in
      !decisive.contains(key.name) && (key.kinds == ["sound"] ? !isSilent : type == .video)
    }
    let clips = written.map { clip($0, type, hasSound: hasSound || type == .audio) }
    if let transition = clips.first?.transition {
      problems.add(
        transition.pointer, "the first clip of a track has none before it from which a transition could start")
    }
    for clip in clips.dropLast() where clip.endsWithTheFilm {
      problems.add(clip.pointer, "a clip that lasts until the film's end must be the last of its track")
    }
    guard isKnown, let id else { return nil }
    return TrackEntry(
      track, id: id, type, hasSound: hasSound, clips, pointer: fields.pointer,
      timesAreKnown: isReadable && clips.allSatisfy(\.timesAreKnown))
  }

  /// A reference to a video track: the name of one that the document declares.
  mutating func videoTrack(_ value: JSONValue?) -> TrackID? {
    guard let value, let id = string(value), checkTrack(id, .video, at: value.pointer) else { return nil }
    return id
  }

  /// Whether there is a track of this name and type. If not, it is a problem, unless a track's own name is unreadable.
  @discardableResult
  mutating func checkTrack(_ id: TrackID, _ type: MediaType, at pointer: JSONPointer) -> Bool {
    if isOfPart || names.tracks[id] == type { return true }
    guard names.tracksAreKnown else { return false }
    let candidates = type == .video ? names.videoTracks : names.audioTracks
    let noun = type == .video ? "a video track" : "an audio track"
    if names.tracks[id] != nil {
      var hint = ""
      if type == .audio {
        let audioTrack = TrackEntry.audioTrack(of: id)
        hint =
          names.tracks[audioTrack] != nil
          ? "; its sound is '\(audioTrack)'" : "; give it \"sound\": true for its sound '\(audioTrack)'"
      }
      problems.add(pointer, "track '\(id.shortened)' is not \(noun)\(hint)")
    } else if candidates.isEmpty {
      problems.add(pointer, "there is no track '\(id.shortened)': the document has no \(type) track")
    } else {
      problems.add(
        pointer, "there is no \(type) track '\(id.shortened)'\(suggestion(for: id, amongDeclared: candidates))")
    }
    return false
  }
}

/// What a video track sets for all its clips.
struct TrackStyle {
  var blendMode: BlendMode?
  var mask: LayerMask?
}

/// A track of the document with its clips in their places.
struct LoweredTrack {
  var entry: TrackEntry
  var clips: LoweredClips
  /// Between its clips.
  var transitions: [LoweredTransition]
  /// The tracks of the composition that it becomes: its lanes, and their audio if it is a video track that is heard.
  var composed: [CompositionTrack] = []
  /// Every clip is in its place.
  var isComplete: Bool

  var isHeard: Bool { composed.contains { $0.type == .audio } }

  /// The audio tracks that its lanes have, or are, in their order.
  var audioLanes: [TrackID] {
    let id = entry.type == .audio ? entry.id : TrackEntry.audioTrack(of: entry.id)
    return clips.lanes.count == 1 ? [id] : [id, Document.ClipTransition.lane(of: id)]
  }
}
