/// A document's asset: a name for a file.
struct AssetEntry: Sendable {
  var id: AssetID
  var path: String
  var pointer: JSONPointer
}

/// A track as written.
struct TrackEntry: Sendable {
  var id: TrackID
  var type: MediaType
  /// Of a video track: whether its clips are heard too, on the track `<id>.sound`.
  var hasSound: Bool
  var clips: [ClipEntry]
  var pointer: JSONPointer
  /// Nothing that was wrong in it makes the place of its clips unsure.
  var hasSureTimes: Bool
}

/// A clip as written.
struct ClipEntry: Sendable {
  /// Nil where the document names none, or one it does not have.
  var asset: AssetID?
  var use: WrittenRange?
  var at: WrittenTime?
  var duration: WrittenTime?
  var fit: Fit
  var opacity: Double
  /// On the clip's own time.
  var ramps: [RampEntry]
  var pointer: JSONPointer
  /// Nothing that was wrong in it makes its asset or its times unsure. (A key that is not known may be meant to be
  /// one of those.)
  var hasSureTimes: Bool

  /// Whether it says how see-through the clip is.
  var changesOpacity: Bool { opacity != 1 || !ramps.isEmpty }
}

/// A ramp as written; a set value has the same number twice.
struct RampEntry: Sendable {
  enum Place: Sendable {
    case over(WrittenRange)
    case at(WrittenTime)
  }

  var place: Place
  var from: Double
  var to: Double
  var pointer: JSONPointer
}
