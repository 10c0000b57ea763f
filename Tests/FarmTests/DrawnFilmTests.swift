import Foundation
import TestMedia
import TestPrograms
import Testing

/// Films whose pictures are all described in their document.
@Suite(.ownThreads) struct DrawnFilmTests {
  @Test func `a film of pictures that are drawn has no file`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(
      ##"""
      { "sheaf": 1,
        "assets": { "red": { "color": "#d02030" }, "blue": { "color": "#2040c0" } },
        "tracks": [ { "clips": [ { "asset": "red", "duration": 2 }, { "asset": "blue", "duration": 2 } ] } ],
        "videoComposition": { "renderSize": [64, 36], "frameRate": 10, "overlays": [
          { "shape": "rectangle", "color": "#20e040", "width": 32, "height": 36, "anchor": "left" },
          { "text": { "timecode": "00:00:00:00" }, "anchor": "right", "size": 6 } ] },
        "export": { "video": { "codec": "ffv1", "pixelFormat": "yuv444p" } } }
      """##, to: "edit.json")
    for segments in ["1", ""] {
      let film = files.path("film\(segments).mkv")
      let made = try await TestFilm.render(edit, film, segmentDuration: segments)
      try #require(made.status == 0, "\(made.errors)")
      #expect(made.errors.isEmpty, "\(made.errors)")
      let pixels = try [UInt8](
        Tool.ffmpeg([
          "-i", film, "-vf", "scale=in_color_matrix=bt601:flags=accurate_rnd+full_chroma_int",
          "-pix_fmt", "rgb24", "-f", "rawvideo", "-",
        ]))
      let expectedCount = 40 * 64 * 36 * 3
      try #require(pixels.count == expectedCount)
      let places = [(0, 60, [0xd0, 0x20, 0x30]), (39, 60, [0x20, 0x40, 0xc0]), (20, 8, [0x20, 0xe0, 0x40])]
      for (frame, x, expected) in places {
        let start = (frame * 64 * 36 + 2 * 64 + x) * 3
        for (found, right) in zip(pixels[start..<(start + 3)], expected) {
          #expect(abs(Int(found) - right) <= 3, "frame \(frame): \(pixels[start..<(start + 3)])")
        }
      }
    }
    let cut = try await FrameHashes.video(files.path("film1.mkv")).frames.map(\.hash)
    let whole = try await FrameHashes.video(files.path("film.mkv")).frames.map(\.hash)
    #expect(cut == whole)
  }
}
