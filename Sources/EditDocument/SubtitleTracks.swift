import CompositionModel

/// A track of captions as the document means it: it becomes a text track of the output, with the captions of its clips
/// one after the other.
struct SubtitleTrackEntry: Sendable {
  fileprivate(set) var track: Document.SubtitleTrack
  var id: TrackID
  var pointer: JSONPointer

  var clips: [Document.SubtitleClip] { track.clips }
  var description: CaptionTrack {
    CaptionTrack(
      label: TrackLabel(language: track.language, title: track.title), isDefault: track.default ?? false)
  }

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
    var track = Document.SubtitleTrack()
    read(fields, SubtitleTrackKeys.properties, into: &track)
    let id = fields.has("id") ? track.id : "\(SubtitleTrackEntry.type)\(number)"
    if case .array(let items)? = fields["clips"]?.content, items.count > SubtitleTrackEntry.greatestCount {
      problems.addShape(
        fields.pointer.key("clips"),
        "\(items.count) clips; a subtitle track has at most \(SubtitleTrackEntry.greatestCount) of them")
      return nil
    }
    return id.map { SubtitleTrackEntry(track: track, id: $0, pointer: value.pointer) }
  }

  /// Reads the clips of a track of captions. Of too many none is read.
  mutating func subtitleClips(_ value: JSONValue) -> [Document.SubtitleClip] {
    let items = items(value, "clips")
    guard items.count <= SubtitleTrackEntry.greatestCount else { return [] }
    return items.compactMap { item in
      guard let fields = fields(item, SubtitleTrackKeys.clipTable) else { return nil }
      var clip = Document.SubtitleClip("")
      clip.pointer = item.pointer
      read(fields, SubtitleTrackKeys.clipProperties, into: &clip)
      return clip
    }
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
      var shown: [(clip: Document.SubtitleClip, range: MediaTimeRange)] = []
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

  private mutating func checkApart(_ clips: [(clip: Document.SubtitleClip, range: MediaTimeRange)]) {
    var latest: (clip: Document.SubtitleClip, range: MediaTimeRange)?
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
    _ clip: Document.SubtitleClip, from start: MediaTime?
  ) -> (asset: AssetID, track: Int, start: MediaTime, source: MediaTimeRange, shown: MediaTimeRange)? {
    let pointer = clip.pointer
    guard let place = clip.at.map({ self.place($0, after: start, at: pointer.key("at")) }) ?? start else { return nil }
    let id = clip.asset
    guard let asset = assets[id], let (track, _) = captions(of: asset, id, at: pointer) else {
      return nil
    }
    let end = max(asset.duration, track.range.end)
    var use: MediaTimeRange?
    if let written = clip.use {
      use = resolve(written, at: pointer.key("use"), on: .own(end: end, "the asset"))
      if use == nil { return nil }
    }
    let whole = exact(at: pointer) { () throws(TimeError) in try MediaTimeRange(start: .zero, duration: end) }
    guard let whole else { return nil }
    let used = use ?? whole
    return exact(at: pointer) { () throws(TimeError) in
      let shown = try MediaTimeRange(placing: place, lasting: used.duration)
      return (id, track.index, try place - used.start, used, shown)
    }
  }
}
