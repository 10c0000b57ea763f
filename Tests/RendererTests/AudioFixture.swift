import CompositionModel
import Foundation
import Media
import RenderTasks
import Renderer
import TestMedia
import TestPrograms

/// Audio tasks on files, rendered to pieces.
struct AudioFixture {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// An asset's audio as a plan names it. Its digest is its path.
  static func planned(_ path: String) throws -> PlannedAudioSource {
    let description = try AssetProbe.probe(openSource(path), name: path)
    guard let track = description.defaultTrack(.audio), let audio = track.audio else {
      throw Tool.Failure(description: "\(path) has no audio")
    }
    return PlannedAudioSource(
      digest: path, track: track.index, timebase: track.timebase, origin: track.origin, audio: audio)
  }

  static func range(_ start: MediaTime, _ end: MediaTime) throws -> MediaTimeRange {
    try MediaTimeRange(start: start, end: end)
  }

  /// The interleaved samples of a mix in 16-bit or 24-bit PCM, read from its piece.
  func render(_ task: AudioMixdown, progress: (Int64) -> Void = { _ in }) throws -> [Int32] {
    let piece = try self.piece(task, progress: progress)
    var samples: [Int32] = []
    var next: Int64 = 0
    for packet in try Pieces.read(piece).packets {
      guard packet.pts == next else { throw Tool.Failure(description: "a packet at \(packet.pts), not \(next)") }
      next += packet.duration
      packet.withBytes { bytes in
        let data = Data(bytes)
        samples += task.encoder.bitDepth == 16 ? data.samples(Int16.self).map(Int32.init) : data.samples24
      }
    }
    return samples
  }

  /// The piece's path.
  func piece(_ task: AudioMixdown, progress: (Int64) -> Void = { _ in }) throws -> String {
    let name = UUID().uuidString
    let file = try folder.create(name)
    var inputs: [String: any ByteSource] = [:]
    for source in task.sources where inputs[source.digest] == nil {
      inputs[source.digest] = try openSource(source.digest)
    }
    try AudioRenderer.render(
      AudioTask(mixes: [task]), inputs: inputs, to: file.fileDescriptor, progress: progress)
    return try Pieces.take(of: folder.path(name))
  }

  static func pcm(_ rate: Int, _ channels: Int, bitDepth: Int = 16) -> AudioSettings {
    AudioSettings(codec: .pcm, bitRate: nil, sampleRate: rate, channels: channels, bitDepth: bitDepth)
  }
}

extension AudioMixdown {
  /// The one encoding of a mix that has no other.
  var encoder: AudioSettings {
    get { encoders[0] }
    set { (encoders, sampleRate, channels) = ([newValue], newValue.sampleRate, newValue.channels) }
  }
}

extension MediaTime {
  init(_ value: Int64, _ timescale: Int32 = 1) {
    self.init(value: value, timescale: timescale)
  }
}
