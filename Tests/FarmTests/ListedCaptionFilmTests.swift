import Foundation
import TestMedia
import TestPrograms
import Testing

/// Captions that are listed in a document are those of a file with the same texts.
@Suite(.ownThreads) struct ListedCaptionFilmTests {
  @Test func `a list is drawn and carried as a file of captions is`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    _ = try files.write(
      "1\n00:00:00,200 --> 00:00:01,100\nThe first and more\nin two lines\n\n2\n00:00:01,300 --> 00:00:02,000\nGrüße\n",
      to: "c.srt")
    let list = ##"""
      "cues": [ { "over": "0.2..1.1", "text": "The first and more\nin two lines" }, { "over": "1.3..2", "text": "Grüße" } ]
      """##
    var films: [String] = []
    for (name, captions) in [("list", list), ("file", #""asset": "c""#)] {
      let assets = name == "file" ? #", "c": "c.srt""# : ""
      let edit = try files.write(
        ##"""
        { "sheaf": 1, "assets": { "a": { "color": "#204060" } \##(assets) },
          "tracks": [ { "clips": [ { "asset": "a", "duration": 2.5 } ] } ],
          "videoComposition": { "renderSize": [320, 180], "frameRate": 10 },
          "captions": [ { \##(captions), "at": 0.1 }, { \##(captions), "as": "track", "language": "eng" } ],
          "export": { "video": { "codec": "ffv1" } } }
        """##, to: "\(name).json")
      let film = files.path("\(name).mkv")
      let made = try await TestFilm.render(edit, film, segmentDuration: name == "list" ? "1" : "")
      try #require(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
      films.append(film)
    }
    let frames = try await [FrameHashes.video(films[0]), FrameHashes.video(films[1])].map { $0.frames.map(\.hash) }
    #expect(frames[0].count == 25 && frames[0] == frames[1] && Set(frames[0]).count == 3)
    let tracks = try films.map { try Tool.ffmpeg("-i", $0, "-map", "0:s:0", "-f", "srt", "-") }
    #expect(tracks[0] == tracks[1] && !tracks[0].isEmpty)
  }
}
