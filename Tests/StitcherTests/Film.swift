import CompositionModel
import Foundation
import Media
import Segmenter
import Stitcher
import TestPrograms
import Testing

/// Pictures and sound of ffmpeg's own making, encoded into pieces as a renderer would.
struct Film {
  static let size = PixelSize(width: 160, height: 96)
  static let frameDuration = MediaTime(value: 1001, timescale: 30000)

  let folder: TemporaryFolder
  let frameCounts: [Int]
  let video: VideoSettings
  let audio: AudioSettings?
  let sampleCount: Int64

  init(
    _ frameCounts: [Int], codec: VideoSettings.Codec = .h264, audio: AudioSettings.Codec? = .aac, seconds: Double? = nil
  ) throws {
    folder = try TemporaryFolder()
    self.frameCounts = frameCounts
    video = VideoSettings(
      codec: codec, rateControl: codec == .ffv1 ? .lossless : .quality(23), preset: codec == .ffv1 ? nil : "medium",
      profile: nil, keyframeInterval: 30, pixelFormat: .yuv420p,
      colour: ColourTags(primaries: "bt709", transfer: "bt709", matrix: "bt709", chromaLocation: "left"))
    self.audio = audio.map {
      AudioSettings(codec: $0, bitRate: $0 == .aac ? 128_000 : nil, sampleRate: 44100, channels: 2)
    }
    let total = frameCounts.reduce(0, +)
    sampleCount = seconds.map { Int64($0 * 44100) } ?? Int64(total) * 1001 * 44100 / 30000
  }

  var frameCount: Int { frameCounts.reduce(0, +) }

  func task(
    _ container: Container = .mp4, indexFirst: Bool = true, metadata: [String: String] = [:]
  ) -> StitchTask {
    let format = VideoTaskFormat(
      size: Self.size, pixelFormat: .yuv420p, colour: video.colour, frameDuration: Self.frameDuration)
    return StitchTask(
      container: container,
      pictures: frameCounts.isEmpty
        ? nil : StitchedVideo(format: format, encoder: video, frameCounts: frameCounts),
      sound: audio.map { StitchedAudio(encoder: $0, sampleCount: sampleCount) }, optimizeForNetworkUse: indexFirst,
      metadata: metadata)
  }

  /// Every piece as a file, in the task's order.
  func pieces() throws -> [String] {
    var paths: [String] = []
    var first = 0
    for (index, count) in frameCounts.enumerated() {
      paths.append(try picturePiece("picture\(index)", first: first, count: count))
      first += count
    }
    if let audio { paths.append(try soundPiece("sound", audio)) }
    return paths
  }

  /// `source` is one of ffmpeg's picture generators.
  func picturePiece(
    _ name: String, first: Int, count: Int, settings: VideoSettings? = nil, size: PixelSize = Film.size
  ) throws -> String {
    let raw = try Tool.run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size.width)x\(size.height):rate=30",
        "-vf", "trim=start_frame=\(first):end_frame=\(first + count),format=yuv420p", "-f", "rawvideo", "-",
      ]
    ).output
    let encoder = try VideoEncoder(settings ?? video, size: size, frameDuration: Self.frameDuration)
    return try write(name, encoder.header) { piece in
      let bytes = size.width * size.height * 3 / 2
      for index in 0..<count {
        let frame = try Frame(size: size, format: FrameFormat(.yuv420p), colour: video.colour)
        var offset = index * bytes
        for plane in 0..<3 {
          let (width, rows) = frame.extent(ofPlane: plane)
          let stride = frame.stride(ofPlane: plane)
          frame.withMutablePlane(plane) { base in
            for row in 0..<rows {
              raw.withUnsafeBytes {
                (base + row * stride).copyMemory(from: $0.baseAddress! + offset + row * width, byteCount: width)
              }
            }
          }
          offset += width * rows
        }
        try encoder.send(frame, pts: Int64(index))
        while let packet = try encoder.receive() { try piece.write(packet) }
      }
      try encoder.finish()
      while let packet = try encoder.receive() { try piece.write(packet) }
    }
  }

  /// A tone of 440 Hz.
  func soundPiece(_ name: String, _ settings: AudioSettings, sampleCount: Int64? = nil) throws -> String {
    let encoder = try AudioEncoder(settings)
    let total = sampleCount ?? self.sampleCount
    return try write(name, encoder.header) { piece in
      var done: Int64 = 0
      while done < total {
        let count = Int(min(Int64(encoder.frameSize), total - done))
        try encoder.send(count: count) { rows in
          for index in 0..<count {
            let value = 0.4 * sin(2 * .pi * 440 * Double(done + Int64(index)) / Double(settings.sampleRate))
            for channel in 0..<settings.channels {
              switch encoder.sampleLayout {
              case .planarFloat: rows[channel].storeBytes(of: Float(value), toByteOffset: index * 4, as: Float.self)
              case .interleavedInt16:
                rows[0].storeBytes(
                  of: Int16(value * 32768), toByteOffset: (index * settings.channels + channel) * 2, as: Int16.self)
              case .interleavedInt32:
                rows[0].storeBytes(
                  of: Int32(value * 8_388_608) << 8, toByteOffset: (index * settings.channels + channel) * 4,
                  as: Int32.self)
              }
            }
          }
        }
        while let packet = try encoder.receive() { if packet.pts < total { try piece.write(packet) } }
        done += Int64(count)
      }
      try encoder.finish()
      while let packet = try encoder.receive() { if packet.pts < total { try piece.write(packet) } }
    }
  }

  /// A piece of the packets that `body` writes.
  func write(_ name: String, _ header: PieceHeader, _ body: (PieceWriter) throws -> Void) throws -> String {
    let path = folder.path(name)
    try Data().write(to: URL(fileURLWithPath: path))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    let piece = try PieceWriter(descriptor: file.fileDescriptor, header: header)
    try body(piece)
    try piece.finish()
    try file.close()
    return path
  }

  static func source(_ path: String) throws -> any ByteSource {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { throw Tool.Failure(description: "\(path) cannot be opened") }
    return FileByteSource(descriptor: descriptor)
  }

  /// The output's path.
  func stitch(_ task: StitchTask, _ pieces: [String], progress: (Int64) -> Void = { _ in }) throws -> String {
    let path = folder.path("out-\(UUID().uuidString).\(task.container.rawValue)")
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    guard descriptor >= 0 else { throw Tool.Failure(description: "\(path) cannot be made") }
    defer { close(descriptor) }
    try Stitcher.stitch(task, pieces: pieces.map(Self.source), to: descriptor, progress: progress)
    return path
  }
}
