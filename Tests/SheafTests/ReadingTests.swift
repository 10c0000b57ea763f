import Foundation
import Sheaf
import TestPrograms
import Testing

@Suite(.ownThreads, .serialized) struct ReadingTests {
  /// The SHA-free fingerprint of planes: their samples, rows without padding.
  private func bytes(_ buffer: PixelBuffer) -> [UInt8] {
    var bytes: [UInt8] = []
    for plane in [PixelPlane.luma, .cb, .cr] {
      let size = buffer.size(of: plane)
      buffer.withSamples(of: plane, as: UInt8.self) { samples, stride in
        samples.withUnsafeBufferPointer { samples in
          for row in 0..<size.height { bytes += samples[row * stride..<row * stride + size.width] }
        }
      }
    }
    return bytes
  }

  @Test func `pictures are those that ffmpeg decodes`() async throws {
    let media = try SmallMedia()
    let reader = try await AssetReader(media.asset("one.mp4"))
    let track = try #require(reader.contents.defaultTrack(.video))
    var read: [UInt8] = []
    var times: [MediaTime] = []
    for try await sample in try reader.pictures(of: track) {
      read += bytes(sample.buffer)
      times.append(sample.presentationTime)
      #expect(sample.duration == MediaTime(value: 1, timescale: 25))
    }
    #expect(times == (0..<75).map { MediaTime(value: $0, timescale: 25) })
    let expected = try Tool.ffmpeg("-i", media.folder.path("one.mp4"), "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
    #expect(read == Array(expected))

    // From the picture that is shown at the range's start to the last before its end.
    let range = try MediaTimeRange(
      start: MediaTime(value: 101, timescale: 100), duration: MediaTime(value: 1, timescale: 10))
    var part: [UInt8] = []
    var partTimes: [MediaTime] = []
    for try await sample in try reader.pictures(of: track, in: range) {
      part += bytes(sample.buffer)
      partTimes.append(sample.presentationTime)
    }
    #expect(partTimes == [25, 26, 27].map { MediaTime(value: $0, timescale: 25) })
    let size = 160 * 90 * 3 / 2
    #expect(part == Array(expected[25 * size..<28 * size]))

    // Ten bits of another size.
    var iterator = try reader.pictures(of: track, as: .yuv444p10, size: PixelSize(width: 80, height: 44))
      .makeAsyncIterator()
    let first = try #require(try await iterator.next())
    #expect(first.buffer.format == .yuv444p10)
    #expect(first.buffer.size(of: .cb) == PixelSize(width: 80, height: 44))
  }

  @Test func `sound is what ffmpeg decodes, to the sample`() async throws {
    let media = try SmallMedia()
    let reader = try await AssetReader(media.asset("one.mp4"))
    let track = try #require(reader.contents.defaultTrack(.audio))
    var read: [Float] = []
    for try await sample in try reader.sound(of: track) {
      #expect(sample.position == Int64(read.count))
      read += sample.channels[0]
    }
    let bytes = try Tool.ffmpeg("-i", media.folder.path("one.mp4"), "-map", "0:a", "-f", "f32le", "-")
    let expected = bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    // The codec's packets go beyond the three seconds of the track.
    #expect(read == Array(expected.prefix(144_000)))
    let range = try MediaTimeRange(start: MediaTime(value: 1, timescale: 3), duration: MediaTime(seconds: 1))
    var part: [Float] = []
    var start: MediaTime?
    for try await sample in try reader.sound(of: track, in: range) {
      start = start ?? sample.presentationTime
      part += sample.channels[0]
    }
    #expect(start == MediaTime(value: 1, timescale: 3))
    #expect(part == Array(expected[16000..<64000]))
  }

  @Test func `stored samples are the packets of the file`() async throws {
    let media = try SmallMedia()
    let reader = try await AssetReader(media.asset("one.mp4"))
    for track in reader.contents.tracks {
      var sizes: [Int] = []
      var bytes: [UInt8] = []
      for try await sample in try reader.storedSamples(of: track) {
        sizes.append(sample.bytes.count)
        bytes += sample.bytes
      }
      let packets = try Tool.ffprobe(
        "-select_streams", "\(track.index)", "-show_entries", "packet=size", media.folder.path("one.mp4"))
      #expect(sizes == packets.compactMap { Int($0[0]) })
      let stored = try Tool.ffmpeg(
        "-i", media.folder.path("one.mp4"), "-map", "0:\(track.index)", "-c", "copy", "-f", "data", "-")
      #expect(bytes == Array(stored))
    }
    // A range begins with the keyframe that its first picture needs.
    let video = try #require(reader.contents.defaultTrack(.video))
    let range = try MediaTimeRange(start: MediaTime(seconds: 2), duration: MediaTime(value: 1, timescale: 2))
    var samples: [StoredSample] = []
    for try await sample in try reader.storedSamples(of: video, in: range) { samples.append(sample) }
    #expect(samples.first?.isKeyframe == true)
    #expect(try #require(samples.first).presentationTime <= range.start)
    #expect(try #require(samples.last).decodingTime < range.end)
  }

  @Test func `a range in which a track has nothing gives nothing`() async throws {
    let media = try SmallMedia()
    let reader = try await AssetReader(media.asset("one.mp4"))
    let one = MediaTime(seconds: 1)
    for (start, duration) in [(one, MediaTime.zero), (MediaTime(seconds: -2), one), (MediaTime(seconds: 3), one)] {
      let range = try MediaTimeRange(start: start, duration: duration)
      for track in reader.contents.tracks {
        for try await sample in try reader.storedSamples(of: track, in: range) {
          Issue.record("\(track.type) at \(sample.presentationTime) is not in \(range)")
        }
      }
      for try await sample in try reader.pictures(of: try #require(reader.contents.defaultTrack(.video)), in: range) {
        Issue.record("the picture at \(sample.presentationTime) is not in \(range)")
      }
      for try await sample in try reader.sound(of: try #require(reader.contents.defaultTrack(.audio)), in: range) {
        Issue.record("the sound at \(sample.presentationTime) is not in \(range)")
      }
    }
    // A still picture is shown at any time, but not in no time.
    let still = try await AssetReader(media.asset("logo.png"))
    let picture = try #require(still.contents.defaultTrack(.video))
    var counts: [Int] = []
    for duration in [MediaTime.zero, one] {
      var count = 0
      let range = try MediaTimeRange(start: MediaTime(seconds: 7), duration: duration)
      for try await _ in try still.pictures(of: picture, in: range) { count += 1 }
      counts.append(count)
    }
    #expect(counts == [0, 1])
  }

  /// Its pictures are decoded up to 40 ms after they are presented, as its packets state it.
  private static let lateDecoding: String? = {
    let named = ProcessInfo.processInfo.environment["SHEAF_SHARED_MEDIA"].map { URL(fileURLWithPath: $0) }
    let sibling = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../shared/media").standardizedFileURL
    let folder = [named, sibling].compactMap(\.self).first { FileManager.default.fileExists(atPath: $0.path) }
    return folder?.appendingPathComponent(
      "gh-shaka-project+shaka-player/test/test/assets/hls-ts-muxed-ec3-h264/"
        + "ChID_voices_1280x720p_25fps_h264_6ch_256kbps_ddp_sub_0000.ts"
    ).path
  }()

  @Test(.enabled(if: lateDecoding != nil, "there is no SHEAF_SHARED_MEDIA and no ../shared/media"))
  func `stored samples of a range are all that are presented in it`() async throws {
    let folder = try TemporaryFolder()
    let renderer = LocalRenderer(store: folder.url.appendingPathComponent("store"), slots: 1)
    let reader = try await AssetReader(Asset(path: try #require(Self.lateDecoding), renderer: renderer))
    let video = try #require(reader.contents.defaultTrack(.video))
    for end in 1...20 {
      let range = try MediaTimeRange(start: .zero, end: MediaTime(value: Int64(end), timescale: 25))
      var shown: Set<MediaTime> = []
      for try await sample in try reader.storedSamples(of: video, in: range) { shown.insert(sample.presentationTime) }
      #expect(shown.isSuperset(of: (0..<end).map { MediaTime(value: Int64($0), timescale: 25) }), "\(range)")
    }
  }

  @Test func `the reader of a composition has the film's pictures and sound`() async throws {
    let media = try SmallMedia()
    var edit = try await media.edit()
    let reader = try await CompositionReader(edit, renderer: media.renderer)
    #expect(reader.renderSize == PixelSize(width: 160, height: 90))
    #expect(reader.duration == MediaTime(seconds: 3))
    edit.export.video = .settings(.init(codec: .ffv1, pixelFormat: .yuv420p))
    edit.export.audio = .settings(.init(codec: .pcm, bitDepth: 24))
    let film = try await ExportSession(edit, to: media.url("film.mkv"), on: .local(media.renderer)).export()
    var pictures: [UInt8] = []
    for try await sample in try reader.pictures() { pictures += bytes(sample.buffer) }
    let decoded = try Tool.ffmpeg("-i", film.url.path, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
    #expect(pictures == Array(decoded))
    var sound: [[Float]] = [[], []]
    for try await sample in try reader.sound() {
      for channel in 0..<2 { sound[channel] += sample.channels[channel] }
    }
    let mixed = try Tool.ffmpeg("-i", film.url.path, "-f", "f32le", "-").withUnsafeBytes {
      Array($0.bindMemory(to: Float.self))
    }
    #expect(sound[0] == stride(from: 0, to: mixed.count, by: 2).map { mixed[$0] })
    #expect(sound[1] == stride(from: 1, to: mixed.count, by: 2).map { mixed[$0] })
  }

  /// Also at a rate that differs from a usual one by one in a million.
  @Test(arguments: ([(125, 2997), (7, 100), (1001, 30000)] as [(Int64, Int32)]).spread(1))
  func `the frames of a composition have its own times`(value: Int64, timescale: Int32) async throws {
    let media = try SmallMedia()
    let frame = MediaTime(value: value, timescale: timescale)
    var edit = try await media.edit()
    edit.videoComposition.frameDuration = frame
    let reader = try await CompositionReader(edit, renderer: media.renderer)
    var samples: [VideoSample] = []
    for try await sample in try reader.pictures() { samples.append(sample) }
    let times = try (0..<samples.count).map { try frame * Rational(Int128($0)) }
    #expect(samples.count == Int((3 / frame.approximateSeconds).rounded(.up)))
    #expect(samples.map(\.presentationTime) == times && samples.allSatisfy { $0.duration == frame })
    // From within a frame to within another, from a frame's start to another's, and beyond the end.
    let half = try frame * Rational(1, 2)
    for range in [
      try MediaTimeRange(start: times[3] + half, end: times[6] + half),
      try MediaTimeRange(start: times[20], end: times[22]), try MediaTimeRange(start: times[30], duration: .zero),
      try MediaTimeRange(start: times[samples.count - 1], duration: MediaTime(seconds: 9)),
    ] {
      let shown = try times.filter { try $0 < range.end && range.start - $0 < frame && !range.isEmpty }
      var found: [VideoSample] = []
      for try await sample in try reader.pictures(in: range) { found.append(sample) }
      #expect(found.map(\.presentationTime) == shown, "\(range)")
      for sample in found {
        let same = samples.first { $0.presentationTime == sample.presentationTime }
        #expect(same.map { bytes($0.buffer) } == bytes(sample.buffer), "\(range)")
      }
    }
  }

  @Test func `a composition is rendered while it is read`() async throws {
    let media = try SmallMedia()
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=40", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt",
      "yuv420p", media.folder.path("long.mp4"))
    var edit = Edit()
    let source = edit.add(try await media.asset("long.mp4").load())
    try edit.composition.insert(source.whole())
    let reader = try await CompositionReader(edit, renderer: media.renderer)
    var pictures = try reader.pictures().makeAsyncIterator()
    let first = try #require(try await pictures.next())
    #expect(first.presentationTime == .zero)
    // The first picture is there, and from now on nothing more of the film can be begun: only what is under way, the
    // part that is being read and the one after it, may still come. The end of the film does not.
    try FileManager.default.removeItem(at: media.url("long.mp4"))
    var count = 1
    let error = await #expect(throws: SheafError.self) { while try await pictures.next() != nil { count += 1 } }
    #expect(error?.code == .invalidEdit)
    #expect(count == 10 || count == 30, "\(count) pictures of 400")
  }

  @Test func `a reader of a composition that is cancelled ends`() async throws {
    let media = try SmallMedia()
    let reader = try await CompositionReader(try await media.edit(), renderer: media.renderer)
    let (first, continuation) = AsyncStream.makeStream(of: MediaTime.self)
    let reading = Task {
      for try await sample in try reader.pictures() {
        continuation.yield(sample.presentationTime)
        // It goes on when it is cancelled.
        while !Task.isCancelled { await Task.yield() }
      }
    }
    for await time in first {
      #expect(time == .zero)
      break
    }
    reading.cancel()
    await #expect(throws: SheafError(.cancelled, "cancelled")) { try await reading.value }
  }

  @Test func `a file that is not as it was described is reported as such`() async throws {
    let media = try SmallMedia()
    let reader = try await AssetReader(media.asset("one.mp4"))
    let tracks = (
      try #require(reader.contents.defaultTrack(.video)), try #require(reader.contents.defaultTrack(.audio))
    )
    let whole = try Data(contentsOf: media.url("one.mp4"))
    // Without its index, and other bytes altogether.
    for bytes in [whole.prefix(whole.count / 2), Data("This is a text.".utf8)] {
      try bytes.write(to: media.url("one.mp4"))
      func code(_ read: () async throws -> Void) async -> SheafError.Code? {
        do {
          try await read()
          return nil
        } catch {
          return (error as? SheafError)?.code
        }
      }
      #expect(await code { for try await _ in try reader.pictures(of: tracks.0) {} } == .invalidMedia)
      #expect(await code { for try await _ in try reader.sound(of: tracks.1) {} } == .invalidMedia)
      #expect(await code { for try await _ in try reader.storedSamples(of: tracks.0) {} } == .invalidMedia)
      #expect(await code { _ = try await reader.storedFormat(of: tracks.1) } == .invalidMedia)
    }
  }

  @Test func `a track of another type is refused`() async throws {
    let media = try SmallMedia()
    let reader = try await AssetReader(media.asset("one.mp4"))
    let sound = try #require(reader.contents.defaultTrack(.audio))
    #expect(throws: SheafError.self) { try reader.pictures(of: sound) }
    // The file has gone since it was described.
    try FileManager.default.removeItem(at: media.url("one.mp4"))
    var iterator = try reader.sound(of: sound).makeAsyncIterator()
    await #expect(throws: SheafError.self) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
  }
}
