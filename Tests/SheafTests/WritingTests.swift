import Foundation
import Sheaf
import TestPrograms
import Testing

@Suite(.ownThreads) struct WritingTests {
  private let folder: TemporaryFolder
  private let size = PixelSize(width: 64, height: 48)

  init() throws { folder = try TemporaryFolder() }

  private func url(_ name: String) -> URL { folder.url.appendingPathComponent(name) }

  /// A grey picture.
  private func grey(_ level: UInt8, _ pool: PixelBufferPool) -> PixelBuffer {
    pool.makeBuffer { picture in
      for plane in PixelPlane.allCases where plane != .alpha {
        picture.withMutableSamples(of: plane, as: UInt8.self) { samples, _ in
          for index in samples.indices { samples[index] = plane == .luma ? level : 128 }
        }
      }
    }
  }

  /// The luma of the first pixel of each frame.
  private func levels(_ url: URL) throws -> [UInt8] {
    let decoded = try Tool.ffmpeg("-i", url.path, "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
    return stride(from: 0, to: decoded.count, by: 64 * 48 * 3 / 2).map { decoded[$0] }
  }

  private func time(_ value: Int64, _ scale: Int32 = 25) -> MediaTime { MediaTime(value: value, timescale: scale) }

  @Test func `a film has the pictures and the sound that were appended`() async throws {
    let writer = try AssetWriter(to: url("film.mkv"), metadata: ["title": "Grey"])
    let pictures = try await writer.addVideo(.init(codec: .ffv1), size: size, frameDuration: time(1))
    let sound = try await writer.addAudio(.init(codec: .flac), sampleRate: 48000, channels: 1)
    for index in 0..<10 { try await pictures.append(grey(UInt8(20 * index), pictures.pool), at: time(Int64(index))) }
    let samples = (0..<19200).map { Float(($0 * 37) % 20001 - 10000) / 32768 }
    // In parts that are no whole frames of the encoder.
    for start in stride(from: 0, to: samples.count, by: 1000) {
      let part = Array(samples[start..<min(start + 1000, samples.count)])
      try await sound.append(AudioSample(position: Int64(start), sampleRate: 48000, channels: [part]))
    }
    #expect(!FileManager.default.fileExists(atPath: url("film.mkv").path))
    let film = try await writer.finish()
    #expect(film.frames == 10)
    #expect(film.samples == 19200)
    #expect(try levels(url("film.mkv")) == (0..<10).map { UInt8(20 * $0) })
    let decoded = try Tool.ffmpeg("-i", film.url.path, "-map", "0:a", "-f", "s16le", "-").withUnsafeBytes {
      Array($0.bindMemory(to: Int16.self))
    }
    #expect(decoded == samples.map { Int16($0 * 32768) })
    #expect(
      try Tool.ffprobe("-show_entries", "format_tags=title", film.url.path).contains { $0.last == "Grey" })
    await #expect(throws: SheafError(.misuse, "the film is finished")) { try await writer.finish() }
  }

