import Foundation
import Sheaf
import TestPrograms
import Testing

/// The peaks of sounds are those of the samples that ffmpeg decodes.
@Suite(.ownThreads, .serialized) struct WaveformGeneratorTests {
  /// The points of interleaved samples, by the definition.
  private func points(_ samples: [Int16], channels: Int, count: Int) -> (min: [Double], max: [Double], rms: [Double]) {
    var (low, high, rms): ([Double], [Double], [Double]) = ([], [], [])
    let length = samples.count / channels
    for point in 0..<count {
      let part = samples[(length * point / count * channels)..<(length * (point + 1) / count * channels)]
        .map { Double($0) / 32768 }
      low.append(part.min() ?? 0)
      high.append(part.max() ?? 0)
      rms.append((part.reduce(0) { $0 + $1 * $1 } / Double(part.count)).squareRoot())
    }
    return (low, high, rms)
  }

  private func isNear(_ a: [Double], _ b: [Double]) -> Bool {
    a.count == b.count && zip(a, b).allSatisfy { abs($0 - $1) < 1e-6 }
  }

  @Test func `the waveform of a track, of a part of a mix and of a mix has the peaks of its samples`() async throws {
    let folder = try TemporaryFolder()
    let renderer = LocalRenderer(store: folder.url.appendingPathComponent("store"), slots: 1)
    let path = folder.path("two.mov")
    // A stereo track, and a track of another language with one channel.
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "aevalsrc=0.4*t*sin(300*t)|-0.1*t:s=44100:d=2", "-f", "lavfi", "-i",
      "aevalsrc=0.25*sin(900*t):s=44100:d=2", "-map", "0", "-map", "1", "-c:a", "pcm_s16le", path)
    func samples(_ track: Int) throws -> [Int16] {
      try Tool.ffmpeg("-i", path, "-map", "0:a:\(track)", "-f", "s16le", "-").withUnsafeBytes {
        Array($0.bindMemory(to: Int16.self))
      }
    }
    let asset = Asset(path: path, renderer: renderer)
    let tracks = try await asset.load(.tracks(.audio))
    let first = try await WaveformGenerator(asset).waveform(.points(16))
    #expect(first.sampleRate == 44100 && first.channels == 2 && first.sampleCount == 88200)
    #expect(first.duration == MediaTime(seconds: 2))
    let expected = points(try samples(0), channels: 2, count: 16)
    #expect(first.minimums == expected.min && first.maximums == expected.max)
    #expect(isNear(first.rootMeanSquares, expected.rms))

    let second = try await WaveformGenerator(asset, track: tracks[1]).waveform(.rate(3))
    let alone = points(try samples(1), channels: 1, count: 6)
    #expect(second.channels == 1 && second.minimums == alone.min && second.maximums == alone.max)

    // The mix is half as loud as its track.
    var edit = Edit()
    let source = edit.add(try await asset.load())
    let music = try edit.composition.addTrack(.audio, id: "music")
    let silent = try edit.composition.addTrack(.audio, id: "silent")
    try edit.composition.editTrack(music) { try $0.insert(source.whole()) }
    try edit.composition.editTrack(silent) { try $0.insert(source.whole()) }
    try edit.audioMix.setVolume(0.5, of: music)
    try edit.audioMix.setVolume(0, of: silent)
    edit.export.audio = .settings(.init(sampleRate: 44100, channels: 2))
    let mix = try await WaveformGenerator(edit, renderer: renderer).waveform(.points(16))
    #expect(mix.sampleCount == 88200 && isNear(mix.maximums, expected.max.map { $0 / 2 }))
    let part = try await WaveformGenerator(edit, track: "music", renderer: renderer).waveform(.points(16))
    #expect(part == mix)
    let nothing = try await WaveformGenerator(edit, track: "silent", renderer: renderer).waveform(.points(2))
    #expect(nothing.maximums == [0, 0] && nothing.minimums == [0, 0])
  }

  @Test func `a waveform that cannot be made is refused with the reason`() async throws {
    let media = try SmallMedia()
    func code(_ make: () async throws -> Void) async -> SheafError.Code? {
      do {
        try await make()
        return nil
      } catch {
        return (error as? SheafError)?.code
      }
    }
    let asset = media.asset("one.mp4")
    for resolution in [WaveformGenerator.Resolution.points(0), .points(1_000_001), .rate(0), .rate(.nan)] {
      #expect(await code { _ = try await WaveformGenerator(asset).waveform(resolution) } == .misuse)
    }
    let video = try #require(try await asset.load(.tracks(.video)).first)
    #expect(await code { _ = try await WaveformGenerator(asset, track: video).waveform() } == .misuse)
    let picture = media.asset("logo.png")
    #expect(await code { _ = try await WaveformGenerator(picture).waveform() } == .invalidEdit)
    let edit = try await media.edit()
    let choir = WaveformGenerator(edit, track: "choir", renderer: media.renderer)
    #expect(await code { _ = try await choir.waveform() } == .invalidEdit)
  }
}
