import CompositionModel
import EditDocument
import Foundation
import TestEdits
import Testing

/// What people write who know other programs, and what the message tells them to write here.
@Suite struct HintTests {
  private func messages(_ text: String) throws -> [String] { try problems(text).map(\.description) }

  private func film(_ clip: String, composition: String = "{}", mix: String = "{}", export: String? = nil) -> String {
    documentText(
      tracks: #"[{"id": "A", "sound": true, "clips": [\#(clip)]}]"#,
      #""videoComposition": \#(composition), "audioMix": \#(mix)"#, export: export ?? #"{"to": "a.mkv"}"#)
  }

  @Test(arguments: [
    (#"{"asset": "v", "fit": "crop"}"#, "'cover' fills the frame"),
    (#"{"asset": "v", "fit": "stretch"}"#, "did you mean 'fill'?"),
    (#"{"asset": "v", "sound": false}"#, #"false should be one of "keep", "drop""#),
    (#"{"asset": "v", "use": "0..1"}, {"asset": "v", "transition": "crossfade"}"#, "did you mean 'dissolve'?"),
    (#"{"asset": "v", "use": "0..1"}, {"asset": "v", "transition": {"kind": "wipeleft"}}"#, #""direction": "left""#),
    (#"{"asset": "v", "at": "~5"}"#, "a time is exact: write 5"),
    (#"{"asset": "v", "at": "≈ 1:02.5"}"#, #"write "1:02.5""#), (#"{"asset": "v", "at": "~soon"}"#, "without '~'"),
    (#"{"asset": "v", "at": "00:00:10:12"}"#, #"a SMPTE timecode; here its frames are counted from 0, such as "262f""#),
    (#"{"asset": "v", "at": "01:00:00;02"}"#, #"such as "90002f""#),
    (#"{"asset": "v", "at": "500ms"}"#, #"a time has no unit, and is in seconds: "1/2""#),
    (#"{"asset": "v", "at": "2 min"}"#, "a time has no unit, and is in seconds: 120"),
    (#"{"asset": "v", "at": "90 frames"}"#, #"frames are written "90f""#),
    (#"{"asset": "v", "at": "1,5"}"#, #"decimals have a point: "1.5""#),
    (#"{"asset": "v", "use": [4, 9]}"#, #"it is a string, "4..9""#),
    (#"{"asset": "v", "use": {"start": 4, "duration": 5}}"#, #"it is a string, "4+5""#),
    (#"{"asset": "v", "use": "4-9"}"#, #"write "4..9""#),
    (#"{"asset": "v", "use": "4.."}"#, "a range has a start and an end"),
    (#"{"asset": "v", "use": "0..00:00:10:12"}"#, "a SMPTE timecode"),
  ])
  func `a clip as other programs have it`(_ clip: String, _ hint: String) throws {
    let found = try messages(film(clip))
    #expect(found.contains { $0.contains(hint) }, "\(found)")
  }

  @Test(arguments: [
    (#"{"codec": "libx264"}"#, "did you mean 'h264'?"), (#"{"codec": "libvpx-vp9"}"#, "did you mean 'vp9'?"),
    (#"{"codec": 264}"#, "264 should be one of"), (#"{"pixelFormat": "p010le"}"#, "did you mean 'yuv420p10'?"),
  ])
  func `a codec as other programs name it`(_ video: String, _ hint: String) throws {
    let found = try messages(film(#"{"asset": "v"}"#, export: #"{"to": "a.mkv", "video": \#(video)}"#))
    #expect(found.count == 1 && found[0].contains(hint), "\(found)")
  }

  @Test(arguments: [
    ("{\n  // a comment\n  \"sheaf\": 1 }", "2", "JSON has no comments"),
    ("{ \"sheaf\": 1 # a comment\n}", "1", "JSON has no comments"),
    ("{ \"sheaf\": 1,\n}", "2", "no comma after the last value"),
    ("{ \"tracks\": [1,] }", "1", "no comma after the last value"),
    ("{ 'sheaf': 1 }", "1", "JSON has double quotes alone"),
    ("{ \u{201C}sheaf\u{201D}: 1 }", "1", "straight double quotes"),
    ("{ \"to\": \u{AB}a\u{BB} }", "1", "straight double"),
    ("{ \"sheaf\": True }", "1", "in small letters"), ("{ \"sheaf\": .5 }", "1", "0.5, not .5"),
    ("{ \"sheaf\": None }", "1", "leave out a key"),
  ])
  func `a text that is nearly JSON`(_ text: String, _ line: String, _ hint: String) throws {
    let error = #expect(throws: DocumentError.self) { try Document.examine(Array(text.utf8)) }
    let problem = try #require(error?.problems.first)
    #expect(problem.message.contains(hint) && problem.line == Int(line), "\(problem)")
  }

  @Test func `the keys of an object are listed once`() throws {
    let found = try messages(film(#"{"asset": "v", "zoom": 1, "blurry": 2}, {"asset": "v", "zoom": 3}"#))
    #expect(found.count == 3 && found.filter { $0.contains("the keys of a clip are") }.count == 1, "\(found)")
  }

  @Test func `a problem has the line and the column of its value, or of what is nearest around it`() throws {
    let text = """
      { "sheaf": 1, "assets": { "v": "v.mov" },
        "tracks": [
          { "id": "Ä", "clips": [
            { "asset": "v", "use": "0..x" } ] } ],
        "export": { "to": "a.mkv", "to": "b.mkv", "a/b~": 1 } }
      """
    let places = DocumentPlaces(Array(text.utf8))
    func place(_ pointer: String) -> [Int?] {
      let problem = places.located([Problem(pointer: pointer, message: "wrong")])[0]
      return [problem.line, problem.column]
    }
    #expect(place("/tracks/0/clips/0/use") == [4, 30])
    #expect(place("/tracks/0/clips") == [3, 27])
    #expect(place("/tracks/0/clips/0/fit") == [4, 7])
    #expect(place("/videoComposition/renderSize") == [1, 1])
    #expect(place("/export/a~1b~0") == [5, 53])
    #expect(place("") == [nil, nil])
    let twice = places.located(try problems(text)).first { $0.message.contains("twice") }
    #expect(twice?.line == 5 && twice?.column == 30)
    #expect(twice?.text(in: "edit.json").hasPrefix("edit.json:5:30: /export/to: ") == true)
  }

  // MARK: Decibels

  @Test(arguments: [
    ("-6dB", 0.501_187_233_627_272_2), ("+3 dB", 1.412_537_544_622_754_4), ("0db", 1), ("-60dB", 0.001),
    ("20dB", 10), ("-inf dB", 0), ("-0.1dB", 0.988_553_094_656_938_6), ("-13.7dB", 0.206_538_015_581_052_9),
  ])
  func `decibels are a volume`(_ text: String, _ volume: Double) throws {
    let found = Decibels.volume(try #require(Decibels.number(text)))
    #expect(abs(found - volume) <= 1e-15 * volume, "\(found)")
    let mixes = [
      #"{"A.sound": "\#(text)"}"#, #"{"A.sound": {"volume": "\#(text)"}}"#,
      #"{"A.sound": [{"at": 0, "volume": "\#(text)"}]}"#,
    ]
    for mix in mixes {
      let document = try Document.parse(Array(film(#"{"asset": "v"}"#, mix: mix).utf8))
      let edit = try document.lower(assets: standardAssets(), output: nil)
      #expect(edit.audioMix.volumes["A.sound"]?.ramps.map(\.to) == [found])
    }
  }

  @Test func `every level agrees with the system's power function`() {
    for step in -1200...200 {
      let decibels = Double(step) / 10
      let expected = pow(10, decibels / 20)
      #expect(abs(Decibels.volume(decibels) / expected - 1) < 1e-14, "\(decibels)")
    }
  }

  @Test func `levels that are in decibels take the unit too`() throws {
    let mix = #"""
      {"A.sound": {"duck": {"under": "music", "by": "-9dB", "threshold": -30},
        "filters": [{"kind": "limiter", "limit": "-2 dB"}]}, "loudness": {"target": -16, "truePeak": "-1.5dB"}}
      """#
    let text = documentText(
      tracks: #"""
        [{"id": "A", "sound": true, "clips": [{"asset": "v"}]},
         {"id": "music", "type": "audio", "clips": [{"asset": "s"}]}]
        """#, #""audioMix": \#(mix)"#)
    let edit = try Document.parse(Array(text.utf8)).lower(assets: standardAssets(), output: nil)
    #expect(edit.audioMix.ducking["A.sound"]?.levels.by == -9)
    #expect(edit.audioMix.filters["A.sound"]?.first?.values.first == -2)
    #expect(edit.audioMix.loudness?.truePeak == -1.5)
  }

  @Test(arguments: [
    (#"{"A.sound": "-6"}"#, #""-6" is not a volume: a volume is a number from 0 to 10, or decibels such as "-6dB""#),
    (#"{"A.sound": "loud"}"#, #"decibels such as "-6dB""#), (#"{"A.sound": "21dB"}"#, #"up to "20dB""#),
    (#"{"A.sound": true}"#, #"decibels such as "-6dB""#),
    (#"{"A.sound": [{"over": "0..1", "volume": ["-6 dBFS", 1]}]}"#, "is not a volume"),
  ])
  func `what is no volume`(_ mix: String, _ words: String) throws {
    let found = try messages(film(#"{"asset": "v"}"#, mix: mix))
    #expect(found.count == 1 && found[0].contains(words), "\(found)")
  }
}
