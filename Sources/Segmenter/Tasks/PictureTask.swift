package import CompositionModel

/// Everything that makes the pictures of one segment what they are, and nothing else: two tasks that encode alike as
/// JSON render alike, byte for byte, wherever they stand in whatever film. Its fingerprint is the digest of that JSON,
/// so all times here count from the segment's own first frame and media are named by digest.
package struct VideoTask: Sendable, Hashable, Codable {
  package var format: VideoTaskFormat
  package var encoder: VideoSettings
  /// How many frames to make; the piece has exactly so many, its timestamps 0, 1, 2… in ticks of the frame duration.
  package var frameCount: Int
  /// Tile 0..<frameCount.
  package var spans: [Span]
  /// First on top. Frames are those of the segment in which the overlay shows.
  package var overlays: [PlannedOverlay]
  /// In the order in which the task's inputs are opened.
  package var sources: [PlannedSource]

  package init(
    format: VideoTaskFormat, encoder: VideoSettings, frameCount: Int, spans: [Span], overlays: [PlannedOverlay],
    sources: [PlannedSource]
  ) {
    self.format = format
    self.encoder = encoder
    self.frameCount = frameCount
    self.spans = spans
    self.overlays = overlays
    self.sources = sources
  }
}

/// The frames that a segment makes.
package struct VideoTaskFormat: Sendable, Hashable, Codable {
  package var size: PixelSize
  package var pixelFormat: PixelFormat
  package var colour: ColourTags
  package var frameDuration: MediaTime

  package init(size: PixelSize, pixelFormat: PixelFormat, colour: ColourTags, frameDuration: MediaTime) {
    self.size = size
    self.pixelFormat = pixelFormat
    self.colour = colour
    self.frameDuration = frameDuration
  }
}

/// Frames of a segment that show the same stack.
package struct Span: Sendable, Hashable, Codable {
  package var frames: Range<Int>
  package var background: Color
  /// First on top. Layers that show nothing here (a track in a gap) are already left out.
  package var layers: [PlannedLayer]

  package init(frames: Range<Int>, background: Color, layers: [PlannedLayer]) {
    self.frames = frames
    self.background = background
    self.layers = layers
  }
}

package enum PlannedLayer: Sendable, Hashable, Codable {
  case clip(ClipLayer)
  /// (1-p)A + pB; a side in a gap is transparent.
  case dissolve(from: ClipLayer?, to: ClipLayer?, progress: Ramp)
}

/// A clip's picture at each frame of a span. Times are on the segment's clock: frame n is at n·frameDuration.
package struct ClipLayer: Sendable, Hashable, Codable {
  /// Index in `VideoTask.sources`.
  package var source: Int
  /// On the asset's timeline.
  package var sourceRange: MediaTimeRange
  /// On the segment's clock; may start before it or end after it.
  package var targetRange: MediaTimeRange
  package var fit: Fit
  /// On the segment's clock.
  package var opacity: RampList

  package init(
    source: Int, sourceRange: MediaTimeRange, targetRange: MediaTimeRange, fit: Fit, opacity: RampList
  ) {
    self.source = source
    self.sourceRange = sourceRange
    self.targetRange = targetRange
    self.fit = fit
    self.opacity = opacity
  }

  /// The asset's time shown at a time of the segment's clock. A still shows the same at any.
  package func sourceTime(at time: MediaTime) throws(TimeError) -> Rational {
    if sourceRange.isEmpty { return try sourceRange.start.exact }
    let elapsed = try time.exact - targetRange.start.exact
    return try sourceRange.start.exact + elapsed * (sourceRange.duration / targetRange.duration)
  }
}

/// One track of one asset, and where to start decoding it. The same track stands twice where two clips use it at
/// places far from each other.
package struct PlannedSource: Sendable, Hashable, Codable {
  /// Lower-case hexadecimal SHA-256 of the file.
  package var digest: String
  package var track: Int
  package var codec: String
  /// Seconds a tick of the stored timestamps, and the stored timestamp of the asset's time zero.
  package var timebase: MediaTime
  package var origin: Int64
  /// Whether the container rounds times to its ticks.
  package var hasRoundedTimes: Bool
  /// Nil starts at the head of the file.
  package var decodeFrom: Keyframe?
  /// `frames` and `keyframes` are emptied here: what they had to say is in `decodeFrom`.
  package var video: VideoFormat

  package init(
    digest: String, track: Int, codec: String, timebase: MediaTime, origin: Int64,
    hasRoundedTimes: Bool = false, decodeFrom: Keyframe?, video: VideoFormat
  ) {
    self.digest = digest
    self.track = track
    self.codec = codec
    self.timebase = timebase
    self.origin = origin
    self.hasRoundedTimes = hasRoundedTimes
    self.decodeFrom = decodeFrom
    self.video = video
  }
}

/// An overlay on the segment's clock.
package struct PlannedOverlay: Sendable, Hashable, Codable {
  package var content: PlannedOverlayContent
  /// The frames that show it, ascending and apart; more than one range where an instruction wants no overlays.
  package var frames: [Range<Int>]
  package var placement: OverlayPlacement
  package var opacity: Double
  package var ramps: RampList

  package init(
    content: PlannedOverlayContent, frames: [Range<Int>], placement: OverlayPlacement, opacity: Double,
    ramps: RampList
  ) {
    self.content = content
    self.frames = frames
    self.placement = placement
    self.opacity = opacity
    self.ramps = ramps
  }
}

package enum PlannedOverlayContent: Sendable, Hashable, Codable {
  /// `source` is an index in `VideoTask.sources`; width and height are as in `OverlayContent.image`.
  case image(source: Int, width: Int?, height: Int?)
  case text(StyledText)
}
