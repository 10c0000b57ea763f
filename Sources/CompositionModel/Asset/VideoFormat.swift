/// The pictures of a video track.
public struct VideoFormat: Sendable, Hashable, Codable {
  /// Stored size in pixels, after the codec's own cropping, before pixel aspect and orientation.
  public var size: PixelSize
  /// libavutil's name of the decoded pixel format, such as `yuv420p10le`.
  public var pixelFormat: String
  /// Bits a component, 8 to 16.
  @Ranged<BitDepthRange> public var bitDepth: Int
  public var hasAlpha: Bool
  /// Width over height of a pixel; 1 if the file does not specify it.
  public var pixelAspect: AspectRatio
  /// The visible part of `size`; nil is all of it.
  public var cleanAperture: PixelRect?
  /// How the stored picture is turned to be upright.
  public var orientation: Orientation
  public var colour: ColourTags
  /// Nil if the file has none.
  public var hdr: HDRMetadata?
  /// Whether pictures are two fields woven together.
  public var isInterlaced: Bool
  /// The rate that the file specifies or that most frames have, in frames a second; zero for a still image.
  public var nominalFrameRate: MediaTime
  /// Presentation times of every frame, in ticks of the track's timebase, rising.
  public var frames: FrameTimes
  /// Where decoding can start, rising. Thinned to about one in a quarter of a second.
  @Rising public var keyframes: [Keyframe]
  /// How the keyframes were proved to be starts. Nil for a still image, and in descriptions that were made before this
  /// was recorded.
  public var startsProvedBy: StartProof?
  /// What decoders are given before they start at a keyframe, each once. `Keyframe.state` is an index. Nil if no
  /// keyframe needs anything.
  public var decoderStates: [DecoderState]?
  /// The presentation times of frames whose pictures are damaged, or may be: decoders conceal what is missing. Nil if
  /// the probe found none. A track is decoded to look for them only if its packets show damage, or decoding is needed
  /// anyway. In a task, the first of them around what it reads.
  public var damagedFrames: FrameTimes?
  /// True if only a decoder shows when each picture is presented, as for H.264 in AVI and raw streams: pictures cannot
  /// be copied. Nil if the file stores it, or the types of the pictures and their decoding times show it.
  public var lacksStoredTimes: Bool?
  /// The constant rate behind rounded times. Nil if the container does not round times, or the rate is not constant.
  public var cadence: StoredTime.Cadence?
  /// True if the file has the configuration of Dolby Vision, which players need to apply its data. Nil: it has none.
  public var hasDolbyVision: Bool?
  /// Whether pictures can be copied into a film that is rendered. Nil: it is not known, or the codec is none of which
  /// that has to be known.
  public var copyable: CopyableStream?
  /// A single picture with no duration of its own.
  public var isStill: Bool
  /// The picture, if it is described and not stored. Nil: it is stored in a file.
  public var drawn: DrawnPicture?

  public init(
    size: PixelSize, pixelFormat: String, bitDepth: Int = 8, hasAlpha: Bool = false,
    pixelAspect: AspectRatio = .square, cleanAperture: PixelRect? = nil, orientation: Orientation = .upright,
    colour: ColourTags = ColourTags(), isInterlaced: Bool = false, nominalFrameRate: MediaTime,
    frames: FrameTimes, keyframes: [Keyframe], startsProvedBy: StartProof? = nil,
    decoderStates: [DecoderState]? = nil, damagedFrames: FrameTimes? = nil, lacksStoredTimes: Bool? = nil,
    cadence: StoredTime.Cadence? = nil, isStill: Bool = false
  ) {
    self.size = size
    self.pixelFormat = pixelFormat
    self.bitDepth = bitDepth
    self.hasAlpha = hasAlpha
    self.pixelAspect = pixelAspect
    self.cleanAperture = cleanAperture
    self.orientation = orientation
    self.colour = colour
    self.isInterlaced = isInterlaced
    self.nominalFrameRate = nominalFrameRate
    self.frames = frames
    self.keyframes = keyframes
    self.startsProvedBy = startsProvedBy
    self.decoderStates = decoderStates
    self.damagedFrames = damagedFrames
    self.lacksStoredTimes = lacksStoredTimes
    self.cadence = cadence
    self.isStill = isStill
  }

  /// What a decoder is given before it starts at one of the keyframes. Nil if it needs nothing.
  public func decoderState(at keyframe: Keyframe) -> DecoderState? {
    guard let decoderStates, decoderStates.indices.contains(keyframe.state) else { return nil }
    return decoderStates[keyframe.state]
  }

  /// The format with some of its keyframes, by index, and the states that these need. Indices past the last are
  /// ignored.
  package func withKeyframes(in range: Range<Int>) -> VideoFormat {
    var format = self
    format.keyframes = Array(keyframes[range.clamped(to: keyframes.indices)])
    var states: [DecoderState] = []
    for index in format.keyframes.indices {
      guard let state = decoderState(at: format.keyframes[index]) else {
        format.keyframes[index].state = -1
        continue
      }
      if !states.contains(state) { states.append(state) }
      format.keyframes[index].state = states.firstIndex(of: state) ?? -1
    }
    format.decoderStates = states.isEmpty ? nil : states
    if states.isEmpty { for index in format.keyframes.indices { format.keyframes[index].state = 0 } }
    return format
  }

