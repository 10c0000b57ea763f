import CompositionModel
import EditDocument

// Tracks as playlists, and what mixes them.

extension MLTWriter {
  /// A playlist that is being made.
  private struct Playlist {
    var entries: [XMLNode] = []
    /// In frames.
    var end = 0

    mutating func add(_ entry: XMLNode, _ range: Range<Int>) {
      if end < range.lowerBound { entries.append(XMLNode("blank", ["length": "\(range.lowerBound - end)"])) }
      entries.append(entry)
      end = range.upperBound
    }
  }

  /// The id of the playlist of a track, or of the tractor of two.
  mutating func service(of track: TimelineTrack) throws(TimeError) -> String {
    var playlists = [Playlist(), Playlist()]
    var (current, last, transitions) = (0, 0..<0, [XMLNode]())
    for whole in try track.wholeClips {
      let shown = "the clip '\(whole.clip.name)'"
      let first = try nearest(whole.start, whole.clip.place, shown)
      let range = first..<max(first, try nearest(whole.end, whole.clip.place, shown))
      guard !range.isEmpty else {
        notes.add(whole.clip.place, shown, "not taken: it is shorter than a frame")
        continue
      }
      let overlap = range.lowerBound..<max(range.lowerBound, last.upperBound)
      if !overlap.isEmpty {
        transitions += mixes(whole.transition, over: overlap, isReversed: current == 1, on: track)
        current = 1 - current
      }
      let entry = try entry(whole, range.count, on: track)
      playlists[current].add(entry, range)
      last = range
    }
    let end = try nearest(track.duration, "", "the end of the track '\(track.name)'")
    if last.upperBound < end {
      playlists[current].entries.append(
        XMLNode("blank", ["length": "\(end - max(last.upperBound, playlists[current].end))"]))
    }
    let isMixed = !transitions.isEmpty
    var ids: [String] = []
    for playlist in isMixed ? playlists : [playlists[0]] {
      let id = "playlist\(services.count)"
      add(XMLNode("playlist", ["id": id], (isMixed ? [] : Self.name(of: track)) + playlist.entries))
      ids.append(id)
    }
    guard isMixed else { return ids[0] }
    let id = "track\(services.count)"
    add(
      XMLNode(
        "tractor", ["id": id], Self.name(of: track) + ids.map { XMLNode("track", ["producer": $0]) } + transitions))
    return id
  }

  private static func name(of track: TimelineTrack) -> [XMLNode] {
    track.name.isEmpty ? [] : properties([("kdenlive:track_name", track.name)])
  }

  /// What shows the one playlist give way to the other.
  /// - Parameter isReversed: From the second one to the first.
  private mutating func mixes(
    _ transition: TimelineTransition?, over range: Range<Int>, isReversed: Bool, on track: TimelineTrack
  ) -> [XMLNode] {
    if let transition { noteStyle(of: transition, on: track.type, as: "a dissolve") }
    let ends = [("a_track", "0"), ("b_track", "1")] + (isReversed ? [("reverse", "1")] : [])
    var mixes: [XMLNode] = []
    func add(_ properties: [(String, String)]) {
      mixes.append(
        XMLNode(
          "transition", ["in": "\(range.lowerBound)", "out": "\(range.upperBound - 1)"],
          Self.properties(ends + properties)))
    }
    if track.type == .video { add([("mlt_service", "luma")]) }
    if track.type == .audio || track.hasSound { add([("mlt_service", "mix"), ("start", "-1")]) }
    return mixes
  }

  mutating func noteStyle(of transition: TimelineTransition, on type: MediaType, as made: String) {
    if transition.curve != nil {
      notes.add(transition.place, "'sound' of the transition", "linear: MLT has one curve")
    }
    guard type == .video, ![nil, .dissolve].contains(transition.style.kind) else { return }
    notes.add(transition.place, "the transition '\(transition.name)'", "\(made): MLT has others as files of editors")
  }
}
