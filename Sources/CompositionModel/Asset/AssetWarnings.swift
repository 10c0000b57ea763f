/// An entry of a movie's edit list that is played otherwise than the file states it.
public struct MisplayedEdit: Sendable, Hashable, Codable {
  /// On the movie's timeline, as the edit list states it.
  public var range: MediaTimeRange
  /// The stated rate, at which the media is not played; 0 shows one picture for the whole time. Nil for an empty edit,
  /// in whose place the beginning of the track is played.
  public var rate: Double?

  public init(range: MediaTimeRange, rate: Double?) {
    self.range = range
    self.rate = rate
  }
}

extension AssetDescription {
  /// The most places of one kind that are listed.
  private static let mostPlaces = 20

  /// What may not be as the file's maker meant it: the places at which its timestamps jump, the format of its sound
  /// changes, or its edit list is not followed, and a part that is not read.
  public var warnings: [String] {
    let unread = unreadBytes.map { ["another file begins in its last \($0) bytes, which are not read"] } ?? []
    return soundWarnings + jumpWarnings + tracks.flatMap(Self.changeWarnings) + tracks.flatMap(Self.editWarnings)
      + unread
  }

  /// That another track takes the place of sound that cannot be decoded, though the file disables it.
  private var soundWarnings: [String] {
    guard let track = defaultTrack(.audio), !track.isEnabled,
      let failure = failures?.first(where: { $0.type == .audio })
    else { return [] }
    return [
      "track \(failure.index) (\(failure.codec)) cannot be used: \(failure.message); track \(track.index), which the "
        + "file disables, is heard in its place"
    ]
  }

  private var jumpWarnings: [String] {
    let jumps = timeJumps.map { "the timestamps jump by \($0.jump) s at \($0.time) s; what follows continues there" }
    return Self.limited(jumps) { "the timestamps jump at \($0) more places" }
  }

  private static func changeWarnings(_ track: TrackDescription) -> [String] {
    guard let audio = track.audio else { return [] }
    let start = track.range.start.approximateSeconds
    let changes = (audio.changes ?? []).map { change in
      let seconds = start + Double(change.sample) / Double(audio.sampleRate)
      return "the sound of track \(track.index) changes to \(change.layout) at \(change.sampleRate) Hz at "
        + "\((seconds * 1000).rounded() / 1000) s; it is converted to \(audio.layout) at \(audio.sampleRate) Hz"
    }
    return limited(changes) { "the sound of track \(track.index) changes at \($0) more places" }
  }

  private static func editWarnings(_ track: TrackDescription) -> [String] {
    let edits = (track.misplayedEdits ?? []).map { edit in
      let place = "the edit list of track \(track.index) has "
      let (start, length) = ("\(edit.range.start) s", "\(edit.range.duration) s")
      guard let rate = edit.rate else {
        return place + "nothing at \(start) for \(length); the beginning of the track is played there instead"
      }
      return place + "the rate \(rate) at \(start) for \(length); it is played at rate 1"
    }
    return limited(edits) { "the edit list of track \(track.index) is not followed at \($0) more places" }
  }

  private static func limited(_ warnings: [String], rest: (Int) -> String) -> [String] {
    let more = warnings.count - mostPlaces
    return more > 0 ? warnings.prefix(mostPlaces) + [rest(more)] : warnings
  }
}
