import CompositionModel

/// `audioMix` as the document means it.
struct AudioMixEntry: Sendable {
  fileprivate(set) var tracks: [TrackMixEntry] = []
  fileprivate(set) var loudness: LoudnessTarget?

  var written: Document.AudioMix {
    var mix = Document.AudioMix()
    mix.tracks = Dictionary(tracks.map { ($0.track, $0.written) }) { first, _ in first }
    mix.loudness = loudness
    return mix
  }

  /// The member of `audioMix` that is no track, unless a track has this name.
  static let loudnessKey = "loudness"
  static let loudnessInstead = [
    "lufs": "did you mean 'target'?", "integrated": "did you mean 'target'?", "peak": "did you mean 'truePeak'?",
    "tp": "did you mean 'truePeak'?", "volume": "no track is named 'loudness'; it is the loudness of the whole film",
  ]
  static let targets = -40.0 ... -5
  static let truePeaks = -20.0...0
}

/// A member of `audioMix`: how one track is mixed.
struct TrackMixEntry: Sendable {
  var track: TrackID
  var written = Document.TrackMix()
  var pointer: JSONPointer

  init(track: TrackID, pointer: JSONPointer) { (self.track, self.pointer) = (track, pointer) }

  /// On the composition's timeline.
  var volume: [Document.Ramp] { written.volume?.ramps(at: pointer) ?? [] }
  /// On the composition's timeline.
  var pan: [Document.Ramp] { written.pan?.ramps(at: pointer) ?? [] }
  var filters: [Document.AudioFilter] { written.filters }
  var ducking: Ducking? { written.duck }

  static let instead = [
    "gain": "did you mean 'volume'?", "ramps": "did you mean 'volume'?", "balance": "did you mean 'pan'?",
    "ducking": "did you mean 'duck'?", "sidechain": "did you mean 'duck'?", "taps": "did you mean 'filters'?",
    "pitch": "'pitch' is a key of tracks and clips",
  ]
  static let duckingInstead = [
    "track": "did you mean 'under'?", "key": "did you mean 'under'?", "amount": "did you mean 'by'?",
    "gain": "did you mean 'by'?", "depth": "did you mean 'by'?",
  ]
}

extension RampQuantity {
  /// 1 leaves the samples as they are.
  static let volume = Self(key: "volume", range: 0...10, hasDecibels: true)
  /// 0 leaves the samples as they are.
  static let pan = Self(key: "pan", range: -1...1)
}

extension DocumentReader {
  /// Reads `audioMix`. The tracks must be declared already.
  mutating func audioMix(_ value: JSONValue?) -> AudioMixEntry {
    var mix = AudioMixEntry()
    for (track, value) in members(value, "volumes by track, such as {\"music\": \"-6dB\"}") {
      if track == AudioMixEntry.loudnessKey, names.tracks[track] == nil {
        mix.loudness = within(value, AudioMixKeys.loudness) { $0.loudness(value) }
        continue
      }
      checkTrack(track, .audio, at: value.pointer)
      mix.tracks.append(
        track == AudioMixEntry.loudnessKey
          ? within(value, AudioMixKeys.loudness) { $0.trackMix(track, value) } : trackMix(track, value))
    }
    checkDucking(mix.tracks)
    return mix
  }

  mutating func trackMix(_ track: TrackID, _ value: JSONValue) -> TrackMixEntry {
    var entry = TrackMixEntry(track: track, pointer: value.pointer)
    switch value.content {
    case .number, .string: entry.written.volume = level(value, of: .volume)
    case .object:
      guard let fields = fields(value, AudioMixKeys.trackTable) else { return entry }
      read(fields, AudioMixKeys.properties, into: &entry.written)
      checkDucking(&entry, fields)
    case .array: (entry.written.volume, entry.written.pan) = volumesAndPans(value)
    case .boolean, .null:
      problems.addShape(
        value.pointer,
        "\(value.shown) should be a volume, ramps or an object with the keys \(list(AudioMixKeys.trackTable.keyNames)); "
          + DocumentReader.volumes(RampQuantity.volume.range))
    }
    return entry
  }

  /// One number from beginning to end, or ramps.
  mutating func level(
    _ value: JSONValue, of quantity: RampQuantity, _ table: ObjectTable, _ scope: TimeScope
  ) -> Document.Level? {
    switch value.content {
    case .number, .string: number(value, of: quantity).map { .constant($0) }
    default: .ramps(ramps(value, of: quantity, table, scope))
    }
  }

  /// The same of a track, on the film's timeline.
  mutating func level(_ value: JSONValue, of quantity: RampQuantity) -> Document.Level? {
    level(value, of: quantity, quantity.hasDecibels ? RampTables.volume : RampTables.pan, .film)
  }

