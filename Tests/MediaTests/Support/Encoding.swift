import CompositionModel
import Foundation
import Media
import PieceFiles
import TestMedia

/// Encoder settings, and pieces made with them.
enum Encoding {
  static let colour = ColourTags(primaries: "bt709", transfer: "bt709", matrix: "bt709", chromaLocation: "left")

  static func h264(
    _ rate: VideoSettings.RateControl = .quality(23), preset: String = "veryfast", profile: String? = nil,
    pixelFormat: PixelFormat = .yuv420p, interval: Int = 10
  ) -> VideoSettings {
    VideoSettings(
      codec: .h264, rateControl: rate, preset: preset, profile: profile, keyframeInterval: interval,
      pixelFormat: pixelFormat, colour: colour)
  }

  static func ffv1(_ pixelFormat: PixelFormat = .yuv420p) -> VideoSettings {
    VideoSettings(
      codec: .ffv1, rateControl: .lossless, preset: nil, profile: nil, keyframeInterval: 1, pixelFormat: pixelFormat,
      colour: colour)
  }

  /// Writes a piece of patterned frames. Returns the frames' pixels.
  @discardableResult
  static func pictures(
    _ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime, seeds: Range<Int>, to file: FileHandle
  ) throws -> Data {
    var pixels = Data()
    try Pieces.writeVideo(
      settings, size: size, frameDuration: frameDuration, frameCount: seeds.count, to: file
    ) { index in
      let frame = try Frame(size: size, format: FrameFormat(settings.pixelFormat), colour: colour)
      frame.fillWithPattern(seeds.lowerBound + index)
      pixels.append(frame.pixels)
      return frame
    }
    return pixels
  }

  /// Writes a piece of a saw-tooth with a click at the very beginning. Returns the samples as 16-bit integers.
  @discardableResult
  static func sound(_ settings: AudioSettings, sampleCount: Int, to file: FileHandle) throws -> Data {
    func value(_ index: Int) -> Int16 {
      index < 8 ? Int16(30000) : Int16(truncatingIfNeeded: index % 200 * 50 - 5000)
    }
    try Pieces.writeAudio(settings, sampleCount: sampleCount, to: file) { Double(value($0)) / 32768 }
    let samples = (0..<sampleCount).flatMap { Array(repeating: value($0), count: settings.channels) }
    return samples.withUnsafeBytes { Data($0) }
  }

  /// The header and the packets of a piece, in order.
  static func packets(_ path: String) throws -> (header: PieceHeader, packets: [Packet]) {
    try Pieces.read(path)
  }
}
