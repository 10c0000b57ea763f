import CompositionModel
import EditDocument
import Foundation
import TestPrograms
import Testing

@testable import Timelines

/// Documents as timelines.
@Suite(.enabled(if: !QuickTests.areRun)) struct ExportTests {
  private let edit = """
    {
      "sheaf": 1,
      "assets": { "a": "media/a b.mov", "b": "/media/b.mov", "bed": "bed.wav", "red": { "color": "#ff0000" } },
      "markers": { "m": "clip:x.start+1" },
      "tracks": [
        { "id": "V", "clips": [
          { "asset": "a", "name": "x", "use": "2..8" },
          { "asset": "b", "use": "0..5", "transition": 1 },
          { "asset": "a", "use": "0..1", "at": 12, "fadeIn": 0.4, "fadeOut": 0.2, "opacity": 0.5 },
          { "asset": "b", "freeze": 2, "duration": "25f" },
          { "asset": "b", "use": "0..2", "speed": 2, "reverse": true },
          { "asset": "red", "duration": 1 } ] },
        { "id": "music", "type": "audio", "clips": [ { "asset": "bed", "use": "0..3", "loop": true, "until": "end" } ] }
      ],
      "videoComposition": { "frameRate": 25, "overlays": [ { "text": "x" } ] },
      "export": { "to": "x.mp4" }
    }
    """

  private func exported() throws -> (bytes: [UInt8], notes: [String]) {
    var maker = TimelineOfDocument(try Document(json: edit))
    let (bytes, notes) = try TimelineFile.write(maker.timeline(named: "edit"))
    return (bytes, (maker.notes + notes).map { $0.text(in: "") })
  }

  @Test func `clips are where the document has them, as OpenTimelineIO reads them`() throws {
    let folder = try TemporaryFolder()
    let oracle = try OTIOOracle(of: folder.write(Data(exported().bytes), "edit.otio"))
    #expect(oracle.tracks.map(\.name) == ["V", "V.sound", "music"])
    #expect(oracle.tracks.map(\.kind) == ["Video", "Audio", "Audio"])
    #expect(seconds(oracle.duration) == 16)
    let video = oracle.tracks[0].items
    #expect(
      video.map(\.type) == [
        "Clip", "Transition", "Clip", "Gap", "Transition", "Clip", "Transition", "Gap", "Clip", "Clip", "Clip",
      ])
    func frames(_ span: OTIOOracle.Span?) -> [Double] { span.map { [$0.start[0], $0.duration[0]] } ?? [] }
    // All of the first clip with its transition, and of the second, is visible.
    #expect(frames(video[0].visible) == [50, 150] && frames(video[2].visible) == [0, 125])
    #expect(video[0].name == "x" && video[2].name == "b")
    #expect(frames(video[3].place) == [250, 50])
    #expect(frames(video[5].used) == [0, 25] && frames(video[5].place) == [300, 25])
    #expect(frames(video[8].used) == [50, 25] && video[8].warp == 0)
    #expect(frames(video[9].used) == [0, 25] && video[9].warp == -2)
    #expect(frames(oracle.tracks[2].items.last?.used) == [0, 25])
    #expect(oracle.tracks[2].items.count == 6)
  }

  @Test func `what the timeline does not have is listed with its place`() throws {
    #expect(
      try exported().notes == [
        "/tracks/1/clips/0/loop: 'loop' of the clip: each turn is a clip of its own",
        "/videoComposition/overlays/0: the overlay 'text': not taken: a timeline has none",
        "/export: the settings of the output: not taken: a timeline has none",
        "/tracks/0/clips/2/opacity: 'opacity' of the clip 'a': not taken: OpenTimelineIO has no such property",
      ])
  }

  @Test func `what was exported is imported as it was`() throws {
    let (timeline, _) = try OTIOReader.read(exported().bytes)
    var maker = DocumentOfTimeline(media: TimelineMedia())
    let document = try maker.document(of: timeline)
    #expect(document.assets == ["a b": "media/a b.mov", "b": "/media/b.mov", "bed": "bed.wav"])
    #expect(document.markers == ["m": 1])
    guard case .media(let video)? = document.tracks.first, case .media(let music)? = document.tracks.last else {
      throw Tool.Failure(description: "there are no tracks")
    }
    #expect(
      video.clips.map(\.use)
        == ["2..8", "0..5", "0..1", nil, "0..2", nil].map { $0.flatMap { Document.TimeRange($0) } })
    #expect(video.clips[1].transition?.duration == 1)
    #expect(video.clips[2].at == 12 && video.clips[2].fadeIn?.duration == Document.Time("0.4"))
    #expect(video.clips[2].fadeOut?.duration == Document.Time("0.2"))
    #expect(video.clips[3].freeze == 2 && video.clips[4].reverse == true && video.clips[4].duration == 1)
    #expect(music.clips.count == 6)
  }

  @Test func `transitions of a document keep their kind`() throws {
    let text =
      #"{"sheaf":1,"assets":{"a":"a.mov"},"tracks":[{"sound":false,"clips":[{"asset":"a","use":"0..4"},{"asset":"a","use":"0..4","transition":{"kind":"wipe","direction":"up","softness":0.2,"duration":1}}]}],"videoComposition":{"frameRate":24}}"#
    let document = try Document(json: text)
    var maker = TimelineOfDocument(document)
    let (timeline, _) = try OTIOReader.read(TimelineFile.write(maker.timeline(named: "x")).bytes)
    var again = DocumentOfTimeline(media: TimelineMedia())
    #expect(try again.document(of: timeline) == document)
  }
}
