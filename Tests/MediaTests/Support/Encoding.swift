import CompositionModel
import Foundation
import Media

/// Ways to make pieces.
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

  /// Writes a piece of patterned frames; gives the frames' pixels.
  @discardableResult
  static func pictures(
    _ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime, seeds: Range<Int>, to file: FileHandle
  ) throws -> Data {
    let encoder = try VideoEncoder(settings, size: size, frameDuration: frameDuration)
    let writer = try PieceWriter(descriptor: file.fileDescriptor, header: encoder.header)
    var pixels = Data()
    for (index, seed) in seeds.enumerated() {
      let frame = try Frame(size: size, format: FrameFormat(settings.pixelFormat), colour: colour)
      frame.fillWithPattern(seed)
      pixels.append(frame.pixels)
      try encoder.send(frame, pts: Int64(index))
      while let packet = try encoder.receive() { try writer.write(packet) }
    }
    try encoder.finish()
    while let packet = try encoder.receive() { try writer.write(packet) }
    try writer.finish()
    return pixels
  }

  /// Writes a piece of a saw-tooth with a click at the very beginning; gives the samples as 16-bit integers.
  @discardableResult
  static func sound(_ settings: AudioSettings, sampleCount: Int, to file: FileHandle) throws -> Data {
    let encoder = try AudioEncoder(settings)
    let writer = try PieceWriter(descriptor: file.fileDescriptor, header: encoder.header)
    var samples: [Int16] = []
    var done = 0
    while done < sampleCount {
      let count = min(encoder.frameSize, sampleCount - done)
      let values = (done..<(done + count)).map {
        $0 < 8 ? Int16(30000) : Int16(truncatingIfNeeded: $0 % 200 * 50 - 5000)
      }
      try encoder.send(count: count) { rows in
        for (index, value) in values.enumerated() {
          for channel in 0..<settings.channels {
            let place = index * settings.channels + channel
            switch encoder.sampleLayout {
            case .planarFloat:
              rows[channel].storeBytes(of: Float(value) / 32768, toByteOffset: index * 4, as: Float.self)
            case .interleavedInt16: rows[0].storeBytes(of: value, toByteOffset: place * 2, as: Int16.self)
            case .interleavedInt32:
              rows[0].storeBytes(of: Int32(value) << 16, toByteOffset: place * 4, as: Int32.self)
            }
          }
        }
      }
      for value in values { samples += Array(repeating: value, count: settings.channels) }
      done += count
      while let packet = try encoder.receive() { try writer.write(packet) }
    }
    try encoder.finish()
    while let packet = try encoder.receive() { try writer.write(packet) }
    try writer.finish()
    return samples.withUnsafeBytes { Data($0) }
  }

  /// Packets of a piece, in order.
  static func packets(_ path: String) throws -> (header: PieceHeader, packets: [Packet]) {
    let reader = try PieceReader(source: opened(path), name: path)
    var packets: [Packet] = []
    while let packet = try reader.next() { packets.append(packet) }
    return (reader.header, packets)
  }
}
