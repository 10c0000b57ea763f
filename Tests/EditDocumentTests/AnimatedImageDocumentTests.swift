import CompositionModel
import EditDocument
import TestEdits
import Testing

/// GIF, APNG and WebP as outputs of documents.
@Suite struct AnimatedImageDocumentTests {
  private let picture = #"{"id": "A", "sound": false, "clips": [{"asset": "v", "use": "0..10"}]}"#

  private func lowered(
    _ export: String, composition: String = #"{"frameDuration": "1/25"}"#, tracks: String? = nil,
    assets: [AssetID: AssetDescription]? = nil
  ) throws -> (edit: Edit, warnings: [String]) {
    let text = documentText(
      tracks: "[\(tracks ?? picture)]", #""videoComposition": \#(composition)"#, export: export)
    let (edit, warnings) = try Document.parse(Array(text.utf8)).lowerWithWarnings(
      assets: assets ?? standardAssets(), output: nil)
    return (edit, warnings.map(\.description).filter { !$0.contains("nothing uses") })
  }

  private func problems(_ export: String, composition: String = #"{"frameDuration": "1/25"}"#) -> [String] {
    do throws(any Error) {
      _ = try lowered(export, composition: composition)
      return []
    } catch {
      return (error as? DocumentError)?.problems.map(\.description) ?? ["\(error)"]
    }
  }

  @Test(arguments: [("gif", VideoCodec.gif), ("apng", .apng), ("webp", .webp)])
  func `the extension selects the format`(_ name: String, _ codec: VideoCodec) throws {
    let (edit, warnings) = try lowered(#"{"to": "film.\#(name)"}"#)
    let video = try #require(edit.export.video)
    #expect(video.codec == codec && video.pixelFormat == .yuv444p && video.keyframeInterval == 1)
    #expect(edit.export.audio == nil && edit.export.plays == nil && video.dither == nil)
    #expect(warnings == [])
  }

  @Test func `settings are kept`() throws {
    let edit = try lowered(#"{"to": "film.gif", "video": {"dither": "ordered", "plays": 3}}"#).edit
    #expect(edit.export.plays == 3 && edit.export.video?.dither == .ordered)
    let webp = try lowered(#"{"to": "film.webp", "video": {"quality": 90, "preset": "6", "plays": 0}}"#).edit
    #expect(webp.export.video?.rateControl == .quality(90) && webp.export.video?.preset == "6")
    #expect(webp.export.plays == nil)
  }

  @Test func `sound is left out with a warning, and refused if it is asked for`() throws {
    let sounding = #"{"id": "A", "clips": [{"asset": "v", "use": "0..10"}]}"#
    let (edit, warnings) = try lowered(#"{"to": "film.gif"}"#, tracks: sounding)
    #expect(edit.export.audio == nil)
    #expect(warnings == ["/export: gif has no sound: that of the film is left out; \"audio\": false says so"])
    #expect(try lowered(#"{"to": "film.gif", "audio": false}"#, tracks: sounding).warnings == [])
    #expect(
      problems(#"{"to": "film.gif", "audio": {"channels": 1}}"#).contains {
        $0.hasPrefix("/export/audio: gif has no sound")
      })
  }

  @Test func `times that a format cannot have`() throws {
    let fast = problems(#"{"to": "film.gif"}"#, composition: #"{"frameDuration": "1/60"}"#)
    #expect(
      fast == [
        "/videoComposition: a frame every 1/60 s cannot be shown in gif, whose frames last 1/50 s at least; "
          + "\"frameDuration\": \"1/25\" is possible"
      ])
    #expect(problems(#"{"to": "film.webp"}"#, composition: #"{"frameDuration": "1/60"}"#) == [])
    #expect(problems(#"{"to": "film.apng"}"#, composition: #"{"frameDuration": "100/65537"}"#).count == 1)
    let rounded = try lowered(#"{"to": "film.gif"}"#, composition: #"{"frameDuration": "1/30"}"#).warnings
    #expect(
      rounded == [
        "/videoComposition: a frame every 1/30 s is shown to the nearest 1/100 s in gif; no error adds to another's"
      ])
  }

  @Test(arguments: ["hdr10", "hlg", "displayP3", "bt2020"])
  func `colours that screens do not have are refused`(_ name: String) {
    let found = problems(#"{"to": "film.apng"}"#, composition: #"{"frameDuration": "1/25", "color": "\#(name)"}"#)
    #expect(
      found == ["/videoComposition/color: apng has the colours of screens alone: leave 'color' out, or give \"bt709\""])
  }

  @Test(arguments: [("smpte2084", "bt2020"), ("bt709", "smpte432")])
  func `a film of wide colours is converted`(_ transfer: String, _ primaries: String) throws {
    var assets = try standardAssets()
    assets["v"]?.tracks[0].video?.colour = ColourTags(primaries: primaries, transfer: transfer, matrix: "bt2020nc")
    let edit = try lowered(#"{"to": "film.gif"}"#, assets: assets).edit
    #expect(edit.export.video?.colour.primaries == "bt709" && edit.export.video?.colour.transfer == "bt709")
  }

  @Test func `other settings are refused`() {
    #expect(problems(#"{"to": "film.mp4", "video": {"plays": 2}}"#).first?.contains("gif, apng, webp can") == true)
    #expect(
      problems(#"{"to": "film.webp", "video": {"dither": "none"}}"#).first?.contains("'dither' is for gif") == true)
    #expect(
      problems(#"{"to": "film.gif", "video": {"codec": "h264"}}"#).first?.contains("cannot be stored in gif") == true)
    #expect(problems(#"{"to": "film.gif", "video": {"loop": 2}}"#).first?.contains("did you mean 'plays'?") == true)
    #expect(problems(#"{"to": "film.png"}"#).first?.contains("an animated PNG ends in .apng") == true)
    #expect(problems(#"{"to": "film.gif", "metadata": {"title": "T"}}"#).first?.contains("it has no metadata") == true)
  }
}
