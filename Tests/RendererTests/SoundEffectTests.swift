import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Pan, filters, ducking and loudness of audio tasks, against ffmpeg or a plain computation in double precision.
@Suite struct SoundEffectTests {
  private let fixture: AudioFixture

  init() throws {
    fixture = try AudioFixture()
  }

  /// A file of 24-bit samples in stereo, made by a source filter of ffmpeg.
  private func file(_ name: String, _ source: String, rate: Int = 48000) throws -> String {
    let path = fixture.folder.path(name)
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", source, "-ac", "2", "-ar", "\(rate)", "-c:a", "pcm_s24le", path])
    return path
  }

  private func whole(_ source: Int = 0, seconds: Int64, pan: RampList? = nil) throws -> PlannedAudioClip {
    let range = try AudioFixture.range(.zero, MediaTime(seconds))
    return PlannedAudioClip(source: source, sourceRange: range, targetRange: range, pan: pan)
  }

  private func task(
    _ paths: [String], seconds: Int64, rate: Int = 48000, loudness: LoudnessTarget? = nil,
    _ tracks: [PlannedAudioTrack]
  ) throws -> AudioMixdown {
    AudioMixdown(
      encoder: AudioFixture.pcm(rate, 2, bitDepth: 24), sampleCount: seconds * Int64(rate), tracks: tracks,
      sources: try paths.map { try AudioFixture.planned($0) }, loudness: loudness)
  }

  private static let filters: [(AudioFilter, String)] = [
    (.equalizer(frequency: 1000, gain: -12, q: 2), "equalizer=f=1000:t=q:w=2:g=-12:precision=f64"),
    (.highPass(frequency: 120, q: 0.707), "highpass=f=120:t=q:w=0.707:precision=f64"),
    (.lowPass(frequency: 3000, q: 1.5), "lowpass=f=3000:t=q:w=1.5:precision=f64"),
    (
      .compressor(threshold: -30, ratio: 6, attack: 0.01, release: 0.1, knee: 6, makeup: 3),
      "acompressor=threshold=-30dB:ratio=6:attack=10:release=100:knee=6dB:makeup=3dB:link=maximum"
    ),
    (.limiter(limit: -20, attack: 0.005, release: 0.05), "alimiter=limit=-20dB:attack=5:release=50:level=0:latency=1"),
    (.delay(time: 0.1), "adelay=4800S:all=1"),
    (.lowShelf(frequency: 250, gain: -9, q: 0.8), "lowshelf=f=250:t=q:w=0.8:g=-9:precision=f64"),
    (.highShelf(frequency: 5000, gain: 7, q: 0.6), "highshelf=f=5000:t=q:w=0.6:g=7:precision=f64"),
    (
      .noiseGate(threshold: -20, ratio: 6, range: -30, attack: 0.005, release: 0.1, knee: 6),
      "agate=threshold=-20dB:ratio=6:range=-30dB:attack=5:release=100:knee=6dB:link=maximum:detection=rms"
    ),
    (.deEsser(intensity: 0.6, maximum: 0.7, keep: 0.4), "deesser=i=0.6:m=0.7:f=0.4"),
    // ffmpeg's is late by two steps of its windows.
    (.denoise(reduction: 20, floor: -30), "apad=pad_len=4800,afftdn=nr=20:nf=-30,atrim=start_sample=1200"),
  ]

  @Test(arguments: SoundEffectTests.filters.indices)
  func `a filter of a track gives the samples of ffmpeg`(_ index: Int) throws {
    let (filter, text) = Self.filters[index]
    let path = try file("noise.wav", "anoisesrc=r=48000:d=3:a=0.5:seed=5:c=pink,tremolo=f=2:d=0.9")
    let rendered = try fixture.render(
      task([path], seconds: 3, [PlannedAudioTrack(volume: .one, clips: [whole(seconds: 3)], filters: [filter])]))
    let judged = try Tool.ffmpeg(["-i", path, "-af", text, "-c:a", "pcm_s24le", "-f", "s24le", "-"]).samples24
    #expect(judged.count >= rendered.count)
    let differences = zip(rendered, judged).map { abs($0 - $1) }
    #expect((differences.max() ?? .max) <= 2, "\(filter.kind)")
    #expect(rendered != (try Tool.ffmpeg(["-i", path, "-f", "s24le", "-"]).samples24))
  }

