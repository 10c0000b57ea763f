package import CompositionModel

/// The damaged pictures or packets of one track of a file that a film shows, with the file's name in the document. Its
/// JSON is stable: keys may be added, but are never changed.
package struct DamageReport: Sendable, Hashable, Codable {
  package struct Place: Sendable, Hashable, Codable {
    /// On the file's own timeline.
    package var sourceSeconds: Double
    /// Where it is first shown or heard.
    package var filmSeconds: Double

    package init(sourceSeconds: Double, filmSeconds: Double) {
      self.sourceSeconds = sourceSeconds
      self.filmSeconds = filmSeconds
    }
  }

  /// The file's name in the document.
  package var path: String
  /// The track's number in the file.
  package var track: Int
  /// `video` or `audio`.
  package var type: MediaType
  /// Pictures of a video track, packets of an audio track.
  package var count: Int
  /// The first of them.
  package var places: [Place]

  package init(path: String, track: Int, type: MediaType, count: Int, places: [Place]) {
    self.path = path
    self.track = track
    self.type = type
    self.count = count
    self.places = places
  }

  /// One sentence for a person, such as `12 frames of 'beach.mp4' are damaged, the first at 0:03.200 (0:01.120 of the
  /// film)`.
  package var text: String {
    guard let first = places.first else { return sourceText }
    return "\(sourceText) (\(Self.clock(first.filmSeconds)) of the film)"
  }

  /// The same without the film's time, which is not known of a piece.
  package var sourceText: String {
    let noun = type == .audio ? "packet" : "frame"
    let counted = count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    let kind = type == .audio ? "the audio of " : ""
    let name = path.split(separator: "/").last.map { String($0) } ?? path
    var text = "\(counted) of \(kind)'\(name)' \(count == 1 ? "is" : "are") damaged"
    if let first = places.first {
      text += (count == 1 ? ", at " : ", the first at ") + Self.clock(first.sourceSeconds)
    }
    return text
  }

  private static func clock(_ seconds: Double) -> String { ClockText.of(seconds: seconds) ?? "\(seconds) s" }
}
