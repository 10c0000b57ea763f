import CompositionModel
import EditDocument
import Foundation
import Testing

@testable import Timelines

/// Rules of OpenTimelineIO, each on a small timeline.
struct OTIOReaderTests {
  private func time(_ value: String, _ rate: String = "24") -> String {
    #"{"OTIO_SCHEMA":"RationalTime.1","value":\#(value),"rate":\#(rate)}"#
  }

  private func range(_ start: String, _ duration: String, _ rate: String = "24") -> String {
    #"{"OTIO_SCHEMA":"TimeRange.1","start_time":\#(time(start, rate)),"duration":\#(time(duration, rate))}"#
  }

  /// A clip of `a.mov`.
  private func clip(
    _ start: String = "0", _ duration: String = "24", rate: String = "24", more: String = "",
    media: String = #"{"OTIO_SCHEMA":"ExternalReference.1","target_url":"a.mov"}"#
  ) -> String {
    #"{"OTIO_SCHEMA":"Clip.1","name":"a","source_range":\#(range(start, duration, rate)),"media_reference":\#(media)\#(more)}"#
  }

  private func transition(_ before: String, _ after: String) -> String {
    #"{"OTIO_SCHEMA":"Transition.1","name":"t","transition_type":"SMPTE_Dissolve","in_offset":\#(time(before)),"out_offset":\#(time(after))}"#
  }

  private func gap(_ duration: String) -> String {
    #"{"OTIO_SCHEMA":"Gap.1","source_range":\#(range("0", duration))}"#
  }

  private func track(_ items: [String], kind: String = "Video") -> String {
    #"{"OTIO_SCHEMA":"Track.1","name":"","kind":"\#(kind)","children":[\#(items.joined(separator: ","))]}"#
  }

  private func timeline(_ tracks: [String]) -> String {
    #"{"OTIO_SCHEMA":"Timeline.1","name":"x","tracks":{"OTIO_SCHEMA":"Stack.1","children":[\#(tracks.joined(separator: ","))]}}"#
  }

