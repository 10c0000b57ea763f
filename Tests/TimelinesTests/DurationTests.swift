import CompositionModel
import EditDocument
import Foundation
import TestPrograms
import Testing

@testable import Timelines

/// Every time of every timeline of other projects, exactly, against opentimelineio: what is missing is listed.
@Suite(
  .enabled(
    if: !OTIOOracle.timelines.isEmpty && !QuickTests.areRun, "there is no SHEAF_SHARED_MEDIA and no ../shared/media")
)
struct DurationTests {
  /// How much the notes say that something is shorter, in seconds, by their places.
  private func losses(_ notes: [TimelineNote]) throws -> [(place: String, seconds: Double)] {
    try notes.compactMap { note in
      guard let match = note.reason.firstMatch(of: #/^shorter by ([0-9.]+) s/#) else { return nil }
      return (note.place, try #require(Double(match.1)))
    }
  }

  @Test(arguments: OTIOOracle.timelines) func `each item has its start, its length and its media exactly`(
    path: String
  ) throws {
    let (file, oracle) = (try TimelineFile(path), try #require(OTIOOracle.ofTimelines.get()[path]))
    try #require(file.timeline.tracks.count == oracle.tracks.count)
    for (track, expected) in zip(file.timeline.tracks, oracle.tracks) {
      try #require(track.items.count == expected.items.count)
      var place = Rational.zero
      for (item, other) in zip(track.items, expected.items) {
        let what: Comment = "\(expected.name), \(other.name)"
        defer { place = (try? place + item.duration) ?? .zero }
        switch item {
        case .transition(let transition):
          #expect(try isExactly(transition.before, #require(other.before)), what)
          #expect(try isExactly(transition.after, #require(other.after)), what)
        case .gap(let duration):
          #expect(try isExactly(duration, #require(other.place).duration), what)
          #expect(try isExactly(place, #require(other.place).start), what)
        case .clip(let clip):
          #expect(try isExactly(clip.duration, #require(other.place).duration), what)
          #expect(try isExactly(place, #require(other.place).start), what)
          guard case .media(let reference) = clip.source, other.type == "Clip" else { continue }
          #expect(try isExactly(clip.start, #require(other.used).start), what)
          #expect((reference.available == nil) == (other.media == nil), what)
          guard let available = reference.available, let media = other.media else { continue }
          #expect(try isExactly(available.start, media.start), what)
          #expect(try isExactly(#require(available.duration), media.duration), what)
        }
      }
    }
  }

  @Test(arguments: OTIOOracle.timelines) func `the film is as long as the timeline, but for what is listed`(
    path: String
  ) throws {
    let (file, oracle) = (try TimelineFile(path), try #require(OTIOOracle.ofTimelines.get()[path]))
    var maker = DocumentOfTimeline(media: TimelineMedia())
    let document = try maker.document(of: file.timeline)
    let clock = DocumentClock(rate: document.rate)
    var end = Rational.zero
    var clips = 0
    for case .media(let track) in document.tracks {
      var last = Rational.zero
      for clip in track.clips {
        if clip.asset != DocumentOfTimeline.gap { clips += 1 }
        let overlap = try clip.transition?.duration.flatMap { try clock.seconds($0) } ?? .zero
        let start = try clip.at.flatMap { try clock.seconds($0) } ?? (last - overlap)
        let use = try clip.use.flatMap { try clock.range($0, end: nil) }
        let duration = try clip.duration.flatMap { try clock.seconds($0) } ?? use.map { try $0.end - $0.start }
        last = try start + #require(duration)
      }
      end = max(end, last)
    }
    // Every clip is there, or listed as one that is not.
    let expected = oracle.tracks.flatMap(\.items).filter { $0.used != nil && $0.type != "Gap" }.count
    let left = (file.notes + maker.notes).filter { $0.item.hasPrefix("the clip") && !$0.reason.hasPrefix("its name") }
    #expect(clips + left.count == expected, "\(left)")
    // What is missing at the start and at the end of the longest track is listed with its length.
    let missing = seconds(oracle.duration) - end.approximate
    let listed = try losses(file.notes + maker.notes)
    if listed.isEmpty {
      #expect(try isExactly(end, oracle.duration), "\(end) and \(oracle.duration)")
    } else {
      let sums = listed.indices.flatMap { first in
        (first..<listed.count).map { last in listed[first...last].reduce(0) { $0 + $1.seconds } }
      }
      #expect(([0] + sums).contains { abs($0 - missing) < 0.002 }, "\(missing) s are missing, and listed are \(listed)")
    }
  }
}
