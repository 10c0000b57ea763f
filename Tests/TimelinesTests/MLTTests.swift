import CompositionModel
import EditDocument
import Foundation
import TestPrograms
import Testing

@testable import Timelines

struct MLTTests {
  private func read(_ text: String) throws -> (document: Document, tracks: String, notes: [String]) {
    let (timeline, notes, _) = try TimelineFile.read(Array(text.utf8), rate: nil)
    var maker = DocumentOfTimeline(media: TimelineMedia())
    let document = try maker.document(of: timeline)
    let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(document.tracks))
    let sorted = try JSONSerialization.data(withJSONObject: json, options: [.sortedKeys, .withoutEscapingSlashes])
    return (document, String(decoding: sorted, as: UTF8.self), (notes + maker.notes).map { $0.text(in: "") })
  }

  private let head = """
    <mlt LC_NUMERIC="C" root="/media"><profile width="1280" height="720" frame_rate_num="25" frame_rate_den="1"/>
    <producer id="black" in="0" out="999"><property name="resource">black</property><property name="mlt_service">color</property></producer>
    <chain id="a" out="499"><property name="resource">a.mov</property><property name="mlt_service">avformat-novalidate</property></chain>
    <producer id="b" in="10" out="499"><property name="resource">b.mov</property><property name="mlt_service">avformat</property></producer>
    <producer id="slow"><property name="resource">0.5:a.mov</property><property name="mlt_service">timewarp</property><property name="length">1000</property></producer>
    """

  @Test func `playlists, blanks and tracks are read`() throws {
    let (document, tracks, notes) = try read(
      head + """
        <playlist id="v"><entry producer="a" in="00:00:01.000" out="00:00:02.960"/><blank length="25"/><entry producer="b" in="0" out="24">
          <filter><property name="mlt_service">volume</property><property name="level">-20</property></filter>
          <filter in="0" out="4"><property name="mlt_service">brightness</property><property name="kdenlive_id">fade_from_black</property></filter>
          <filter><property name="mlt_service">frei0r.glow</property></filter></entry><entry producer="slow" in="50" out="99"/></playlist>
        <playlist id="s"><entry producer="a" in="0" out="24"/></playlist><playlist id="h"><entry producer="a" in="0" out="24"/></playlist>
        <tractor id="t"><track producer="black"/><track producer="v" hide="audio"/><track producer="s" hide="video"/><track producer="h" hide="both"/>
          <transition><property name="mlt_service">mix</property><property name="always_active">1</property></transition></tractor></mlt>
        """)
    #expect(
      tracks
        == #"[{"clips":[{"asset":"a","use":"1..3"},{"asset":"b","at":3,"fadeIn":0.2,"use":"0.4..1.4","volume":0.1},{"asset":"a","duration":2,"use":"1..2"}],"sound":false},{"clips":[{"asset":"a","use":"0..1"}],"type":"audio"}]"#
    )
    #expect(document.videoComposition.renderSize == PixelSize(width: 1280, height: 720))
    #expect(
      notes.map { $0.drop { $0 != ":" } } == [
        ": the filter 'frei0r.glow' of the clip 'b.mov': not taken: a document has no equal for it",
        ": the track '': not taken: it is hidden",
      ])
  }

  @Test func `a mix of Kdenlive is a transition`() throws {
    let (_, tracks, _) = try read(
      head + """
        <playlist id="p0"><entry producer="a" in="0" out="74"/></playlist>
        <playlist id="p1"><blank length="50"/><entry producer="b" in="40" out="139"/></playlist>
        <tractor id="t0"><track producer="p0"/><track producer="p1"/><transition in="50" out="74"><property name="mlt_service">luma</property></transition></tractor>
        <tractor id="t1"><track producer="black"/><track producer="t0"/></tractor></mlt>
        """)
    #expect(tracks == #"[{"clips":[{"asset":"a","use":"0..3"},{"asset":"b","transition":1,"use":"2..6"}]}]"#)
  }

  /// melt itself writes a timeline, and renders it.
  @Test(.enabled(if: !QuickTests.areRun)) func `a timeline of melt has its clips at melt's frames`() throws {
    let folder = try TemporaryFolder()
    for (name, color) in [("one", "red"), ("two", "blue")] {
      _ = try Tool.run(
        "ffmpeg",
        [
          "-v", "error", "-f", "lavfi", "-i", "color=\(color):s=64x36:r=25:d=4", "-c:v", "ffv1",
          folder.path("\(name).mkv"),
        ])
    }
    let file = folder.path("edit.mlt")
    _ = try Tool.run(
      "melt",
      [
        "-silent", "-profile", "quarter_pal", folder.path("one.mkv"), "in=10", "out=59", folder.path("two.mkv"),
        "in=5", "out=79", "-mix", "20",
        "-mixer", "luma", "-blank", "9", folder.path("one.mkv"), "out=24", "-consumer", "xml:\(file)",
      ])
    let timeline = try TimelineFile(file).timeline
    var maker = DocumentOfTimeline(media: TimelineMedia())
    guard case .media(let track)? = try maker.document(of: timeline).tracks.first else {
      throw Tool.Failure(description: "no track")
    }
    #expect(track.clips.map { $0.use } == ["0.4..2.4", "0.2..3.2", "0..1"].map { Document.TimeRange($0) })
    #expect(track.clips[1].transition?.duration == Document.Time("0.8"))
    // 50 and 75 frames overlap by 20, then 10 are blank, and 25 follow.
    #expect(try timeline.duration == Rational(140, 25))
    // The film of melt: red, half-way between both, blue, black, red.
    try Melt.render(file, to: folder.path("film.mkv"), "an=1")
    let probe = try Tool.ffprobe(
      "-v", "error", "-count_packets", "-select_streams", "v", "-show_entries", "stream=nb_read_packets", "-of",
      "csv=p=0",
      folder.path("film.mkv"))
    #expect(probe.first?.first == "140")
  }
}