  /// The size as seen: clean aperture, then pixel aspect (the width is stretched, rounded to the nearest pixel), then
  /// orientation.
  public var presentationSize: PixelSize {
    let seen = cleanAperture?.size ?? size
    let width = (seen.width * pixelAspect.horizontal + pixelAspect.vertical / 2) / pixelAspect.vertical
    // A pixel may be stated to be as wide as a whole picture.
    let square = PixelSize(width: min(max(1, width), PixelSize.decodedSides.upperBound), height: seen.height)
    return orientation.swapsAxes ? PixelSize(width: square.height, height: square.width) : square
  }
}

/// A size in whole pixels.
public struct PixelSize: Sendable, Hashable, Codable {
  public var width: Int
  public var height: Int

  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// What is decoded. Not every such size can be read or made.
  package static let decodedSides = 1...1 << 20

  private enum CodingKeys: CodingKey {
    case width, height
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    width = try container.decode(in: Self.decodedSides, forKey: .width)
    height = try container.decode(in: Self.decodedSides, forKey: .height)
  }

  /// The most pixels on a side of a picture that is read or made.
  public static let largestSide = 16384
  /// The most pixels in all of a picture that is read or made: 16384x8192.
  public static let largestArea = largestSide * 8192
  /// The most pixels in all of a picture of red, green and blue with more than 8 bits each that is read, so that it
  /// takes no more memory than others.
  public static let largestDeepArea = largestArea / 2
}

/// A rectangle in whole pixels; origin top left.
public struct PixelRect: Sendable, Hashable, Codable {
  public var x: Int
  public var y: Int
  public var size: PixelSize

  public init(x: Int, y: Int, size: PixelSize) {
    self.x = x
    self.y = y
    self.size = size
  }

  private enum CodingKeys: CodingKey {
    case x, y, size
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let places = -PixelSize.decodedSides.upperBound...PixelSize.decodedSides.upperBound
    x = try container.decode(in: places, forKey: .x)
    y = try container.decode(in: places, forKey: .y)
    size = try container.decode(PixelSize.self, forKey: .size)
  }
}

/// Width over height of one pixel, in lowest terms; both positive.
public struct AspectRatio: Sendable, Hashable, Codable {
  public var horizontal: Int
  public var vertical: Int

  public init(horizontal: Int, vertical: Int) {
    self.horizontal = horizontal
    self.vertical = vertical
  }

  public static let square = AspectRatio(horizontal: 1, vertical: 1)

  private enum CodingKeys: CodingKey {
    case horizontal, vertical
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    horizontal = try container.decode(Int.self, forKey: .horizontal)
    vertical = try container.decode(Int.self, forKey: .vertical)
    let allowed = 1...Int(Int32.max)
    guard allowed.contains(horizontal), allowed.contains(vertical) else {
      throw DecodingError.dataCorruptedError(
        forKey: .vertical, in: container, debugDescription: "both sides of an aspect ratio are at least 1")
    }
  }
}

/// The eight ways to show a stored picture: first mirrored left-right or not, then turned clockwise. A probe reports
/// any other matrix of a file as the nearest of these.
public struct Orientation: Sendable, Hashable, Codable {
  /// Degrees clockwise: 0, 90, 180 or 270.
  public var clockwise: Int
  /// Whether the picture is mirrored left-right before it is turned.
  public var isMirrored: Bool

  public init(clockwise: Int, isMirrored: Bool = false) {
    self.clockwise = clockwise
    self.isMirrored = isMirrored
  }

  public static let upright = Orientation(clockwise: 0)

  private enum CodingKeys: CodingKey {
    case clockwise, isMirrored
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    clockwise = try container.decode(Int.self, forKey: .clockwise)
    isMirrored = try container.decode(Bool.self, forKey: .isMirrored)
    guard [0, 90, 180, 270].contains(clockwise) else {
      throw DecodingError.dataCorruptedError(
        forKey: .clockwise, in: container, debugDescription: "\(clockwise) is not 0, 90, 180 or 270")
    }
  }

  /// Whether width and height change places.
  public var swapsAxes: Bool { clockwise == 90 || clockwise == 270 }
}

/// The colours that the numbers of a picture stand for, in libavutil's names (`bt709`, `smpte2084`). Nil if the file
/// does not specify them.
public struct ColourTags: Sendable, Hashable, Codable {
  public var primaries: String?
  public var transfer: String?
  public var matrix: String?
  /// Whether 0…255 is the whole range (`pc`) and not 16…235 (`tv`).
  public var isFullRange: Bool
  /// Where chroma samples lie, such as `left`.
  public var chromaLocation: String?

  public init(
    primaries: String? = nil, transfer: String? = nil, matrix: String? = nil, isFullRange: Bool = false,
    chromaLocation: String? = nil
  ) {
    self.primaries = primaries
    self.transfer = transfer
    self.matrix = matrix
    self.isFullRange = isFullRange
    self.chromaLocation = chromaLocation
  }
}
