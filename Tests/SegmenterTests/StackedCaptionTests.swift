import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// Captions of several entries of a document that are shown at once.
@Suite struct StackedCaptionTests {
  private func captions(_ asset: AssetID, _ anchor: Anchor = .bottom, at start: MediaTime = .zero) -> Captions {
    Captions(
      asset: asset, sourceTrack: 0, start: start,
      use: .drawn(CaptionStyle(size: 40, outline: 2, anchor: anchor, margin: 20)))
  }

  /// The captions of the first segment of a film of 10 s.
  private func planned(_ captions: [Captions], _ times: [AssetID: Range<Int64>]) throws -> [PlannedCaptions] {
    let clip = Synthetic.clip("still", use: try Synthetic.range(0, 0), at: try Synthetic.range(0, 10))
    var edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])])
    edit.captions = captions
    var assets = ["still": try Synthetic.still()]
    var fonts: [FontRequest: TextFonts] = [:]
    let font = PlannedFont(
      digest: "font", index: 0, format: "TrueType", weight: 80, slant: 0, variations: "", isColor: false,
      pictureSize: nil)
    for captions in captions {
      let range = try #require(times[captions.asset])
      let format = CaptionsFormat(
        header: "", hasStyles: false,
        events: [
          CaptionEvent(
            start: range.lowerBound, end: range.upperBound, fields: "3,0,Default,,0,0,0,,\(captions.asset)")
        ])
      var track = TrackDescription(
        index: 0, type: .subtitle, codec: "subrip", timebase: MediaTime(value: 1, timescale: 1000),
        range: try Synthetic.range(0, 10))
      track.captions = format
      assets[captions.asset] = AssetDescription(container: "srt", duration: MediaTime(seconds: 10), tracks: [track])
      guard case .drawn(let style) = captions.use else { continue }
      for request in CaptionScript(format, style: style, frame: edit.videoComposition.renderSize).requests {
        fonts[request] = TextFonts(fonts: [font], runs: [FontRun(length: request.text.utf8.count, font: 0)])
      }
    }
    let plan = try RenderPlanner.plan(edit, assets: Synthetic.assets(assets), fonts: fonts)
    return plan.segments.first?.task.captions ?? []
  }

  @Test func `those in the same third of the frame are one script, in which libass keeps them apart`() throws {
    let found = try planned(
      [captions("en", at: MediaTime(seconds: 1)), captions("de", .bottomLeft)], ["en": 0..<2000, "de": 2000..<5000])
    #expect(found.count == 1)
    let script = try #require(found.first)
    #expect(script.events.map(\.start) == [0, 1000] && script.events.map(\.end) == [2000, 4000])
    #expect(script.header.contains("\nStyle: Default,") && script.header.contains("\nStyle: Default1,"))
    #expect(script.events[0].fields.hasPrefix("3,0,Default,"))
    #expect(script.events[1].fields.hasPrefix("10000003,0,Default1,"))
    #expect(script.fonts.count == 1)
  }

  @Test func `those that are not shown at once, or elsewhere, stay by themselves`() throws {
    let times: [AssetID: Range<Int64>] = ["en": 0..<2000, "de": 2000..<5000, "fr": 0..<2000]
    #expect(try planned([captions("en"), captions("de")], times).count == 2)
    #expect(try planned([captions("en"), captions("fr", .top)], times).count == 2)
    let single = try planned([captions("en")], times)
    #expect(single.first?.header.contains("Default1") == false)
    #expect(try planned([captions("en"), captions("fr", .top)], times).first == single.first)
  }
}
