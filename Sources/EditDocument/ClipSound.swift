import CompositionModel

/// What a clip sets for its sound: on an audio track, or on a video track with sound.
struct ClipSoundEntry: Sendable {
  /// Nil: that of its track.
  var pitch: PitchAlgorithm?
  var choice: TrackChoice?
  /// On the clip's own time.
  var pan: [Document.Ramp] = []
  var filters: [Document.AudioFilter] = []
  /// On the clip's own time.
  var volume: Document.Level?
  var layout: SpeakerLayout?
  var channels: [Int]?

  /// Which of an asset's audio tracks is heard.
  enum TrackChoice: Sendable {
    /// By its number among the asset's audio tracks, from 0.
    case number(Int)
    /// By its language, as ISO 639-2 has it. The first of them.
    case language(String)
  }

  init(_ clip: Document.Clip, at pointer: JSONPointer) {
    (pitch, layout, channels, filters) = (clip.pitch, clip.layout, clip.audioChannels, clip.audioFilters)
    choice = clip.language.map { .language($0) } ?? clip.track.map { .number($0) }
    pan = clip.pan?.ramps(at: pointer.key("pan")) ?? []
    volume = clip.volume
  }

  /// The greatest number of an asset's audio track.
  static let numbers = 0...999
  /// The numbers of an asset's channels.
  static let channels = 0...63
  /// How many channels can be heard: those of the largest layout.
  static let greatestChannelCount = 8
}

extension DocumentReader {
  /// Reads what a clip sets for its sound.
  /// - Parameter hasSound: Whether the clip's track has sound. If not, the keys are problems.
  mutating func clipSound(_ fields: Fields, hasSound: Bool, into clip: inout Document.Clip) {
    guard hasSound else {
      for key in ClipKeys.table.keyNames(ofKind: "sound") where fields.has(key) {
        problems.addShape(
          fields.pointer.key(key),
          "'\(key)' is for sound, which this track does not have: give the track \"sound\": true")
      }
      if let sound = fields["sound"], case .string("keep") = sound.content {
        problems.addShape(sound.pointer, "this track has no sound to keep: give the track \"sound\": true")
      }
      return
    }
    read(fields, ClipKeys.sounds, into: &clip)
    if fields.has("language"), let track = fields["track"] {
      problems.addShape(track.pointer, "a clip has 'track' or 'language', not both")
      (clip.track, clip.language) = (nil, nil)
    }
  }
}

extension DocumentReader {
  /// Numbers of channels. Nil and a problem if they cannot be used.
  mutating func audioChannels(_ value: JSONValue) -> [Int]? {
    let found = problems.count
    let items = items(value, "numbers of channels, such as [1, 0]")
    let greatest = ClipSoundEntry.greatestChannelCount
    if problems.count == found, !(1...greatest).contains(items.count) {
      problems.addShape(value.pointer, "\(items.count) channels; 1 to \(greatest) are allowed")
    }
    let channels = items.compactMap { integer($0, in: ClipSoundEntry.channels) }
    return problems.count == found ? channels : nil
  }
}

extension Lowering {
  /// Whether the sound of a track's clips is in the mix where they have any. That of a mask is not unless the document
  /// says so.
  func mayBeHeard(_ track: TrackEntry) -> Bool {
    guard track.type == .video, track.sound == nil else { return track.type == .audio || track.hasSound }
    return !maskTracks.contains(track.id) || mixedTracks.contains(TrackEntry.audioTrack(of: track.id))
  }

  /// Puts what a clip sets for its sound into the composition's clip.
  /// - Parameter source: The asset's audio track that is heard.
  mutating func lower(
    _ entry: ClipSoundEntry, of track: TrackEntry, _ source: TrackDescription?, into clip: inout Clip,
    at pointer: JSONPointer
  ) {
    lowerChannels(of: entry, source?.audio, into: &clip, at: pointer)
    let pitch = entry.pitch ?? track.pitch
    clip.pitch = pitch == .spectral ? nil : pitch
    clip.audioFilters = entry.filters.isEmpty ? nil : entry.filters.map(\.effect)
    let own = WrittenTimeline.own(end: clip.target.duration, "the clip")
    if let ramps = timeline(entry.pan, on: own) {
      for ramp in ramps { checkPlace(of: ramp.ramp.over, within: clip.target, owner: "the clip", at: ramp.pointer) }
      clip.pan = centred(ramps, from: clip.target.start)
    }
    switch entry.volume {
    case nil, .constant(1): break
    case .constant(let volume):
      clip.volume = exact(at: pointer.key("volume")) { () throws(TimeError) in try RampList.constant(volume) }
    case .ramps(let written):
      clip.volume = timeline(written, on: own).flatMap {
        rampList($0, opacity: 1, within: clip.target, owner: "the clip")
      }
    }
  }

