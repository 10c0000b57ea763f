/// AVFoundation's edits of a whole composition. They are exact as those of a track are. An edit that throws changes
/// nothing.
extension Composition {
  /// Adds an empty track below the others and returns its name: `id`, or else `video1`, `audio2`…, by its number among
  /// the tracks of its type.
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

  /// Removes a track with its clips.
  public mutating func removeTrack(_ id: TrackID) throws(EditingError) {
    guard let index = tracks.firstIndex(where: { $0.id == id }) else { throw .unknownTrack(id) }
    tracks.remove(at: index)
  }

  /// Edits one track. If `edit` throws, nothing is changed.
  /// - Throws: `EditingError.unknownTrack`, or what `edit` throws.
  public mutating func editTrack(_ id: TrackID, _ edit: (inout CompositionTrack) throws -> Void) throws {
    guard let index = tracks.firstIndex(where: { $0.id == id }) else { throw EditingError.unknownTrack(id) }
    var track = tracks[index]
    try edit(&track)
    tracks[index] = track
  }

  /// Inserts the video and audio tracks that are played of a range of an asset at `time`: its first video track into
  /// the composition's first, and so on. Of languages that are alternatives it is one
  /// (`AssetDescription.playedTracks`). Missing tracks are added. Everything after `time` moves later, on all tracks.
  /// An invalid time appends at the end of the composition.
  public mutating func insert(_ range: AssetRange, at time: MediaTime = .invalid) throws(EditingError) {
    var edited = self
    guard !time.isValid || time.isNumeric, .zero <= time else { throw .outsideTimeline(time) }
    var place = time.isValid ? time : duration
    for track in time.isValid ? tracks : [] {
      place = try track.place(of: place)
      if place.hasBeenRounded { break }
    }
    if range.range.isEmpty { throw .emptyRange(range.range) }
    for index in edited.tracks.indices { try edited.tracks[index].open(at: place, for: range.range.duration) }
    for type in [MediaType.video, .audio] {
      for (number, track) in range.contents.playedTracks(type).enumerated() {
        if edited.tracks.count(where: { $0.type == type }) == number { try edited.addTrack(type) }
        let index = edited.tracks.indices.filter { edited.tracks[$0].type == type }[number]
        edited.tracks[index].place(try range.clip(track, at: place))
      }
    }
    self = edited
  }

  /// Inserts a gap into every track.
  public mutating func insertEmpty(_ range: MediaTimeRange) throws(EditingError) {
    try editTracks { (track) throws(EditingError) in try track.insertEmpty(range) }
  }

  /// Removes a range from every track. Tracks stay, even if they are empty then.
  public mutating func remove(_ range: MediaTimeRange) throws(EditingError) {
    try editTracks { (track) throws(EditingError) in try track.remove(range) }
  }

  /// Changes the duration of a range on every track.
  public mutating func scale(_ range: MediaTimeRange, to duration: MediaTime) throws(EditingError) {
    try editTracks { (track) throws(EditingError) in try track.scale(range, to: duration) }
  }

  /// The first track of a type that has no clip in `range`. Without a range, the first track of the type, to which a
  /// clip can be appended.
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

/// Why an edit of a composition failed. The composition is then unchanged.
public enum EditingError: Error, Sendable, Hashable {
  /// There is no track with this name.
  case unknownTrack(TrackID)
  /// There already is a track with this name.
  case trackExists(TrackID)
  /// A composition has video and audio tracks only.
  case unsupportedTrack(MediaType)
  /// The asset has no track of this type.
  case noTrack(MediaType, of: AssetID)
  /// The asset has no track with this index.
  case unknownSourceTrack(Int, of: AssetID)
  /// The range is not within the asset, which has this duration.
  case beyondAsset(MediaTimeRange, of: AssetID, duration: MediaTime)
  /// A clip, a gap or a scaled range must last longer than 0.
  case emptyRange(MediaTimeRange)
  /// The end of a range is before its start.
  case endsBeforeStart(MediaTime, end: MediaTime)
  /// A place that is before 0, or infinite.
  case outsideTimeline(MediaTime)
  /// The exact result does not fit a time.
  case time(TimeError)
}

extension EditingError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownTrack(let id): "there is no track '\(id)'"
    case .trackExists(let id): "there already is a track '\(id)'"
    case .unsupportedTrack(let type): "a composition has video and audio tracks, not \(type) tracks"
    case .noTrack(let type, let id): "'\(id)' has no \(type) track"
    case .unknownSourceTrack(let index, let id): "'\(id)' has no track \(index)"
    case .beyondAsset(let range, let id, let duration):
      "\(range) goes beyond '\(id)', which is \(seconds(duration)) long"
    case .emptyRange(let range): "\(range) is empty; its duration must be greater than 0"
    case .endsBeforeStart(let start, let end):
      "a range cannot go from \(start) to \(end): its end must not be before its start"
    case .outsideTimeline(let time): "\(time) is not on a timeline, which starts at 0"
    case .time(let error): "\(error)"
    }
  }
}
