import Foundation
import TestMedia
import TestPrograms
import Testing

/// Films of texts that are seen part by part.
@Suite(.ownThreads) struct RevealedTextFilmTests {
  /// Lumas of each frame, row by row.
  private func frames(_ text: String, _ files: Workspace, _ name: String, segments: String = "") async throws
    -> [[UInt8]]
  {
    let edit = try files.write(
      ##"""
      { "sheaf": 1, "assets": { "a": { "color": "#000000" } },
        "tracks": [ { "clips": [ { "asset": "a", "duration": 2 } ] } ],
        "videoComposition": { "renderSize": [240, 80], "frameRate": 10, "overlays": [ \##(text) ] },
        "export": { "video": { "codec": "ffv1" } } }
      """##, to: "\(name).json")
    let film = files.path("\(name).mkv")
    let made = try await TestFilm.render(edit, film, segmentDuration: segments)
    try #require(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
    let luma = try [UInt8](Tool.ffmpeg("-i", film, "-vf", "extractplanes=y", "-f", "rawvideo", "-"))
    try #require(luma.count == 20 * 240 * 80)
    return (0..<20).map { Array(luma[($0 * 240 * 80)..<(($0 + 1) * 240 * 80)]) }
  }

  private static let keys = [
    "", #", "transform": { "rotate": 7 }"#, ##", "outline": { "width": 2, "color": "#ff0000" }"##,
  ]

  @Test(arguments: keys.spread(2))
  func `letters keep their places while more of them are seen`(keys: String) async throws {
    let files = try Workspace()
    defer { files.remove() }
    let text = #"{ "text": "Typed out\nin lines", "size": 28 \#(keys)"#
    let whole = try await frames(text + " }", files, "whole")[0]
    let typed = try await frames(text + #", "reveal": { "over": "0.2..1.7" } }"#, files, "typed", segments: "1")
    let background = try #require(whole.first)
    var before = 0
    for (number, frame) in typed.enumerated() {
      // What is seen is as in the whole text: nothing is brighter or darker than there, and more from frame to frame.
      let wrong = zip(frame, whole).count { $0 != background && $0 != $1 }
      let seen = frame.count { $0 != background }
      #expect(wrong <= seen / 8, "frame \(number): \(wrong) of \(seen)")
      #expect(seen >= before, "frame \(number)")
      before = seen
    }
    #expect(
      typed[0].allSatisfy { $0 == background } && typed[2] != typed[0] && typed[17] == whole && typed[19] == whole)
    #expect(Set(typed).count == 16)
    if keys.isEmpty {
      let words = try await frames(text + #", "reveal": { "by": "word", "over": "0..1.2" } }"#, files, "words")
      #expect(Set(words).count == 4 && words[12] == whole && words[11] != whole && words[0][0] == background)
    }
  }
}
