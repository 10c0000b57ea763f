import EditDocument
import TestEdits
import Testing

@testable import CompositionModel

@Suite struct ExportPresetTests {
  private let film = #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0..2"}]}]"#

  private func edit(
    _ export: String, size: PixelSize = PixelSize(width: 1920, height: 1080), _ others: String = ""
  ) throws -> Edit {
    var assets = try standardAssets()
    assets["v"] = try SyntheticAssets.video(size: size)
    return try lowered(
      documentText(tracks: film, others.isEmpty ? "" : others, export: export), assets: assets)
  }

  @Test(arguments: ExportPreset.allCases)
  func `a preset gives codecs, quality and a container that can hold them`(_ preset: ExportPreset) throws {
    #expect(!preset.containers.isEmpty)
    for container in Container.allCases {
      let text = documentText(tracks: film, export: #"{"to": "a.\#(container)", "preset": "\#(preset.rawValue)"}"#)
      #expect(try problems(text).isEmpty == preset.containers.contains(container), "\(container)")
    }
    let export = try edit(#"{"to": "a.\#(preset.containers[0])", "preset": "\#(preset.rawValue)"}"#).export
    #expect(export.video?.codec == preset.video?.codec && export.audio?.codec == preset.audio.codec)
    #expect(export.audio?.bitRate == preset.audio.bitRate)
    if let quality = preset.video?.quality { #expect(export.video?.rateControl == .quality(quality)) }
  }

  @Test func `the bit rate of a preset is at most what its codec can use`() throws {
    let made = try edit(
      #"{"to": "a.mp4", "preset": "highestQuality", "audio": {"sampleRate": 8000, "channels": 1}}"#)
    #expect(made.export.audio?.bitRate == 48_000)
  }

  @Test func `presets have AVFoundation's names`() {
    #expect(ExportPreset.size1920x1080.avFoundationName == "AVAssetExportPreset1920x1080")
    #expect(ExportPreset.hevcHighestQuality.avFoundationName == "AVAssetExportPresetHEVCHighestQuality")
    #expect(ExportPreset.appleM4A.avFoundationName == "AVAssetExportPresetAppleM4A")
  }

  @Test(arguments: [
    ("640x480", 1920, 1080, 640, 360), ("640x480", 1080, 1920, 360, 640), ("640x480", 1440, 1080, 640, 480),
    ("1280x720", 640, 360, 640, 360), ("1920x1080", 4096, 1716, 1920, 804), ("3840x2160", 1920, 1080, 1920, 1080),
    ("highestQuality", 1920, 1080, 1920, 1080), ("lowQuality", 1920, 1080, 480, 270),
  ])
  func `a film is made smaller to fit a preset, keeps its shape and is never enlarged`(
    preset: String, width: Int, height: Int, madeWidth: Int, madeHeight: Int
  ) throws {
    let made = try edit(#"{"to": "a.mp4", "preset": "\#(preset)"}"#, size: PixelSize(width: width, height: height))
    #expect(made.videoComposition.renderSize == PixelSize(width: madeWidth, height: madeHeight))
  }

  @Test func `lengths of the document are those of the film without the preset`() throws {
    let composition = """
      "videoComposition": { "renderSize": [1920, 1080], "scale": 0.5,
        "overlays": [ { "text": "T", "size": 90, "anchor": "top", "inset": 60 } ] }
      """
    let made = try edit(#"{"to": "a.mp4", "preset": "640x480"}"#, composition)
    #expect(made.videoComposition.renderSize == PixelSize(width: 640, height: 360))
    let overlay = made.videoComposition.overlays[0]
    #expect(overlay.placement == .anchor(.top, inset: 20))
    guard case .text(let text) = overlay.content else {
      Issue.record("there is no text")
      return
    }
    #expect(text.size == 30)
    // The document's own scale is smaller than what the preset needs.
    let half = try edit(#"{"to": "a.mp4", "preset": "3840x2160"}"#, composition)
    #expect(half.videoComposition.renderSize == PixelSize(width: 960, height: 540))
  }

  @Test func `keys of the document override the preset`() throws {
    let own = try edit(
      """
      {"to": "a.mp4", "preset": "hevc1920x1080", "video": {"quality": 20, "preset": "fast"}, "audio": {"channels": 6}}
      """
    ).export
    #expect(own.video?.codec == .hevc && own.video?.rateControl == .quality(20) && own.video?.preset == "fast")
    #expect(own.audio?.codec == .aac && own.audio?.bitRate == 384_000)
    let other = try edit(
      #"{"to": "a.mp4", "preset": "hevc1920x1080", "video": {"codec": "h264"}, "audio": {"codec": "opus"}}"#
    ).export
    #expect(other.video?.codec == .h264 && other.video?.rateControl == .quality(23))
    #expect(other.audio?.codec == .opus && other.audio?.bitRate == 128_000)
    let average = try edit(#"{"to": "a.mp4", "preset": "1280x720", "video": {"bitRate": 500000}}"#).export
    #expect(average.video?.rateControl == .averageBitRate(500_000))
    #expect(try edit(#"{"to": "a.mp4", "preset": "1280x720", "audio": false}"#).export.audio == nil)
  }

  @Test func `the settings assistant gives what a film of the media would have`() throws {
    let video = try SyntheticAssets.video(
      size: PixelSize(width: 1280, height: 720), rate: MediaTime(value: 30000, timescale: 1001))
    let settings = try SuggestedSettings(
      preset: .size640x480, media: [try SyntheticAssets.still(), video, try SyntheticAssets.sound()])
    #expect(settings.container == .mp4 && settings.size == PixelSize(width: 640, height: 360))
    #expect(settings.frameDuration == MediaTime(value: 1001, timescale: 30000))
    #expect(settings.video?.codec == .h264 && settings.video?.keyframeInterval == 60)
    #expect(settings.audio?.bitRate == 128_000)
    let sound = try SuggestedSettings(preset: .appleM4A, media: [video])
    #expect(sound.container == .m4a && sound.video == nil && sound.size == nil && sound.audio?.codec == .aac)
    let masters = try SuggestedSettings(preset: .appleProRes422LPCM, media: [video])
    #expect(masters.container == .mov && masters.video?.pixelFormat == .yuv422p10)
  }

  @Test(arguments: [("a.mxf", Container.mxf), ("a.mkv", .mkv), ("a.webm", .mov), ("a", .mov)])
  func `the settings of a document are those of its own container if the preset has it`(
    to: String, container: Container
  ) throws {
    let text = documentText(tracks: film, export: #"{"to": "\#(to)", "preset": "appleProRes422LPCM"}"#)
    let document = try Document.examine(Array(text.utf8), preset: .encode(.appleProRes422LPCM))
    var assets = try standardAssets()
    assets["v"] = try SyntheticAssets.video(size: PixelSize(width: 640, height: 360))
    let settings = try SuggestedSettings(preset: .appleProRes422LPCM, document: document, assets: assets)
    #expect(settings.container == container)
    #expect(settings.audio == (try document.lower(assets: assets, output: "a.\(container)").export.audio))
  }

  @Test func `the settings assistant gives no settings of what the media do not have`() throws {
    #expect(throws: DocumentError.self) {
      try SuggestedSettings(preset: .size1280x720, media: [try SyntheticAssets.sound()])
    }
    #expect(throws: DocumentError.self) {
      try SuggestedSettings(preset: .appleM4A, media: [try SyntheticAssets.video(hasSound: false)])
    }
  }
}
