import CompositionModel
import EditDocument
import Foundation
import TestPrograms
import Testing

@testable import Timelines

/// Documents as timelines of each format and back: what the format can say is as it was.
struct RoundTripTests {
  static let media = #""one": "one.mkv", "two": "two.mkv", "song": "song.wav""#

  /// What each format can say.
  static let documents: [TimelineFormat: String] = [
    .editDecisionList: """
    { "sheaf": 1, "assets": {\(media)}, "markers": {"here": 2},
      "tracks": [ {"id": "V", "sound": false, "clips": [
        {"asset": "one", "use": "2..6", "at": 1}, {"asset": "two", "use": "1..5", "transition": 1},
        {"asset": "two", "use": "0..1", "duration": 2, "at": 9, "fadeIn": 0.4, "fadeOut": 0.2},
        {"asset": "one", "freeze": 2, "duration": 1},
        {"asset": "one", "use": "0..2", "reverse": true, "duration": 1},
        {"asset": "two", "use": "0..2", "transition": {"kind": "wipe", "direction": "right", "duration": 0.4}} ]},
      {"id": "A", "type": "audio", "clips": [
        {"asset": "song", "use": "0..3"}, {"asset": "song", "use": "10..12", "transition": 0.4}]}],
      "videoComposition": {"frameRate": 25} }
    """,
    .finalCutPro: """
    { "sheaf": 1, "assets": {\(media), "in": {"transparent": true, "document": {
        "sheaf": 1, "assets": {"two": "two.mkv"}, "tracks": [{"clips": [{"asset": "two", "use": "0..3"}]}],
        "videoComposition": {"frameRate": 25, "renderSize": [64, 36]}}}},
      "markers": {"here": 2},
      "tracks": [
        {"clips": [{"asset": "two", "use": "0..1", "at": 2, "opacity": 0.5, "stabilize": true},
          {"asset": "one", "use": "3..5", "at": 5, "fadeIn": 0.4}]},
        {"clips": [{"asset": "one", "use": "2..6", "volume": 0.5011872336272722},
          {"asset": "two", "use": "1..5", "transition": 1, "fit": "cover"},
          {"asset": "one", "freeze": 2, "duration": 1},
          {"asset": "one", "use": "0..2", "reverse": true, "duration": 1},
          {"asset": "two", "use": "0..2", "sound": "drop", "fadeOut": 0.2}, {"asset": "in", "use": "1..3"}]},
        {"id": "music", "type": "audio", "clips": [
          {"asset": "song", "use": "0..3"}, {"asset": "song", "use": "5..7", "transition": 0.4}]}],
      "videoComposition": {"frameRate": 25, "renderSize": [64, 36]} }
    """,
    .mlt: """
    { "sheaf": 1, "assets": {\(media), "red": {"color": "#ff0000"}, "in": {"transparent": true, "document": {
        "sheaf": 1, "assets": {"two": "two.mkv"}, "tracks": [{"id": "i", "clips": [{"asset": "two", "use": "0..3"}]}],
        "videoComposition": {"frameRate": 25}}}},
      "markers": {"here": 2},
      "tracks": [
        {"id": "V2", "clips": [{"asset": "two", "use": "0..1", "at": 2},
          {"asset": "one", "use": "3..3.4", "at": 5, "fadeIn": 0.2},
          {"asset": "red", "duration": 0.4, "fadeOut": 0.2}]},
        {"id": "V1", "clips": [{"asset": "one", "use": "2..4", "volume": 0.5},
          {"asset": "two", "use": "1..3", "transition": 1}, {"asset": "one", "freeze": 2, "duration": 1},
          {"asset": "one", "use": "0..2", "reverse": true, "duration": 1},
          {"asset": "one", "use": "0.4..1", "transition": 0.4},
          {"asset": "two", "use": "0..1", "sound": "drop", "fadeOut": 0.2},
          {"asset": "two", "use": "1..2", "duration": 2},
          {"asset": "one", "use": "1..2", "duration": 0.52, "pitch": "varispeed"}, {"asset": "in", "use": "1..2"}]},
        {"id": "music", "type": "audio", "clips": [
          {"asset": "song", "use": "0..3"}, {"asset": "song", "use": "5..7", "transition": 0.4}]}],
      "videoComposition": {"frameRate": 25, "renderSize": [64, 36]} }
    """,
    .openTimelineIO: """
    { "sheaf": 1, "assets": {\(media), "red": {"color": "#ff0000"}}, "markers": {"here": 2},
      "tracks": [
        {"id": "V2", "sound": false, "clips": [{"asset": "two", "use": "0..1", "at": 2}, {"asset": "red", "duration": 1}]},
        {"id": "V1", "sound": false, "clips": [{"asset": "one", "use": "2..4", "fadeIn": 0.2},
          {"asset": "two", "use": "1..3", "transition": {"kind": "wipe", "direction": "up", "duration": 1}},
          {"asset": "one", "freeze": 2, "duration": 1}, {"asset": "one", "use": "0..2", "reverse": true, "duration": 1}]},
        {"id": "music", "type": "audio", "clips": [
          {"asset": "song", "use": "0..3"}, {"asset": "song", "use": "5..7", "transition": 0.4}]}],
      "videoComposition": {"frameRate": 25} }
    """,
  ]