  /// A click stays where it is, at every sample rate, after filters of each kind but a delay and a low pass, whose
  /// response to it is no click.
  @Test(arguments: [8000, 22050, 44100, 48000, 96000])
  func `what a filter looks ahead at does not move the sound`(_ rate: Int) throws {
    let path = try file("click.wav", "aevalsrc='if(eq(n,\(rate / 2)),0.9,0)':s=\(rate):d=1", rate: rate)
    let filters = AudioFilterKind.allCases.filter { $0 != .delay && $0 != .lowPass }.map { kind in
      AudioFilter(kind, kind.parameters.map { $0.standard ?? ($0.key == "frequency" ? Double(rate) / 100 : 6) })
    }
    for chain in filters.map({ [$0] }) + [[filters[0], .denoise(reduction: 6, floor: -60), filters[1]]] {
      let track = PlannedAudioTrack(volume: .one, clips: [try whole(seconds: 1)], filters: chain)
      let rendered = try fixture.render(task([path], seconds: 1, rate: rate, [track]))
      let loudest = rendered.indices.max { abs(rendered[$0]) < abs(rendered[$1]) }
      #expect(loudest.map { $0 / 2 } == rate / 2, "\(chain.map(\.kind)) at \(rate) Hz")
    }
  }

  @Test func `a filter of a clip begins with the clip`() throws {
    let path = try file("tone.wav", "aevalsrc=0.25:s=48000:d=4")
    let range = try AudioFixture.range(MediaTime(1), MediaTime(2))
    let clip = PlannedAudioClip(
      source: 0, sourceRange: range, targetRange: try AudioFixture.range(MediaTime(1, 2), MediaTime(3, 2)),
      filters: [.delay(time: 0.25)])
    let rendered = try fixture.render(task([path], seconds: 3, [PlannedAudioTrack(volume: .one, clips: [clip])]))
    let sounding = rendered.indices.filter { rendered[$0] != 0 }
    #expect(sounding == Array(2 * 36_000..<2 * 72_000))
  }

  @Test func `a pan turns down the other side as ffmpeg's balance does`() throws {
    let path = try file("noise.wav", "anoisesrc=r=48000:d=2:a=0.5:seed=8")
    let samples = try Tool.ffmpeg(["-i", path, "-f", "s24le", "-"]).samples24
    for pan in [-1, -0.4, 0.75] {
      let list = try RampList.constant(pan)
      let (left, right) = (1 - max(0, pan), 1 + min(0, pan))
      for track in [
        PlannedAudioTrack(volume: .one, clips: [try whole(seconds: 2)], pan: list),
        PlannedAudioTrack(volume: .one, clips: [try whole(seconds: 2, pan: list)]),
      ] {
        let rendered = try fixture.render(task([path], seconds: 2, [track]))
        let worst = rendered.indices.map {
          abs(Double(rendered[$0]) - Double(samples[$0]) * ($0 % 2 == 0 ? left : right))
        }.max()
        #expect((worst ?? .infinity) <= 1)
      }
      let judged = try Tool.ffmpeg([
        "-i", path, "-af", "stereotools=balance_out=\(pan)", "-c:a", "pcm_s24le", "-f", "s24le", "-",
      ]).samples24
      let task = try task([path], seconds: 2, [PlannedAudioTrack(volume: .one, clips: [whole(seconds: 2)], pan: list)])
      #expect((zip(try fixture.render(task), judged).map { abs($0 - $1) }.max() ?? .max) <= 2)
    }
  }

