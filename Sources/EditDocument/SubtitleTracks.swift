import CompositionModel

/// A track of captions as written: it becomes a text track of the output, with the captions of its clips one after the
/// other.
struct SubtitleTrackEntry: Sendable {
  struct Clip: Sendable {
    /// Nil if the document gives none, or one that it does not declare.
    var asset: AssetID?
    var use: WrittenRange?
    /// Nil: at the end of the clip before it.
    var at: WrittenTime?
    var pointer: JSONPointer
  }

  var id: TrackID
  var description: CaptionTrack
  var clips: [Clip]
  var pointer: JSONPointer

  static let type = MediaType.subtitle.rawValue
  /// The most clips of a track.
  static let greatestCount = 1000

  /// Whether a track is one of captions.
  static func isOne(_ value: JSONValue) -> Bool {
    guard case .object(let members) = value.content else { return false }
    return members.contains { key, member in
      if key == "type", case .string(type) = member.content { true } else { false }
    }
  }
}

extension DocumentReader {
  /// Reads a track of captions. Nil if its name cannot be used.
  /// - Parameter number: The number of the track among those of its type.
  mutating func subtitleTrack(_ value: JSONValue, number: Int) -> SubtitleTrackEntry? {
    guard let fields = fields(value, SubtitleTrackKeys.table) else { return nil }
    let id = fields.has("id") ? read(fields, SubtitleTrackKeys.id) : "\(SubtitleTrackEntry.type)\(number)"
    let description = captionTrack(fields)
    let written = read(fields, SubtitleTrackKeys.clips) ?? []
    guard written.count <= SubtitleTrackEntry.greatestCount else {
      problems.addShape(
        fields.pointer.key("clips"),
        "\(written.count) clips; a subtitle track has at most \(SubtitleTrackEntry.greatestCount) of them")
      return nil
    }
    let clips = written.compactMap { item -> SubtitleTrackEntry.Clip? in
      guard let fields = self.fields(item, SubtitleTrackKeys.clipTable) else { return nil }
      return SubtitleTrackEntry.Clip(
        asset: read(fields, SubtitleTrackKeys.clipAsset), use: read(fields, ClipKeys.use),
        at: read(fields, SubtitleTrackKeys.at),
        pointer: item.pointer)
    }
    guard let id else { return nil }
    return SubtitleTrackEntry(id: id, description: description, clips: clips, pointer: value.pointer)
  }
}

extension Lowering {
  /// The captions of the subtitle tracks, on the film's timeline.
  mutating func lowerSubtitleTracks(_ export: ExportSettings?) -> [Captions] {
    var captions: [Captions] = []
    for track in document.subtitleTracks {
      let isPossible = export?.container.hasTextTracks ?? true
      if let container = export?.container, !isPossible, !isLeftToOtherOutputs(\.hasTextTracks) {
        let possible = Container.allCases.filter(\.hasTextTracks).map(\.rawValue)
        problems.add(
          track.pointer, "a .\(container.rawValue) file cannot have a text track; \(list(possible)) can")
        continue
      }
      var description = track.description
      description.id = track.id
      var end: MediaTime? = .zero
      var shown: [(clip: SubtitleTrackEntry.Clip, range: MediaTimeRange)] = []
      for clip in track.clips {
        let placed = lower(clip, from: end)
        end = placed?.shown.end
        guard let placed else { continue }
        shown.append((clip, placed.shown))
        guard isPossible else { continue }
        captions.append(
          Captions(
            asset: placed.asset, sourceTrack: placed.track, start: placed.start, source: placed.source,
            use: .track(description)))
      }
      checkApart(shown)
    }
    return captions
  }

  private mutating func checkApart(_ clips: [(clip: SubtitleTrackEntry.Clip, range: MediaTimeRange)]) {
    var latest: (clip: SubtitleTrackEntry.Clip, range: MediaTimeRange)?
    for next in clips.sorted(by: { $0.range.start < $1.range.start }) {
      if let latest, next.range.start < latest.range.end {
        problems.add(
          next.clip.pointer,
          "its captions are those of \(next.range) and overlap those of \(latest.clip.pointer.text), which are of "
            + "\(latest.range); clips of one track follow each other")
      }
      if latest.map({ $0.range.end < next.range.end }) ?? true { latest = next }
    }
  }

  /// - Parameter start: where the clip starts if it has no `at`. Nil if it is unknown.
  private mutating func lower(
    _ clip: SubtitleTrackEntry.Clip, from start: MediaTime?
  ) -> (asset: AssetID, track: Int, start: MediaTime, source: MediaTimeRange, shown: MediaTimeRange)? {
    let pointer = clip.pointer
    guard let place = clip.at.map({ self.place($0, after: start, at: pointer.key("at")) }) ?? start else { return nil }
    guard let id = clip.asset, let asset = assets[id], let (track, _) = captions(of: asset, id, at: pointer) else {
      return nil
    }
    var use: MediaTimeRange?
    if let written = clip.use {
      use = resolve(written, at: pointer.key("use"))
      if use == nil { return nil }
    }
    let whole = exact(at: pointer) { () throws(TimeError) in
      try MediaTimeRange(start: .zero, duration: max(asset.duration, track.range.end))
    }
    guard let whole else { return nil }
    let used = use ?? whole
    return exact(at: pointer) { () throws(TimeError) in
      let shown = try MediaTimeRange(placing: place, lasting: used.duration)
      return (id, track.index, try place - used.start, used, shown)
    }
  }
}
