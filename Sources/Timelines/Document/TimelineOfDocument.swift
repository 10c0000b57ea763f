package import CompositionModel
package import EditDocument

/// Makes timelines of documents.
package struct TimelineOfDocument {
  private var noted = TimelineNotes()
  package var notes: [TimelineNote] { noted.all }
  /// What the files are, by their paths as the document has them.
  let facts: [String: MediaFacts]
  let document: Document
  var clock: DocumentClock
  /// The folder of the document's paths from that of the outermost document, with a slash. Empty: the same.
  let folder: String
  /// The place of the document in the outermost one.
  let pointer: String
  /// Whether the sound of a video track is a track of its own, as in formats whose tracks are of the one or the other.
  let separatesSound: Bool
  /// The lengths of the documents among the assets.
  var nested: [AssetID: Timeline] = [:]

  /// - Parameters:
  ///   - rate: Frames a second, in place of the document's own.
  ///   - facts: Of the files of the document and of those in it, as far as they could be examined.
  ///   - format: That in which the timeline will be written.
  package init(
    _ document: Document, rate: Rational? = nil, facts: [String: MediaFacts] = [:],
    for format: TimelineFormat = .openTimelineIO
  ) {
    self.init(
      document, rate: rate, facts: facts, folder: "", pointer: "",
      separatesSound: format == .openTimelineIO || format == .editDecisionList)
  }

  private init(
    _ document: Document, rate: Rational?, facts: [String: MediaFacts], folder: String, pointer: String,
    separatesSound: Bool
  ) {
    self.separatesSound = separatesSound
    let rates = document.assets.values.compactMap { facts[folder + $0]?.rate }
    clock = DocumentClock(rate: rate ?? document.rate ?? rates.max())
    (self.document, self.facts, self.folder, self.pointer) = (document, facts, folder, pointer)
  }

  /// Throws if a time cannot be kept exactly.
  package mutating func timeline(named name: String) throws(TimelineError) -> Timeline {
    do throws(TimeError) {
      return try made(name)
    } catch {
      throw TimelineError(error)
    }
  }

  mutating func note(_ place: String, _ item: String, _ reason: String) {
    noted.add(pointer + place, item, reason)
  }

  private mutating func made(_ name: String) throws(TimeError) -> Timeline {
    for (id, asset) in document.documents.sorted(by: { $0.key < $1.key }) {
      var inner = TimelineOfDocument(
        asset.document, rate: nil, facts: facts, folder: folder + (asset.folder.map { $0 + "/" } ?? ""),
        pointer: pointer + JSONPointer.root.key("assets").key(id).key("document").text,
        separatesSound: separatesSound)
      nested[id] = try inner.made(id)
      noted += inner.notes
      if !asset.isTransparent {
        note(
          JSONPointer.root.key("assets").key(id).text, "the document '\(id)'",
          "transparent where it has no picture: a timeline within another is")
      }
    }
    try findTimes()
    var timeline = Timeline(name: name, rate: clock.rate)
    timeline.size = document.videoComposition.renderSize
    var audio: [TimelineTrack] = []
    for (index, track) in document.tracks.enumerated() {
      let place = JSONPointer.root.key("tracks").index(index)
      guard case .media(let track) = track else {
        note(place.text, "the track", "not taken: a timeline has tracks of video and of sound")
        continue
      }
      noteSettings(of: track, at: place.text)
      var made = TimelineTrack(name: track.id ?? "", type: track.type ?? .video)
      let clips = try placed(track, at: place, mayNote: true)
      made.items = try items(clips)
      guard made.type == .video else {
        audio.append(made)
        continue
      }
      made.hasSound = !separatesSound && track.sound != false
      timeline.tracks.insert(made, at: 0)
      if separatesSound, track.sound != false, let sound = try self.sound(of: made, clips) { audio.append(sound) }
    }
    timeline.tracks += audio
    for (name, time) in document.markers.sorted(by: { $0.key < $1.key }) {
      let place = JSONPointer.root.key("markers").key(name).text
      guard let time = try clock.seconds(time) else {
        note(place, "the marker '\(name)'", "not taken: its time is not known")
        continue
      }
      timeline.markers.append(TimelineMarker(name: name, time: time, place: pointer + place))
    }
    noteSettings()
    return timeline
  }

  /// Finds out when clips with a name, markers and the film's end are, each of which may count from another.
  private mutating func findTimes() throws(TimeError) {
    while true {
      var (unknown, last): (Int, Rational) = (0, .zero)
      let known = (clock.clips.count, clock.markers.count)
      for (name, time) in document.markers { clock.markers[name] = try clock.seconds(time) }
      for (index, track) in document.tracks.enumerated() {
        guard case .media(let track) = track else { continue }
        let placed = try placed(track, at: JSONPointer.root.key("tracks").index(index), mayNote: false)
        unknown += track.clips.count - placed.count
        for clip in placed {
          last = max(last, clip.end)
          if let name = clip.written.name { clock.clips[name] = (clip.start, clip.end) }
        }
      }
      if unknown == 0 || known == (clock.clips.count, clock.markers.count) {
        guard clock.end == nil else { return }
        // What counts from the film's end is found last.
        clock.end = last
      }
    }
  }

  /// The sound of a video track's clips as a track of its own. Nil: none of them has one.
  private mutating func sound(of track: TimelineTrack, _ clips: [PlacedClip]) throws(TimeError) -> TimelineTrack? {
    var heard = clips.filter { $0.written.sound != .drop && $0.written.freeze == nil && $0.hasSound }
    guard !heard.isEmpty else { return nil }
    for index in heard.indices { heard[index].clip.settings = heard[index].written.ofSound }
    return TimelineTrack(name: track.name.isEmpty ? "" : "\(track.name).sound", type: .audio, items: try items(heard))
  }
}
