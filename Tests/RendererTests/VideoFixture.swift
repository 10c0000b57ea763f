import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Media made for a test, and tasks on it.
struct VideoFixture {
  let folder: TemporaryFolder
  private(set) var sources: [PlannedSource] = []
  private(set) var inputs: [String: any ByteSource] = [:]
  private var fonts: [FontRequest: TextFonts] = [:]

  init() throws {
    folder = try TemporaryFolder()
  }

  /// Adds a file as a source, as the probe describes it, with an invented digest. Returns its index.
  mutating func add(_ path: String) throws -> Int {
    let description = try AssetProbe.probe(openSource(path), name: path)
    let track = try #require(description.defaultTrack(.video))
    var video = try #require(track.video)
    video.frames = FrameTimes([])
    video.keyframes = []
    let digest = "\(sources.count)-\(path)"
    sources.append(
      PlannedSource(
        digest: digest, track: track.index, codec: track.codec, timebase: track.timebase, origin: track.origin,
        decodeFrom: nil, video: video))
    inputs[digest] = try openSource(path)
    return sources.count - 1
  }

  /// Adds the fonts of a text.
  mutating func add(_ text: StyledText) throws {
    let found = try FoundText(text)
    fonts[text.fontRequest] = found.fonts
    inputs.merge(found.inputs) { first, _ in first }
  }

  /// Changes a source.
  mutating func change(_ index: Int, _ change: (inout PlannedSource) -> Void) { change(&sources[index]) }

  /// A text whose fonts were added.
  func content(_ text: StyledText) throws -> PlannedOverlayContent {
    .text(text, try #require(fonts[text.fontRequest]))
  }

  /// Makes a file with ffmpeg and adds it.
  mutating func make(_ name: String, _ arguments: [String]) throws -> Int {
    _ = try Tool.ffmpeg(arguments + [folder.path(name)])
    return try add(folder.path(name))
  }

  /// Makes a file whose frames are these bytes.
  mutating func make(
    _ name: String, raw: [UInt8], format: String, width: Int, height: Int, _ options: [String] = []
  ) throws -> Int {
    let path = folder.path("\(name).raw")
    try Data(raw).write(to: URL(fileURLWithPath: path))
    return try make(
      name,
      ["-f", "rawvideo", "-pix_fmt", format, "-s", "\(width)x\(height)", "-r", "30", "-i", path] + options)
  }

  /// A clip of a source that starts at `from` seconds of it and plays at a speed.
  func clip(
    _ source: Int, from: MediaTime = .zero, speed: Rational = .one, frames: Range<Int> = 0..<30, fit: Fit = .contain,
    opacity: RampList = .one
  ) throws -> ClipLayer {
    let frame = MediaTime(value: 1, timescale: 30)
    let duration = try frame * Rational(frames.count)
    return ClipLayer(
      source: source,
      sourceRange: try MediaTimeRange(
        start: from, duration: sources[source].video.isStill ? .zero : duration * speed),
      targetRange: try MediaTimeRange(start: frame * Rational(frames.lowerBound), duration: duration), fit: fit,
      opacity: opacity)
  }

  func task(
    _ layers: [PlannedLayer], size: PixelSize, format: PixelFormat = .yuv420p, colour: ColourTags = ColourTags(),
    frameCount: Int = 30, background: Color = .black, overlays: [PlannedOverlay] = []
  ) -> VideoTask {
    VideoTask(
      format: VideoTaskFormat(
        size: size, pixelFormat: format, colour: colour, frameDuration: MediaTime(value: 1, timescale: 30)),
      renditions: [
        VideoRendition(
          size: size,
          encoder: VideoSettings(
            codec: .ffv1, rateControl: .lossless, preset: nil, profile: nil, keyframeInterval: 30, pixelFormat: format,
            colour: colour))
      ],
      frameCount: frameCount, spans: [Span(frames: 0..<frameCount, background: background, layers: layers)],
      overlays: overlays, sources: sources)
  }

  /// The task's frames as ffmpeg's `rawvideo` stores them.
  func frames(_ task: VideoTask) throws -> [[UInt8]] {
    let maker = try FrameMaker(task, inputs: inputs)
    return try (0..<task.frameCount).map { try maker.frame($0).packed }
  }

  func frame(_ task: VideoTask, _ index: Int = 0) throws -> [UInt8] {
    try FrameMaker(task, inputs: inputs).frame(index).packed
  }

  /// ffmpeg's decode of a source's frames, in its own format or another.
  func decoded(_ path: String, format: String, size: PixelSize, _ options: [String] = []) throws -> [[UInt8]] {
    let data = try Tool.ffmpeg(
      ["-i", path] + options + ["-fps_mode", "passthrough", "-pix_fmt", format, "-f", "rawvideo", "-"])
    let bytes = try #require(FrameFormat(name: format)).packedBytes(size)
    #expect(data.count % bytes == 0 && data.count > 0)
    return (0..<(data.count / bytes)).map { [UInt8](data[($0 * bytes)..<(($0 + 1) * bytes)]) }
  }
}

extension VideoTask {
  /// The encoder of a task's one rendition.
  var encoder: VideoSettings {
    get { renditions[0].encoder }
    set { renditions[0].encoder = newValue }
  }
}

extension PlannedLayer {
  /// A dissolve without easing.
  static func dissolve(from: ClipLayer?, to: ClipLayer?, progress: Ramp) -> PlannedLayer {
    .transition(from: from, to: to, progress: progress, style: nil, matte: nil)
  }
}

extension Frame {
  /// All planes without padding, one after the other.
  var packed: [UInt8] { [UInt8](pixels) }
}

extension FrameFormat {
  func packedBytes(_ size: PixelSize) -> Int {
    let sample = bitDepth > 8 ? 2 : 1
    let chroma = (-(-size.width >> chromaShift.horizontal)) * (-(-size.height >> chromaShift.vertical))
    return sample * (size.width * size.height + (planeCount > 1 ? 2 * chroma : 0))
  }
}

/// A packed planar frame of bytes, by plane and place.
struct PackedFrame {
  let bytes: [UInt8]
  let size: PixelSize
  let cell: ChromaCell

  init(_ bytes: [UInt8], _ size: PixelSize, _ format: PixelFormat = .yuv420p) {
    self.bytes = bytes
    self.size = size
    cell = ChromaCell(format)
  }

  var chroma: PixelSize { cell.chroma(PixelRect(size)).size }

  /// The sample at a place of luma (0), Cb (1) or Cr (2).
  subscript(plane: Int, x: Int, y: Int) -> Int {
    let width = plane == 0 ? size.width : chroma.width
    let start = plane == 0 ? 0 : size.width * size.height + (plane - 1) * chroma.width * chroma.height
    return Int(bytes[start + y * width + x])
  }
}

extension ExportSettings {
  /// Of edits whose pictures are compared: 8 bits, without subsampling and without loss.
  static let losslessPictures = ExportSettings(
    path: "a.mov", container: .mov,
    video: VideoSettings(
      codec: .ffv1, rateControl: .lossless, preset: nil, profile: nil, keyframeInterval: 30, pixelFormat: .yuv444p,
      colour: ColourTags(matrix: "bt709")),
    audio: nil)
}
