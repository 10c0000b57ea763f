import CompositionModel
import Foundation
import Media
import Renderer
import Segmenter
import TestPrograms

/// Sound tasks over files, rendered and decoded again by ffmpeg.
struct SoundFixture {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  static func source(_ path: String) throws -> any ByteSource {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { throw Tool.Failure(description: "\(path) cannot be opened") }
    return FileByteSource(descriptor: descriptor)
  }

  /// An asset's sound as a plan names it; its digest is its path.
  static func planned(_ path: String) throws -> PlannedAudioSource {
    let description = try AssetProbe.describe(source(path), name: path)
    guard let track = description.defaultTrack(.audio), let audio = track.audio else {
      throw Tool.Failure(description: "\(path) has no sound")
    }
    return PlannedAudioSource(
      digest: path, track: track.index, timebase: track.timebase, origin: track.origin, audio: audio)
  }

  static func range(_ start: MediaTime, _ end: MediaTime) throws -> MediaTimeRange {
    try MediaTimeRange(start: start, end: end)
  }

  /// What a 16-bit or 24-bit PCM task sounds like, interleaved, read from the piece itself.
  func render(_ task: AudioTask, progress: (Int64) -> Void = { _ in }) throws -> [Int32] {
    let piece = try self.piece(task, progress: progress)
    let reader = try PieceReader(source: Self.source(piece), name: "the sound")
    var samples: [Int32] = []
    var next: Int64 = 0
    while let packet = try reader.next() {
      guard packet.pts == next else { throw Tool.Failure(description: "a packet at \(packet.pts), not \(next)") }
      next += packet.duration
      packet.withBytes { bytes in
        if task.encoder.bitDepth == 16 {
          samples += Data(bytes).samples(Int16.self).map(Int32.init)
        } else {
          for index in stride(from: 0, to: bytes.count, by: 3) {
            let value = UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1]) << 16 | UInt32(bytes[index + 2]) << 24
            samples.append(Int32(bitPattern: value) >> 8)
          }
        }
      }
    }
    return samples
  }

  /// The piece's path.
  func piece(_ task: AudioTask, progress: (Int64) -> Void = { _ in }) throws -> String {
    let path = folder.path(UUID().uuidString)
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    guard descriptor >= 0 else { throw Tool.Failure(description: "\(path) cannot be made") }
    defer { close(descriptor) }
    var inputs: [String: any ByteSource] = [:]
    for source in task.sources where inputs[source.digest] == nil {
      inputs[source.digest] = try Self.source(source.digest)
    }
    try AudioRenderer.render(task, inputs: inputs, to: descriptor, progress: progress)
    return path
  }

  static func pcm(_ rate: Int, _ channels: Int, bitDepth: Int = 16) -> AudioSettings {
    AudioSettings(codec: .pcm, bitRate: nil, sampleRate: rate, channels: channels, bitDepth: bitDepth)
  }
}

extension MediaTime {
  init(_ value: Int64, _ timescale: Int32 = 1) {
    self.init(value: value, timescale: timescale)
  }
}
