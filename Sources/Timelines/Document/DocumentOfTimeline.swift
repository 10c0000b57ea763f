package import CompositionModel
package import EditDocument

/// Makes documents of timelines.
package struct DocumentOfTimeline {
  private var noted = TimelineNotes()
  package var notes: [TimelineNote] { noted.all }
  /// Of what is made, for errors.
  var place = ""
  /// The paths of the files that are not there.
  package private(set) var missing: [String] = []
  let media: TimelineMedia

  package init(media: TimelineMedia) { self.media = media }

  /// Throws if it has no clip, or a time that a document cannot have.
  package mutating func document(of timeline: Timeline) throws(TimelineError) -> Document {
    guard timeline.clipCount > 0 else { throw TimelineError("", "the timeline has no clip that can be taken") }
    var part = DocumentPart()
    do throws(TimeError) {
      return try document(of: timeline, &part)
    } catch {
      throw TimelineError(error, at: self.place)
    }
  }

  mutating func note(_ place: String, _ item: String, _ reason: String) {
    noted.add(place, item, reason)
  }

  private mutating func document(of timeline: Timeline, _ part: inout DocumentPart) throws(TimeError) -> Document {
    var tracks: [Document.MediaTrack] = []
    var end = Rational.zero
    var markers = timeline.markers
    // Video from the top to the bottom, as documents have it, but names are given from the bottom.
    for track in timeline.tracks.filter({ $0.type == .video }) + timeline.tracks.filter({ $0.type == .audio }) {
      guard let (made, placed, last) = try self.track(track, &part) else { continue }
      markers += placed
      end = max(end, last)
      if track.type == .video { tracks.insert(made, at: 0) } else { tracks.append(made) }
    }
    try fill(from: end, to: timeline.duration, &tracks, &part)
    part.document.tracks = tracks.map { .media($0) }
    part.document.videoComposition.frameRate = timeline.rate
    part.document.videoComposition.renderSize = timeline.size
    for title in timeline.titles.reversed() {
      place = title.place
      var overlay = Document.Overlay(text: title.text)
      overlay.over = Document.TimeRange(
        from: try title.start.documentTime, to: try (title.start + title.duration).documentTime)
      (overlay.color, overlay.font, overlay.align) = (title.color, title.font, title.align)
      if title.isBold { overlay.bold = true }
      if title.isItalic { overlay.italic = true }
      part.document.videoComposition.overlays.append(overlay)
    }
    for marker in markers.sorted(by: { $0.time < $1.time }) { try add(marker, &part) }
    return part.document
  }

  /// A film ends with its last clip, so what is empty after it is a picture that is transparent.
  private mutating func fill(
    from end: Rational, to duration: Rational, _ tracks: inout [Document.MediaTrack], _ part: inout DocumentPart
  ) throws(TimeError) {
    guard end < duration else { return }
    guard let last = tracks.lastIndex(where: { $0.type != .audio }) else {
      note(
        "/tracks", "the silence at the end",
        "shorter by \(seconds(try MediaTime(duration - end))): a film without a picture ends with its last clip")
      return
    }
    let asset = part.asset(DrawnPicture(color: Self.nothing), named: Self.gap)
    var clip = Document.Clip(asset, at: try end.documentTime)
    clip.duration = try (duration - end).documentTime
    // The track whose last clip it is may end before the others.
    tracks[last].clips.append(clip)
  }

  package static let nothing = Color(red: 0, green: 0, blue: 0, alpha: 0)
  package static let gap = "gap"

  private mutating func add(_ marker: TimelineMarker, _ part: inout DocumentPart) throws(TimeError) {
    let item = "the marker '\(marker.name)'"
    place = marker.place
    guard .zero <= marker.time else {
      note(marker.place, item, "not taken: it is before the start")
      return
    }
    let name = part.names.marker(marker.name)
    if name != marker.name, !marker.name.isEmpty { note(marker.place, item, "its name is '\(name)' in the document") }
    part.document.markers[name] = try marker.time.documentTime
  }

  /// The asset of a clip. Nil: it is a part of a timeline without clips.
  mutating func asset(
    of clip: TimelineClip, _ part: inout DocumentPart
  ) throws(TimeError) -> AssetID? {
    switch clip.source {
    case .picture(let picture): return part.asset(picture, named: clip.name)
    case .media(let reference):
      let key = TimelineMedia.Key(reference, clip: clip.name)
      let found =
        media.found[key]
        ?? MediaLocator.Found(path: reference.path.isEmpty ? clip.name : MediaPath.plain(reference.path))
      if found.file == nil, !missing.contains(found.path) { missing.append(found.path) }
      if !found.others.isEmpty {
        note(
          clip.place, "the file of the clip '\(clip.name)'",
          "'\(found.path)' is taken; of the same name are \(list(found.others.prefix(3).map { "'\($0)'" }))")
      }
      return part.asset(path: found.path)
    case .timeline(let timeline):
      guard timeline.clipCount > 0 else {
        note(clip.place, "the composition '\(clip.name)'", "a gap: it has no clip that can be taken")
        return nil
      }
      if let known = part.nested[timeline] { return known }
      var inner = DocumentPart()
      let document = try document(of: timeline, &inner)
      let id = part.names.asset(clip.name.isEmpty ? timeline.name : clip.name)
      part.document.documents[id] = Document.Nested(document, isTransparent: true)
      part.nested[timeline] = id
      return id
    }
  }
}

/// A document that is being made.
struct DocumentPart {
  var document = Document()
  var names = DocumentNames()
  var nested: [Timeline: AssetID] = [:]
  private var files: [String: AssetID] = [:]
  private var pictures: [DrawnPicture: AssetID] = [:]

  mutating func asset(path: String) -> AssetID {
    if let known = files[path] { return known }
    let id = names.asset(MediaPath.stem(MediaPath.name(of: path)))
    files[path] = id
    document.assets[id] = path
    return id
  }

  mutating func asset(_ picture: DrawnPicture, named name: String) -> AssetID {
    if let known = pictures[picture] { return known }
    let id = names.asset(name)
    pictures[picture] = id
    document.pictures[id] = picture
    return id
  }
}
