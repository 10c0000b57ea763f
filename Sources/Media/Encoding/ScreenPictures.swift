internal import CMedia
import CompositionModel

/// Converts a film's frames to the pictures that encoders of screen pictures take: red, green and blue, or indices into
/// a palette of each picture's own. Every picture depends on its frame alone.
final class ScreenPictures {
  /// The format that the encoder is opened with.
  let format: FrameFormat
  private let scaler: FrameScaler
  private let size: PixelSize
  private let packed: FrameFormat
  private let palettes: PaletteFilter?

  /// - Parameters:
  ///   - film: The format of the frames.
  ///   - colour: Theirs.
  init(_ pictures: EncoderPictures, size: PixelSize, film: FrameFormat, colour: ColourTags) throws(MediaError) {
    self.size = size
    let name: String
    switch pictures {
    case .rgb(let format): (name, palettes) = (format, nil)
    case .paletted(let dither): (name, palettes) = ("bgra", try PaletteFilter(size, dither))
    }
    guard let packed = FrameFormat(name: name), let paletted = FrameFormat(name: "pal8") else {
      throw MediaError(.unsupported, operation: "encoding", subject: name, message: "libavutil has no such format")
    }
    self.packed = packed
    format = palettes == nil ? packed : paletted
    scaler = try FrameScaler(
      from: FrameScaler.Side(size: size, format: film, colour: colour),
      to: FrameScaler.Side(size: size, format: packed, colour: ColourTags(isFullRange: true)), hasFullChroma: true)
  }

  /// The picture of a frame.
  func picture(of frame: Frame, pts: Int64) throws(MediaError) -> Frame {
    let target = try Frame(size: size, format: packed)
    try scaler.scale(frame, into: target)
    target.pts = pts
    guard let palettes else { return target }
    let picture = try palettes.paletted(target)
    picture.pts = pts
    return picture
  }
}

/// libavfilter's `palettegen` and `paletteuse`, with a palette for each picture.
private final class PaletteFilter {
  private let filter: OpaquePointer

  init(_ size: PixelSize, _ dither: Dithering) throws(MediaError) {
    let name =
      switch dither {
      case .diffused: "sierra2_4a"
      case .ordered: "bayer"
      case .none: "none"
      }
    var opened: OpaquePointer?
    try checkFilters("choosing", "a palette") {
      sheaf_palette_open(&opened, Int32(clamping: size.width), Int32(clamping: size.height), name, $0, $1)
    }
    filter = try allocated(opened, "making a filter")
  }

  deinit { sheaf_palette_close(filter) }

  /// The picture in the colours of its palette.
  /// - Parameter frame: Its planes are taken over.
  func paletted(_ frame: Frame) throws(MediaError) -> Frame {
    try check(sheaf_palette_send(filter, frame.pointer), "choosing a palette of", "a frame")
    let picture = try Frame()
    let result = sheaf_palette_receive(filter, picture.pointer)
    try check(result, "choosing a palette of", "a frame")
    guard result > 0 else {
      throw MediaError(
        .unsupported, operation: "choosing", subject: "a palette", message: "libavfilter returned no picture")
    }
    return picture
  }
}
