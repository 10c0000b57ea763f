import CompositionModel
import EditDocument
import Foundation
import Testing

@testable import Timelines

struct FCPXMLTests {
  private let resources = """
    <format id="r1" frameDuration="1001/30000s" width="1280" height="720"/>
    <asset id="r2" name="A" start="0s" duration="30s" hasVideo="1" hasAudio="1" format="r1">
      <media-rep kind="original-media" src="file:///media/a%20b.mov"/></asset>
    <asset id="r3" name="B" start="3600s" duration="30s" hasVideo="1" hasAudio="1" src="b.mov"/>
    <asset id="r4" name="song" duration="60s" hasAudio="1" src="song.wav"/>
    <effect id="r5" name="Basic Title" uid="t"/>
    <media id="r6" name="inner"><sequence format="r1" tcStart="10s"><spine>
      <asset-clip ref="r2" offset="10s" start="1s" duration="3s"/></spine></sequence></media>
    """

  /// The document of a primary storyline, its tracks as JSON, and the notes.
  private func read(_ spine: String) throws -> (document: Document, tracks: String, notes: [String]) {
    let text = """
      <?xml version="1.0" encoding="UTF-8"?><!DOCTYPE fcpxml>
      <fcpxml version="1.10"><resources>\(resources)</resources><library><event><project name="Film">
      <sequence format="r1" tcStart="3600s"><spine>\(spine)</spine></sequence></project></event></library></fcpxml>
      """
    let (timeline, notes, _) = try TimelineFile.read(Array(text.utf8), rate: nil)
    var maker = DocumentOfTimeline(media: TimelineMedia())
    let document = try maker.document(of: timeline)
    let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(document.tracks))
    let sorted = try JSONSerialization.data(withJSONObject: json, options: [.sortedKeys, .withoutEscapingSlashes])
    return (document, String(decoding: sorted, as: UTF8.self), (notes + maker.notes).map { $0.text(in: "") })
  }

  @Test func `times are rational seconds, and media begin at their start`() throws {
    let (document, tracks, _) = try read(
      #"<asset-clip ref="r2" offset="3600s" start="60060/30000s" duration="30030/30000s"/><asset-clip ref="r3" start="3602s" duration="2s"/>"#
    )
    #expect(tracks == #"[{"clips":[{"asset":"a b","use":"2.002..3.003"},{"asset":"b","use":"2..4"}]}]"#)
    #expect(document.assets == ["a b": "/media/a b.mov", "b": "b.mov"])
    #expect(document.videoComposition.frameRate == Rational(30000, over: 1001))
    #expect(document.videoComposition.renderSize == PixelSize(width: 1280, height: 720))
  }

  @Test func `a transition is around its cut`() throws {
    let (_, tracks, _) = try read(
      #"<asset-clip ref="r2" offset="3600s" duration="4s"/><transition name="Cross Dissolve" offset="3603s" duration="2s"/><asset-clip ref="r3" offset="3604s" start="3605s" duration="4s"/>"#
    )
    #expect(tracks == #"[{"clips":[{"asset":"a b","use":"0..5"},{"asset":"b","transition":2,"use":"4..9"}]}]"#)
  }

  @Test func `what is connected is in lanes, and sound is on tracks of its roles`() throws {
    let (document, tracks, notes) = try read(
      """
      <asset-clip ref="r2" offset="3600s" start="5s" duration="4s">
        <asset-clip ref="r3" lane="1" offset="6s" start="3600s" duration="1s" srcEnable="video"/>
        <asset-clip ref="r4" lane="-1" offset="7s" duration="2s" audioRole="music.1"/>
        <title ref="r5" name="T" lane="2" offset="6s" duration="1s"><text><text-style ref="ts">Hello</text-style></text>
          <text-style-def id="ts"><text-style fontColor="1 0 0 1" bold="1"/></text-style-def></title>
        <marker start="8s" duration="1s" value="here"/>
      </asset-clip>
      <gap duration="1s"/><video ref="r5" name="gen" duration="1s"/>
      <asset-clip ref="r2" duration="1s" enabled="0"/>
      """)
    #expect(
      tracks
        == #"[{"clips":[{"asset":"b","at":1,"use":"0..1"}],"sound":false},{"clips":[{"asset":"a b","use":"5..9"},{"asset":"gap","at":4,"duration":3}]},{"clips":[{"asset":"song","at":2,"use":"0..2"}],"id":"music","type":"audio"}]"#
    )
    #expect(document.markers == ["here": 3])
    let overlay = try #require(document.videoComposition.overlays.first)
    #expect(overlay.text == .text("Hello") && overlay.over == Document.TimeRange("1..2") && overlay.bold == true)
    #expect(overlay.color == Color(red: 255, green: 0, blue: 0))
    #expect(
      notes.map { $0.drop { $0 != ":" } } == [
        ": the title 'T': a text in the centre: its place, its size and its motion are in Final Cut Pro alone",
        ": the generator 'Basic Title': a gap: what it draws is in Final Cut Pro alone",
        ": the asset-clip '': a gap: it is not enabled",
      ])
  }

  @Test func `speeds follow the time map, and conformed media play a frame for a frame`() throws {
    func clip(_ inner: String, _ attributes: String = #"start="0s""#) -> String {
      #"<asset-clip ref="r2" duration="4s" \#(attributes)>\#(inner)</asset-clip>"#
    }
    func map(_ points: (String, String)...) -> String {
      "<timeMap>" + points.map { #"<timept time="\#($0)" value="\#($1)" interp="linear"/>"# }.joined() + "</timeMap>"
    }
    let half = #"[{"clips":[{"asset":"a b","duration":4,"use":"0..2"}]}]"#
    #expect(try read(clip(map(("0s", "0s"), ("20s", "10s")))).tracks == half)
    let backwards = #"[{"clips":[{"asset":"a b","reverse":true,"use":"16..20"}]}]"#
    #expect(try read(clip(map(("0s", "20s"), ("20s", "0s")))).tracks == backwards)
    let still = #"[{"clips":[{"asset":"a b","duration":4,"freeze":3}]}]"#
    #expect(try read(clip(map(("0s", "3s"), ("20s", "3s")))).tracks == still)
    let two = #"[{"clips":[{"asset":"a b","use":"0..2"},{"asset":"a b","duration":2,"use":"2..6"}]}]"#
    #expect(try read(clip(map(("0s", "0s"), ("2s", "2s"), ("4s", "6s")))).tracks == two)
    let conformed = #"[{"clips":[{"asset":"a b","duration":4,"use":"0..1000/1001"}]}]"#
    #expect(try read(clip(#"<conform-rate srcFrameRate="120"/>"#)).tracks == conformed)
  }

  @Test func `a compound clip is a document, and its sound and look are its own`() throws {
    let (document, tracks, _) = try read(
      #"<ref-clip ref="r6" name="in" start="11s" duration="1s"><adjust-volume amount="-6dB"/><adjust-blend amount="0.5"/><adjust-conform type="fill"/></ref-clip>"#
    )
    #expect(
      tracks.contains(#""use":"1..2""#) && tracks.contains(#""opacity":0.5"#) && tracks.contains(#""fit":"cover""#))
    #expect(tracks.contains(#""volume":0.501187"#), "\(tracks)")
    #expect(document.documents["in"]?.isTransparent == true)
  }

  @Test func `a clip whose movements are evened out is stabilized`() throws {
    let steady = #"<asset-clip ref="r2" name="a" duration="2s"><adjust-stabilization type="inertiaCam"/></asset-clip>"#
    let (_, tracks, notes) = try read(steady)
    #expect(tracks.contains(#""stabilize":true"#) && notes.isEmpty)
    let off = steady.replacing("type=", with: #"enabled="0" type="#)
    #expect(try !read(off).tracks.contains("stabilize"))
  }

  @Test func `what is no FCPXML is refused`() {
    func message(_ text: String) -> String {
      do { _ = try TimelineFile.read(Array(text.utf8), rate: nil) } catch { return error.description }
      return ""
    }
    #expect(message("<xmeml version='4'/>").contains("Final Cut Pro 7"))
    #expect(message("<fcpxml version='1.9'>").hasPrefix("line 1: it is no XML"))
    #expect(message("<fcpxml version='1.9'/>") == "the file has no project")
    let entity = "<!DOCTYPE fcpxml [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><fcpxml version='1.9'><x>&e;</x></fcpxml>"
    #expect(message(entity).hasPrefix("line 1: its document type declares entities"))
  }
}
