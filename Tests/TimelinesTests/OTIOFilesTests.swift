import CompositionModel
import EditDocument
import Foundation
import TestPrograms
import Testing

@testable import Timelines

/// Every item of every timeline of other projects, against opentimelineio.
@Suite(
  .enabled(
    if: !OTIOOracle.timelines.isEmpty && !QuickTests.areRun, "there is no SHEAF_SHARED_MEDIA and no ../shared/media")
)
struct OTIOFilesTests {
  @Test(arguments: OTIOOracle.timelines)
  func `every item is read as OpenTimelineIO has it`(path: String) throws {
    let (timeline, oracle) = (try TimelineFile(path).timeline, try #require(OTIOOracle.ofTimelines.get()[path]))
    #expect(timeline.tracks.map(\.name) == oracle.tracks.map(\.name))
    #expect(timeline.tracks.map(\.type) == oracle.tracks.map { $0.kind == "Audio" ? .audio : .video })
    for (track, expected) in zip(timeline.tracks, oracle.tracks) {
      #expect(track.items.count == expected.items.count, "\(expected.name)")
      var place = 0.0
      for (item, other) in zip(track.items, expected.items) {
        let what: Comment = "\(expected.name), \(other.name)"
        defer { place += item.duration.approximate }
        if case .transition(let transition) = item {
          let (before, after) = (try #require(other.before), try #require(other.after))
          #expect(transition.name == other.name)
          #expect(isNear(transition.before.approximate, seconds(before), rate: before[1]), what)
          #expect(isNear(transition.after.approximate, seconds(after), rate: after[1]), what)
          continue
        }
        let (used, expectedPlace) = (try #require(other.used), try #require(other.place))
        let rate = expectedPlace.duration[1]
        #expect(isNear(place, seconds(expectedPlace.start), rate: expectedPlace.start[1] == rate ? rate : 0.5), what)
        #expect(isNear(item.duration.approximate, seconds(expectedPlace.duration), rate: rate), what)
        switch item {
        case .gap: #expect(other.type == "Gap", what)
        case .clip(let clip) where other.type == "Clip":
          #expect(clip.name == other.name)
          #expect(isNear(clip.start.approximate, seconds(used.start), rate: used.start[1]), what)
          #expect(clip.speed.approximate == other.warp, what)
        default: break
        }
      }
    }
    // A transition at an end of a track counts there.
    let outside = oracle.tracks.map { track in
      (track.items.first?.before.map(seconds) ?? 0) + (track.items.last?.after.map(seconds) ?? 0)
    }
    #expect(isNear(try timeline.duration.approximate + (outside.max() ?? 0), seconds(oracle.duration), rate: 0.5))
  }

  @Test(arguments: OTIOOracle.timelines)
  func `every clip of the document shows what is visible of it`(path: String) throws {
    let (file, oracle) = (try TimelineFile(path), try #require(OTIOOracle.ofTimelines.get()[path]))
    var maker = DocumentOfTimeline(media: TimelineMedia())
    let document = try maker.document(of: file.timeline)
    let made = document.tracks.compactMap { if case .media(let track) = $0 { track } else { nil } }
    let ordered = made.filter { $0.type != .audio }.reversed() + made.filter { $0.type == .audio }
    let tracks = oracle.tracks.filter { track in track.items.contains { $0.used != nil && $0.type != "Gap" } }
    let expected = tracks.filter { $0.kind == "Video" } + tracks.filter { $0.kind == "Audio" }
    try #require(ordered.count == expected.count)
    for (track, other) in zip(ordered, expected) {
      let shown = other.items.filter { $0.used != nil && $0.type != "Gap" }
      let clips = track.clips.filter { $0.asset != DocumentOfTimeline.gap }
      try #require(clips.count == shown.count)
      let clock = DocumentClock(rate: document.rate)
      var end = 0.0
      for (clip, item) in zip(clips, shown) {
        let (visible, place, used) = (try #require(item.visible), try #require(item.place), try #require(item.used))
        let rate = used.start[1]
        let (head, warp) = (seconds(used.start) - seconds(visible.start), item.warp ?? 1)
        let begin = seconds(used.start) - (item.media.map { seconds($0.start) } ?? 0)
        let tail = seconds(visible.duration) - head - seconds(used.duration)
        // Neither the film nor the media have anything before their start, and the media nothing after their end.
        var (early, late) = (min(head, seconds(place.start)), tail)
        if clip.use != nil, warp > 0 {
          early = min(early, begin / warp)
          if let media = item.media {
            late = min(late, max(0, (seconds(media.duration) - begin) / warp - seconds(used.duration)))
          }
        }
        let length = early + seconds(used.duration) + late
        let transition = try clip.transition?.duration.flatMap { try clock.seconds($0) }?.approximate ?? 0
        let start = try clip.at.flatMap { try clock.seconds($0) }?.approximate ?? end - transition
        let use = try clip.use.flatMap { try clock.range($0, end: nil) }
        let duration = try clip.duration.flatMap { try clock.seconds($0) } ?? use.map { try $0.end - $0.start } ?? .zero
        #expect(isNear(start, seconds(place.start) - early, rate: 0.5), "\(other.name), \(item.name)")
        #expect(isNear(duration.approximate, length, rate: rate), "\(other.name), \(item.name)")
        if let use, item.type == "Clip" {
          #expect(isNear(use.start.approximate, begin - early * warp, rate: rate), "\(other.name), \(item.name)")
          #expect(isNear(try (use.end - use.start).approximate, length * warp, rate: rate), "\(item.name)")
        }
        end = start + duration.approximate
      }
    }
    // It is a document: what is read of its text is the same.
    #expect(try Document(json: document.json) == document)
  }

  @Test func `import, export and import give the same document`() throws {
    func document(_ timeline: Timeline) throws -> (document: Document, notes: [TimelineNote]) {
      var maker = DocumentOfTimeline(media: TimelineMedia())
      return (try maker.document(of: timeline), maker.notes)
    }
    let folder = try TemporaryFolder()
    var written: [(path: String, again: String, isShorter: Bool)] = []
    for (number, path) in OTIOOracle.timelines.enumerated() {
      let (first, notes) = try document(TimelineFile(path).timeline)
      var exporter = TimelineOfDocument(first)
      let (bytes, _) = try TimelineFile.write(exporter.timeline(named: "again"))
      let again = try folder.write(Data(bytes), "\(number).otio")
      #expect(try document(TimelineFile(again).timeline).document.json == first.json, "\(path)")
      let isShorter = notes.contains { $0.reason.hasPrefix("shorter") }
      written.append((path, again, isShorter))
    }
    // And other programs can read them.
    let (originals, exported) = (try OTIOOracle.ofTimelines.get(), try OTIOOracle.of(written.map(\.again)))
    for (path, again, isShorter) in written {
      let (original, export) = (try #require(originals[path]), try #require(exported[again]))
      let (made, was) = (seconds(export.duration), seconds(original.duration))
      // What is lost at the ends is said.
      #expect(isNear(made, was, rate: 0.5) || isShorter && made < was, "\(path)")
    }
  }
}