  @Test func `a ramp of pan is accurate to the sample`() throws {
    let path = try file("level.wav", "aevalsrc=0.5:s=48000:d=2")
    let level = try Tool.ffmpeg(["-i", path, "-f", "s24le", "-"]).samples24[0]
    let ramp = Ramp(over: try AudioFixture.range(MediaTime(1, 2), MediaTime(3, 2)), from: -1, to: 1)
    let list = RampList(try RampList.constant(-1).ramps + [ramp])
    let rendered = try fixture.render(
      task([path], seconds: 2, [PlannedAudioTrack(volume: .one, clips: [whole(seconds: 2)], pan: list)]))
    for sample in stride(from: 0, to: 96_000, by: 7) {
      let pan = min(1, max(-1, Double(sample - 24_000) / 48_000 * 2 - 1))
      #expect(abs(Double(rendered[sample * 2]) - Double(level) * (1 - max(0, pan))) <= 1)
      #expect(abs(Double(rendered[sample * 2 + 1]) - Double(level) * (1 + min(0, pan))) <= 1)
    }
  }

  @Test func `a pan leaves the middle of a surround sound alone`() {
    #expect((0..<6).map { PanCurve.side(ofChannel: $0, of: 6) } == [1, -1, 0, 0, 1, -1])
    #expect((0..<8).map { PanCurve.side(ofChannel: $0, of: 8) } == [1, -1, 0, 0, 1, -1, 1, -1])
    #expect(PanCurve.side(ofChannel: 0, of: 1) == 0)
  }

  @Test func `a track is lowered while another is heard`() throws {
    let music = try file("music.wav", "aevalsrc=0.5:s=48000:d=6")
    let voice = try file("voice.wav", "aevalsrc='if(between(t,2,3),0.3*sin(2*PI*1000*t),0)':s=48000:d=6")
    let levels = DuckingLevels(by: -12, threshold: -30, attack: 0.1, hold: 0.25, release: 0.5)
    let tracks = [
      PlannedAudioTrack(
        volume: .one, clips: [try whole(0, seconds: 6)], ducking: PlannedDucking(under: 1, levels: levels)),
      PlannedAudioTrack(volume: .one, clips: [try whole(1, seconds: 6)]),
    ]
    let rendered = try fixture.render(task([music, voice], seconds: 6, tracks))
    let level = try Double(Tool.ffmpeg(["-i", music, "-f", "s24le", "-"]).samples24[0])
    let spoken = try Tool.ffmpeg(["-i", voice, "-f", "s24le", "-"]).samples24.map(Double.init)
    let (threshold, gain) = (pow(10, -30.0 / 20), pow(10, -12.0 / 20))
    var (position, held, worst) = (0.0, 0, 0.0)
    for sample in 0..<6 * 48000 {
      held = abs(spoken[sample * 2]) / 8_388_608 >= threshold ? 12_001 : max(0, held - 1)
      position = held > 0 ? min(1, position + 1 / 4800) : max(0, position - 1 / 24000)
      let expected = level * (1 + (gain - 1) * position) + spoken[sample * 2]
      worst = max(worst, abs(Double(rendered[sample * 2]) - expected))
    }
    #expect(worst <= 3)
    #expect(abs(Double(rendered[2 * 5 * 48000]) - level) <= 1)
  }