  /// Ramps of which each changes the volume, the pan, or both.
  private mutating func volumesAndPans(_ value: JSONValue) -> (volume: Document.Level?, pan: Document.Level?) {
    var (volumes, pans): ([Document.Ramp], [Document.Ramp]) = ([], [])
    for item in items(value, "ramps") {
      guard let fields = fields(item, RampTables.mix) else { continue }
      let time = rampTime(fields, .film)
      func ramp(_ quantity: RampQuantity, _ reader: inout DocumentReader) -> Document.Ramp? {
        guard fields.has(quantity.key), let values = reader.rampNumbers(fields, of: quantity), let time else {
          return nil
        }
        return Document.Ramp(time, values, pointer: fields.pointer)
      }
      if let ramp = ramp(.volume, &self) { volumes.append(ramp) }
      if let ramp = ramp(.pan, &self) { pans.append(ramp) }
    }
    return (volumes.isEmpty ? nil : .ramps(volumes), pans.isEmpty ? nil : .ramps(pans))
  }

  /// Reads `duck` of a track's mix. Nil and a problem if it cannot be used.
  mutating func ducking(_ value: JSONValue) -> Ducking? {
    let found = problems.count
    guard let fields = fields(value, DuckKeys.table) else { return nil }
    var ducking = Ducking(under: "", levels: DuckingLevels())
    read(fields, DuckKeys.properties, into: &ducking)
    return problems.count == found && fields.has(DuckKeys.under.name) ? ducking : nil
  }

  /// Drops a track's ducking, with a problem, that is under the track itself or under none.
  private mutating func checkDucking(_ entry: inout TrackMixEntry, _ fields: Fields) {
    guard case .object(let members)? = fields["duck"]?.content,
      let written = members.first(where: { $0.key == DuckKeys.under.name })?.value,
      case .string(let under) = written.content
    else { return }
    let found = problems.count
    if under == entry.track {
      problems.add(written.pointer, "a track cannot be lowered under itself")
    } else {
      checkTrack(under, .audio, at: written.pointer)
    }
    if problems.count > found { entry.written.duck = nil }
  }

  /// Reports tracks that would be lowered under each other in a circle.
  private mutating func checkDucking(_ tracks: [TrackMixEntry]) {
    let pairs = tracks.compactMap { entry in entry.ducking.map { (entry.track, $0.under) } }
    let unders = Dictionary(pairs) { first, _ in first }
    var visited: Set<TrackID> = []
    var circular: Set<TrackID> = []
    for entry in tracks where entry.ducking != nil {
      var path: [TrackID] = []
      var track: TrackID? = entry.track
      while let next = track, visited.insert(next).inserted {
        path.append(next)
        track = unders[next]
      }
      if let track, let first = path.firstIndex(of: track) { circular.formUnion(path[first...]) }
    }
    for entry in tracks where entry.ducking != nil && circular.contains(entry.track) {
      problems.add(
        entry.pointer.key("duck"),
        "'\(entry.track.shortened)' is lowered under '\(unders[entry.track]?.shortened ?? "")', which is lowered under "
          + "'\(entry.track.shortened)' in turn")
    }
  }

  mutating func loudness(_ value: JSONValue) -> LoudnessTarget? {
    guard let fields = fields(value, LoudnessKeys.table) else { return nil }
    let found = problems.count
    var loudness = LoudnessTarget(target: 0)
    read(fields, LoudnessKeys.properties, into: &loudness)
    return problems.count == found && fields.has(LoudnessKeys.target.name) ? loudness : nil
  }
}

extension AudioMixEntry {
  /// The tracks that the mix names.
  var names: Set<TrackID> { Set(tracks.map(\.track) + tracks.compactMap { $0.ducking?.under }) }
}

extension Lowering {
  /// The mix on the composition's timeline.
  mutating func lowerAudioMix() -> AudioMix {
    var mix = AudioMix(loudness: document.audioMix.loudness)
    for entry in document.audioMix.tracks {
      if let ramps = timeline(entry.volume, mayBeNegative: false), !ramps.isEmpty {
        mix.volumes[entry.track] = RampList(ramps.map(\.ramp))
      }
      if let ramps = timeline(entry.pan, mayBeNegative: false), !ramps.isEmpty {
        mix.pans[entry.track] = centred(ramps, from: .zero)
      }
      if !entry.filters.isEmpty { mix.filters[entry.track] = entry.filters.map(\.effect) }
      mix.ducking[entry.track] = entry.ducking
    }
    for track in tracks where !track.transitions.isEmpty && track.isHeard {
      guard let first = track.audioLanes.first else { continue }
      let (volume, pan) = (mix.volumes[first], mix.pans[first])
      for (lane, id) in zip(track.clips.lanes, track.audioLanes) {
        mix.volumes[id] = volume
        mix.pans[id] = pan
        mix.fades[id] = track.fades(lane.id)
        if id != first { mix.lanes[id] = first }
      }
    }
    return mix
  }

  /// Ramps of pan that start at `start`. Before the first the value is that which it starts with.
  mutating func centred(_ ramps: [PlacedRamp], from start: MediaTime) -> RampList? {
    guard let first = ramps.first else { return nil }
    return exact(at: first.pointer) { () throws(TimeError) in
      let list = try RampList(ramps.map(\.ramp)).shifted(by: start)
      return RampList(try RampList.constant(first.ramp.from).ramps + list.ramps)
    }
  }
}
