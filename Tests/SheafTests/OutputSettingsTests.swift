import Foundation
import Sheaf
import TestPrograms
import Testing

/// Pictures and sound in formats that are asked for.
@Suite(.ownThreads, .serialized) struct OutputSettingsTests {
  /// libswscale's settings of a conversion that loses least, with chroma on the left as in MPEG-2 and later.
  private static let scaling =
    "flags=bicubic+accurate_rnd+bitexact+full_chroma_int+full_chroma_inp:in_h_chr_pos=0:out_h_chr_pos=0"

  /// What ffmpeg does for a format. From 8 bits to two planes of 10, libswscale 5.1 repeats the highest bits below the
  /// lowest, so ffmpeg is asked to widen the three planes first: 235 becomes 940, and not 943.
  private static func filters(_ type: PixelFormatType, size: String = "iw:ih") -> String {
    func scaled(_ range: String, _ formats: String...) -> String {
      "scale=\(size):out_range=\(range):\(scaling)" + formats.map { ",format=\($0)" }.joined()
    }
    return switch type {
    case .bgra32: scaled("full", "bgra")
    case .argb32: scaled("full", "argb")
    case .rgba32: scaled("full", "rgba")
    case .abgr32: scaled("full", "abgr")
    case .rgb24: scaled("full", "rgb24")
    case .bgr24: scaled("full", "bgr24")
    case .yuv420Planar8VideoRange: scaled("limited", "yuv420p")
    case .yuv420Planar8FullRange: scaled("full", "yuv420p")
    case .yuv420BiPlanar8VideoRange: scaled("limited", "nv12")
    case .yuv420BiPlanar8FullRange: scaled("full", "nv12")
    case .yuv422UYVY: scaled("limited", "uyvy422")
    case .yuv422YUYV: scaled("limited", "yuyv422")
    case .yuv420BiPlanar10VideoRange: scaled("limited", "yuv420p10le", "p010le")
    // The scaler that ffmpeg would insert makes video range.
    case .yuv420BiPlanar10FullRange: scaled("full", "yuv420p10le") + ",scale=in_range=full:out_range=full,format=p010le"
    case .yuv422BiPlanar10VideoRange: scaled("limited", "yuv422p10le", "p210le")
    case .yuv444BiPlanar10VideoRange: scaled("limited", "yuv444p10le", "p410le")
    }
  }

  /// Where two arrays first differ; nil if they are equal. Printing both whole takes minutes.
  private func difference<Value: Equatable>(_ read: [Value], _ expected: [Value]) -> String? {
    guard read != expected else { return nil }
    guard let index = zip(read, expected).enumerated().first(where: { $1.0 != $1.1 })?.offset else {
      return "\(read.count) values for \(expected.count)"
    }
    let count = zip(read, expected).count { $0 != $1 }
    return "\(read[index]) for \(expected[index]) at \(index), \(count) of \(expected.count)"
  }

  private struct Media {
    let folder: TemporaryFolder
    let renderer: LocalRenderer

    init() throws {
      folder = try TemporaryFolder()
      renderer = LocalRenderer(store: folder.url.appendingPathComponent("store"), slots: 1)
    }

    /// Makes a file with ffmpeg and opens it.
    func reader(_ name: String, _ arguments: [String]) async throws -> (reader: AssetReader, path: String) {
      let path = folder.path(name)
      try Tool.ffmpeg(arguments + [path])
      return (try await AssetReader(Asset(path: path, renderer: renderer)), path)
    }
  }

  private static let stored = [
    ["yuv420p", "-c:v", "ffv1"], ["yuv420p", "-color_range", "pc", "-c:v", "ffv1"], ["yuv422p10le", "-c:v", "ffv1"],
    ["yuv420p10le", "-c:v", "ffv1"], ["yuv444p", "-colorspace", "bt709", "-c:v", "ffv1"],
  ]

