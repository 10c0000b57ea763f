import TestEdits
import Testing

@testable import CompositionModel

@Suite struct VideoCodecTests {
  private let size = PixelSize(width: 1280, height: 720)

  private func settings(
    _ codec: VideoCodec, preset: String? = nil, quality: Double? = nil, bitRate: Int? = nil, profile: String? = nil,
    pixelFormat: PixelFormat? = nil
  ) -> VideoSettings {
    VideoSettings(
      codec: codec, rateControl: codec.definition.rateControl(quality: quality, bitRate: bitRate),
      preset: preset ?? codec.definition.defaultPreset, profile: profile, keyframeInterval: 60,
      pixelFormat: pixelFormat ?? codec.definition.defaultPixelFormat(source: .yuv420p, isHDR: false),
      colour: ColourTags())
  }

  private func options(_ settings: VideoSettings, size: PixelSize? = nil) -> [String] {
    settings.codec.definition.encoderSetup(settings, size: size ?? self.size).options.map { "\($0.key)=\($0.value)" }
  }

  @Test(arguments: VideoCodec.allCases)
  func `every video codec is complete and coherent`(_ codec: VideoCodec) throws {
    let definition = codec.definition
    #expect(!definition.name.isEmpty)
    #expect(Set(definition.pixelFormats).count == definition.pixelFormats.count && !definition.pixelFormats.isEmpty)
    #expect(!Container.allCases.filter { $0.videoCodecs.contains(codec) }.isEmpty)
    for container in Container.allCases {
      #expect(container.videoCodecs.contains(codec) == definition.containers.contains(container))
    }
    for format in PixelFormat.allCases {
      for isHDR in [false, true] {
        #expect(definition.pixelFormats.contains(definition.defaultPixelFormat(source: format, isHDR: isHDR)))
      }
    }
    #expect(definition.presets.isEmpty == (definition.defaultPreset == nil))
    if let preset = definition.defaultPreset { #expect(definition.presets.contains(preset)) }
    if let qualities = definition.qualities, case .quality(let standard) = settings(codec).rateControl {
      #expect(qualities.contains(standard))
    }
    #expect(definition.problem(with: settings(codec)) == nil)
    let setup = definition.encoderSetup(settings(codec), size: size)
    #expect(!setup.encoder.isEmpty && setup.keyframeInterval > 0 && setup.keyframeInterval <= 60)
    #expect(Set(setup.options.map(\.key)).count == setup.options.count)
  }

  @Test(arguments: VideoCodec.allCases)
  func `every preset has a cost, and slower ones cost more`(_ codec: VideoCodec) {
    let presets: [String?] = codec.definition.presets.isEmpty ? [nil] : codec.definition.presets
    let costs = presets.map { codec.definition.costPerPixel(settings(codec, preset: $0)) }
    #expect(costs.allSatisfy { $0 > 0 && $0.isFinite })
    #expect(zip(costs, costs.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test(arguments: VideoCodec.allCases)
  func `every profile stores some pixel format, and every format has a profile`(_ codec: VideoCodec) {
    let definition = codec.definition
    func stores(_ profile: String, _ format: PixelFormat) -> Bool {
      definition.problem(with: settings(codec, profile: profile, pixelFormat: format)) == nil
    }
    for profile in definition.profiles { #expect(definition.pixelFormats.contains { stores(profile, $0) }) }
    guard !definition.profiles.isEmpty else { return }
    for format in definition.pixelFormats { #expect(definition.profiles.contains { stores($0, format) }) }
  }

  @Test func `x264's options are in their order`() {
    let parameters = "stitchable=1:cpu-independent=1:open-gop=0:threads=4:lookahead-threads=1:sliced-threads=0"
    #expect(
      options(settings(.h264)) == [
        "preset=medium", "crf=23.0", "x264-params=\(parameters):zones=0,0,b=1.4", "a53cc=0",
      ])
    let averaged = settings(.h264, preset: "fast", bitRate: 4_000_000, profile: "high")
    #expect(
      options(averaged) == ["preset=fast", "profile=high", "x264-params=\(parameters):zones=0,0,b=1.4", "a53cc=0"])
    let setup = VideoCodec.h264.definition.encoderSetup(averaged, size: size)
    #expect(setup.encoder == "libx264" && setup.bitRate == 4_000_000 && setup.keyframeInterval == 60)
    #expect(setup.level == nil && setup.slices == nil && setup.framesAfterEnd == 2)
  }

  @Test func `x264 knows of frames after the end where it shares bits among frames`() {
    func framesAfterEnd(_ settings: VideoSettings) -> Int {
      VideoCodec.h264.definition.encoderSetup(settings, size: size).framesAfterEnd
    }
    var (lossless, intra) = (settings(.h264), settings(.h264))
    lossless.rateControl = .quality(0)
    intra.keyframeInterval = 1
    for settings in [settings(.h264, preset: "superfast"), lossless, intra] {
      #expect(framesAfterEnd(settings) == 0)
      #expect(!options(settings).joined().contains("zones"))
    }
    #expect(framesAfterEnd(settings(.h264, preset: "veryfast")) == 2)
  }

  @Test(arguments: [
    ("ultrafast", 16384, 8192, nil), ("veryfast", 16384, 8192, nil), ("faster", 16384, 8192, 10),
    ("medium", 1280, 720, nil), ("medium", 1920, 1080, 20), ("slow", 1280, 720, 45), ("placebo", 64, 64, nil),
  ])
  func `x264's lookahead is bounded for large frames`(_ preset: String, _ width: Int, _ height: Int, _ frames: Int?) {
    let bounded = options(settings(.h264, preset: preset), size: PixelSize(width: width, height: height)).joined()
    if let frames {
      #expect(bounded.contains(":rc-lookahead=\(frames):zones"))
    } else {
      #expect(!bounded.contains("rc-lookahead"))
    }
  }

  @Test func `FFV1 has only keyframes and a fixed number of slices`() {
    let definition = VideoCodec.ffv1.definition
    let setup = definition.encoderSetup(settings(.ffv1), size: size)
    #expect(options(settings(.ffv1)) == ["slicecrc=1", "context=0", "coder=range_def"])
    #expect(setup.keyframeInterval == 1 && setup.level == 3 && setup.slices == 4 && setup.bitRate == nil)
    let small = definition.encoderSetup(settings(.ffv1), size: PixelSize(width: 352, height: 288))
    #expect(small.slices == 1)
  }

  /// `ffmpeg -c:v ffv1 -level 3 -slices N` accepts these numbers and no smaller ones.
  @Test(arguments: [
    (7680, 4320, PixelFormat.yuv420p, 9), (16384, 8192, .yuv420p, 28), (400, 2, .yuv420p, 1), (4, 300, .yuv420p, 4),
    (2, 300, .yuv444p, 4), (5760, 3240, .yuv444p10, 6),
  ])
  func `ffv1 has more slices in large frames and fewer in narrow ones`(
    width: Int, height: Int, format: PixelFormat, slices: Int
  ) {
    let (definition, size) = (VideoCodec.ffv1.definition, PixelSize(width: width, height: height))
    #expect(definition.encoderSetup(settings(.ffv1, pixelFormat: format), size: size).slices == slices)
    #expect(definition.problem(with: size, format) == nil)
  }

  @Test func `a size that ffv1 cannot store is a problem of the document`() throws {
    func found(_ size: String, _ export: String) throws -> [Problem] {
      try problems(
        documentText(
          tracks: #"[ { "clips": [ { "asset": "v", "use": "0..1" } ] } ]"#,
          #""videoComposition": { "renderSize": \#(size) }"#, export: export))
    }
    let ffv1 = #"{ "to": "a.mkv", "video": { "codec": "ffv1" } }"#
    let narrow = try found("[2, 300]", ffv1)
    #expect(narrow.map(\.pointer) == ["/videoComposition/renderSize"])
    #expect(
      narrow.map(\.message) == [
        "2x300 cannot be stored: ffv1 stores frames that are higher than 288 pixels only if they are wider"
      ])
    #expect(try found("[2, 288]", ffv1).isEmpty && found("[2, 300]", #"{ "to": "a.mkv" }"#).isEmpty)
  }
}

@Suite struct AudioCodecTests {
  @Test(arguments: AudioCodec.allCases)
  func `every audio codec is complete and coherent`(_ codec: AudioCodec) throws {
    let definition = codec.definition
    #expect(!Container.allCases.filter { $0.audioCodecs.contains(codec) }.isEmpty)
    for container in Container.allCases {
      #expect(container.audioCodecs.contains(codec) == definition.containers.contains(container))
    }
    #expect(definition.sampleRates == definition.sampleRates.sorted())
    #expect(definition.sampleRates.contains(definition.defaultSampleRate))
    #expect(definition.channelCounts == AudioSettings.channelCounts.filter(definition.channelCounts.contains))
    #expect(definition.channelCounts.contains(AudioSettings.standard.channels))
    // A codec has a bit rate or a bit depth, and never both.
    #expect((definition.bitRates == nil) != definition.bitDepths.isEmpty)
    for depth in definition.bitDepths {
      let setup = try #require(definition.encoderSetup(bitDepth: depth))
      #expect(setup.bitDepth == depth && !setup.encoder.isEmpty && !setup.name.isEmpty)
    }
    let setup = try #require(definition.encoderSetup(bitDepth: AudioSettings.standard.bitDepth))
    #expect(definition.bitDepths.isEmpty == (setup.bitDepth == 0))
    if !definition.bitDepths.isEmpty { #expect(definition.encoderSetup(bitDepth: 20) == nil) }
    for rate in definition.sampleRates {
      for channels in definition.channelCounts {
        let bitRate = definition.defaultBitRate(sampleRate: rate, channels: channels)
        #expect((bitRate == nil) == (definition.bitRates == nil))
        if let bitRate { #expect(definition.bitRates?.contains(bitRate) == true) }
        let settings = AudioSettings(codec: codec, bitRate: bitRate, sampleRate: rate, channels: channels)
        #expect(definition.problem(with: settings) == nil)
      }
    }
  }

  @Test(arguments: [
    (AudioCodec.aac, 16, "aac", AudioSampleLayout.planar(.float32)), (.flac, 16, "flac", .interleaved(.int16)),
    (.flac, 24, "flac", .interleaved(.int32)), (.pcm, 16, "pcm_s16le", .interleaved(.int16)),
    (.pcm, 24, "pcm_s24le", .interleaved(.int32)),
  ])
  func `the piece names the codec, and the encoder its samples`(
    _ codec: AudioCodec, _ bitDepth: Int, _ name: String, _ layout: AudioSampleLayout
  ) throws {
    let setup = try #require(codec.definition.encoderSetup(bitDepth: bitDepth))
    #expect(setup.encoder == name && setup.name == name && setup.layout == layout)
    let settings = AudioSettings(codec: codec, bitRate: nil, sampleRate: 48000, channels: 2, bitDepth: bitDepth)
    #expect(settings.codecName == name)
  }
}

/// The names that documents use for codecs, containers and their settings.
@Suite struct CodecNameTests {
  private let track = #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0..2"}]}]"#

  private func text(_ export: String) -> String { documentText(tracks: track, export: export) }

  private func onlyProblem(_ export: String) throws -> Problem {
    let found = try problems(text(export))
    #expect(found.count == 1, "\(found)")
    return try #require(found.first)
  }

  /// An output of a codec alone, in a container that can store it.
  private func export(_ codec: VideoCodec, _ setting: String) -> String {
    let path = "a.\(codec.definition.containers[0])"
    return #"{"to": "\#(path)", "video": {"codec": "\#(codec)", \#(setting)}, "audio": false}"#
  }

  private func export(_ codec: AudioCodec, _ setting: String) -> String {
    let path = "a.\(codec.definition.containers[0])"
    return #"{"to": "\#(path)", "video": false, "audio": {"codec": "\#(codec)", \#(setting)}}"#
  }

  /// A name with its last letter missing, which is no other name of the list.
  private func misspelt(_ name: String, _ names: [String]) throws -> String {
    let shorter = String(name.dropLast()) + "?"
    return try #require(names.contains(shorter) ? nil : shorter)
  }

  @Test func `an unknown name is refused with the list and a suggestion`() throws {
    for (key, names, container) in [
      ("video", VideoCodec.allCases.map(\.rawValue), Container.mkv),
      ("audio", AudioCodec.allCases.map(\.rawValue), Container.mkv),
    ] {
      for name in names {
        let problem = try onlyProblem(
          #"{"to": "a.\#(container)", "\#(key)": {"codec": "\#(try misspelt(name, names))"}}"#)
        #expect(problem.pointer == "/export/\(key)/codec")
        #expect(problem.message.contains("did you mean '\(name)'?"), "\(problem)")
        #expect(problem.message.contains("allowed are \(names.joined(separator: ", "))"), "\(problem)")
      }
    }
    for codec in VideoCodec.allCases {
      for (key, names) in [("preset", codec.definition.presets), ("profile", codec.definition.profiles)] {
        // A number is near to others.
        for name in names where name.count > 2 {
          let problem = try onlyProblem(
            export(codec, #""\#(key)": "\#(try misspelt(name, names))""#))
          #expect(problem.pointer == "/export/video/\(key)")
          #expect(problem.message.contains("did you mean '\(name)'?"), "\(problem)")
          #expect(problem.message.contains("allowed are \(names.joined(separator: ", "))"), "\(problem)")
        }
      }
    }
  }

  @Test func `every codec and container is stored or refused by the table`() throws {
    for container in Container.allCases {
      for codec in VideoCodec.allCases {
        let text = documentText(
          tracks: track, export: #"{"to": "a.\#(container)", "video": {"codec": "\#(codec)"}, "audio": false}"#)
        #expect(try problems(text).isEmpty == container.videoCodecs.contains(codec))
      }
      for codec in AudioCodec.allCases {
        let text = documentText(
          tracks: track, export: #"{"to": "a.\#(container)", "audio": {"codec": "\#(codec)"}}"#)
        #expect(try problems(text).isEmpty == container.audioCodecs.contains(codec))
      }
    }
  }

  @Test func `a setting of another codec is refused`() throws {
    let values = [
      "quality": "20", "bitRate": "100000", "preset": "\"x\"", "profile": "\"x\"", "bitDepth": "16",
      "level": "4", "maxBitRate": "1000000", "bufferDuration": "1", "dither": "\"none\"",
      "targetQuality": #"{"value": 0.97}"#,
    ]
    let video = Set(VideoCodec.allCases.flatMap { $0.definition.settingKeys })
    let audio = Set(AudioCodec.allCases.flatMap { $0.definition.settingKeys })
    for codec in VideoCodec.allCases {
      for key in video.subtracting(codec.definition.settingKeys) {
        let value = try #require(values[key])
        let problem = try onlyProblem(export(codec, #""\#(key)": \#(value)"#))
        #expect(problem.pointer == "/export/video/\(key)" && problem.message.contains("no such setting"))
      }
    }
    for codec in AudioCodec.allCases {
      for key in audio.subtracting(codec.definition.settingKeys) {
        let value = try #require(values[key])
        let problem = try onlyProblem(export(codec, #""\#(key)": \#(value)"#))
        #expect(problem.pointer == "/export/audio/\(key)" && problem.message.contains("no such setting"))
      }
    }
  }

  @Test(arguments: AudioCodec.allCases)
  func `a number of channels that the codec cannot store is refused with the list`(_ codec: AudioCodec) throws {
    let counts = codec.definition.channelCounts
    for count in counts { #expect(try problems(text(export(codec, #""channels": \#(count)"#))).isEmpty) }
    for count in 1...9 where !counts.contains(count) {
      let problem = try onlyProblem(export(codec, #""channels": \#(count)"#))
      #expect(problem.pointer == "/export/audio/channels")
      #expect(problem.message.hasSuffix("allowed are \(list(counts.map(String.init)))"), "\(problem)")
    }
  }

  @Test(arguments: [
    ("film.mp4", Container.mp4), ("out/Film.MOV", .mov), ("a.b.mkv", .mkv), (".hidden.mp4", .mp4),
    ("film", nil), ("out.mp4/film", nil), ("out/.mp4", nil), ("film.", nil), ("film.avi", nil), ("", nil),
  ])
  func `the extension of the path decides the container`(_ path: String, _ expected: Container?) {
    #expect((try? Container(path: path)) == expected)
  }
}
