/// AVFoundation's verbs on a whole composition (FEATURES F11, F13-F17). Each either does all that it says or throws and
/// changes nothing; each is exact.
extension Composition {
  /// Adds an empty track under the others and returns its name: `id`, or `video1`, `audio2`… by its number among the
  /// tracks of its type.
  @discardableResult
  public mutating func addTrack(_ type: MediaType, id: TrackID? = nil) throws(EditingError) -> TrackID {
    guard type == .video || type == .audio else { throw .unsupportedTrack(type) }
    var number = tracks.count { $0.type == type } + 1
    while id == nil, track("\(type)\(number)") != nil { number += 1 }
    let id = id ?? "\(type)\(number)"
    if track(id) != nil { throw .trackExists(id) }
    tracks.append(CompositionTrack(id: id, type: type))
    return id
  }

  /// Takes a track out, with its clips.
  public mutating func removeTrack(_ id: TrackID) throws(EditingError) {
    guard let index = tracks.firstIndex(where: { $0.id == id }) else { throw .unknownTrack(id) }
    tracks.remove(at: index)
  }

  /// Edits one track; where `edit` throws nothing is changed.
  public mutating func editTrack(
    _ id: TrackID, _ edit: (inout CompositionTrack) throws(EditingError) -> Void
  ) throws(EditingError) {
    guard let index = tracks.firstIndex(where: { $0.id == id }) else { throw .unknownTrack(id) }
    var track = tracks[index]
    try edit(&track)
    tracks[index] = track
  }

  /// Puts every video and audio track of a range of an asset at `time`: its first video track on the composition's
  /// first, and so on; tracks that are missing are added. Everything after `time` moves later, on all tracks. An
  /// invalid time appends after everything.
  public mutating func insert(_ range: AssetRange, at time: MediaTime = .invalid) throws(EditingError) {
    var edited = self
    let place = time.isValid ? time : duration
    guard place.isNumeric, .zero <= place else { throw .outsideTimeline(place) }
    if range.range.isEmpty { throw .emptyRange(range.range) }
    for index in edited.tracks.indices { try edited.tracks[index].open(at: place, for: range.range.duration) }
    for type in [MediaType.video, .audio] {
      for (number, track) in range.description.tracks.filter({ $0.type == type }).enumerated() {
        if edited.tracks.count(where: { $0.type == type }) == number { try edited.addTrack(type) }
        let index = edited.tracks.indices.filter { edited.tracks[$0].type == type }[number]
        edited.tracks[index].place(try range.clip(track, at: place))
      }
    }
    self = edited
  }

  /// Puts a gap into every track.
  public mutating func insertEmpty(_ range: MediaTimeRange) throws(EditingError) {
    try editTracks { (track) throws(EditingError) in try track.insertEmpty(range) }
  }

  /// Takes a range out of every track; the tracks stay, even empty ones.
  public mutating func remove(_ range: MediaTimeRange) throws(EditingError) {
    try editTracks { (track) throws(EditingError) in try track.remove(range) }
  }

  /// Makes a range last `duration` on every track.
  public mutating func scale(_ range: MediaTimeRange, to duration: MediaTime) throws(EditingError) {
    try editTracks { (track) throws(EditingError) in try track.scale(range, to: duration) }
  }

  /// The first track of the type that can take a clip without moving another: one with nothing in `range`, or any
  /// where no range is given and the clip is to be appended.
  public func compatibleTrack(_ type: MediaType, over range: MediaTimeRange? = nil) -> TrackID? {
    tracks.first { track in
      guard track.type == type else { return false }
      guard let range else { return true }
      return !track.clips.contains { $0.target.start < range.end && range.start < $0.target.end }
    }?.id
  }

  private mutating func editTracks(
    _ edit: (inout CompositionTrack) throws(EditingError) -> Void
  ) throws(EditingError) {
    var edited = tracks
    for index in edited.indices { try edit(&edited[index]) }
    tracks = edited
  }
}