  /// In the short form each format is asked for once.
  @Test(arguments: stored)
  func `pictures have the pixel format that is asked for, as ffmpeg converts them`(stored: [String]) async throws {
    let media = try Media()
    let (reader, path) = try await media.reader(
      "film.mkv", ["-f", "lavfi", "-i", "testsrc2=s=70x46:r=5:d=0.4", "-pix_fmt"] + stored)
    let track = try #require(reader.contents.defaultTrack(.video))
    let all = PixelFormatType.allCases
    let some = all.indices.filter { Self.stored[$0 % Self.stored.count] == stored }.map { all[$0] }
    for type in TestExtent.of(some, whole: all) {
      var read: [UInt8] = []
      for try await sample in try reader.pictures(of: track, outputSettings: .init(pixelFormat: type)) {
        #expect(sample.image.pixelFormat == type && sample.image.size == PixelSize(width: 70, height: 46))
        read += sample.image.packedBytes
      }
      let expected = try Tool.ffmpeg("-i", path, "-vf", Self.filters(type), "-f", "rawvideo", "-")
      #expect(difference(read, Array(expected)) == nil, "\(type) of \(stored)")
    }
    // As they are stored.
    var own: [UInt8] = []
    for try await sample in try reader.pictures(of: track, outputSettings: .init()) {
      #expect(sample.image.pixelFormat == nil && sample.image.formatName == stored[0])
      #expect(sample.image.colour.isFullRange == stored.contains("pc"))
      own += sample.image.packedBytes
    }
    #expect(difference(own, Array(try Tool.ffmpeg("-i", path, "-f", "rawvideo", "-"))) == nil)
  }

