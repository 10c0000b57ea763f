import CompositionModel
import TestEdits
import Testing

@testable import EditDocument

/// Captions that are listed in a document.
@Suite struct ListedCaptionsTests {
  private func text(_ cues: String, _ keys: String = "", output: String = "out.mkv") -> String {
    """
    { "sheaf": 1, "assets": { "v": "v.mov" }, "tracks": [ { "clips": [ { "asset": "v", "use": "0..8" } ] } ],
      "captions": [ { "cues": [ \(cues) ] \(keys) } ], "export": { "to": "\(output)" } }
    """
  }

  private static let two = #"{ "over": "0.5..2.25", "text": "A, {b}\nc\\N" }, { "over": "2+1/3", "text": "Grüße" }"#

  private func listed(_ edit: Edit) throws -> (Captions, CaptionsFormat) {
    let captions = try #require(edit.captions?.first)
    let format = try #require(edit.drawn?[captions.asset]?.defaultTrack(.subtitle)?.captions)
    return (captions, format)
  }

  @Test func `a list is captions of a file without styles`() throws {
    let (captions, format) = try listed(try lowered(text(Self.two, #", "at": 1.5, "size": 40, "anchor": "top""#)))
    #expect(captions.start == (try at("3/2")) && !format.hasStyles)
    #expect(format.events.map(\.start) == [500, 2000] && format.events.map(\.end) == [2250, 2333])
    #expect(format.events[0].fields.commaFields()[8] == "A, \\{b\\}\\Nc\\\u{2060}N")
    #expect(format.events[1].fields.hasSuffix(",Grüße"))
    guard case .drawn(let style?) = captions.use else {
      Issue.record("\(captions.use)")
      return
    }
    #expect(style.size == 40 && style.anchor == .top)
    let track = try listed(try lowered(text(Self.two, #", "as": "track", "language": "deu", "use": "1..3""#)))
    #expect(track.0.source == (try MediaTimeRange(start: at("1"), end: at("3"))))
  }

  @Test func `those who speak are in the list, and how they are shown in the captions`() throws {
    let cues = ##"""
      { "over": "0..1", "text": "Hi", "speaker": "Fred  {Smith}" }, { "over": "2..3", "text": "Who?" }
      """##
    let keys = ##"""
      , "speakers": { "Fred Smith": { "color": "#ffd04080" }, "Mary": { "name": "MARY" } }, "speakerNames": true
      """##
    let (captions, format) = try listed(try lowered(text(cues, keys)))
    #expect(format.events.map { $0.text } == ["{\\=Fred Smith}Hi", "Who?"])
    let color = Color(red: 255, green: 208, blue: 64, alpha: 128)
    #expect(
      captions.use.wording
        == CaptionWording(
          speakers: ["Fred Smith": CaptionSpeaker(color: color), "Mary": CaptionSpeaker(name: "MARY")],
          showsSpeakers: true))
    let read = try Document(json: text(cues, keys))
    #expect(read.captions[0].cues.map(\.speaker) == ["Fred  {Smith}", nil] && read.captions[0].speakers.count == 2)
    #expect(try Document(json: read.json) == read)
  }

  @Test func `each output, and each list, has its own`() throws {
    let edit = try lowered(
      text(Self.two + #"] }, { "as": "track", "cues": [ { "over": "0..1", "text": "x" }"#))
    #expect(Set((edit.captions ?? []).map(\.asset)).count == 2 && edit.drawn?.count == 2)
  }

  @Test func `what is wrong is said`() throws {
    func found(_ cues: String, _ keys: String = "") throws -> [String] { try problems(text(cues, keys)).map(\.pointer) }
    #expect(try found("") == ["/captions/0/cues"])
    #expect(try found(Self.two, #", "asset": "v""#).contains("/captions/0/cues"))
    #expect(try found(#"{ "over": "1..2" }, { "text": "a" }, { "over": "1..2", "text": "" }"#).count == 3)
    #expect(try found(#"{ "over": "1..end", "text": "a" }"#) == ["/captions/0/cues/0/over"])
    #expect(try found(#"{ "over": "1..1.0001", "text": "a" }"#) == ["/captions/0/cues/0/over"])
    #expect(
      try found(#"{ "over": "3..4", "text": "a" }, { "over": "1..2", "text": "b" }"#) == ["/captions/0/cues/1/over"])
    #expect(try problems(text(Self.two).replacing(#""cues""#, with: #""cue""#)).count >= 1)
  }

  @Test func `it is written as it is read`() throws {
    let read = try Document(json: text(Self.two, #", "at": 1"#))
    #expect(read.captions[0].cues.map(\.text) == ["A, {b}\nc\\N", "Grüße"] && read.captions[0].asset.isEmpty)
    #expect(try Document(json: read.json) == read)
  }
}
