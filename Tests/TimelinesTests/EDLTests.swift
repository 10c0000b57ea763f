import CompositionModel
import EditDocument
import Foundation
import TestPrograms
import Testing

@testable import Timelines

struct EDLTests {
  private static let cuts = """
    TITLE: Reel 2
    FCM: NON-DROP FRAME

    001  ONE      V     C        00:00:03:00 00:00:06:00 01:00:00:00 01:00:03:00
    * FROM CLIP NAME: one.mov
    002  ONE      V     C        00:00:06:00 00:00:06:00 01:00:03:00 01:00:03:00
    002  TWO      V     D    030 00:00:01:00 00:00:04:00 01:00:03:00 01:00:06:00
    * FROM CLIP NAME: one.mov
    * TO CLIP NAME: two.mov
    003  THREE    V     C        00:00:10:00 00:00:14:00 01:00:08:00 01:00:12:00
    * FROM CLIP NAME: three.mov

    """

  private func read(_ text: String, rate: String) throws -> (document: Document, notes: [String]) {
    let (timeline, notes) = try EDLReader.read(Array(text.utf8), rate: TimelineRates.rate(rate))
    var maker = DocumentOfTimeline(media: TimelineMedia())
    let document = try maker.document(of: timeline)
    return (document, (notes + maker.notes).map { $0.text(in: "") })
  }

  @Test(.enabled(if: !QuickTests.areRun), arguments: ["24", "25", "30"].spread(1))
  func `every event is read as OpenTimelineIO's adapter reads it`(rate: String) throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(Data(Self.cuts.utf8), "cuts.edl")
    let (timeline, oracle) = (
      try TimelineFile(file, rate: TimelineRates.rate(rate)).timeline, try OTIOOracle(of: file, rate: rate)
    )
    try #require(timeline.tracks.count == 1 && oracle.tracks.count == 1)
    let (items, expected) = (timeline.tracks[0].items, oracle.tracks[0].items)
    try #require(items.count == expected.count)
    var place = 0.0
    for (item, other) in zip(items, expected) {
      defer { place += item.duration.approximate }
      switch item {
      case .transition(let transition):
        #expect(transition.before.approximate == seconds(try #require(other.before)))
        #expect(transition.after.approximate == seconds(try #require(other.after)))
      case .clip(let clip):
        let used = try #require(other.used)
        #expect(clip.name == other.name)
        #expect(clip.start.approximate == seconds(used.start) && clip.duration.approximate == seconds(used.duration))
        fallthrough
      case .gap: #expect(place == seconds(try #require(other.place).start))
      }
    }
  }

  @Test func `drop-frame timecodes, speeds, wipes and fades are read`() throws {
    let (document, notes) = try read(
      """
      TITLE: Reel 1
      FCM: DROP FRAME
      001  BART  V     C        00:00:59;28 00:01:00;04 01:00:00;00 01:00:00;04
      * FROM CLIP NAME: bart.m4v
      002  BART  AA/V  C        00:00:10;00 00:00:11;00 01:00:08;00 01:00:10;00
      M2   BART       015.0                00:00:10;00
      * FROM CLIP NAME: bart.m4v
      * LOC: 01:00:09;00 RED     look here
      003  BART  V     C        00:00:11;00 00:00:11;00 01:00:10;00 01:00:10;00
      003  BL    V     D    015 00:00:00;00 00:00:00;15 01:00:10;00 01:00:10;15
      004  PSR   V     W001 012 00:00:02;00 00:00:04;00 01:00:10;15 01:00:12;15
      * TO CLIP NAME: psr.mov
      * ASC_SAT: 0.9
      005  PSR   V     K        00:00:02;00 00:00:04;00 01:00:12;15 01:00:14;15

      """, rate: "29.97")
    #expect(document.videoComposition.frameRate == Rational(30000, over: 1001))
    guard case .media(let video)? = document.tracks.first, case .media(let audio)? = document.tracks.last else {
      Issue.record("there are no tracks")
      return
    }
    // The numbers 00 and 01 of the minute are left out, so there are four frames from 59;28 to 1:00;04.
    let clock = DocumentClock(rate: document.rate)
    let used = try #require(video.clips[0].use)
    let first = try #require(try clock.range(used, end: nil))
    #expect(try first.end - first.start == Rational(4 * 1001, 30000))
    #expect(first.start == (try Rational(1798 * 1001, 30000)))
    #expect(video.clips[1].use == Document.TimeRange("10.01..11.26125"))
    #expect(video.clips[1].duration == Document.Time("2.5025") && video.clips[1].at == Document.Time("8.008"))
    #expect(video.clips[1].fadeOut?.duration == Document.Time("0.5005"))
    #expect(video.clips[2].in?.style.kind == .wipe && video.clips[2].in?.style.direction == .right)
    #expect(audio.type == .audio && audio.clips.count == 1)
    #expect(document.markers["look_here"] == Document.Time("9.009") && document.markers.count == 1)
    #expect(
      notes == [
        "line 13: 'ASC_SAT: 0.9': not taken: comments with the names of clips and files are read",
        "line 14: the event 005: not taken: it is a 'K', and cuts, dissolves and wipes are read",
        "line 8: the marker 'look here': its name is 'look_here' in the document",
      ])
  }

  @Test func `without a rate it is refused`() {
    #expect(
      throws: TimelineError("", "an EDL does not state how many frames a second its timecodes count: give --rate")
    ) {
      try TimelineFile.read(Array(Self.cuts.utf8), rate: nil)
    }
  }

  @Test func `clips count from the timecode of their media`() throws {
    let text = "001  ONE V C 01:00:03:00 01:00:06:00 00:00:00:00 00:00:03:00\n* FROM CLIP NAME: one.mov\n"
    let folder = try TemporaryFolder()
    let file = try folder.write(Data(), "one.mov")
    let (timeline, _) = try EDLReader.read(Array(text.utf8), rate: Rational(25))
    let locator = MediaLocator(folder: "/nowhere", documentFolder: folder.url.path, others: [folder.url.path])
    var media = TimelineMedia(of: timeline, by: locator)
    #expect(media.unknown == [file])
    media.facts[file] = MediaFacts(timecode: Rational(3600), duration: Rational(10))
    var maker = DocumentOfTimeline(media: media)
    let document = try maker.document(of: timeline)
    guard case .media(let track)? = document.tracks.first else { throw Tool.Failure(description: "there is no track") }
    #expect(track.clips[0].use == Document.TimeRange("3..6"))
    #expect(document.assets == ["one": file])
  }
}