  @Test func `the numbers of a plain picture are those of the standards`() async throws {
    let media = try Media()
    // Y'CbCr of BT.709 (180, 90, 160) of video range.
    let (reader, _) = try await media.reader(
      "plain.mkv",
      [
        "-f", "lavfi", "-i", "color=s=16x16:r=1:d=1,format=yuv420p,geq=lum=180:cb=90:cr=160", "-colorspace", "bt709",
        "-c:v", "ffv1",
      ])
    let track = try #require(reader.contents.defaultTrack(.video))
    func first(_ type: PixelFormatType) async throws -> ImageBuffer {
      var samples = try reader.pictures(of: track, outputSettings: .init(pixelFormat: type)).makeAsyncIterator()
      return try #require(try await samples.next()).image
    }
    let (luma, cb, cr) = (Double(180 - 16) / 219, Double(90 - 128) / 224, Double(160 - 128) / 224)
    let (red, blue) = (luma + 1.5748 * cr, luma + 1.8556 * cb)
    let green = (luma - 0.2126 * red - 0.0722 * blue) / 0.7152
    let expected = [blue, green, red, 1].map { Int(($0 * 255).rounded()) }
    let bgra = try await first(.bgra32)
    // libswscale computes in fixed point, so a number may be one beside the exact one.
    for (code, exact) in zip(bgra.packedBytes, expected) { #expect(abs(Int(code) - exact) <= 1) }
    #expect(bgra.planeCount == 1 && bgra.rowByteCount(ofPlane: 0) == 64 && bgra.rowCount(ofPlane: 0) == 16)

    let uyvy = try await first(.yuv422UYVY)
    #expect(uyvy.packedBytes.prefix(4) == [90, 180, 160, 180])
    let yuyv = try await first(.yuv422YUYV)
    #expect(yuyv.packedBytes.prefix(4) == [180, 90, 180, 160])
    let p010 = try await first(.yuv420BiPlanar10VideoRange)
    #expect(p010.planeCount == 2 && p010.rowByteCount(ofPlane: 1) == 32 && p010.rowCount(ofPlane: 1) == 8)
    func words(_ plane: Int) -> [UInt16] {
      p010.withBytes(ofPlane: plane) { bytes, bytesPerRow in
        [
          bytes.unsafeLoadUnaligned(fromByteOffset: bytesPerRow, as: UInt16.self),
          bytes.unsafeLoadUnaligned(fromByteOffset: bytesPerRow + 2, as: UInt16.self),
        ]
      }
    }
    #expect(words(0) == [180 << 8, 180 << 8] && words(1) == [90 << 8, 160 << 8])
    let full = try await first(.yuv420BiPlanar8FullRange)
    let codes = [luma * 255, cb * 255 + 128, cr * 255 + 128].map { Int($0.rounded()) }
    let found = [full.packedBytes[0], full.packedBytes[256], full.packedBytes[257]].map { Int($0) }
    for (code, exact) in zip(found, codes) { #expect(abs(code - exact) <= 1) }
  }

  @Test func `alpha stays, palettes become colours, and pictures are scaled`() async throws {
    let media = try Media()
    let (reader, path) = try await media.reader(
      "clear.mov",
      ["-f", "lavfi", "-i", "testsrc2=s=32x24:r=5:d=0.4:alpha=128,format=rgba", "-c:v", "png"])
    let track = try #require(reader.contents.defaultTrack(.video))
    for (type, format) in [(PixelFormatType.bgra32, "bgra"), (.argb32, "argb")] {
      var read: [UInt8] = []
      for try await sample in try reader.pictures(of: track, outputSettings: .init(pixelFormat: type)) {
        read += sample.image.packedBytes
      }
      #expect(read == Array(try Tool.ffmpeg("-i", path, "-pix_fmt", format, "-f", "rawvideo", "-")))
    }
    let size = PixelSize(width: 20, height: 50)
    var scaled: [UInt8] = []
    for try await sample in try reader.pictures(
      of: track, outputSettings: .init(pixelFormat: .bgra32, size: size))
    {
      #expect(sample.image.size == size)
      scaled += sample.image.packedBytes
    }
    let filters = Self.filters(.bgra32, size: "20:50")
    #expect(scaled == Array(try Tool.ffmpeg("-i", path, "-vf", filters, "-f", "rawvideo", "-")))

    let (palette, palettePath) = try await media.reader(
      "palette.png", ["-f", "lavfi", "-i", "testsrc2=s=32x24", "-frames:v", "1", "-pix_fmt", "pal8"])
    let picture = try #require(palette.contents.defaultTrack(.video))
    var samples = try palette.pictures(of: picture, outputSettings: .init()).makeAsyncIterator()
    let image = try #require(try await samples.next()).image
    #expect(image.formatName == "rgba")
    #expect(image.packedBytes == Array(try Tool.ffmpeg("-i", palettePath, "-pix_fmt", "rgba", "-f", "rawvideo", "-")))

    let tooLarge = VideoOutputSettings(size: PixelSize(width: 20000, height: 1))
    #expect(throws: SheafError.self) { try reader.pictures(of: track, outputSettings: tooLarge) }
  }

  @Test func `pictures and sound are read as AVAssetReader gives them`() async throws {
    let media = try SmallMedia()
    let reader = try await AssetReader(media.asset("one.mp4"))
    let range = try MediaTimeRange(start: 1.seconds, duration: 0.5.seconds)
    let (picture, sound) = (
      try #require(reader.contents.defaultTrack(.video)), try #require(reader.contents.defaultTrack(.audio))
    )
    var (blue, peak, count) = ([UInt8](), Int16.min, 0)
    let bgra = VideoOutputSettings(pixelFormat: .bgra32)
    for try await sample in try reader.pictures(of: picture, outputSettings: bgra, in: range) {
      sample.image.withBytes(ofPlane: 0) { bytes, bytesPerRow in
        let middle = sample.image.height / 2 * bytesPerRow + sample.image.width / 2 * 4
        blue.append(bytes.unsafeLoad(fromByteOffset: middle, as: UInt8.self))
      }
    }
    let pcm = AudioOutputSettings<Int16>(sampleRate: 44100, channels: 1)
    for try await buffer in try reader.sound(of: sound, outputSettings: pcm, in: range) {
      for index in 0..<buffer.count { peak = max(peak, buffer[channel: 0, index]) }
      count += buffer.count
    }
    let filters = Self.filters(.bgra32) + ",trim=start=1:end=1.5"
    let pictures = try Tool.ffmpeg("-i", media.folder.path("one.mp4"), "-vf", filters, "-f", "rawvideo", "-")
    let (size, middle) = (160 * 90 * 4, (45 * 160 + 80) * 4)
    let expected: [UInt8] = (0..<13).map { (number: Int) in pictures[number * size + middle] }
    #expect(blue == expected)
    // ffmpeg's tone is an eighth of full scale.
    #expect(count == 22050 && abs(Int(peak) - 4096) < 400)
  }

  /// All samples of a track, with the channels interleaved or one after the other.
  private func all<Value: LinearPCM>(
    _ buffers: SampleBuffers<PCMBuffer<Value>>, from start: Int64 = 0
  ) async throws -> [[Value]] {
    var planes: [[Value]] = []
    var position = start
    for try await buffer in buffers {
      #expect(buffer.position == position)
      position += Int64(buffer.count)
      if planes.isEmpty { planes = buffer.planes } else { for (i, p) in buffer.planes.enumerated() { planes[i] += p } }
    }
    return planes
  }

  private func values<Value: BitwiseCopyable>(_ bytes: Data, _: Value.Type) -> [Value] {
    bytes.withUnsafeBytes { Array($0.bindMemory(to: Value.self)) }
  }

  @Test(arguments: [
    ["-c:a", "aac", "-ac", "2"], ["-c:a", "pcm_s16le", "-ac", "2"], ["-c:a", "pcm_s24le", "-ac", "6"],
  ])
  func `samples have the type that is asked for, as ffmpeg converts them`(stored: [String]) async throws {
    let media = try Media()
    let (duration, count) = TestExtent.of(("0.5", 24_000), whole: ("2", 96_000))
    let (reader, path) = try await media.reader(
      "sound.mov",
      ["-f", "lavfi", "-i", "aevalsrc=0.9*sin(4000*t*t)|0.2*sin(2000*t):s=48000:d=\(duration)"] + stored)
    let track = try #require(reader.contents.defaultTrack(.audio))
    let channels = try #require(track.audio).channels
    func check<Value: LinearPCM>(_ format: String, _: Value.Type) async throws {
      // By itself libswresample makes 16 bits of 24 by leaving the last eight out; of numbers it takes the nearest.
      let samples = try Tool.ffmpeg("-i", path, "-af", "aformat=sample_fmts=flt", "-f", format, "-")
      let expected = values(samples, Value.self).prefix(count * channels)
      let interleaved = try await all(reader.sound(of: track, outputSettings: AudioOutputSettings<Value>()))
      #expect(interleaved.count == 1 && difference(interleaved[0], Array(expected)) == nil, "\(format)")
      let settings = AudioOutputSettings<Value>(isInterleaved: false)
      let planar = try await all(reader.sound(of: track, outputSettings: settings))
      for channel in 0..<channels {
        let own = stride(from: channel, to: expected.count, by: channels).map { expected[$0] }
        #expect(difference(planar[channel], own) == nil, "channel \(channel) of \(format)")
      }
    }
    try await check("s16le", Int16.self)
    try await check("s32le", Int32.self)
    try await check("f32le", Float.self)
  }

  @Test func `sound has the rate and the channels that are asked for, to the sample`() async throws {
    let media = try Media()
    let (reader, path) = try await media.reader(
      "sound.mov",
      ["-f", "lavfi", "-i", "aevalsrc=0.9*sin(4000*t*t)|0.2*sin(2000*t):s=48000:d=2", "-c:a", "aac", "-ac", "2"])
    let track = try #require(reader.contents.defaultTrack(.audio))
    // Before its first sample there is silence, which ffmpeg has if it is put there. 1600 samples are 1470 at 44.1 kHz.
    func expected(_ rate: Int, _ layout: String, matrix: String = "") throws -> Data {
      let converted =
        "aresample=\(rate):ochl=\(layout):internal_sample_fmt=fltp:rematrix_maxval=1:filter_size=32:phase_shift=10"
        + ":linear_interp=1:exact_rational=1:cutoff=0.97"
      return try Tool.ffmpeg(
        "-i", path, "-af", "adelay=1600S:all=1,apad=pad_len=4800,\(converted),atrim=start_sample=\(rate / 30)", "-f",
        "s16le", "-")
    }
    let formats: [(Int, String, Int)] = TestExtent.of(
      [(44100, "stereo", 2), (96000, "mono", 1)],
      whole: [(44100, "mono", 1), (44100, "stereo", 2), (96000, "mono", 1), (48000, "mono", 1)])
    for (rate, layout, channels) in formats {
      let settings = AudioOutputSettings<Int16>(sampleRate: rate, channels: channels)
      let read = try await all(reader.sound(of: track, outputSettings: settings))
      let wanted = values(try expected(rate, layout), Int16.self).prefix(2 * rate * channels)
      #expect(read.count == 1 && difference(read[0], Array(wanted)) == nil, "\(rate) Hz, \(layout)")
      // A part is that of the whole.
      let third = MediaTime(value: 1, timescale: 3)
      let range = try MediaTimeRange(start: third, duration: MediaTime(seconds: 1))
      let part = try await all(
        reader.sound(of: track, outputSettings: settings, in: range), from: Int64(rate / 3))
      let own = Array(wanted[rate / 3 * channels..<(rate / 3 + rate) * channels])
      #expect(part.count == 1 && difference(part[0], own) == nil, "\(rate) Hz, \(layout)")
    }
    // One channel is as loud in both.
    let (mono, monoPath) = try await media.reader("mono.wav", ["-i", path, "-ac", "1"])
    let single = try #require(mono.contents.defaultTrack(.audio))
    let both = try await all(mono.sound(of: single, outputSettings: AudioOutputSettings<Int16>(channels: 2)))
    let doubled = try Tool.ffmpeg("-i", monoPath, "-af", "pan=stereo|c0=c0|c1=c0", "-f", "s16le", "-")
    #expect(both == [values(doubled, Int16.self)])

    for settings in [AudioOutputSettings<Float>(sampleRate: 0), .init(channels: 9), .init(channels: 0)] {
      #expect(throws: SheafError.self) { try reader.sound(of: track, outputSettings: settings) }
    }
  }

  @Test func `what integers cannot hold is limited`() {
    let samples: [Float] = [1, -1, 2, -2, .nan, 0.5, -.infinity]
    #expect(samples.map { Int16(sample: $0) } == [32767, -32768, 32767, -32768, 0, 16384, -32768])
    #expect(samples.map { Int32(sample: $0) } == [.max, .min, .max, .min, 0, 1 << 30, .min])
    // Halves to the even number.
    let halves: [Float] = [1.5, 2.5, -1.5]
    #expect(halves.map { Int16(sample: $0 / 32768) } == [2, 2, -2])
    #expect(Float(sample: 1.25) == 1.25)
  }

  @Test func `a composition is read in the formats that are asked for`() async throws {
    let media = try SmallMedia()
    var edit = try await media.edit()
    let reader = try await CompositionReader(edit, renderer: media.renderer)
    edit.export.video = .settings(.init(codec: .ffv1, pixelFormat: .yuv420p))
    edit.export.audio = .settings(.init(codec: .pcm, bitDepth: 24))
    let film = try await ExportSession(edit, to: media.url("film.mkv"), on: .local(media.renderer)).export()
    let types: [PixelFormatType] = TestExtent.of([.bgra32], whole: [.bgra32, .yuv420BiPlanar8VideoRange])
    for type in types {
      var read: [UInt8] = []
      for try await sample in try reader.pictures(outputSettings: .init(pixelFormat: type)) {
        read += sample.image.packedBytes
      }
      let expected = try Tool.ffmpeg("-i", film.url.path, "-vf", Self.filters(type), "-f", "rawvideo", "-")
      #expect(difference(read, Array(expected)) == nil, "\(type)")
    }
    let sound = try await all(reader.sound(outputSettings: AudioOutputSettings<Int16>()))
    let samples = try Tool.ffmpeg("-i", film.url.path, "-af", "aformat=sample_fmts=flt", "-f", "s16le", "-")
    #expect(sound.count == 1 && difference(sound[0], values(samples, Int16.self)) == nil)
    let settings = AudioOutputSettings<Float>(sampleRate: 16000, channels: 1, isInterleaved: false)
    #expect(try await all(reader.sound(outputSettings: settings)).map(\.count) == [48000])
  }
}