  /// - Parameter format: Of the asset's audio track that is heard.
  private mutating func lowerChannels(
    of entry: ClipSoundEntry, _ format: AudioFormat?, into clip: inout Clip, at pointer: JSONPointer
  ) {
    guard let format else { return }
    for (index, channel) in (entry.channels ?? []).enumerated() where channel >= format.channels {
      problems.add(
        pointer.key("audioChannels").index(index),
        "the sound of '\(clip.asset.shortened)' has \(format.channels) \(format.channels == 1 ? "channel" : "channels"), "
          + "counted from 0")
    }
    clip.audioChannels = entry.channels
    guard let layout = entry.layout else { return }
    let count = entry.channels?.count ?? format.channels
    if layout.channels == count {
      clip.layout = layout
      return
    }
    let allowed = SpeakerLayout.allCases.filter { $0.channels == count }.map(\.rawValue)
    let owner = entry.channels == nil ? "the sound of '\(clip.asset.shortened)'" : "'audioChannels'"
    problems.add(
      pointer.key("layout"),
      "'\(layout.rawValue)' has \(layout.channels) channels, and \(owner) has \(count)"
        + (allowed.isEmpty ? ", for which there is no layout" : ": \(list(allowed))"))
  }

  /// The audio track of its asset that a clip uses. Nil if the asset has none, or nil and a problem if it does not have
  /// the one that the clip names.
  mutating func soundTrack(
    of entry: ClipSoundEntry, in asset: AssetDescription, _ id: AssetID, at pointer: JSONPointer
  ) -> TrackDescription? {
    let tracks = asset.tracks.filter { $0.type == .audio }
    let (key, wanted): (String, String)
    switch entry.choice {
    case nil: return asset.defaultTrack(.audio)
    case .number(let number):
      if tracks.indices.contains(number) { return tracks[number] }
      (key, wanted) = ("track", "audio track \(number)")
    case .language(let language):
      if let track = tracks.first(where: { $0.language.map { Languages.areEqual($0, language) } ?? false }) {
        return track
      }
      (key, wanted) = ("language", "audio track in the language '\(language)'")
    }
    let listed = tracks.enumerated().prefix(8).map { number, track in
      let parts = [track.language, track.codec, track.audio.map { $0.layout }].compactMap(\.self)
      return "\(number) (\(list(parts)))"
    }
    let rest = tracks.count - listed.count
    problems.add(
      pointer.key(key),
      "'\(id.shortened)' has no \(wanted); "
        + (listed.isEmpty ? "it has no audio track" : "it has \(list(listed))\(rest > 0 ? " and \(rest) more" : "")"))
    return nil
  }
}

extension AssetDescription {
  /// Why audio tracks of the file are not among `tracks`, one sentence for each.
  var lostSounds: [String] {
    (failures ?? []).filter { $0.type == .audio }.map { failure in
      "track \(failure.index) (\(failure.codec)) cannot be played: \(failure.message)"
    }
  }
}

extension Lowering {
  /// Sound of the file of a clip that is not heard because it cannot be decoded, one warning a track and asset.
  func addLostSounds(to warnings: inout ProblemList) {
    var reported: Set<AssetID> = []
    for track in tracks where mayBeHeard(track.entry) {
      for (_, lowered) in track.clips.entries where !lowered.entry.retiming.dropsSound {
        let id = lowered.clip.asset
        guard let lost = assets[id]?.lostSounds, !lost.isEmpty, reported.insert(id).inserted else { continue }
        for reason in lost {
          warnings.add(lowered.entry.pointer, "the sound of '\(id.shortened)' is not whole: \(reason)")
        }
      }
    }
  }

  /// Sounds of more than two channels whose file does not say which speakers they are for, one warning an asset.
  func addUnnamedSpeakers(to warnings: inout ProblemList) {
    var reported: Set<AssetID> = []
    for track in tracks where mayBeHeard(track.entry) {
      for (_, lowered) in track.clips.entries
      where lowered.clip.layout == nil && lowered.clip.audioChannels == nil {
        let index = track.entry.type == .audio ? lowered.clip.sourceTrack : lowered.soundTrack
        guard let format = assets[lowered.clip.asset]?.tracks.first(where: { $0.index == index })?.audio,
          format.channels > 2, format.layout.hasSuffix("channels"), reported.insert(lowered.clip.asset).inserted
        else { continue }
        let names = SpeakerLayout.allCases.filter { $0.channels == format.channels }.map(\.rawValue)
        let usual = SpeakerLayout.usual(format.channels)?.rawValue
        warnings.add(
          lowered.entry.pointer,
          "the \(format.channels) channels of '\(lowered.clip.asset.shortened)' have no names of speakers and are taken "
            + (usual.map { "as \($0)" } ?? "for left and right in turn")
            + (names.isEmpty ? "" : "; 'layout' says what they are: \(list(names))"))
      }
    }
  }
}
