import CompositionModel
import EditDocument
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import Testing

@testable import Renderer

/// Texts that count, beside films with the same texts written.
@Suite struct CountingOverlayTests {
  /// - Parameter only: The one frame of a film of one segment that is made. Nil: all are.
  private func frames(
    _ overlay: String, segment: MediaTime = MediaTime(seconds: 100), range: String = "", only: Int? = nil
  ) throws -> (segments: Int, frames: [[UInt8]]) {
    let document = try Document.parse(
      Array(
        """
        { "sheaf": 1, "assets": { "back": { "gradient": ["#102040", "#e0d080"] } },
          "tracks": [ { "clips": [ { "asset": "back", "duration": "45f" } ] } ],
          "videoComposition": { "renderSize": [200, 62], "frameRate": 29.97, "overlays": [ { \(overlay) } ] },
          "export": { "to": "out.mkv"\(range), "video": { "codec": "ffv1", "pixelFormat": "yuv420p" } } }
        """.utf8))
    let edit = try document.lower(assets: [:], output: nil)
    let requests = document.fontRequests
    let (list, contents) = try FontFinder.find(FontTask(texts: requests))
    let inputs = Dictionary(
      zip(list.files, contents).map { ($0.digest, MemorySource($1) as any ByteSource) }
    ) { first, _ in first }
    let plan = try RenderPlanner.plan(
      edit, assets: [:], fonts: Dictionary(uniqueKeysWithValues: zip(requests, list.texts)), segmentDuration: segment)
    var frames: [[UInt8]] = []
    for segment in plan.segments {
      try segment.task.check()
      let task = try JSONDecoder().decode(VideoTask.self, from: JSONEncoder().encode(segment.task))
      let maker = try FrameMaker(task, inputs: inputs)
      for index in only.map({ $0..<$0 + 1 }) ?? 0..<task.frameCount { frames.append(try maker.frame(index).packed) }
    }
    return (plan.segments.count, frames)
  }

  private static let style = #""size": 20, "anchor": "left", "inset": 4"#

  @Test(arguments: [
    (
      #"{ "timecode": "00:00:59;20", "prefix": "TC " }"#,
      [0: "TC 00:00:59;20", 9: "TC 00:00:59;29", 10: "TC 00:01:00;02", 44: "TC 00:01:01;06"]
    ),
    (#"{ "counter": [0, 44], "over": "0f..44f", "suffix": " km" }"#, [0: "0 km", 17: "17 km", 44: "44 km"]),
    (#"{ "countdown": 1, "decimals": 1, "format": "number" }"#, [0: "1.0", 2: "1.0", 3: "0.9", 44: "0.0"]),
    (
      #"{ "date": "2024-02-28T23:59:59", "format": "%a %e %b %T" }"#,
      [0: "Wed 28 Feb 23:59:59", 30: "Thu 29 Feb 00:00:00"]
    ),
  ])
  func `each frame shows the text of its time`(_ text: String, _ expected: [Int: String]) throws {
    for style in [
      Self.style, #"\#(Self.style), "outline": { "width": 2 }, "box": { "padding": 4 }"#,
      #"\#(Self.style), "rotate": 5, "filters": [ { "kind": "blur", "radius": 1 } ]"#,
    ] {
      let counting = try frames(#""text": \#(text), \#(style)"#).frames
      for (frame, written) in expected.sorted(by: { $0.key < $1.key }) {
        let same = try frames(#""text": "\#(written)", \#(style)"#, only: frame).frames
        #expect(same == [counting[frame]], "frame \(frame): \(written)")
      }
    }
  }

  @Test func `any cut into segments gives the same pictures, and so does a part of the film`() throws {
    for text in [
      #"{ "timecode": "01:00:00;00" }"#, #"{ "frame": 0 }"#, #"{ "counter": 0, "rate": 10 }"#,
      #"{ "date": "2026-11-28", "format": "%T" }"#,
    ] {
      let overlay = #""text": \#(text), "over": "4f..40f", \#(Self.style)"#
      let whole = try frames(overlay)
      let cut = try frames(overlay, segment: MediaTime(value: 5 * 1001, timescale: 30000))
      let part = try frames(overlay, range: #", "timeRange": "7f..30f""#)
      #expect(whole.segments == 1 && cut.segments >= 6 && whole.frames.count == 45)
      #expect(whole.frames == cut.frames)
      #expect(Array(whole.frames[7..<30]) == part.frames)
      // Each value is another picture, and before and after the overlay there is none.
      #expect(whole.frames[0] == whole.frames[44])
      #expect(Set(whole.frames).count == (text.contains("date") ? 3 : text.contains("rate") ? 14 : 37), "\(text)")
    }
  }
}
