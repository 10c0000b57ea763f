import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// Captions that are made to exhaust time or memory.
@Suite(.timeLimit(.minutes(10))) struct HostileCaptionTests {
  private func format(_ events: [CaptionEvent]) -> CaptionsFormat {
    CaptionsFormat(header: "[Script Info]", hasStyles: true, events: events)
  }

  private func event(_ range: Range<Int64>, _ text: String) -> CaptionEvent {
    CaptionEvent(start: range.lowerBound, end: range.upperBound, fields: "0,0,Default,,0,0,0,,\(text)")
  }

  @Test func `braces that nothing closes are text`() {
    // To look for the end of each would take hours.
    let braces = String(repeating: "{", count: 1_000_000)
    let script = CaptionScript(
      format([event(0..<1000, "{\\i1}a{\\i0}" + braces)]), style: nil, frame: PixelSize(width: 640, height: 360))
    #expect(script.events.count == 1)
    #expect(script.requests.map { $0.text.filter { $0 == "{" }.count }.reduce(0, +) == braces.count)
  }

  @Test func `styles of QuickTime text are found at once and have a usual size`() {
    let event = "0,0,None,,0,0,0,,{\\fs}{\\c}a"
    for size in ["nan", "inf", "-1", "1e300", ""] {
      let styles = QuickTimeStyles("Style: A,Arial,\(size),&H1234567890\n")
      #expect(styles.complete(event) == "0,0,A,,0,0,0,,{\\fs16}{\\1c&HFFFFFF&}a")
    }
    // To look through all styles for each caption, or through all columns for each style, would take hours.
    let columns = "Format: Fontsize," + String(repeating: "a,", count: 50_000) + "Name\n"
    let many = (0..<20_000).map { "Style: \($0),Arial,20,&HFF\n" }.joined()
    let (named, unnamed) = (QuickTimeStyles(many), QuickTimeStyles(columns + many))
    for number in 15_000..<20_000 {
      #expect(named.complete("0,0,\(number),,0,0,0,,{\\fs}a") == "0,0,\(number),,0,0,0,,{\\fs20}a")
    }
    #expect(unnamed.complete(event) == event)
  }

  /// The plan of a film of 100 s whose text track has captions.
  private func plan(_ events: [CaptionEvent]) throws -> RenderPlan {
    let clip = Synthetic.clip("still", use: try Synthetic.range(0, 0), at: try Synthetic.range(0, 100))
    var edit = try Synthetic.edit(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])])
    edit.captions = [Captions(asset: "text", sourceTrack: 0, start: .zero, use: .track(CaptionTrack()))]
    let whole = try Synthetic.range(0, 100)
    var track = TrackDescription(
      index: 0, type: .subtitle, codec: "subrip", timebase: MediaTime(value: 1, timescale: 1000), range: whole)
    track.captions = format(events)
    let text = AssetDescription(container: "srt", duration: whole.end, tracks: [track])
    return try RenderPlanner.plan(
      edit, assets: Synthetic.assets(["still": Synthetic.still(), "text": text]))
  }

  @Test func `captions that are shown together are limited in a QuickTime track`() throws {
    let long = String(repeating: "a", count: 800)
    let few = try plan((0..<50).map { event($0..<90_000, long) })
    let texts = try #require(few.stitch.main.file.texts?.first?.events)
    #expect(texts.map(\.fields.utf8.count).max() ?? 0 > 40_000 && texts.last?.end == 100_000)
    let together = #expect(throws: PlanError.self) { _ = try plan((0..<200).map { event($0..<90_000, long) }) }
    #expect(together?.code == .captionsTooLong(asset: "text", limit: 60_000, at: 72))
    #expect(together?.problem.pointer == "/assets/text")
    let repeated = (0..<4000).map { Int64($0) }.map { event($0 * 20..<$0 * 20 + 1400, long) }
    let error = #expect(throws: PlanError.self) { _ = try plan(repeated) }
    #expect(error?.code == .textTrackTooLarge(asset: "text", limit: 64 << 20))
  }
}
