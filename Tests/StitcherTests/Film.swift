import CompositionModel
import Foundation
import Media
import PieceFiles
import RenderTasks
import Stitcher
import Synchronization
import TestMedia
import TestPrograms
import Testing

/// Generated video and audio, encoded into pieces as the renderer does.
struct Film {
  static let size = PixelSize(width: 160, height: 96)
  static let frameDuration = MediaTime(value: 1001, timescale: 30000)

  let folder: TemporaryFolder
  let frameCounts: [Int]
  let video: VideoSettings
  let audio: AudioSettings?
  let sampleCount: Int64

  init(
    _ frameCounts: [Int], codec: VideoCodec = .h264, audio: AudioCodec? = .aac, seconds: Double? = nil,
    sampleRate: Int? = nil
  ) throws {
    folder = try TemporaryFolder()
    self.frameCounts = frameCounts
    let definition = codec.definition
    video = VideoSettings(
      codec: codec, rateControl: definition.rateControl(quality: nil, bitRate: nil), preset: definition.defaultPreset,
      profile: nil, keyframeInterval: 30, pixelFormat: definition.defaultPixelFormat(source: .yuv420p, isHDR: false),
      colour: ColourTags(primaries: "bt709", transfer: "bt709", matrix: "bt709", chromaLocation: "left"))
    self.audio = audio.map {
      let rate = sampleRate ?? $0.definition.defaultSampleRate
      return AudioSettings(
        codec: $0, bitRate: $0.definition.defaultBitRate(sampleRate: rate, channels: 2), sampleRate: rate, channels: 2)
    }
    let total = frameCounts.reduce(0, +)
    let rate = sampleRate ?? audio?.definition.defaultSampleRate ?? 44100
    sampleCount = seconds.map { Int64($0 * Double(rate)) } ?? Int64(total) * 1001 * Int64(rate) / 30000
  }

  var frameCount: Int { frameCounts.reduce(0, +) }

  /// The bytes of pieces by what is in them: the films of all containers have the same ones.
  private static let encoded = Mutex<[String: Data]>([:])

  /// Writes the piece that `encode` makes, or has made of the same.
  private func piece(_ name: String, of content: String, _ encode: (FileHandle) throws -> Void) throws -> String {
    let file = try folder.create(name)
    if let bytes = Self.encoded.withLock({ $0[content] }) {
      try file.write(contentsOf: bytes)
    } else {
      try encode(file)
      let bytes = try Data(contentsOf: URL(filePath: folder.path(name)))
      Self.encoded.withLock { $0[content] = bytes }
    }
    return folder.path(name)
  }

  func task(
    _ container: Container = .mp4, indexFirst: Bool = true, metadata: [String: String] = [:]
  ) -> StitchedFile {
    let format = VideoTaskFormat(
      size: Self.size, pixelFormat: video.pixelFormat, colour: video.colour, frameDuration: Self.frameDuration)
    return StitchedFile(
      container: container,
      video: frameCounts.isEmpty
        ? nil : StitchedVideo(format: format, encoder: video, frameCounts: frameCounts),
      audio: audio.map { StitchedAudio(encoder: $0, sampleCount: sampleCount) }, optimizeForNetworkUse: indexFirst,
      metadata: metadata)
  }

  /// Every piece as a file, in the task's order.
  func pieces() throws -> [String] {
    var paths: [String] = []
    var first = 0
    for (index, count) in frameCounts.enumerated() {
      paths.append(try videoPiece("video\(index)", first: first, count: count))
      first += count
    }
    if let audio { paths.append(try audioPiece("audio", audio)) }
    return paths
  }

  /// Frames of ffmpeg's test picture.
  func videoPiece(
    _ name: String, first: Int, count: Int, settings: VideoSettings? = nil, size: PixelSize = Film.size
  ) throws -> String {
    let format = FrameFormat((settings ?? video).pixelFormat)
    let raw = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=\(size.width)x\(size.height):rate=30", "-vf",
      "trim=start_frame=\(first):end_frame=\(first + count),format=\(format.name)", "-f", "rawvideo", "-")
    let bytes = raw.count / max(1, count)
    return try piece(name, of: "\(settings ?? video) \(size) \(first) \(count)") { file in
      try Pieces.writeVideo(
        settings ?? video, size: size, frameDuration: Self.frameDuration, frameCount: count, to: file
      ) { index in
        let frame = try Frame(size: size, format: format, colour: video.colour)
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
        return frame
      }
    }
  }

  /// A tone of 440 Hz.
  func audioPiece(_ name: String, _ settings: AudioSettings, sampleCount: Int64? = nil) throws -> String {
    let count = Int(sampleCount ?? self.sampleCount)
    return try piece(name, of: "\(settings) \(count)") { file in
      try Pieces.writeAudio(settings, sampleCount: count, to: file) {
        0.4 * sin(2 * .pi * 440 * Double($0) / Double(settings.sampleRate))
      }
    }
  }

  /// A piece of the packets that `body` writes.
  func write(_ name: String, _ header: PieceHeader, _ body: (PieceWriter) throws -> Void) throws -> String {
    let file = try folder.create(name)
    let piece = try PieceWriter(descriptor: file.fileDescriptor, header: header)
    try body(piece)
    try piece.finish()
    return folder.path(name)
  }

  /// The output's path.
  func stitch(_ task: StitchedFile, _ pieces: [String], progress: (Int64) -> Void = { _ in }) throws -> String {
    let name = "out-\(UUID().uuidString).\(task.container.rawValue)"
    let file = try folder.create(name)
    try OutputStitcher.stitch(
      task, pieces: pieces.map(openSource), to: file.fileDescriptor, progress: progress)
    return folder.path(name)
  }
}
