/// How the motion of a camera that shakes is evened out: each picture of a clip is moved, turned and enlarged,
/// before anything else is done with it. `docs/document/stabilize.md` has the rule.
public struct Stabilization: Sendable, Hashable, Codable {
  /// Seconds, within `lengths`: motion that takes less time is evened out. The path of the camera is fitted by lines
  /// with the weights of a Gaussian, whose standard deviation is half of this.
  public var smoothing: MediaTime
  /// How much the pictures are enlarged, within `zooms`, so that their edges are not seen where they are moved. Nil: as
  /// little as the clip needs, at most `greatestZoom`.
  public var zoom: Double?
  /// The part of the asset whose path is evened out, of a clip that plays some of it only, as the last turn of one that
  /// is repeated. Nil: the part that the clip plays.
  public var part: MediaTimeRange?

  public init(
    smoothing: MediaTime = MediaTime(seconds: 1), zoom: Double? = nil, part: MediaTimeRange? = nil
  ) {
    self.smoothing = smoothing
    self.zoom = zoom
    self.part = part
  }

  package static let lengths = MediaTime(value: 1, timescale: 10)...MediaTime(seconds: 10)
  package static let zooms = 1.01...2.0
  /// The most that a picture is enlarged if no number says so. What needs more is moved less.
  package static let greatestZoom = 1.3
  /// The shortest side, in pixels, of pictures whose motion can be found.
  package static let shortestSide = 64
}
