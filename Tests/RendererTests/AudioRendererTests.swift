import CompositionModel
import Foundation
import Media
import RenderTasks
import Renderer
import TestMedia
import TestPrograms
import Testing

@Suite struct AudioRendererTests {
  private let fixture: AudioFixture

  init() throws {
    fixture = try AudioFixture()
  }

  /// Noise over a tone, so that one sample is like no other, in a file of some codec.
  private func asset(
    _ name: String, _ codec: [String], rate: Int = 44100, channels: Int = 2, seconds: Double = 6
  ) throws -> String {
    let path = fixture.folder.path(name)
    let sound = "anoisesrc=r=\(rate):d=\(seconds):a=0.2:seed=7,aformat=channel_layouts=mono"
    let expression = (0..<channels).map { "\(1 - Double($0) * 0.1)*c0" }.enumerated().map {
      "c\($0.offset)=\($0.element)"
    }
    let layout = [1: "mono", 2: "stereo", 6: "5.1", 8: "7.1"][channels] ?? "stereo"
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "\(sound),pan=\(layout)|\(expression.joined(separator: "|"))"] + codec + [path])
    return path
  }

  /// Samples from time zero of the asset to the first that ffmpeg decodes.
  private func lead(_ path: String, _ source: PlannedAudioSource) throws -> Int {
    let text = try Tool.run(
      "ffprobe",
      [
        "-v", "error", "-select_streams", "a:0", "-read_intervals", "%+#1", "-show_entries", "frame=pts", "-of",
        "csv=p=0", path,
      ]
    ).output
    let first = String(decoding: text, as: UTF8.self).split(whereSeparator: { !$0.isNumber && $0 != "-" }).first
    let ticks = Int64(first ?? "") ?? 0
    let time = try Rational(ticks - source.origin) * source.timebase.exact
    return Int(try (time * Rational(source.audio.sampleRate)).rounded)
  }

  /// The whole track as ffmpeg decodes it.
  private func decoded(_ path: String, _ format: String = "s16le") throws -> Data {
    try Tool.ffmpeg(["-i", path, "-map", "0:a:0", "-f", format, "-"])
  }

  private func cut(_ source: PlannedAudioSource, _ pieces: [(MediaTime, MediaTime)], _ settings: AudioSettings) throws
    -> AudioMixdown
  {
    var clips: [PlannedAudioClip] = []
    var at = MediaTime.zero
    for (start, end) in pieces {
      let source = try AudioFixture.range(start, end)
      let target = try MediaTimeRange(start: at, duration: source.duration)
      clips.append(PlannedAudioClip(source: 0, sourceRange: source, targetRange: target))
      at = target.end
    }
    let count = Int64(try (at.exact * Rational(settings.sampleRate)).rounded)
    return AudioMixdown(
      encoder: settings, sampleCount: count, tracks: [PlannedAudioTrack(volume: .one, clips: clips)], sources: [source])
  }

  private static let files: [(String, [String])] = [
    ("flac", ["-c:a", "flac", "-sample_fmt", "s16"]), ("m4a", ["-c:a", "aac"]), ("mp3", ["-c:a", "libmp3lame"]),
    ("mkv", ["-c:a", "libopus", "-ar", "48000"]), ("ogg", ["-c:a", "libvorbis"]),
    // Codecs of the others and of other tests, in more containers.
    ("wav", ["-c:a", "pcm_s16le"]), ("mka", ["-c:a", "flac", "-sample_fmt", "s16"]),
    ("mov", ["-c:a", "pcm_s16le"]), ("avi", ["-c:a", "pcm_s16le"]),
  ]

  @Test(arguments: TestExtent.of(Array(files.prefix(5)), whole: files))
  func `samples are those of ffmpeg`(_ container: String, _ codec: [String]) throws {
    let path = try asset("source.\(container)", codec)
    let source = try AudioFixture.planned(path)
    let rate = source.audio.sampleRate
    let silence = try [Int32](repeating: 0, count: lead(path, source) * 2)
    let all = try silence + decoded(path).samples(Int16.self).map(Int32.init)
    // From the head, from the middle, and to the end.
    for (start, end) in [
      (MediaTime.zero, MediaTime(2)), (MediaTime(1001 * 77, 30000), MediaTime(9, 2)),
      (MediaTime(11, 3), MediaTime(23, 4)),
    ] {
      let task = try cut(source, [(start, end)], AudioFixture.pcm(rate, 2))
      let first = Int(try (start.exact * Rational(rate)).rounded) * 2
      let rendered = try fixture.render(task)
      let expected = Array(all[first..<first + rendered.count])
      #expect(rendered.count == Int(task.sampleCount) * 2)
      if rendered != expected {
        let wrong = zip(rendered, expected).enumerated().filter { $0.element.0 != $0.element.1 }
        Issue.record(
          "\(container) from \(start): \(wrong.count) of \(rendered.count) differ, the first at \(wrong[0].offset / 2), by up to \(wrong.map { abs($0.element.0 - $0.element.1) }.max() ?? 0)"
        )
      }
    }
  }

  @Test func `twenty-four bits come through whole`() throws {
    let path = try asset("source.wav", ["-c:a", "pcm_s24le"], rate: 48000)
    let task = try cut(
      AudioFixture.planned(path), [(MediaTime(1), MediaTime(2))], AudioFixture.pcm(48000, 2, bitDepth: 24))
    let all = try decoded(path, "s24le").samples24
    #expect(try fixture.render(task) == Array(all[96_000..<192_000]))
  }

  @Test func `channels that are chosen are those of the file, in their order`() throws {
    let path = fixture.folder.path("four.wav")
    let wave = (0..<4).map { "0.\(3 + $0)*sin(2*PI*t*\(310 + 97 * $0))" }.joined(separator: "|")
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "aevalsrc='\(wave)':c=quad:s=48000:d=3", "-c:a", "pcm_s16le", path])
    let source = try AudioFixture.planned(path)
    let range = try AudioFixture.range(MediaTime(1, 3), MediaTime(7, 3))
    for (channels, layout, isReversed, filter, tolerance) in [
      ([2, 0], nil, false, "pan=stereo|c0=c2|c1=c0", 0), ([3], nil, false, "pan=stereo|c0=c3|c1=c3", 0),
      ([1, 1], nil, true, "pan=stereo|c0=c1|c1=c1,areverse", 0),
      // The factors of 3.0 in stereo. The numbers are rounded in another order.
      (
        [1, 3, 0], .surround30, false,
        "aformat=sample_fmts=dblp,pan=stereo|c0=0.5857864*c1+0.4142136*c0|c1=0.5857864*c3+0.4142136*c0", 1
      ),
    ] as [([Int], SpeakerLayout?, Bool, String, Int32)] {
      var clip = PlannedAudioClip(
        source: 0, sourceRange: range, targetRange: try AudioFixture.range(.zero, MediaTime(2)), layout: layout)
      clip.channels = channels
      clip.isReversed = isReversed ? true : nil
      let rendered = try fixture.render(
        AudioMixdown(
          encoder: AudioFixture.pcm(48000, 2), sampleCount: 96_000,
          tracks: [PlannedAudioTrack(volume: .one, clips: [clip])], sources: [source]))
      let expected = try Tool.ffmpeg([
        "-i", path, "-af", "atrim=start_sample=16000:end_sample=112000,\(filter),aformat=channel_layouts=stereo", "-f",
        "s16le", "-",
      ]).samples(Int16.self).map(Int32.init)
      #expect(rendered.count == expected.count && expected.contains { abs($0) > 9000 })
      #expect(zip(rendered, expected).allSatisfy { abs($0 - $1) <= tolerance }, "\(channels)")
    }
    var wrong = PlannedAudioClip(source: 0, sourceRange: range, targetRange: range)
    wrong.channels = [4]
    let task = AudioMixdown(
      encoder: AudioFixture.pcm(48000, 2), sampleCount: 96_000,
      tracks: [PlannedAudioTrack(volume: .one, clips: [wrong])], sources: [source])
    #expect(throws: RenderError.self) { try fixture.render(task) }
  }

  @Test func `every click of many short clips is in its place`() throws {
    // 30000/1001, a click a second, cut into 450 clips in 300 s; the clips' edit points fall between samples.
    let seconds = TestExtent.of(50, whole: 300)
    let frames = Int64(seconds) * 2997 / 100
    let path = fixture.folder.path("clicks.wav")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "aevalsrc='if(eq(mod(n,44100),22050),0.9,0)':s=44100:d=\(seconds + 1)", "-c:a", "pcm_s16le",
      path,
    ])
    let source = try AudioFixture.planned(path)
    var pieces: [(MediaTime, MediaTime)] = []
    for first in stride(from: Int64(0), to: frames, by: 20) {
      pieces.append((MediaTime(first * 1001, 30000), MediaTime(min(first + 20, frames) * 1001, 30000)))
    }
    let task = try cut(source, pieces, AudioFixture.pcm(44100, 1))
    let rendered = try fixture.render(task)
    let clicks = rendered.indices.filter { abs(rendered[$0]) > 10_000 }
    #expect(clicks == (0..<seconds).map { $0 * 44100 + 22050 }.filter { $0 < rendered.count })
    #expect(clicks.count >= seconds - 1)
    // The same at another rate: each click's peak is within a sample of its place.
    let converted = try fixture.render(try cut(source, pieces, AudioFixture.pcm(48000, 1)))
    for second in [0, 1, seconds / 2, seconds - 2] {
      let place = second * 48000 + 24000
      let peak = (place - 100..<place + 100).max { abs(converted[$0]) < abs(converted[$1]) }
      #expect(abs((peak ?? 0) - place) <= 1)
    }
  }

  @Test func `tracks are added with their volumes and clipped`() throws {
    let path = try asset("source.wav", ["-c:a", "pcm_s16le"], rate: 48000, seconds: 3)
    let source = try AudioFixture.planned(path)
    let all = try decoded(path).samples(Int16.self).map { Double($0) / 32768 }
    let ramp = Ramp(over: try AudioFixture.range(MediaTime(1, 2), MediaTime(3, 2)), from: 0.25, to: 6)
    let clip = PlannedAudioClip(
      source: 0, sourceRange: try AudioFixture.range(.zero, MediaTime(2)),
      targetRange: try AudioFixture.range(.zero, MediaTime(2)))
    let late = PlannedAudioClip(
      source: 0, sourceRange: try AudioFixture.range(MediaTime(1), MediaTime(2)),
      targetRange: try AudioFixture.range(MediaTime(1, 3), MediaTime(4, 3)))
    let volumes = [RampList([ramp]), try RampList.constant(0.3)]
    let task = AudioMixdown(
      encoder: AudioFixture.pcm(48000, 2), sampleCount: 120_000,
      tracks: [
        PlannedAudioTrack(volume: volumes[0], clips: [clip]), PlannedAudioTrack(volume: volumes[1], clips: [late]),
      ],
      sources: [source])
    let rendered = try fixture.render(task)
    #expect(rendered.count == 240_000)
    var (clipped, wrong) = (0, 0)
    for sample in 0..<120_000 {
      let time = MediaTime(Int64(sample), 48000)
      for channel in 0..<2 {
        var sum = 0.0
        if sample < 96_000 { sum += all[sample * 2 + channel] * (try volumes[0].value(at: time)) }
        if (16_000..<64_000).contains(sample) { sum += all[(sample - 16_000 + 48_000) * 2 + channel] * 0.3 }
        if abs(sum) >= 1 { clipped += 1 }
        let expected = (min(max(sum, -1), 32767.0 / 32768) * 32768)
        if abs(Double(rendered[sample * 2 + channel]) - expected) > 0.52 { wrong += 1 }
      }
    }
    #expect(wrong == 0)
    #expect(clipped > 0)
  }

  @Test func `where nothing plays, there is silence`() throws {
    // The audio starts half a second late and ends a second before the video.
    let path = fixture.folder.path("late.mkv")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=s=64x64:r=25:d=3", "-itsoffset", "0.5", "-f", "lavfi", "-i",
      "aevalsrc=0.5:s=48000:d=1.5", "-c:v", "mpeg4", "-c:a", "pcm_s16le", path,
    ])
    let source = try AudioFixture.planned(path)
    let clip = PlannedAudioClip(
      source: 0, sourceRange: try AudioFixture.range(.zero, MediaTime(3)),
      targetRange: try AudioFixture.range(MediaTime(1), MediaTime(4)))
    let task = AudioMixdown(
      encoder: AudioFixture.pcm(48000, 1), sampleCount: 5 * 48000,
      tracks: [PlannedAudioTrack(volume: .one, clips: [clip])], sources: [source])
    let rendered = try fixture.render(task)
    let sounding = rendered.indices.filter { rendered[$0] != 0 }
    #expect(sounding == Array(72_000..<144_000))
    let none = AudioMixdown(encoder: AudioFixture.pcm(8000, 6), sampleCount: 801, tracks: [], sources: [])
    #expect(try fixture.render(none) == Array(repeating: 0, count: 801 * 6))
  }

  @Test func `a clip at another speed fills its time exactly`() throws {
    let path = try asset("source.wav", ["-c:a", "pcm_s16le"], rate: 44100, channels: 1)
    let source = try AudioFixture.planned(path)
    let clip = PlannedAudioClip(
      source: 0, sourceRange: try AudioFixture.range(MediaTime(1), MediaTime(4)),
      targetRange: try AudioFixture.range(MediaTime(1, 3), MediaTime(7, 3)))
    let task = AudioMixdown(
      encoder: AudioFixture.pcm(48000, 2), sampleCount: 150_000,
      tracks: [PlannedAudioTrack(volume: .one, clips: [clip])], sources: [source])
    let rendered = try fixture.render(task)
    #expect(rendered.count == 300_000)
    #expect(rendered[..<32_000].allSatisfy { $0 == 0 })
    #expect(rendered[224_000...].allSatisfy { $0 == 0 })
    // Noise at 0.2 all through: no tenth of a second of the clip is quiet.
    for start in stride(from: 32_000, to: 224_000, by: 9600) {
      let part = rendered[start..<start + 9600].map { Double($0) / 32768 }
      #expect((part.reduce(0) { $0 + $1 * $1 } / 9600).squareRoot() > 0.05, "quiet at \(start / 2)")
    }
  }

  @Test func `the same task is the same bytes`() throws {
    let path = try asset("source.m4a", ["-c:a", "aac"])
    let source = try AudioFixture.planned(path)
    for codec in [AudioCodec.aac, .flac, .pcm] {
      let settings = AudioSettings(
        codec: codec, bitRate: codec == .aac ? 128_000 : nil, sampleRate: 48000, channels: 2)
      let task = try cut(source, [(MediaTime(1, 7), MediaTime(3)), (MediaTime(1), MediaTime(2))], settings)
      let pieces = try (0..<2).map { _ in try Data(contentsOf: URL(fileURLWithPath: fixture.piece(task))) }
      #expect(pieces[0] == pieces[1])
      #expect(pieces[0].count > 10_000)
    }
  }

  @Test func `progress counts samples to the last`() throws {
    var reported: [Int64] = []
    let task = AudioMixdown(encoder: AudioFixture.pcm(48000, 2), sampleCount: 50_000, tracks: [], sources: [])
    _ = try fixture.render(task) { reported.append($0) }
    #expect(reported == reported.sorted())
    #expect(reported.last == 50_000)
    #expect(reported.count > 3)
  }

  @Test func `an invalid task is refused`() throws {
    let path = try asset("source.wav", ["-c:a", "pcm_s16le"], seconds: 1)
    let source = try AudioFixture.planned(path)
    var wrongSource = try cut(source, [(.zero, MediaTime(1))], AudioFixture.pcm(48000, 2))
    wrongSource.tracks[0].clips[0].source = 1
    var wrongChannels = try cut(source, [(.zero, MediaTime(1))], AudioFixture.pcm(48000, 2))
    wrongChannels.encoder.channels = 3
    for task in [wrongSource, wrongChannels] {
      do {
        _ = try fixture.piece(task)
        Issue.record("nothing was refused")
      } catch let error as RenderError {
        guard case .task = error.code else {
          Issue.record("\(error) should have the code .task")
          continue
        }
      }
    }
  }
}
