import CompositionModel
import EditDocument
import Foundation
import TestPrograms
import Testing

@testable import Timelines

/// What no editor writes: each has an end, and what is wrong is said with its place.
struct HostileTimelineTests {
  /// The notes, or the error.
  private func said(_ text: String, rate: Rational? = nil) -> [String] {
    do throws(TimelineError) {
      let (timeline, notes, _) = try TimelineFile.read(Array(text.utf8), rate: rate)
      var maker = DocumentOfTimeline(media: TimelineMedia())
      _ = try maker.document(of: timeline)
      return (notes + maker.notes).map { $0.text(in: "") }
    } catch {
      return ["error: \(error)"]
    }
  }

  // MARK: OpenTimelineIO

  private func otio(_ start: String, _ duration: String, rate: String = "24", top: String = "") -> String {
    func time(_ value: String) -> String { #"{"OTIO_SCHEMA":"RationalTime.1","value":\#(value),"rate":\#(rate)}"# }
    return #"""
      {"OTIO_SCHEMA":"Timeline.1","name":"x",\#(top)"tracks":{"OTIO_SCHEMA":"Stack.1","children":[{"OTIO_SCHEMA":"Track.1",
      "kind":"Video","children":[{"OTIO_SCHEMA":"Clip.1","name":"good","source_range":{"OTIO_SCHEMA":"TimeRange.1",
      "start_time":{"OTIO_SCHEMA":"RationalTime.1","value":0,"rate":24},
      "duration":{"OTIO_SCHEMA":"RationalTime.1","value":24,"rate":24}},
      "media_reference":{"OTIO_SCHEMA":"ExternalReference.1","target_url":"a.mov"}},
      {"OTIO_SCHEMA":"Clip.1","name":"bad","source_range":{"OTIO_SCHEMA":"TimeRange.1","start_time":\#(time(start)),
      "duration":\#(time(duration))},"media_reference":{"OTIO_SCHEMA":"ExternalReference.1","target_url":"a.mov"}}]}]}}
      """#
  }

  @Test(arguments: [
    ("0", "24", "0"), ("0", "24", "-24"), ("0", "24", "NaN"), ("NaN", "24", "24"), ("0", "Infinity", "24"),
    ("0", "1e300", "24"), ("-1e300", "24", "24"), ("0", "1e25", "24"), ("0", "-24", "24"), ("0", "0", "24"),
  ]) func `a time of OpenTimelineIO that is none is listed with its clip`(time: (String, String, String)) {
    let notes = said(otio(time.0, time.1, rate: time.2))
    #expect(
      notes.count == 1 && notes[0].contains("/tracks/children/0/children/1: the clip 'bad': not taken"), "\(notes)")
  }

  @Test func `a rate of a start time that is none is listed`() throws {
    let start = #""global_start_time":{"OTIO_SCHEMA":"RationalTime.1","value":0,"rate":0},"#
    #expect(
      said(otio("0", "24", top: start)) == [
        "/global_start_time: the rate 0: that of the first clip: a rate is from 1 to 1000"
      ])
    let (timeline, _) = try OTIOReader.read(Array(otio("0", "24", top: start).utf8))
    #expect(timeline.rate == Rational(24))
  }

  @Test func `sums of times that do not fit are an error with its place`() {
    // Rates that are prime have no common denominator of 128 bits.
    let primes = [999_983, 999_979, 999_961, 999_959, 999_953, 999_931, 999_917, 999_907]
    let clips = primes.map { rate in
      #"{"OTIO_SCHEMA":"Gap.1","source_range":{"OTIO_SCHEMA":"TimeRange.1","start_time":{"OTIO_SCHEMA":"RationalTime.1","value":0,"rate":24},"duration":{"OTIO_SCHEMA":"RationalTime.1","value":1,"rate":\#(rate)}}}"#
    }
    let text = #"{"OTIO_SCHEMA":"Track.1","kind":"Video","children":[\#(clips.joined(separator: ","))]}"#
    let notes = said(text)
    #expect(notes.count == 1 && notes[0].hasPrefix("error: /children/6: a time is too large"), "\(notes)")
  }

  @Test(arguments: ["[", #"{"a":"#, #"{"OTIO_SCHEMA":"Stack.1","children":["#])
  func `values nested a hundred thousand deep are refused`(opening: String) {
    let notes = said(#"{"OTIO_SCHEMA":"Timeline.1","tracks":"# + String(repeating: opening, count: 100_000))
    #expect(notes.count == 1 && notes[0].hasPrefix("error: "), "\(notes)")
  }

  @Test func `compositions in each other beyond the depth of documents are listed`() {
    var text =
      #"{"OTIO_SCHEMA":"Clip.1","name":"c","source_range":{"OTIO_SCHEMA":"TimeRange.1","start_time":{"OTIO_SCHEMA":"RationalTime.1","value":0,"rate":24},"duration":{"OTIO_SCHEMA":"RationalTime.1","value":24,"rate":24}}}"#
    let clip = text
    for _ in 0..<100 { text = #"{"OTIO_SCHEMA":"Track.1","kind":"Video","name":"t","children":[\#(clip),\#(text)]}"# }
    let notes = said(text)
    #expect(notes.contains { $0.hasSuffix("more than 8 deep") }, "\(notes)")
  }

  // MARK: XML

  private func fcpxml(_ spine: String, resources: String = "", type: String = "") -> String {
    #"""
    <?xml version="1.0"?>\#(type)<fcpxml version="1.10"><resources><format id="f" frameDuration="1/25s" width="64" height="36"/>
    <asset id="a" name="a" start="0s" duration="30s" hasVideo="1" src="a.mov"/>\#(resources)</resources>
    <project name="p"><sequence format="f"><spine><asset-clip ref="a" duration="1s"/>\#(spine)</spine></sequence></project></fcpxml>
    """#
  }

  @Test func `entities are refused, and no other file is read`() throws {
    let folder = try TemporaryFolder()
    let secret = try folder.write(Data("<asset id='z'/>secret".utf8), "secret")
    let laughs = (1...9).map { number in
      "<!ENTITY l\(number) \"\(String(repeating: "&l\(number - 1);", count: 10))\">"
    }.joined()
    for type in [
      "<!DOCTYPE fcpxml [<!ENTITY l0 'ha'>\(laughs)]>", "<!DOCTYPE fcpxml [<!ENTITY l9 SYSTEM 'file://\(secret)'>]>",
      "<!DOCTYPE fcpxml [<!ENTITY % l9 SYSTEM 'file://\(secret)'> %l9;]>",
      "<!DOCTYPE fcpxml [<!ENTITY l9 SYSTEM 'http://127.0.0.1:9/x'>]>",
    ] {
      for use in ["<asset-clip ref='a' name='&l9;' duration='1s'/>", "<x>&l9;</x>", ""] {
        let notes = said(fcpxml(use, type: type))
        #expect(notes.count == 1 && notes[0].hasPrefix("error: line "), "\(type.prefix(60)): \(notes)")
        #expect(!notes[0].contains("secret"))
      }
    }
    // A declaration without entities of its own is that of every file, and the file that it names is not read.
    #expect(said(fcpxml("", type: "<!DOCTYPE fcpxml SYSTEM 'file://\(secret)'>")) == [])
  }

  @Test(arguments: ["<spine>", "<asset-clip ref='a' lane='1' duration='1s'>"])
  func `elements nested a hundred thousand deep are refused`(opening: String) {
    let notes = said(fcpxml(String(repeating: opening, count: 100_000)))
    #expect(notes.count == 1 && notes[0].hasPrefix("error: line "), "\(notes)")
  }

  @Test func `elements nested as deep as libxml2 allows have an end`() {
    let (opening, count) = ("<asset-clip ref='a' lane='32767' duration='1s'>", 240)
    let notes = said(
      fcpxml(String(repeating: opening, count: count) + String(repeating: "</asset-clip>", count: count)))
    #expect(!notes.contains { $0.hasPrefix("error") }, "\(notes)")
  }

  @Test(arguments: [
    ("<asset-clip ref='a' duration='1/0s'/>", "error: line 3: a time was divided by zero"),
    ("<asset-clip ref='a' duration='9223372036854775807s'/>", "error: line 3: a time is too large"),
    ("<asset-clip ref='a' duration='-4s'/>", "line 3: the asset-clip '': not taken: it has no length"),
    ("<asset-clip ref='a' duration='nans'/>", "error: line 3: an invalid or infinite time"),
    ("<asset-clip ref='a' start='1/2/3s' duration='1s'/>", "error: line 3: an invalid or infinite time"),
    ("<asset-clip ref='none' duration='1s'/>", "line 3: the asset-clip '': a gap: there is no resource 'none'"),
  ]) func `a time of FCPXML that is none has its line`(spine: (String, String)) {
    let notes = said(fcpxml(spine.0))
    #expect(notes.contains { $0.hasPrefix(spine.1) }, "\(notes)")
  }

  @Test func `compound clips that have each other many times have an end`() {
    let levels = (0..<8).map { level in
      let inner = level == 0 ? "<asset-clip ref='a' duration='1s'/>" : "<ref-clip ref='m\(level - 1)' duration='1s'/>"
      return
        "<media id='m\(level)'><sequence format='f'><spine>\(String(repeating: inner, count: 100))</spine></sequence></media>"
    }
    let notes = said(fcpxml("<ref-clip ref='m7' duration='1s'/>", resources: levels.joined()))
    #expect(notes.contains { $0.hasSuffix("not taken: a file has at most 20000 clips") }, "\(notes.prefix(3))")
    // And one that has itself.
    let itself =
      "<media id='m'><sequence format='f'><spine><ref-clip ref='m' duration='1s'/></spine></sequence></media>"
    #expect(said(fcpxml("<ref-clip ref='m' duration='1s'/>", resources: itself)).contains { $0.contains("8 deep") })
  }

  @Test func `a format that no film has is listed`() throws {
    for format in ["frameDuration='1/5000s'", "frameDuration='1/25s' width='-4' height='0'"] {
      let text = fcpxml("").replacing(#"frameDuration="1/25s" width="64" height="36""#, with: format)
      let notes = said(text)
      #expect(notes.count == 1 && notes[0].hasPrefix("line 1: the "), "\(notes)")
    }
  }

  private func mlt(_ body: String, profile: String = "frame_rate_num='25' frame_rate_den='1'") -> String {
    """
    <mlt><profile \(profile)/><producer id="a" in="0" out="99"><property name="resource">a.mov</property></producer>
    <playlist id="p"><entry producer="a" in="0" out="24"/></playlist>
    \(body)</mlt>
    """
  }

  @Test(arguments: [
    "<tractor id='t'><track producer='t'/></tractor>",
    "<tractor id='t'><track producer='u'/></tractor><tractor id='u'><track producer='t'/><track producer='t'/></tractor>",
    "<playlist id='b'><entry producer='b'/></playlist><tractor id='t'><track producer='b'/></tractor>",
    "<playlist id='q'><entry producer='q' in='0' out='9'/><entry producer='a' in='0' out='9'/></playlist>",
    "<playlist id='q'><entry producer='a' in='0' out='9223372036854775807'/><entry producer='a' in='0' out='9'/></playlist>",
    "<playlist id='q'><entry producer='a' in='-9223372036854775808' out='9'/><blank length='-4'/></playlist>",
    "<tractor id='t'><track producer='p'/><track producer='none'/></tractor>",
  ]) func `services of MLT that have themselves, and frames beyond any film, have an end`(body: String) {
    let notes = said(mlt(body))
    #expect(!notes.isEmpty, "\(body)")
  }

  @Test func `sequences of MLT that have each other many times have an end`() {
    let levels = (0..<9).map { level in
      let inner = "<entry producer='\(level == 0 ? "a" : "t\(level - 1)")' in='0' out='9'/>"
      return
        "<playlist id='p\(level)'>\(String(repeating: inner, count: 100))</playlist><tractor id='t\(level)' in='0' out='9'><track producer='p\(level)'/></tractor>"
    }
    let notes = said(mlt(levels.joined()))
    #expect(notes.contains { $0.hasSuffix("not taken: a file has at most 20000 clips") }, "\(notes.prefix(3))")
  }

  @Test func `a profile, guides and a level that are none are listed`() {
    let notes = said(
      mlt(
        """
        <playlist id='q'><property name="kdenlive:docproperties.guides">[{"pos": 10, "comment": "a"}, {"pos": "x"},</property>
        <entry producer='a' in='0' out='9'><filter><property name="mlt_service">volume</property><property name="gain">nan</property></filter>
        </entry></playlist>
        """, profile: "frame_rate_num='2147483647' frame_rate_den='1' width='0' height='-1'"))
    #expect(
      notes.map { $0.drop { $0 != ":" } }.sorted() == [
        ": the filter 'volume' of the clip 'a.mov': not taken: its level changes in time",
        ": the guides: not taken: they are not JSON at line 1: the document ends where a value should be",
        ": the profile: 25 frames a second, as MLT has it without one that states its rate: give --rate for another",
        ": the size 0 x -1: not taken: it is no size of a film",
      ])
  }

  // MARK: EDL

  @Test(arguments: [
    ("001 A V D 999999999999999999 00:00:00:00 00:00:01:00 00:00:00:00 00:00:01:00", "25 frames long"),
    ("001 A V D -5 00:00:00:00 00:00:01:00 00:00:00:00 00:00:01:00", "a cut: it has no number of frames"),
    ("001 A V D x 00:00:00:00 00:00:01:00 00:00:00:00 00:00:01:00", "a cut: it has no number of frames"),
    ("001 A V C 99:99:99:99 00:00:01:00 00:00:00:00 00:00:01:00", "not taken: its last four words are no timecodes"),
    ("001 A V C 00:00:01:00 00:00:01:00 00:00:01:00 00:00:01:00", "not taken: it has no length"),
    ("M2 A 1e300 00:00:00:00", "not taken: it has no number"),
    ("* LOC: 99999999999999999999 RED x", "not taken: it has no timecode"),
    ("* AUDIO LEVEL AT 00:00:00:00 IS -3 DB", "not taken: comments with the names"),
    ("* just so", "not taken: it is not seen"),
  ]) func `a line of an EDL that is none is listed`(line: (String, String)) {
    let notes = said(
      "TITLE: x\n002 B V C 00:00:00:00 00:00:01:00 00:00:02:00 00:00:03:00\n\(line.0)\n", rate: Rational(25))
    #expect(notes.contains { $0.hasPrefix("line 3: ") && $0.contains(line.1) }, "\(notes)")
  }

  @Test func `events in the order of their sources are put in that of the film`() throws {
    let text = """
      TITLE: x
      001 A V C 00:00:00:00 00:00:01:00 00:00:02:00 00:00:03:00
      002 B V C 00:00:00:00 00:00:02:00 00:00:00:00 00:00:02:00
      """
    let (timeline, notes, _) = try TimelineFile.read(Array(text.utf8), rate: Rational(25))
    #expect(notes.isEmpty && timeline.tracks[0].clips.map(\.name) == ["B", "A"], "\(notes)")
  }

  // MARK: Media

  @Test func `a folder that cannot be read is listed`() throws {
    let folder = try TemporaryFolder()
    // The working folder may be root's, who can read everything: a name longer than any is no folder of anybody.
    let missing = folder.path(String(repeating: "x", count: 300))
    var timeline = Timeline(name: "")
    timeline.tracks = [
      TimelineTrack(
        name: "", type: .video,
        items: [
          .clip(
            TimelineClip(
              name: "a", source: .media(MediaReference(path: "a.mov")), start: .zero, duration: .one, place: ""))
        ])
    ]
    let media = TimelineMedia(
      of: timeline, by: MediaLocator(folder: folder.url.path, documentFolder: folder.url.path, others: [missing]))
    #expect(media.notes.map(\.item) == ["the folder \(missing)"])
  }
}