  /// The tracks of the document, as JSON, and the notes.
  private func read(_ items: [String], kind: String = "Video") throws -> (tracks: String, notes: [TimelineNote]) {
    let (document, notes) = try made(timeline([track(items, kind: kind)]))
    let json = try JSONEncoder().encode(document.tracks)
    let value = try JSONSerialization.jsonObject(with: json)
    let sorted = try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .withoutEscapingSlashes])
    return (String(decoding: sorted, as: UTF8.self), notes)
  }

  private func made(_ text: String) throws -> (Document, [TimelineNote]) {
    let (timeline, notes) = try OTIOReader.read(Array(text.utf8))
    var maker = DocumentOfTimeline(media: TimelineMedia())
    let document = try maker.document(of: timeline)
    return (document, notes + maker.notes)
  }

  private func clips(_ items: [String], kind: String = "Video") throws -> String {
    let tracks = try read(items, kind: kind).tracks
    let start = try #require(tracks.firstRange(of: #""clips":["#)).upperBound
    return String(tracks[start...].prefix { $0 != "]" })
  }

  @Test func `a transition shows the clip before it longer and the one after it earlier`() throws {
    #expect(
      try clips([clip("24", "48"), transition("6", "18"), clip("240", "48")])
        == #"{"asset":"a","use":"1..3.75"},{"asset":"a","transition":1,"use":"9.75..12"}"#)
  }

  @Test func `a transition beside a gap is a fade`() throws {
    #expect(
      try clips([clip("24", "48"), transition("12", "12"), gap("48"), transition("12", "0"), clip("240", "48")])
        == #"{"asset":"a","fadeOut":1,"use":"1..3.5"},{"asset":"a","at":3.5,"fadeIn":0.5,"use":"9.5..12"}"#)
  }

  @Test func `a transition is as long as the media are`() throws {
    let media =
      #"{"OTIO_SCHEMA":"ExternalReference.1","target_url":"a.mov","available_range":\#(range("86400", "240"))}"#
    let (tracks, notes) = try read([
      clip("86496", "132", media: media), transition("24", "24"), clip("86412", "120", media: media),
    ])
    #expect(tracks.contains(#"{"asset":"a","use":"4..10"},{"asset":"a","transition":1,"use":"0..5.5"}"#), "\(tracks)")
    #expect(notes.map(\.reason).contains { $0.hasPrefix("shorter by 1 s") })
  }

  @Test(arguments: [("23.976", "24000/1001"), ("23.98", "24000/1001"), ("29.97", "30000/1001"), ("25", "25")])
  func `a rate of so many decimals is that of television`(written: String, exact: String) throws {
    let (document, _) = try made(timeline([track([clip("0", "24", rate: written)])]))
    #expect(document.videoComposition.frameRate == TimelineRates.rate(exact))
  }

  @Test func `the start of the media is subtracted`() throws {
    let media =
      #"{"OTIO_SCHEMA":"ExternalReference.1","target_url":"a.mov","available_range":\#(range("86400", "480"))}"#
    #expect(try clips([clip("86424", "24", media: media)]) == #"{"asset":"a","use":"1..2"}"#)
  }

  @Test func `changes of speed follow the specification, and those of Premiere Pro its own rule`() throws {
    func warp(_ scalar: String, metadata: String = "{}") -> String {
      #","effects":[{"OTIO_SCHEMA":"LinearTimeWarp.1","time_scalar":\#(scalar),"metadata":\#(metadata)}]"#
    }
    #expect(try clips([clip(more: warp("2"))]) == #"{"asset":"a","duration":1,"use":"0..2"}"#)
    #expect(try clips([clip(more: warp("-1"))]) == #"{"asset":"a","reverse":true,"use":"0..1"}"#)
    #expect(try clips([clip(more: warp("0"))]) == #"{"asset":"a","duration":1,"freeze":0}"#)
    #expect(
      try clips([clip(more: warp("2", metadata: #"{"PremierePro_OTIO":{}}"#))])
        == #"{"asset":"a","duration":0.5,"use":"0..1"}"#)
    let freeze = #","effects":[{"OTIO_SCHEMA":"FreezeFrame.1"}]"#
    #expect(try clips([clip("48", "24", more: freeze)]) == #"{"asset":"a","duration":1,"freeze":2}"#)
  }

  @Test func `what is not taken is listed with its place`() throws {
    let (_, notes) = try read([
      clip(more: #","effects":[{"OTIO_SCHEMA":"Effect.1","effect_name":"Blur"}],"metadata":{"cmx_3600":{"reel":"A"}}"#),
      clip(more: #","enabled":false"#), clip("NaN"),
      #"{"OTIO_SCHEMA":"Clip.2","name":"b","media_references":{"DEFAULT_MEDIA":null}}"#,
    ])
    let place = "/tracks/children/0/children"
    #expect(
      notes.map { "\($0.place): \($0.item): \($0.reason)" } == [
        "\(place)/0/effects/0: the effect 'Blur' of the clip 'a': not taken: OpenTimelineIO does not say what it does",
        "\(place)/1: the clip 'a': a gap: it is not enabled",
        "\(place)/2: the clip 'a': not taken: it has neither a source_range nor an available_range that is finite",
        "\(place)/3: the clip 'b': not taken: it has neither a source_range nor an available_range that is finite",
        ": the data 'cmx_3600' on 1 object: not taken: a document has no place for data of other programs",
      ])
  }

  @Test func `generators of one colour are drawn pictures`() throws {
    let black = #"{"OTIO_SCHEMA":"GeneratorReference.1","generator_kind":"black"}"#
    let red = #"{"OTIO_SCHEMA":"GeneratorReference.1","generator_kind":"SolidColor","parameters":{"color":[1,0,0,1]}}"#
    let bars = #"{"OTIO_SCHEMA":"GeneratorReference.1","generator_kind":"SMPTEBars"}"#
    let (document, notes) = try made(
      timeline([track([clip(media: black), clip(media: bars), clip("0", "48", media: red)])]))
    #expect(
      Set(document.pictures.values) == [
        DrawnPicture(color: .black), DrawnPicture(color: Color(red: 255, green: 0, blue: 0)),
      ])
    #expect(notes.count == 1 && notes[0].item.contains("SMPTEBars"), "\(notes)")
  }

  @Test func `a composition without effects becomes its clips, and another a document`() throws {
    let inner =
      #"{"OTIO_SCHEMA":"Stack.1","name":"in","children":[\#(track([clip("0", "48")]))],"source_range":\#(range("24", "24"))"#
    #expect(try clips([clip(), inner + "}"]) == #"{"asset":"a","use":"0..1"},{"asset":"a","use":"1..2"}"#)
    let slow = inner + #","effects":[{"OTIO_SCHEMA":"LinearTimeWarp.1","time_scalar":0.5}]}"#
    let (document, _) = try made(timeline([track([slow])]))
    #expect(document.documents["in"]?.isTransparent == true)
    #expect(try clips([slow]) == #"{"asset":"in","duration":1,"use":"1..1.5"}"#)
  }

  @Test func `tracks from the bottom become tracks from the top`() throws {
    func named(_ name: String) -> String {
      track([clip()]).replacing(#""name":"","kind""#, with: #""name":"\#(name)","kind""#)
    }
    let (document, _) = try made(timeline([named("V1"), named("V2")]))
    let ids = document.tracks.map { track -> String? in if case .media(let track) = track { track.id } else { nil } }
    #expect(ids == ["V2", "V1"])
  }

  @Test func `a file that is no timeline is refused with its place`() {
    func message(_ text: String) -> String {
      do { _ = try OTIOReader.read(Array(text.utf8)) } catch { return error.description }
      return ""
    }
    #expect(message("{").hasPrefix("the file is not JSON"))
    #expect(message(#"{"OTIO_SCHEMA":"Marker.2"}"#) == "the file has a Marker.2, and no timeline")
    #expect(message(timeline([#"{"OTIO_SCHEMA":"Track.1","children":3}"#])).hasPrefix("/tracks/children/0/children: "))
  }
}