  /// The document after one way and back, and everything that was listed.
  private func again(
    _ document: Document, as format: TimelineFormat
  ) throws -> (document: Document, bytes: [UInt8], notes: [String]) {
    var exporter = TimelineOfDocument(document, for: format)
    let (bytes, written) = try TimelineFile.write(exporter.timeline(named: "edit"), as: format)
    let rate = format == .editDecisionList ? document.rate : nil
    let (timeline, read, _) = try TimelineFile.read(bytes, rate: rate)
    var importer = DocumentOfTimeline(media: TimelineMedia())
    let made = try importer.document(of: timeline)
    return (made, bytes, (exporter.notes + written + read + importer.notes).map { $0.text(in: "") })
  }

  @Test(arguments: TimelineFormat.allCases) func `what a format can say is as it was, and nothing is listed`(
    format: TimelineFormat
  ) throws {
    let document = try Document(json: #require(Self.documents[format]))
    let (made, bytes, notes) = try again(document, as: format)
    #expect(try made.json == document.json, "\(String(decoding: bytes, as: UTF8.self))")
    #expect(notes == [])
    // And the other way round.
    #expect(try again(made, as: format).bytes == bytes)
  }

  /// Numbers are left out at each minute, and the second one of these begins after 1:00;02.
  @Test(arguments: ["30000/1001", "60000/1001", "24000/1001"]) func `rates of television keep each frame`(
    rate: String
  ) throws {
    let exact = try #require(TimelineRates.rate(rate))
    func time(_ frames: Int) throws -> String { "\(try Rational(frames) / exact)" }
    let text = """
      {"sheaf": 1, "assets": {\(Self.media)}, "tracks": [{"id": "V", "sound": false, "clips": [
        {"asset": "one", "use": "\(try time(7))..\(try time(1807))"},
        {"asset": "two", "use": "\(try time(0))..\(try time(40_000))", "transition": \(try "\"\(time(30))\"")}]}],
        "videoComposition": {"frameRate": "\(rate)"}}
      """
    let document = try Document(json: text)
    for format in TimelineFormat.allCases {
      let (made, bytes, _) = try again(document, as: format)
      guard case .media(let track)? = made.tracks.first, case .media(let was)? = document.tracks.first else {
        throw Tool.Failure(description: "there is no track")
      }
      #expect(track.clips == was.clips, "\(format): \(String(decoding: bytes, as: UTF8.self))")
    }
  }

  @Test(arguments: TimelineFormat.allCases) func `what a format does not have is listed with its place`(
    format: TimelineFormat
  ) throws {
    let document = try Document(
      json: """
        {"sheaf": 1, "assets": {\(Self.media), "dot": {"color": "#00ff00", "size": [8, 8]}},
          "tracks": [
            {"id": "top", "blendMode": "screen", "clips": [{"asset": "two", "use": "0..1", "opacity": 0.5}]},
            {"id": "V", "sound": false, "clips": [
              {"asset": "one", "use": "0..2", "crop": [0, 0, 8, 8], "cornerRadius": 4},
              {"asset": "two", "use": "0..2", "transition": {"kind": "spin", "duration": 1}},
              {"asset": "dot", "duration": 1},
              {"asset": "one", "use": "0..2", "speed": [{"value": 1}, {"at": 2, "value": 2}], "duration": 1}]}],
          "videoComposition": {"frameRate": 25, "renderSize": [64, 36], "overlays": [{"text": "x"}]},
          "audioMix": {"top.sound": [{"at": 0, "volume": 0.5}]}}
        """)
    let notes = try again(document, as: format).notes
    var expected = [
      "/tracks/0/blendMode: ", "/tracks/1/clips/0/crop: ", "/tracks/1/clips/0/cornerRadius: ",
      "/tracks/1/clips/2: the drawn picture", "/tracks/1/clips/3/speed: ", "/videoComposition/overlays/0: ",
      "/audioMix: ",
    ]
    switch format {
    case .openTimelineIO: expected += ["/tracks/0/clips/0/opacity: "]
    case .editDecisionList:
      expected = expected.filter { !$0.contains("drawn") }
      expected += [
        "the track 'top': not taken", "/tracks/1/clips/1: the transition 'spin': a dissolve",
        "/tracks/1/clips/2: the clip 'dot': black",
      ]
    case .finalCutPro:
      expected += ["the name of the track 'V'", "/tracks/1/clips/1: the transition 'spin': a dissolve"]
    case .mlt: expected += ["/tracks/0/clips/0/opacity: ", "/tracks/1/clips/1: the transition 'spin': a dissolve"]
    }
    for place in expected { #expect(notes.contains { $0.hasPrefix(place) }, "\(format): \(place) is not in \(notes)") }
  }

  @Test func `without a rate, what counts frames is refused`() throws {
    let document = try Document(
      json: #"{"sheaf": 1, "assets": {"one": "one.mkv"}, "tracks": [{"clips": [{"asset": "one", "use": "0..1"}]}]}"#)
    for format in TimelineFormat.allCases where format != .openTimelineIO {
      var exporter = TimelineOfDocument(document, for: format)
      let timeline = try exporter.timeline(named: "x")
      #expect(throws: TimelineError("", TimelineFormat.withoutRate)) { try TimelineFile.write(timeline, as: format) }
    }
  }
}