  @Test(arguments: ["film.mov", "film.mp4", "film.mkv"])
  func `the tracks state their languages and titles`(name: String) async throws {
    let writer = try AssetWriter(to: url(name))
    let video = ExportSettings.Video(codec: .h264, language: "eng", title: "Cut")
    let pictures = try await writer.addVideo(video, size: size, frameDuration: time(1))
    let sound = try await writer.addAudio(
      .init(codec: .aac, language: "haw", title: "Kommentar"), sampleRate: 48000, channels: 1)
    try await pictures.append(grey(80, pictures.pool), at: .zero)
    try await sound.append(AudioSample(position: 0, sampleRate: 48000, channels: [[Float](repeating: 0, count: 1920)]))
    let film = try await writer.finish()
    #expect(
      try Tool.ffprobe("-show_entries", "stream_tags=language,title,handler_name", film.url.path)
        == [["eng", "Cut"], ["haw", "Kommentar"]])
    do {
      let wav = try AssetWriter(to: url("sound.wav"))
      _ = try await wav.addAudio(.init(language: "eng"), sampleRate: 48000, channels: 1)
      Issue.record("wav has no languages of tracks")
    } catch {
      #expect(error.problems.map(\.pointer) == ["/export/audio/language"])
    }
  }

  @Test func `the rotation is written and impossible metadata is reported`() async throws {
    let writer = try AssetWriter(to: url("film.mov"))
    let pictures = try await writer.addVideo(.init(codec: .h264, rotation: 90), size: size, frameDuration: time(1))
    try await pictures.append(grey(80, pictures.pool), at: .zero)
    let film = try await writer.finish()
    let turned = try Tool.ffprobe("-show_entries", "stream_side_data=rotation", film.url.path)
    #expect(turned.contains { $0.last == "-90" }, "\(turned)")
    let sound = try AssetWriter(to: url("sound.wav"), metadata: ["mood": "grey"])
    do {
      _ = try await sound.addAudio(sampleRate: 48000, channels: 1)
      Issue.record("wav has no field for a mood")
    } catch {
      #expect(error.problems.map(\.pointer) == ["/export/metadata/mood"])
    }
  }

  /// Pictures are stored in the size in which they are appended.
  @Test func `the shape of pixels and the clean aperture are written`() async throws {
    let writer = try AssetWriter(to: url("film.mov"))
    let aperture = PixelRect(x: 4, y: 2, size: PixelSize(width: 52, height: 44))
    let pictures = try await writer.addVideo(
      .init(codec: .h264, pixelAspect: AspectRatio(horizontal: 12, vertical: 11), cleanAperture: aperture), size: size,
      frameDuration: time(1))
    try await pictures.append(grey(80, pictures.pool), at: .zero)
    let film = try await writer.finish()
    let shape = try Tool.ffprobe("-show_entries", "stream=width,height,sample_aspect_ratio", film.url.path)
    #expect(shape == [["\(size.width)", "\(size.height)", "12:11"]])
    let written = try await Asset(film.url).contents.tracks.first?.video
    #expect(written?.cleanAperture == aperture)
    let outside = PixelRect(x: 40, y: 0, size: PixelSize(width: 30, height: 48))
    let other = try AssetWriter(to: url("other.mov"))
    do {
      _ = try await other.addVideo(.init(codec: .h264, cleanAperture: outside), size: size, frameDuration: time(1))
      Issue.record("the clean aperture is not within the pictures")
    } catch {
      #expect(error.problems.map(\.pointer) == ["/export/video/cleanAperture"])
    }
  }

  @Test func `times of another clock are refused before they fill the disk`() async throws {
    let writer = try AssetWriter(to: url("film.mkv"))
    let pictures = try await writer.addVideo(.init(codec: .ffv1), size: size, frameDuration: time(1))
    let sound = try await writer.addAudio(.init(codec: .pcm, bitDepth: 16), sampleRate: 8000, channels: 1)
    // A machine that has run for 20 hours.
    let now: Int64 = 72_000
    let silence = [[Float](repeating: 0, count: 800)]
    func refusal(_ append: () async throws -> Void) async -> String {
      do {
        try await append()
        return "none"
      } catch {
        return "\(error)"
      }
    }
    let early = await refusal { try await pictures.append(grey(1, pictures.pool), at: time(25 * now)) }
    #expect(early.contains("the first picture is at 72000 s") && early.contains("startSession(at:)"), "\(early)")
    let sample = AudioSample(position: 8000 * now, sampleRate: 8000, channels: silence)
    let earlySound = await refusal { try await sound.append(sample) }
    #expect(earlySound.contains("the first sample is at 72000 s"), "\(earlySound)")
    try await writer.startSession(at: time(25 * now))
    try await pictures.append(grey(1, pictures.pool), at: time(25 * now))
    try await sound.append(sample)
    let late = await refusal { try await pictures.append(grey(2, pictures.pool), at: time(25 * (now + 90_000))) }
    #expect(late.contains("162000 s") && late.contains("at most a day"), "\(late)")
    let lateSound = await refusal {
      try await sound.append(
        AudioSample(position: 8000 * (now + 90_000), sampleRate: 8000, channels: silence))
    }
    #expect(lateSound.contains("162000 s") && lateSound.contains("at most a day"), "\(lateSound)")
    try await pictures.append(grey(2, pictures.pool), at: time(25 * now + 1))
    let film = try await writer.finish()
    #expect(film.frames == 2)
    #expect(try levels(film.url) == [1, 2])
  }

  @Test func `a session trims what is before and after it`() async throws {
    let writer = try AssetWriter(to: url("film.mkv"))
    let pictures = try await writer.addVideo(.init(codec: .ffv1), size: size, frameDuration: time(1))
    let sound = try await writer.addAudio(.init(codec: .pcm, bitDepth: 16), sampleRate: 8000, channels: 1)
    try await writer.startSession(at: time(2))
    try await writer.endSession(at: time(7))
    // A cadence of its own: each frame shows the last picture that is not later.
    for (tick, level) in [(0, 10), (3, 20), (6, 30), (11, 40), (20, 50)] as [(Int64, UInt8)] {
      try await pictures.append(grey(level, pictures.pool), at: time(tick, 50))
    }
    try await sound.append(
      AudioSample(position: 0, sampleRate: 8000, channels: [(0..<4000).map { Float($0) / 32768 }]))
    let film = try await writer.finish()
    #expect(film.frames == 5)
    // At 4, 6, 8, 10 and 12 fiftieths.
    #expect(try levels(url("film.mkv")) == [20, 30, 30, 30, 40])
    let decoded = try Tool.ffmpeg("-i", film.url.path, "-map", "0:a", "-f", "s16le", "-").withUnsafeBytes {
      Array($0.bindMemory(to: Int16.self))
    }
    #expect(decoded == (640..<2240).map { Int16($0) })
  }

  @Test func `a gap in the sound is silence, and an overlap is left out`() async throws {
    let writer = try AssetWriter(to: url("sound.wav"))
    let sound = try await writer.addAudio(sampleRate: 8000, channels: 2)
    func append(_ position: Int64, _ level: Float, _ count: Int) async throws {
      let row = Array(repeating: level, count: count)
      try await sound.append(AudioSample(position: position, sampleRate: 8000, channels: [row, row.map { -$0 }]))
    }
    try await append(0, 0.25, 10)
    try await append(20, 0.5, 10)
    try await append(25, 1, 10)
    #expect(try await writer.finish().samples == 35)
    let decoded = try Tool.ffmpeg("-i", url("sound.wav").path, "-f", "s16le", "-").withUnsafeBytes {
      Array($0.bindMemory(to: Int16.self))
    }
    let left = Array(repeating: 8192, count: 10) + Array(repeating: 0, count: 10) + Array(repeating: 16384, count: 10)
    #expect(stride(from: 0, to: 60, by: 2).map { Int(decoded[$0]) } == left)
    #expect(decoded[1] == -8192)
    #expect(Array(decoded.suffix(2)) == [32767, -32768])
  }

  @Test func `a cancelled film leaves nothing`() async throws {
    let writer = try AssetWriter(to: url("film.mp4"))
    let pictures = try await writer.addVideo(size: size, frameDuration: time(1))
    try await pictures.append(grey(1, pictures.pool), at: .zero)
    await writer.cancel()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [])
    await #expect(throws: SheafError(.cancelled, "the writing was cancelled")) {
      try await pictures.append(grey(1, pictures.pool), at: time(1))
    }
  }

  @Test(.timeLimit(.minutes(10)), arguments: [0, 1, 40])
  func `a film of AV1 is cancelled at any picture`(_ count: Int) async throws {
    let writer = try AssetWriter(to: url("film.mkv"))
    let size = PixelSize(width: 64, height: 64)
    let pictures = try await writer.addVideo(.init(codec: .av1, preset: "12"), size: size, frameDuration: time(1))
    for index in 0..<count { try await pictures.append(grey(1, pictures.pool), at: time(Int64(index))) }
    await writer.cancel()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [])
  }

  @Test(.timeLimit(.minutes(10))) func `writers of AV1 wait for each other`() async throws {
    let size = PixelSize(width: 64, height: 64)
    let one = try AssetWriter(to: url("one.mkv"))
    let pictures = try await one.addVideo(.init(codec: .av1, preset: "12"), size: size, frameDuration: time(1))
    let impatient = Task { [url = url("two.mkv"), time = time(1)] in
      try await AssetWriter(to: url).addVideo(.init(codec: .av1), size: size, frameDuration: time)
    }
    impatient.cancel()
    await #expect(throws: SheafError(.cancelled, "cancelled")) { try await impatient.value }
    // Cancelled by itself while its input waits.
    let two = try AssetWriter(to: url("two.mkv"))
    let waiting = Task { [time = time(1)] in
      try await two.addVideo(.init(codec: .av1), size: size, frameDuration: time)
    }
    await two.cancel()
    try await pictures.append(grey(1, pictures.pool), at: .zero)
    #expect(try await one.finish().frames == 1)
    await #expect(throws: SheafError(.cancelled, "the writing was cancelled")) { try await waiting.value }
    let three = try AssetWriter(to: url("three.mkv"))
    _ = try await three.addVideo(.init(codec: .av1), size: size, frameDuration: time(1))
    await three.cancel()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["one.mkv"])
  }

  /// With these lengths LAME's last packet has nothing but padding, and libavcodec states the time of samples for it.
  @Test(arguments: [(8000, 1, 3481), (11025, 2, 6379), (22050, 2, 3503), (44100, 2, 5000)])
  func `sound of any length is written as MP3`(_ rate: Int, _ channels: Int, _ count: Int) async throws {
    let writer = try AssetWriter(to: url("sound.mp3"))
    let sound = try await writer.addAudio(sampleRate: rate, channels: channels)
    let row = (0..<count).map { sin(Float($0) / 7) / 2 }
    try await sound.append(
      AudioSample(position: 0, sampleRate: rate, channels: Array(repeating: row, count: channels)))
    #expect(try await writer.finish().samples == Int64(count))
    let decoded = try Tool.ffmpeg("-i", url("sound.mp3").path, "-f", "s16le", "-")
    #expect(decoded.count == 2 * channels * count)
  }

  @Test(arguments: [0.25, 1, 2]) func `Material Exchange has sound beside pictures`(_ part: Double) async throws {
    let alone = try AssetWriter(to: url("film.mxf"))
    try await alone.addAudio(sampleRate: 48000, channels: 1)
      .append(AudioSample(position: 0, sampleRate: 48000, channels: [[0]]))
    await #expect(throws: SheafError(.misuse, "mxf has no sound without pictures")) { try await alone.finish() }
    await alone.cancel()

    // The sound may be added first. It is silent to the end of the pictures, and no longer.
    let writer = try AssetWriter(to: url("film.mxf"))
    let sound = try await writer.addAudio(sampleRate: 48000, channels: 1)
    let pictures = try await writer.addVideo(.init(codec: .prores422), size: size, frameDuration: time(1))
    for index in 0..<10 {
      let buffer = pictures.pool.makeBuffer { picture in
        for plane in [PixelPlane.luma, .cb, .cr] {
          picture.withMutableSamples(of: plane, as: UInt16.self) { samples, _ in
            for index in samples.indices { samples[index] = 512 }
          }
        }
      }
      try await pictures.append(buffer, at: time(Int64(index)))
    }
    let samples = (0..<Int(19200 * part)).map { Float($0 % 1000) / 32768 }
    try await sound.append(AudioSample(position: 0, sampleRate: 48000, channels: [samples]))
    let film = try await writer.finish()
    #expect(film.frames == 10)
    #expect(film.samples == 19200)
    let decoded = try Tool.ffmpeg("-i", film.url.path, "-map", "0:a", "-f", "s16le", "-").withUnsafeBytes {
      Array($0.bindMemory(to: Int16.self))
    }
    let heard = samples.prefix(19200).map { Int16($0 * 32768) }
    #expect(decoded == heard + Array(repeating: 0, count: 19200 - heard.count))
    #expect(
      try Tool.ffprobe("-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames", film.url.path)
        == [["10"]])
  }

  /// A billion units a second and 1001/30000 s have no common timescale that a time can have.
  @Test func `pictures and sessions have times in nanoseconds`() async throws {
    let writer = try AssetWriter(to: url("film.mkv"))
    let frame = MediaTime(value: 1001, timescale: 30000)
    let pictures = try await writer.addVideo(.init(codec: .ffv1), size: size, frameDuration: frame)
    let sound = try await writer.addAudio(.init(codec: .pcm), sampleRate: 8000, channels: 1)
    try await writer.startSession(at: time(100_000_001, 1_000_000_000))
    for index in 0..<6 {
      let level = UInt8(40 * index)
      try await pictures.append(grey(level, pictures.pool), at: time(Int64(index) * 33_366_667, 1_000_000_000))
    }
    try await sound.append(
      AudioSample(position: 0, sampleRate: 8000, channels: [(0..<1200).map { Float($0) / 32768 }]))
    // Nothing is later than the largest of positions.
    try await sound.append(AudioSample(position: .max, sampleRate: 8000, channels: [[1, 1]]))
    #expect(try await writer.finish().frames == 4)
    // From 0.100000001 s on, in steps of 0.0333666…
    #expect(try levels(url("film.mkv")) == [80, 120, 160, 200])
    let decoded = try Tool.ffmpeg("-i", url("film.mkv").path, "-map", "0:a", "-f", "s16le", "-").withUnsafeBytes {
      Array($0.bindMemory(to: Int16.self))
    }
    #expect(decoded == (800..<1200).map { Int16($0) })
  }

  @Test func `a session cannot end before what is encoded`() async throws {
    let writer = try AssetWriter(to: url("film.mkv"))
    let pictures = try await writer.addVideo(.init(codec: .ffv1), size: size, frameDuration: time(1))
    let sound = try await writer.addAudio(.init(codec: .pcm), sampleRate: 8000, channels: 1)
    for index in 0..<10 { try await pictures.append(grey(UInt8(20 * index), pictures.pool), at: time(Int64(index))) }
    try await sound.append(AudioSample(position: 0, sampleRate: 8000, channels: [Array(repeating: 0, count: 1600)]))
    for end in [time(8), time(199, 1000)] {
      await #expect(
        throws: SheafError(.misuse, "a session cannot end at \(end), because what is later is encoded already")
      ) {
        try await writer.endSession(at: end)
      }
    }
    // The tenth picture is not encoded yet.
    try await writer.endSession(at: time(9))
    #expect(try await writer.finish().frames == 9)
    #expect(try levels(url("film.mkv")) == (0..<9).map { UInt8(20 * $0) })
  }

  @Test func `a film without its sound can still be given it`() async throws {
    let writer = try AssetWriter(to: url("film.mkv"))
    let pictures = try await writer.addVideo(.init(codec: .ffv1), size: size, frameDuration: time(1))
    let sound = try await writer.addAudio(.init(codec: .pcm), sampleRate: 8000, channels: 1)
    try await pictures.append(grey(10, pictures.pool), at: .zero)
    await #expect(throws: SheafError(.misuse, "no sound within the session was appended")) {
      try await writer.finish()
    }
    try await pictures.append(grey(20, pictures.pool), at: time(1))
    try await sound.append(AudioSample(position: 0, sampleRate: 8000, channels: [[0.5]]))
    #expect(try await writer.finish().frames == 2)
    #expect(try levels(url("film.mkv")) == [10, 20])
  }

  @Test func `wrong calls are refused and change nothing`() async throws {
    #expect(throws: SheafError.self) { try AssetWriter(to: url("nowhere/film.mp4")) }
    let writer = try AssetWriter(to: url("film.mp4"))
    await #expect {
      try await writer.addVideo(.init(codec: .ffv1), size: size, frameDuration: time(1))
    } throws: { error in
      (error as? SheafError)?.problems.map(\.pointer) == ["/export/video/codec"]
    }
    await #expect(throws: SheafError.self) {
      try await writer.addVideo(size: PixelSize(width: 63, height: 48), frameDuration: time(1))
    }
    let pictures = try await writer.addVideo(size: size, frameDuration: time(1))
    try await pictures.append(grey(1, pictures.pool), at: .zero)
    await #expect(throws: SheafError(.misuse, "a picture at 0 was appended after one at 0")) {
      try await pictures.append(grey(1, pictures.pool), at: .zero)
    }
    let other = PixelBufferPool(size: PixelSize(width: 32, height: 32), format: .yuv420p)
    await #expect(throws: SheafError.self) { try await pictures.append(grey(1, other), at: time(1)) }
    await #expect(throws: SheafError.self) { try await writer.startSession(at: time(1)) }
    #expect(try await writer.finish().frames == 1)
    #expect(try Tool.ffprobe("-show_entries", "stream=codec_name", url("film.mp4").path) == [["h264"]])
  }

  @Test func `a pool uses memory again`() throws {
    let pool = PixelBufferPool(size: size, format: .yuv420p)
    var addresses: Set<Int> = []
    for level in 0..<50 {
      let buffer = grey(UInt8(level), pool)
      #expect(buffer[.luma, 63, 47] == level)
      buffer.withSamples(of: .luma, as: UInt8.self) { samples, _ in
        samples.withUnsafeBufferPointer { _ = addresses.insert(Int(bitPattern: $0.baseAddress)) }
      }
    }
    #expect(addresses.count == 1)
    let held = (0..<3).map { grey(UInt8($0), pool) }
    #expect(held.map { $0[.luma, 0, 0] } == [0, 1, 2])
  }
}
