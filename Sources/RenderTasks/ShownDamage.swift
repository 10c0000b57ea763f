package import CompositionModel

/// The damaged pictures and samples of media that a piece or a film shows: those of which a decoder has concealed a
/// part, and those that it could not decode.
package struct ShownDamage: Sendable, Hashable, Codable {
  /// One damaged picture, or one damaged packet of audio.
  package struct Place: Sendable, Hashable, Codable {
    /// On the asset's timeline, in seconds.
    package var source: Double
    /// Where it is first shown or heard, in seconds from the start of the piece or of the film.
    package var output: Double

    package init(source: Double, output: Double) {
      self.source = source
      self.output = output
    }
  }

  /// What is damaged in one track of a file.
  package struct Track: Sendable, Hashable, Codable {
    /// The SHA-256 of the file, in lower-case hexadecimal.
    package var digest: String
    /// The stream's index in the file.
    package var track: Int
    /// `video` or `audio`.
    package var type: MediaType
    /// How many pictures or packets, each once.
    package var count: Int
    /// The first of them in the order of the output.
    package var places: [Place]

    package init(digest: String, track: Int, type: MediaType, count: Int, places: [Place]) {
      self.digest = digest
      self.track = track
      self.type = type
      self.count = count
      self.places = places
    }
  }

  /// The most places of a track that a piece lists. More are counted, and are counted again by each piece that shows
  /// them.
  package static let placesOfPiece = 10_000
  /// The most places of a track, and the most tracks, that the report of a film lists.
  package static let placesOfFilm = 10
  private static let tracksOfFilm = 50
  /// The most tracks of a report, the most pictures of a track, and the greatest time in seconds. With them no sum of
  /// all pieces of a film overflows.
  private static let (maximumTracks, maximumCount, longest) = (10_000, 1_000_000_000, 1e13)

  package var tracks: [Track]

  package init(tracks: [Track] = []) {
    self.tracks = tracks
  }

  package var isEmpty: Bool { tracks.isEmpty }

  /// Why no media can be damaged so, for a person; nil if they can. What workers report, and what the pieces that they
  /// have made contain, is used only if it is possible.
  package var impossibility: String? {
    guard tracks.count <= Self.maximumTracks else {
      return "it has \(tracks.count) tracks, more than \(Self.maximumTracks)"
    }
    let impossible = tracks.first { track in
      track.track < 0 || !(max(1, track.places.count)...Self.maximumCount).contains(track.count)
        || !track.places.allSatisfy { $0.source.magnitude <= Self.longest && $0.output.magnitude <= Self.longest }
    }
    return impossible.map {
      "track \($0.track) has \($0.count) damaged pictures or packets, of which \($0.places.count) are listed"
    }
  }

  /// The same with fewer places and tracks, for a report.
  package var summary: ShownDamage {
    ShownDamage(
      tracks: tracks.prefix(Self.tracksOfFilm).map { track in
        var track = track
        track.places = Array(track.places.prefix(Self.placesOfFilm))
        return track
      })
  }
}

/// Counts damaged pictures, each once.
package struct DamageCounter: Sendable {
  private struct Key: Hashable {
    var digest: String
    var track: Int
    var source: Double
  }

  private let limit: Int
  private var seen: Set<Key> = []
  package private(set) var damage = ShownDamage()

  /// - Parameter limit: The most places of a track that are listed.
  package init(limit: Int) {
    self.limit = limit
  }

  /// Counts a picture, unless it was counted before. Pictures are to be added in the order of the output.
  package mutating func add(_ place: ShownDamage.Place, digest: String, track: Int, type: MediaType) {
    guard seen.insert(Key(digest: digest, track: track, source: place.source)).inserted else { return }
    let index = index(digest, track, type)
    damage.tracks[index].count += 1
    if damage.tracks[index].places.count < limit { damage.tracks[index].places.append(place) }
  }

  /// Adds what a piece shows.
  /// - Parameter start: Where the piece starts in the film, in seconds.
  package mutating func add(_ piece: ShownDamage, at start: Double) {
    for track in piece.tracks {
      for place in track.places {
        add(
          .init(source: place.source, output: start + place.output), digest: track.digest, track: track.track,
          type: track.type)
      }
      let unlisted = track.count - track.places.count
      if unlisted > 0 { damage.tracks[index(track.digest, track.track, track.type)].count += unlisted }
    }
  }

  private mutating func index(_ digest: String, _ track: Int, _ type: MediaType) -> Int {
    if let known = damage.tracks.firstIndex(where: { $0.digest == digest && $0.track == track }) { return known }
    damage.tracks.append(.init(digest: digest, track: track, type: type, count: 0, places: []))
    return damage.tracks.count - 1
  }
}
