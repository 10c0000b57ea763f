/// How the tracks become one picture at each time: AVFoundation's `AVVideoComposition`.
public struct VideoComposition: Sendable, Hashable, Codable {
  /// In pixels (FEATURES F28).
  public var renderSize: PixelSize
  /// Seconds from one output frame to the next (FEATURES F29). Positive.
  public var frameDuration: MediaTime
  /// Tile [0, composition duration): each starts where the one before ends (FEATURES F31).
  public var instructions: [Instruction]
  /// Drawn over the composited frame, first on top (FEATURES F44).
  public var overlays: [Overlay]

  public init(
    renderSize: PixelSize, frameDuration: MediaTime, instructions: [Instruction], overlays: [Overlay] = []
  ) {
    self.renderSize = renderSize
    self.frameDuration = frameDuration
    self.instructions = instructions
    self.overlays = overlays
  }
}

/// What is composited during a range of time: AVFoundation's `AVVideoCompositionInstruction`.
public struct Instruction: Sendable, Hashable, Codable {
  public var over: MediaTimeRange
  /// Behind every layer (FEATURES F32).
  public var background: Color
  /// First on top (FEATURES F33).
  public var layers: [Layer]
  /// Whether overlays are drawn (FEATURES F43).
  public var wantsOverlays: Bool

  public init(over: MediaTimeRange, background: Color, layers: [Layer], wantsOverlays: Bool = true) {
    self.over = over
    self.background = background
    self.layers = layers
    self.wantsOverlays = wantsOverlays
  }
}

/// One thing in an instruction's stack.
public enum Layer: Sendable, Hashable, Codable {
  case track(TrackLayer)
  /// The true mix (1-p)A + pB of two tracks' pictures (DESIGN 5). `progress` is p, 0…1, on composition time.
  case dissolve(from: TrackLayer, to: TrackLayer, progress: Ramp)
}

/// A track's picture in an instruction: AVFoundation's `AVVideoCompositionLayerInstruction`. An instruction never
/// spans two clips of a track that it shows: lowering cuts it where a clip starts or ends.
public struct TrackLayer: Sendable, Hashable, Codable {
  public var track: TrackID
  public var fit: Fit
  public var opacity: RampList

  public init(track: TrackID, fit: Fit = .contain, opacity: RampList = .one) {
    self.track = track
    self.fit = fit
    self.opacity = opacity
  }
}

/// How a picture of one size is laid into a frame of another (FEATURES X4), centred.
public enum Fit: String, Sendable, Hashable, Codable, CaseIterable {
  /// All of it, as large as it goes.
  case contain
  /// All of the frame is filled; what does not fit is cut.
  case cover
  /// Stretched to the frame.
  case fill
  /// At its own size.
  case none
}

/// An sRGB colour with straight alpha, each 0…255.
public struct Color: Sendable, Hashable, Codable {
  public var red: UInt8
  public var green: UInt8
  public var blue: UInt8
  public var alpha: UInt8

  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    self.red = red
    self.green = green
    self.blue = blue
    self.alpha = alpha
  }

  public static let black = Color(red: 0, green: 0, blue: 0)
  public static let white = Color(red: 255, green: 255, blue: 255)
}
