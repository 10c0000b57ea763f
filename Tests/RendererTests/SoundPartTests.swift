import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// A part of a film's sound is, sample by sample, that part of the whole film's.
@Suite struct SoundPartTests {
  private let fixture: AudioFixture

  init() throws {
    fixture = try AudioFixture()
  }

  private static let filters: [AudioFilter] = [
    .compressor(threshold: -30, ratio: 6, attack: 0.01, release: 0.3, knee: 6, makeup: 3), .delay(time: 0.3),
    .denoise(reduction: 10, floor: -40),
  ]

  private enum Case: String, CaseIterable {
    case copied, converted, spectral, timeDomain, varispeed, reversed, ramp, varispeedRamp
    case filtersOfAClip, filtersOfATrack, ducking
  }

  @Test(arguments: Case.allCases)
  private func `the part is that of the whole`(_ name: Case) throws {
    // The short tests have a quarter of the sound.
    let part: Int32 = TestExtent.of(4, whole: 1)
    let rate = name == .copied || name == .ducking ? 48000 : 44100
    let path = fixture.folder.path("source.wav")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "anoisesrc=r=\(rate):d=7:a=0.4:seed=9,tremolo=f=3:d=0.8", "-ac", "2", "-c:a", "pcm_s16le",
      path,
    ])
    var clip = PlannedAudioClip(
      source: 0, sourceRange: try AudioFixture.range(MediaTime(1, 3 * part), MediaTime(16, 3 * part)),
      targetRange: try AudioFixture.range(MediaTime(1, 7 * part), MediaTime(36, 7 * part)))
    switch name {
    case .spectral, .timeDomain, .varispeed:
      clip.pitch = PitchAlgorithm(rawValue: name.rawValue)
      clip.sourceRange = try AudioFixture.range(MediaTime(1, 3 * part), MediaTime(13, 3 * part))
    case .reversed: clip.isReversed = true
    case .ramp, .varispeedRamp:
      clip.pitch = name == .ramp ? .spectral : .varispeed
      clip.speed = try SpeedCurve(points: [
        .init(at: MediaTime(1, part), speed: .one), .init(at: MediaTime(2, part), speed: Rational(1, 2)),
        .init(at: MediaTime(4, part), speed: Rational(6, 5)),
      ])
    case .filtersOfAClip: clip.filters = Self.filters
    case .copied, .converted, .filtersOfATrack, .ducking: break
    }
    var tracks = [PlannedAudioTrack(volume: .one, clips: [clip])]
    if name == .filtersOfATrack { tracks[0].filters = Self.filters }
    if name == .ducking {
      tracks.append(
        PlannedAudioTrack(volume: .one, clips: [clip], ducking: PlannedDucking(under: 0, levels: DuckingLevels())))
    }
    var task = AudioMixdown(
      encoder: AudioFixture.pcm(48000, 2, bitDepth: 24), sampleCount: 5 * 48000 / Int64(part), tracks: tracks,
      sources: [try AudioFixture.planned(path)])
    let whole = try fixture.render(task)
    for (start, length) in [(1, 4000), (98_765, 30_000), (200_001, 39_999)] {
      let (first, count) = (max(1, start / Int(part)), length / Int(part))
      task.firstSample = Int64(first)
      task.sampleCount = Int64(count)
      let isSame = try fixture.render(task) == Array(whole[2 * first..<2 * (first + count)])
      #expect(isSame, "\(name.rawValue) from \(first)")
    }
  }

  @Test func `damage before the part is not reported`() throws {
    let path = fixture.folder.path("sound.mkv")
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "sine=440:duration=4", "-c:a", "libmp3lame", path])
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let places = try Tool.run(
      "ffprobe", ["-v", "error", "-select_streams", "a:0", "-show_entries", "packet=pos", "-of", "csv=p=0", path]
    ).output
    let positions = String(decoding: places, as: UTF8.self).split(separator: "\n").compactMap {
      Int($0.prefix { $0 != "," })
    }
    for index in [20, 80] { for place in 4..<18 { data[positions[index] + place] ^= 0xFF } }
    try data.write(to: URL(fileURLWithPath: path))
    let source = try AudioFixture.planned(path)
    let range = try AudioFixture.range(.zero, MediaTime(4))
    let clip = PlannedAudioClip(source: 0, sourceRange: range, targetRange: range)
    var filtered = clip
    // A delay would bring the packet into the part.
    let filters = [Self.filters[0]]
    filtered.filters = filters
    for track in [
      PlannedAudioTrack(volume: .one, clips: [clip]), PlannedAudioTrack(volume: .one, clips: [filtered]),
      PlannedAudioTrack(volume: .one, clips: [clip], filters: filters),
    ] {
      var task = AudioMixdown(
        encoder: AudioFixture.pcm(44100, 1), sampleCount: 44100, tracks: [track], sources: [source])
      // The second of the packets is heard from about 2.09 s on.
      let parts: [(first: Int64, count: Int)] = [(66_150, 1), (100_000, 0)]
      for (first, count) in parts {
        task.firstSample = first
        let piece = try fixture.folder.create(UUID().uuidString)
        let damage = try AudioRenderer.render(
          AudioTask(mixes: [task]), inputs: [path: try openSource(path)], to: piece.fileDescriptor, progress: { _ in })
        let heard = damage.tracks.flatMap(\.places)
        #expect(heard.count == count && damage.tracks.reduce(0) { $0 + $1.count } == count, "from \(first): \(damage)")
        let due = 80.0 * 1152 / 44100 - Double(first) / 44100
        // At the start of the block of samples that it is mixed in.
        #expect(heard.allSatisfy { abs($0.output - max(0, due)) < 0.25 }, "\(damage)")
      }
    }
  }
}
