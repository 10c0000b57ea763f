extension DocumentReader {
  private static let unsupportedOfClips = [
    "transform", "crop", "filters", "blendMode", "mask", "pitch", "reverse", "loop", "timeRange",
  ]

  mutating func tracks(_ value: JSONValue?) -> [TrackEntry] {
    var tracks: [TrackEntry] = []
    if let value, case .array = value.content {} else { names.tracksAreKnown = false }
    var taken: Set<TrackID> = []
    for item in items(value, "tracks") {
      guard let track = track(item) else {
        names.tracksAreKnown = false
        continue
      }
      let ids = track.hasSound ? [track.id, track.id + ".sound"] : [track.id]
      for id in ids where !taken.insert(id).inserted {
        problems.add(
          track.pointer.key("id"), "there is another track '\(id.shortened)'; every track needs a name of its own")
      }
      for id in ids where names.tracks[id] == nil { names.tracks[id] = id == track.id ? track.type : .audio }
      if track.type == .video { names.videoTracks.append(track.id) } else { names.audioTracks.append(track.id) }
      if track.hasSound {
        names.audioTracks.append(track.id + ".sound")
        names.soundCount += 1
      }
      tracks.append(track)
    }
    return tracks
  }

  private mutating func track(_ value: JSONValue) -> TrackEntry? {
    let found = problems.count
    let keys = ["id", "type", "sound", "clips"]
    guard let fields = fields(value, "a track", keys: keys, unsupported: ["blendMode", "filters", "pitch", "mask"])
    else { return nil }
    var type = MediaType.video
    if let written = fields["type"] {
      let name = choice(
        written, "track type", among: ["video", "audio"], unsupported: ["subtitle", "metadata", "text"])
      guard let known = name.flatMap(MediaType.init(rawValue:)) else { return nil }
      type = known
    }
    let number = 1 + (type == .video ? names.videoTracks.count : names.audioTracks.count - names.soundCount)
    guard let id = fields.has("id") ? name(fields["id"], "a track's id") : "\(type)\(number)" else { return nil }
    var hasSound = boolean(fields["sound"]) ?? false
    if type == .audio, let sound = fields["sound"] {
      problems.add(sound.pointer, "'sound' is for video tracks; an audio track is heard anyway")
      hasSound = false
    }
    let written = items(required(fields, "clips", "a track"), "clips")
    let isReadable = problems.count == found
    let clips = written.map { clip($0, type) }
    return TrackEntry(
      id: id, type: type, hasSound: hasSound, clips: clips, pointer: fields.pointer,
      hasSureTimes: isReadable && clips.allSatisfy(\.hasSureTimes))
  }

  private mutating func clip(_ value: JSONValue, _ type: MediaType) -> ClipEntry {
    let found = problems.count
    var clip = ClipEntry(fit: .contain, opacity: 1, ramps: [], pointer: value.pointer, hasSureTimes: false)
    let keys = ["asset", "use", "at", "duration", "fit", "opacity", "ramps"]
    guard let fields = fields(value, "a clip", keys: keys, unsupported: Self.unsupportedOfClips) else { return clip }
    clip.asset = asset(required(fields, "asset", "a clip"))
    clip.use = range(fields["use"])
    clip.at = time(fields["at"])
    clip.duration = time(fields["duration"])
    clip.hasSureTimes = problems.count == found
    if type == .video {
      clip.fit = choice(fields["fit"], "fit") ?? .contain
      clip.opacity = number(fields["opacity"], in: 0...1) ?? 1
      clip.ramps = ramps(fields["ramps"], of: "opacity", in: 0...1)
    } else {
      for key in ["fit", "opacity", "ramps"] where fields.has(key) {
        let instead = key == "fit" ? "" : "; the volume of a track is set in 'audioMix'"
        problems.add(fields.pointer.key(key), "'\(key)' is for clips of video tracks\(instead)")
      }
    }
    return clip
  }

  /// Ramps and set values: `{"over": "0..2", "volume": [0, 1]}` or `{"at": 2, "volume": 1}`; without a place, at 0.
  mutating func ramps(
    _ value: JSONValue?, of quantity: String, in range: ClosedRange<Double>, mayBeNegative: Bool = false
  ) -> [RampEntry] {
    items(value, "ramps").compactMap { ramp($0, of: quantity, in: range, mayBeNegative: mayBeNegative) }
  }

  private mutating func ramp(
    _ value: JSONValue, of quantity: String, in range: ClosedRange<Double>, mayBeNegative: Bool
  ) -> RampEntry? {
    let others = ["opacity", "transform", "crop", "easing", "pitch", "pan"].filter { $0 != quantity }
    guard
      let fields = fields(
        value, "a ramp of \(quantity)", keys: ["over", "at", quantity],
        unsupported: quantity == "volume" ? ["easing", "pitch", "pan"] : others),
      let target = required(fields, quantity, "a ramp of \(quantity)")
    else { return nil }
    if fields.has("over"), let at = fields["at"] {
      problems.add(at.pointer, "a ramp has 'over', a range, or 'at', a time, not both")
      return nil
    }
    if fields.has("over") {
      guard case .array(let ends) = target.content, ends.count == 2 else {
        problems.add(
          target.pointer,
          "\(target.shown) should be the \(quantity) at the start and at the end of 'over', such as [0, 1]; "
            + "a value set once has 'at' and not 'over'")
        return nil
      }
      let over = self.range(fields["over"], mayBeNegative: mayBeNegative)
      guard let from = number(ends[0], in: range), let to = number(ends[1], in: range), let over else { return nil }
      return RampEntry(place: .over(over), from: from, to: to, pointer: fields.pointer)
    }
    if case .array = target.content {
      problems.add(fields.pointer, "a \(quantity) that goes from one value to another needs 'over', the range it takes")
      return nil
    }
    let at = fields.has("at") ? time(fields["at"], mayBeNegative: mayBeNegative) : .seconds(.zero)
    guard let value = number(target, in: range), let at else { return nil }
    return RampEntry(place: .at(at), from: value, to: value, pointer: fields.pointer)
  }
}