  /// What ffmpeg measures of a sound of 24 bits in stereo at 48 kHz.
  private func measure(_ samples: [Int32]) throws -> (loudness: Double, truePeak: Double) {
    let path = fixture.folder.path("measured.s32")
    try samples.map { ($0 << 8).littleEndian }.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: path))
    return try measure(file: ["-f", "s32le", "-ar", "48000", "-ac", "2", "-i", path])
  }

  /// What ffmpeg measures of an input, which is given as its options.
  private func measure(file input: [String]) throws -> (loudness: Double, truePeak: Double) {
    let log = try Tool.run(
      "ffmpeg",
      ["-nostdin", "-hide_banner"] + input + ["-af", "ebur128=peak=true:framelog=verbose", "-f", "null", "-"]
    ).log
    let summary = try #require(log.components(separatedBy: "Summary:").last)
    func number(after label: String) throws -> Double {
      let text = summary.components(separatedBy: label).dropFirst().first?.split(separator: " ").first
      return try #require(text.flatMap { Double($0) })
    }
    return (try number(after: "I:"), try number(after: "Peak:"))
  }

  @Test(arguments: [
    ("anoisesrc=r=48000:d=8:a=0.02:seed=4:c=pink", -23.0, -1.0),
    ("aevalsrc='0.05*sin(2*PI*220*t)+if(lt(mod(t,1),0.01),0.8*sin(2*PI*3000*t),0)':s=48000:d=8", -16, -1.5),
    ("anoisesrc=r=48000:d=8:a=0.9:seed=6:c=brown,tremolo=f=1:d=0.8", -14, -2),
  ])
  func theMixHasTheLoudnessAndKeepsTheTruePeak(_ source: String, _ target: Double, _ truePeak: Double) throws {
    let path = try file("source.wav", source)
    let loudness = LoudnessTarget(target: target, truePeak: truePeak)
    let found = try measure(
      fixture.render(
        task([path], seconds: 8, loudness: loudness, [PlannedAudioTrack(volume: .one, clips: [whole(seconds: 8)])])))
    #expect(abs(found.loudness - target) <= 0.2)
    #expect(found.truePeak <= truePeak + 0.15)
  }

  /// A task's sound in a file, as it is exported.
  private func file(_ task: AudioMixdown, in container: Container) throws -> String {
    let (header, packets) = try Pieces.read(fixture.piece(task))
    let name = "encoded.\(container.rawValue)"
    let made = try fixture.folder.create(name)
    let muxer = try FileMuxer(
      descriptor: made.fileDescriptor, name: name, container: container,
      tracks: [
        FileMuxer.Track(
          header: header, packetCount: packets.count,
          duration: MediaTime(task.sampleCount, Int32(task.encoder.sampleRate)))
      ], indexFirst: false, metadata: [:])
    for packet in packets { try muxer.write(packet, track: 0) }
    try muxer.finish()
    return fixture.folder.path(name)
  }

  /// Whether this is a run of `make exactness`, whose sounds are longer.
  private static let isExhaustive = ProcessInfo.processInfo.environment["SHEAF_EXACTNESS"] != nil

  private static let encodings: [(AudioCodec, Int, Container)] = TestExtent.of(
    [(.aac, 64_000, .m4a), (.opus, 64_000, .ogg), (.mp3, 128_000, .mp3)],
    whole: [(.aac, 64_000, .m4a), (.aac, 128_000, .m4a), (.opus, 64_000, .ogg), (.mp3, 128_000, .mp3)])

  /// The encoders alone make the peaks of this sound up to 1.6 dB higher, and LAME makes it 0.5 LU quieter.
  @Test(arguments: encodings)
  func `the encoded sound has the loudness and keeps the true peak`(
    _ codec: AudioCodec, _ bitRate: Int, _ container: Container
  )
    throws
  {
    let path = try file("source.wav", "anoisesrc=r=48000:d=8:a=0.9:seed=6:c=pink,tremolo=f=5:d=0.95,lowpass=f=3000")
    let seconds: Int64 = Self.isExhaustive ? 8 : 4
    var task = try task(
      [path], seconds: seconds, loudness: LoudnessTarget(target: -13, truePeak: -2),
      [PlannedAudioTrack(volume: .one, clips: [whole(seconds: seconds)])])
    task.encoder = AudioSettings(codec: codec, bitRate: bitRate, sampleRate: 48000, channels: 2)
    let found = try measure(file: ["-i", file(task, in: container)])
    #expect(abs(found.loudness - -13) <= 0.25)
    #expect(found.truePeak <= -2 + 0.15)
  }

  /// libavcodec's AAC makes some peaks of this sound nearly 3 dB higher, so that it has to be limited by more than
  /// would be done for its target alone.
  @Test func `the encoded sound has the loudness where all of the limiter is needed`() throws {
    let trailer = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Examples/media/big-buck-bunny-trailer.mp4").path
    let path = fixture.folder.path("source.wav")
    let seconds: Int64 = Self.isExhaustive ? 20 : 8
    _ = try Tool.ffmpeg(["-ss", "8", "-i", trailer, "-t", "\(seconds)", "-vn", "-ac", "2", "-ar", "44100", path])
    var task = try task(
      [path], seconds: seconds, rate: 44100, loudness: LoudnessTarget(target: -10, truePeak: -1),
      [PlannedAudioTrack(volume: .one, clips: [whole(seconds: seconds)])])
    task.encoder = AudioSettings(codec: .aac, bitRate: 128_000, sampleRate: 44100, channels: 2)
    let found = try measure(file: ["-i", file(task, in: .m4a)])
    #expect(abs(found.loudness - -10) <= 0.25)
    #expect(found.truePeak <= -1 + 0.15)
  }

  /// The blocks of EBU R 128 are counted from the first sample that is heard. This sound has one block, and nearly all
  /// of its loudness is in the last 20 ms.
  @Test(arguments: [(AudioCodec.aac, Container.m4a), (.opus, .ogg), (.mp3, .mp3)])
  func `what an encoder adds is not measured`(_ codec: AudioCodec, _ container: Container) throws {
    let burst = try file("burst.wav", "aevalsrc='sin(2*PI*700*t)*(0.02+0.5*between(t,0.38,0.4))':s=48000:d=1")
    var task = try task(
      [burst], seconds: 1, loudness: LoudnessTarget(target: -26, truePeak: -1),
      [PlannedAudioTrack(volume: .one, clips: [whole(seconds: 1)])])
    task.sampleCount = 19_200
    task.encoder = AudioSettings(codec: codec, bitRate: 128_000, sampleRate: 48000, channels: 1)
    let found = try measure(file: ["-i", file(task, in: container)])
    #expect(abs(found.loudness - -26) <= 0.3, "\(found)")
  }

  /// Real files: speech, music and noise of several codecs, rates and channels.
  private static let realFiles: [String] = {
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let named = ProcessInfo.processInfo.environment["SHEAF_SHARED_MEDIA"].map { URL(fileURLWithPath: $0) }
    let shared = named ?? repository.deletingLastPathComponent().appendingPathComponent("shared/media")
    let names = [
      "gh-WyattBlue+auto-editor/example.mp4", "gh-meta-pytorch+torchcodec/test/resources/nasa_13013.mp4",
      "pypi-iscc_samples-0.6.0/iscc_samples/files/audio/demo.ogg", "gh-Eyevinn+mp4ff/mp4/testdata/bbb_prog_10s.mp4",
      "gh-mdn+interactive-examples/live-examples/media/cc0-audio/t-rex-roar.mp3",
      "gh-mdn+interactive-examples/live-examples/media/cc0-videos/friday.mp4",
      "pypi-iscc_samples-0.6.0/iscc_samples/files/video/demo.mkv",
      "timelines-tlRender/etc/SampleData/PSR63_2012-06-02.mov", "gh-WyattBlue+auto-editor/resources/mono.mp3",
      "gh-mdn+interactive-examples/live-examples/media/examples/stream-of-water.webm",
    ]
    return names.map { shared.appendingPathComponent($0).path }.filter { FileManager.default.fileExists(atPath: $0) }
  }()

  @Test(.enabled(if: !realFiles.isEmpty, "there is no SHEAF_SHARED_MEDIA and no ../shared/media"), arguments: realFiles)
  func `a real file gets the loudness`(_ path: String) throws {
    let description = try AssetProbe.probe(openSource(path), name: path)
    let length = try #require(description.defaultTrack(.audio)).range.duration
    let seconds = max(1, min(Self.isExhaustive ? 15 : 6, Int64(length.approximateSeconds)))
    let clips = [try whole(seconds: seconds)]
    for loudness in [LoudnessTarget(target: -16, truePeak: -1), LoudnessTarget(target: -23, truePeak: -2)] {
      let found = try measure(
        fixture.render(
          task([path], seconds: seconds, loudness: loudness, [PlannedAudioTrack(volume: .one, clips: clips)])))
      #expect(abs(found.loudness - loudness.target) <= 0.3)
      #expect(found.truePeak <= loudness.truePeak + 0.2)
    }
  }

  @Test func `a gain alone is used where it is enough`() throws {
    var measured = 0
    let found = try Mastering.find(LoudnessTarget(target: -23, truePeak: -1)) { (mastering) throws(RenderError) in
      measured += 1
      let meter = try LoudnessMeter(sampleRate: 48000, channels: 1)
      let block = SampleBlock(channels: 1, capacity: 48000)
      for index in 0..<48000 { block.row(0)[index] = Float(0.1 * sin(2 * .pi * 997 * Double(index) / 48000)) }
      for _ in 0..<3 { try meter.add(block, count: 48000) }
      return meter
    }
    #expect(measured == 1)
    #expect(found.mastering.ceiling == nil)
    // A sine of 997 Hz at -20 dBFS in one channel has -23 LUFS.
    #expect(abs(found.mastering.gain) < 0.1)
  }

  /// Two seconds of a tone in one channel, at a level in decibels of full scale.
  private func meter(level: Double, withPeak: Bool = false) throws(RenderError) -> LoudnessMeter {
    let meter = try LoudnessMeter(sampleRate: 48000, channels: 1)
    let block = SampleBlock(channels: 1, capacity: 48000)
    for index in 0..<48000 {
      block.row(0)[index] = Float(pow(10, level / 20) * sin(2 * .pi * 997 * Double(index) / 48000))
    }
    if withPeak { block.row(0)[1000] = 0.9 }
    for _ in 0..<2 { try meter.add(block, count: 48000) }
    return meter
  }

  @Test func `what is used was measured and is the nearest to the target`() throws {
    // Behind this limiter the loudness is never nearer to the target than 0.5 LU, and that once.
    let missing = [-3, 4, 0.5, -2, 4, -2, 4, -2]
    var measured: [Mastering] = []
    let found = try Mastering.find(LoudnessTarget(target: -23, truePeak: -1)) { (mastering) throws(RenderError) in
      measured.append(mastering)
      return measured.count == 1
        ? try self.meter(level: -40, withPeak: true) : try self.meter(level: -20 - missing[measured.count - 2])
    }
    try #require(measured.count == Mastering.greatestPasses)
    #expect(found.mastering == measured[3])
    #expect(abs((found.loudness ?? 0) - -23.5) < 0.1)
  }

  /// A tone at -20 dBFS in one channel has -23 LUFS.
  @Test func `what a codec takes away is added also where the mix is below the target`() throws {
    func found(_ loudness: Double) -> Mastering.Found {
      Mastering.Found(mastering: Mastering(gain: loudness, ceiling: -1), loudness: loudness, truePeak: -1)
    }
    func target(_ step: EncodedLoudness.Step) throws -> LoudnessTarget {
      guard case .search(let target, _) = step else { throw RenderError(.task, "no search: \(step)") }
      return target
    }
    // The mix has only -23 LUFS of -16, and is as loud as it can be: the codec's output should be as loud.
    var search = EncodedLoudness(LoudnessTarget(target: -16, truePeak: -1))
    #expect(try abs(target(search.next(after: found(-23), heard: meter(level: -22))).target - -21) < 0.1)
    if case .accepted = try search.next(after: found(-24), heard: meter(level: -20)) {
    } else {
      Issue.record("what is as loud as the mix was not accepted")
    }
    // Peaks that are too high at first, then a mix that is too quiet with lower ones: it is searched for further.
    search = EncodedLoudness(LoudnessTarget(target: -23, truePeak: -19))
    let second = try target(search.next(after: found(-23), heard: meter(level: -18)))
    #expect(abs(second.truePeak - -20) < 0.1 && abs(second.target - -25) < 0.1)
    let third = try target(search.next(after: found(-26), heard: meter(level: -21)))
    #expect(abs(third.truePeak - -20) < 0.1 && abs(third.target - -24) < 0.1)
    #expect(search.hasTried(found(-26.0001).mastering) && !search.hasTried(found(-25).mastering))
  }

  @Test func `the highest peaks of a codec are lowered at their places too`() throws {
    let meter = try LoudnessMeter(sampleRate: 48000, channels: 1, initialPadding: 1024, sampleCount: 90_000)
    let block = SampleBlock(channels: 1, capacity: 48000)
    for index in 0..<48000 { block.row(0)[index] = Float(0.05 * sin(2 * .pi * 997 * Double(index) / 48000)) }
    // Of the sound's own samples it is one of the third block.
    block.row(0)[1024 + 2500] = 0.4
    try meter.add(block, count: 48000)
    block.row(0)[1024 + 2500] = 0
    try meter.add(block, count: 48000)
    let peaks = meter.blockPeaks
    #expect(peaks.firstIndex(of: peaks.max() ?? 0) == 2 && peaks.count == (90_000 + 1023) / 1024)
    var search = EncodedLoudness(LoudnessTarget(target: -29, truePeak: -20))
    let found = Mastering.Found(mastering: Mastering(gain: 0), loudness: -29, truePeak: -20)
    guard case .search(let target, let dips) = search.next(after: found, heard: meter) else {
      Issue.record("peaks that are too high were accepted")
      return
    }
    let over = 20 * log10(peaks[2]) + 20
    #expect(abs(target.truePeak - (-20 - over / 2)) < 0.2, "\(target), \(over)")
    #expect(dips.keys.sorted() == [2], "\(dips)")
    #expect(abs((dips[2] ?? 0) - over / 2) < 0.2)
  }

  @Test func `a dip lowers its block and comes from and goes to the sound's own level`() throws {
    let dips = Dips(decibels: [10: 6, 11: 3])
    var levels: [Double] = []
    // Whatever the blocks in which the sound is mixed.
    for start in stride(from: 0, to: 20 * 1024, by: 700) {
      let block = SampleBlock(channels: 2, capacity: 700)
      for index in 0..<700 { (block.row(0)[index], block.row(1)[index]) = (1, -1) }
      dips.apply(to: block, start..<(start + 700))
      for index in 0..<700 {
        #expect(block.row(0)[index] == -block.row(1)[index])
        levels.append(20 * log10(Double(block.row(0)[index])))
      }
    }
    #expect(
      levels[..<(10 * 1024 - 1536)].allSatisfy { $0 == 0 } && levels[(12 * 1024 + 1536)...].allSatisfy { $0 == 0 })
    #expect(levels[(10 * 1024)..<(11 * 1024)].allSatisfy { abs($0 - -6) < 0.001 })
    #expect(levels[(12 * 1024)..<(12 * 1024 + 512)].allSatisfy { abs($0 - -3) < 0.001 })
    #expect(zip(levels, levels.dropFirst()).allSatisfy { abs($0 - $1) < 0.01 })
  }

  @Test func `silence and sound that is too short stay as they are`() throws {
    var passes = 0
    let found = try Mastering.find(LoudnessTarget(target: -16)) { (mastering) throws(RenderError) in
      passes += 1
      return try self.meter(level: -.infinity)
    }
    #expect(found.mastering == Mastering() && found.loudness == nil && passes == 1)
    let path = try file("tone.wav", "sine=f=440:d=1")
    var short = try task([path], seconds: 1, [PlannedAudioTrack(volume: .one, clips: [whole(seconds: 1)])])
    short.sampleCount = 14_400
    let plain = try fixture.render(short)
    short.loudness = LoudnessTarget(target: -16)
    let isSame = try fixture.render(short) == plain
    #expect(isSame && plain.contains { $0 != 0 })
  }

  @Test func `the meter weights the speakers of a surround sound as ffmpeg does`() throws {
    // One channel of eight is heard at a time: the one at the bottom is not measured, and those at the sides and the
    // back count more.
    for channel in TestExtent.of([0, 3, 4, 6], whole: Array(0..<8)) {
      let path = fixture.folder.path("channel\(channel).wav")
      let channels = (0..<8).map { "\($0 == channel ? "0.2*sin(2*PI*997*t)" : "0")" }.joined(separator: "|")
      _ = try Tool.ffmpeg([
        "-f", "lavfi", "-i", "aevalsrc='\(channels)':c=7.1:s=48000:d=2", "-c:a", "pcm_s24le", path,
      ])
      let log = try Tool.run(
        "ffmpeg", ["-nostdin", "-hide_banner", "-i", path, "-af", "ebur128=framelog=verbose", "-f", "null", "-"]
      ).log
      let text = log.components(separatedBy: "Summary:").last?.components(separatedBy: "I:").dropFirst().first
      let judged = try #require(text?.split(separator: " ").first.flatMap { Double($0) })
      let meter = try LoudnessMeter(sampleRate: 48000, channels: 8)
      let block = SampleBlock(channels: 8, capacity: 48000)
      block.clear(0, 48000)
      for index in 0..<48000 { block.row(channel)[index] = Float(0.2 * sin(2 * .pi * 997 * Double(index) / 48000)) }
      for _ in 0..<2 { try meter.add(block, count: 48000) }
      // ffmpeg prints -70 for silence.
      #expect(abs((meter.integrated ?? -70) - judged) <= 0.1, "channel \(channel)")
    }
  }

  @Test func `a tone cut at random places has no clicks`() throws {
    let path = try file("tone.wav", "sine=f=440:r=44100:d=20,volume=0.5", rate: 44100)
    var random = SeededRandom(seed: 200)
    let cuts = (0..<200).map { _ in Int64.random(in: 1..<19_999_999, using: &random) }.sorted()
    var clips: [PlannedAudioClip] = []
    for (start, end) in zip([0] + cuts, cuts + [20_000_000]) where start < end {
      let range = try AudioFixture.range(MediaTime(start, 1_000_000), MediaTime(end, 1_000_000))
      clips.append(PlannedAudioClip(source: 0, sourceRange: range, targetRange: range))
    }
    for rate in [44100, 48000] {
      let whole = try fixture.render(
        task([path], seconds: 20, rate: rate, [PlannedAudioTrack(volume: .one, clips: [whole(seconds: 20)])]))
      let cut = try fixture.render(
        task([path], seconds: 20, rate: rate, [PlannedAudioTrack(volume: .one, clips: clips)]))
      if rate == 44100 {
        #expect(cut == whole)
        continue
      }
      func roughness(_ samples: [Int32]) -> Int32 {
        (4..<samples.count).map { abs(samples[$0] - 2 * samples[$0 - 2] + samples[$0 - 4]) }.max() ?? .max
      }
      // Of the full scale of 2^23, a conversion may begin half a 320th of a sample beside its place.
      #expect(roughness(cut) < roughness(whole) + 1200, "\(roughness(cut)), \(roughness(whole))")
    }
  }
}
