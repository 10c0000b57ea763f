import CompositionModel
import EditDocument
import TestEdits
import Testing

/// The key `targetQuality` of a video.
@Suite struct TargetQualityDocumentTests {
  private static let tracks = #"[{"id": "A", "sound": false, "clips": [{"asset": "v", "use": "0..10"}]}]"#

  private func text(_ video: String, to film: String = "a.mp4", more: String = "") -> String {
    documentText(
      tracks: Self.tracks, #""videoComposition": {"frameDuration": "1/25"}"#,
      export: #"{"to": "\#(film)", "video": \#(video)\#(more)}"#)
  }

  @Test(arguments: VideoCodec.allCases.filter { $0.definition.qualityModel != nil })
  func `every codec with a constant quality begins at a guess for it`(codec: VideoCodec) throws {
    let model = try #require(codec.definition.qualityModel)
    let video = try lowered(
      text(#"{"codec": "\#(codec.rawValue)", "targetQuality": {"value": 0.98}}"#, to: "a.mkv")
    ).export.video
    #expect(video?.targetQuality == QualityTarget(.ssim, 0.98))
    #expect(video?.rateControl == .quality(model.usual))
    let better = try lowered(
      text(
        #"{"codec": "\#(codec.rawValue)", "targetQuality": {"metric": "ssim", "value": 0.993}}"#, to: "a.mkv")
    ).export.video
    guard case .quality(let quality) = better?.rateControl else {
      Issue.record("\(String(describing: better))")
      return
    }
    #expect(quality < model.usual && codec.definition.qualities?.contains(quality) == true)
  }

  @Test func `it takes the place of the quality of a preset`() throws {
    let edit = try lowered(text(#"{"targetQuality": {"value": 0.97}}"#, more: #", "preset": "1280x720""#))
    #expect(edit.export.video?.targetQuality?.value == 0.97)
    #expect(edit.export.video?.codec == .h264)
  }

  @Test func `an output has its own in place of a quality of all`() throws {
    let edit = try lowered(
      documentText(
        tracks: Self.tracks, #""videoComposition": {"frameDuration": "1/25"}"#,
        export: """
          {"to": "out", "video": {"quality": 20}, "outputs": [
            {"name": "a", "container": "mp4"},
            {"name": "b", "container": "mp4", "height": 120, "video": {"targetQuality": {"value": 0.96}}}]}
          """))
    let videos = try #require(edit.outputs).map(\.export.video)
    #expect(videos[0]?.rateControl == .quality(20) && videos[0]?.targetQuality == nil)
    #expect(videos[1]?.targetQuality?.value == 0.96 && videos[1]?.rateControl != .quality(20))
  }

  @Test(arguments: [
    (#"{"targetQuality": {"value": 0.98}, "quality": 20}"#, "targetQuality", "leave 'quality' out"),
    (#"{"targetQuality": {"value": 0.98}, "bitRate": 4000000}"#, "targetQuality", "exclude each other"),
    (#"{"targetQuality": {"value": 98}}"#, "targetQuality/value", "0.8"),
    (#"{"targetQuality": {"metric": "ssim"}}"#, "targetQuality", "value"),
    (#"{"targetQuality": {"metric": "vmaf", "value": 0.98}}"#, "targetQuality/metric", "ssim"),
    (#"{"targetQuality": {"ssim": 0.98}}"#, "targetQuality", "value"),
    (#"{"targetQuality": 0.98}"#, "targetQuality", "object"),
    (#"{"vmaf": 95}"#, "vmaf", "targetQuality"),
  ]) func `what cannot be is a problem at its place`(video: String, key: String, words: String) throws {
    let found = try problems(text(video))
    #expect(found.contains { $0.pointer.hasPrefix("/export/video/\(key)") && $0.message.contains(words) }, "\(found)")
  }

  @Test func `pictures that are too small to be compared have none`() throws {
    for (size, isProblem) in [("[64, 14]", true), ("[14, 64]", true), ("[16, 16]", false)] {
      let found = try problems(
        documentText(
          tracks: Self.tracks, #""videoComposition": {"frameDuration": "1/25", "renderSize": \#(size)}"#,
          export: #"{"to": "a.mp4", "video": {"targetQuality": {"value": 0.9}}}"#))
      #expect(found.map(\.pointer) == (isProblem ? ["/export/video/targetQuality"] : []), "\(size): \(found)")
    }
  }

  @Test func `codecs without a constant quality, and copied pictures, have none`() throws {
    let prores = try problems(
      text(#"{"codec": "prores422", "targetQuality": {"value": 0.98}}"#, to: "a.mov"))
    #expect(prores.contains { $0.message.contains("'targetQuality' is for h264, hevc, vp9, av1") }, "\(prores)")
    let smart = try problems(text(#"{"targetQuality": {"value": 0.98}}"#, more: #", "smart": true"#))
    #expect(smart.contains { $0.pointer == "/export/video/targetQuality" }, "\(smart)")
  }
}
