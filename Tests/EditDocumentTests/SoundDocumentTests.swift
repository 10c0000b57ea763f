import EditDocument
import Foundation
import TestEdits
import Testing

@testable import CompositionModel

@Suite struct SoundDocumentTests {
  /// A film with a track of music, a second one, and a video track with sound.
  private func film(
    clip: String = "", track: String = "", mix: String = "", export: String = #"{"to": "out.mkv"}"#
  ) -> String {
    documentText(
      tracks: """
        [ { "id": "A", "sound": true, "clips": [ { "asset": "v", "use": "0..10" } ] },
          { "id": "music", "type": "audio"\(track), "clips": [ { "asset": "s", "use": "0..10"\(clip) } ] },
          { "id": "voice", "type": "audio", "clips": [ { "asset": "s", "use": "10..20" } ] } ]
        """, #""audioMix": {\#(mix)}"#, export: export)
  }

  private func audio(_ language: String?, index: Int) throws -> TrackDescription {
    TrackDescription(
      index: index, type: .audio, codec: "aac", language: language, timebase: MediaTime(value: 1, timescale: 48000),
      range: try spanning("0", "60"), audio: AudioFormat(sampleRate: 48000, channels: 2, layout: "stereo"))
  }

  @Test func `the sound of a document has none of its captions`() throws {
    let text = documentText(
      tracks: #"""
        [{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0..10"}]},
         {"type": "subtitle", "clips": [{"asset": "w"}]}]
        """#, #""captions": [{"asset": "w"}, {"asset": "w", "as": "track"}]"#, export: #"{"to": "out.mkv"}"#)
    var assets = try standardAssets()
    assets["w"] = try SyntheticAssets.captions(hasStyles: false)
    let sound = try Document.ofSound([UInt8](text.utf8), track: nil, output: "sound.wav")
    let edit = try lowered(String(decoding: sound, as: UTF8.self), assets: assets, output: "sound.wav")
    #expect(edit.captions == nil && edit.export.video == nil && edit.composition.track("A.sound") != nil)
  }

  @Test func `a video track is heard where it has sound, unless it is silenced or a mask`() throws {
    func audio(_ tracks: String, _ mix: String = "") throws -> [TrackID] {
      try lowered(documentText(tracks: "[\(tracks)]", "\"audioMix\": {\(mix)}")).composition.tracks
        .filter { $0.type == .audio }.map(\.id)
    }
    let clip = #""clips": [{"asset": "v", "use": "1..9"}]"#
    let mute = #""clips": [{"asset": "mute", "use": "1..9"}, {"asset": "logo", "duration": 2}]"#
    #expect(try audio("{\(clip)}") == ["video1.sound"])
    #expect(try audio("{\(clip), \"sound\": false}") == [])
    #expect(try audio("{\(mute)}, {\(clip), \"pitch\": \"varispeed\"}") == ["video2.sound"])
    #expect(try audio("{\(mute)}", #""video1.sound": 0.5"#) == ["video1.sound"])
    #expect(try audio(#"{"clips": [{"asset": "v", "sound": "drop"}]}"#) == [])
    #expect(try audio(#"{"clips": [{"asset": "v", "freeze": 3, "duration": 1}]}"#) == [])
    let masked = #"{"clips": [{"asset": "w", "use": "0..8", "mask": {"track": "matte", "channel": "luma"}}]}"#
    let matte = "{\"id\": \"matte\", \(clip)"
    #expect(try audio("\(masked), \(matte)}") == ["video1.sound"])
    #expect(try audio("\(masked), \(matte), \"sound\": true}") == ["video1.sound", "matte.sound"])
    #expect(try audio("\(masked), \(matte)}", #""matte.sound": 0.25"#) == ["video1.sound", "matte.sound"])
    let silent = try problems(
      documentText(
        tracks: #"[{"sound": false, "pitch": "varispeed", "clips": [{"asset": "v", "volume": 0.3, "sound": "keep"}]}]"#)
    )
    #expect(silent.map(\.pointer) == ["/tracks/0/pitch", "/tracks/0/clips/0/volume", "/tracks/0/clips/0/sound"])
    let absent = try problems(
      documentText(tracks: "[{\(clip), \"sound\": false}]", #""audioMix": {"video1.sound": 1}"#))
    #expect(absent.map(\.pointer) == ["/audioMix/video1.sound"])
  }

  @Test func `pitch is that of the clip or else of its track`() throws {
    func pitches(_ clip: String, _ track: String) throws -> [PitchAlgorithm?] {
      try lowered(film(clip: clip, track: track)).composition.track("music")?.clips.map(\.pitch) ?? []
    }
    #expect(try pitches("", "") == [nil])
    #expect(try pitches(#", "speed": 0.5"#, #", "pitch": "varispeed""#) == [.varispeed])
    #expect(try pitches(#", "pitch": "timeDomain""#, #", "pitch": "varispeed""#) == [.timeDomain])
    #expect(try pitches(#", "pitch": "spectral""#, #", "pitch": "varispeed""#) == [nil])
    let edit = try lowered(
      documentText(
        tracks: #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "speed": 2, "pitch": "varispeed"}]}]"#))
    #expect(edit.composition.track("A.sound")?.clips.first?.pitch == .varispeed)
  }

  @Test func `an audio track is chosen by number or by language`() throws {
    var assets = try standardAssets()
    assets["s"]?.tracks = [
      try audio("eng", index: 3), try audio("ger", index: 5), try audio(nil, index: 6),
    ]
    assets["v"]?.tracks.append(contentsOf: [try audio("fra", index: 7)])
    func track(_ key: String) throws -> Int? {
      try lowered(film(clip: key), assets: assets).composition.track("music")?.clips.first?.sourceTrack
    }
    #expect(try track("") == 3)
    #expect(try track(#", "track": 2"#) == 6)
    #expect(try track(#", "language": "deu""#) == 5)
    let spoken = documentText(tracks: #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "language": "fre"}]}]"#)
    let clips = try lowered(spoken, assets: assets).composition
    #expect(clips.track("A.sound")?.clips.first?.sourceTrack == 7)
    #expect(clips.track("A")?.clips.first?.sourceTrack == 0)
    for (key, place, wanted) in [
      (#", "track": 3"#, "track", "audio track 3"), (#", "language": "ita""#, "language", "'ita'"),
    ] {
      let found = try problems(film(clip: key), assets: assets)
      #expect(found.map(\.pointer) == ["/tracks/1/clips/0/\(place)"])
      let message = found.first?.message ?? ""
      #expect(
        message.contains(wanted) && message.contains("0 (eng, aac, stereo), 1 (ger, aac, stereo), 2 (aac, stereo)"))
    }
  }

  @Test func `pan and filters of a clip are on its own time`() throws {
    let key = """
      , "at": 3, "pan": [{"over": "1..2", "value": [-1, 0.5]}],
      "audioFilters": [{"kind": "highPass", "frequency": 80}, {"kind": "delay", "time": 0.25}]
      """
    let clip = try #require(try lowered(film(clip: key)).composition.track("music")?.clips.first)
    #expect(try clip.pan?.value(at: at("0")) == -1 && clip.pan?.value(at: at("5")) == 0.5)
    #expect(try clip.pan?.value(at: at("9/2")) == -0.25)
    #expect(clip.audioFilters == [.highPass(frequency: 80, q: 0.707), .delay(time: 0.25)])
  }

  @Test func `a preset is its filters, and counts as so many`() throws {
    let key = #", "audioFilters": [{"kind": "preset", "preset": "telephone"}, {"kind": "delay", "time": 0.5}]"#
    let clip = try #require(try lowered(film(clip: key)).composition.track("music")?.clips.first)
    #expect(
      clip.audioFilters == [
        .highPass(frequency: 300, q: 0.707), .lowPass(frequency: 3400, q: 0.707), .delay(time: 0.5),
      ])
    let hum = Array(repeating: #"{"kind": "preset", "preset": "hum60"}"#, count: 3).joined(separator: ", ")
    let many = try problems(film(clip: ", \"audioFilters\": [\(hum)]"))
    #expect(many.map(\.pointer) == ["/tracks/1/clips/0/audioFilters"])
    #expect(many.first?.message == "24 filters, with those of presets; at most 16 are allowed")
  }

  /// The gain of equalizers at a frequency, in decibels, by the formula of a peaking filter of two poles
  /// (Bristow-Johnson's cookbook), at 48 kHz.
  private func gain(of filters: [AudioFilter], at frequency: Double) -> Double {
    filters.reduce(0) { sum, filter in
      guard case .equalizer(let centre, let gain, let q) = filter else { return sum }
      let (a, w, at) = (pow(10, gain / 40), 2 * Double.pi * centre / 48_000, 2 * Double.pi * frequency / 48_000)
      let alpha = sin(w) / (2 * q)
      func power(_ c0: Double, _ c1: Double, _ c2: Double) -> Double {
        let (real, imaginary) = (c0 + c1 * cos(at) + c2 * cos(2 * at), c1 * sin(at) + c2 * sin(2 * at))
        return real * real + imaginary * imaginary
      }
      let above = power(1 + alpha * a, -2 * cos(w), 1 - alpha * a)
      return sum + 10 * log10(above / power(1 + alpha / a, -2 * cos(w), 1 - alpha / a))
    }
  }

  @Test func `a preset takes hum away and leaves what is between`() {
    for (preset, mains) in [(AudioFilterPreset.hum50, 50.0), (.hum60, 60)] {
      for harmonic in 1...8 { #expect(gain(of: preset.filters, at: mains * Double(harmonic)) < -29) }
      for frequency in stride(from: mains * 8.8, to: 20_000, by: 97) {
        #expect(gain(of: preset.filters, at: frequency) > -1, "\(frequency) Hz")
      }
      #expect(gain(of: preset.filters, at: mains * 3.5) > -1)
    }
    for preset in AudioFilterPreset.allCases {
      #expect((1...8).contains(preset.filters.count))
      for filter in preset.filters {
        for (value, parameter) in zip(filter.values, filter.kind.parameters) {
          #expect(parameter.range.contains(value), "\(preset.rawValue): \(parameter.key) \(value)")
        }
      }
    }
  }

  @Test func `a track is mixed by a number, ramps or an object`() throws {
    let mix = """
      "A.sound": [{"over": "0..2", "volume": [0, 1], "pan": [-1, 1]}, {"at": 4, "pan": 0}],
      "music": {"volume": 0.5, "pan": -0.5,
        "filters": [{"kind": "compressor", "threshold": -20, "ratio": 4}, {"kind": "limiter"}],
        "duck": {"under": "voice", "by": -15, "attack": 0}},
      "voice": 2, "loudness": {"target": -16}
      """
    let edit = try lowered(film(mix: mix)).audioMix
    #expect(try edit.volumes["A.sound"]?.value(at: at("1")) == 0.5 && edit.pans["A.sound"]?.value(at: at("1")) == 0)
    #expect(try edit.pans["A.sound"]?.value(at: at("3")) == 1 && edit.pans["A.sound"]?.value(at: at("4")) == 0)
    #expect(try edit.volumes["music"]?.value(at: at("1")) == 0.5 && edit.pans["music"]?.value(at: at("1")) == -0.5)
    #expect(
      edit.filters["music"] == [
        .compressor(threshold: -20, ratio: 4, attack: 0.02, release: 0.25, knee: 9, makeup: 0),
        .limiter(limit: -1, attack: 0.005, release: 0.05),
      ])
    #expect(edit.ducking == ["music": Ducking(under: "voice", levels: DuckingLevels(by: -15, attack: 0))])
    #expect(try edit.volumes["voice"]?.value(at: at("1")) == 2)
    #expect(edit.loudness == LoudnessTarget(target: -16, truePeak: -1))
  }

  @Test func `a track named loudness is a track`() throws {
    let text = documentText(
      tracks: #"[{"id": "loudness", "type": "audio", "clips": [{"asset": "s"}]}]"#, #""audioMix": {"loudness": 0.5}"#)
    let mix = try lowered(text).audioMix
    #expect(mix.loudness == nil)
    #expect(mix.volumes["loudness"] != nil)
  }

  @Test func `lanes of a track with transitions belong together`() throws {
    let tracks = """
      [{"id": "m", "type": "audio", "clips": [
        {"asset": "s", "use": "0..5"}, {"asset": "s", "use": "10..15", "transition": 1}]}]
      """
    let mix = try lowered(documentText(tracks: tracks, #""audioMix": {"m": {"pan": 0.5}}"#)).audioMix
    #expect(mix.lanes == ["m.B": "m"])
    #expect(mix.pans["m.B"] != nil && mix.pans["m.B"] == mix.pans["m"])
  }

  @Test(arguments: [
    (#", "pitch": "tape""#, "", "/tracks/1/clips/0/pitch", "varispeed"),
    (#", "track": -1"#, "", "/tracks/1/clips/0/track", "from 0 to 999"),
    (#", "language": "german""#, "", "/tracks/1/clips/0/language", "three letters"),
    (#", "language": "deu", "track": 1"#, "", "/tracks/1/clips/0/track", "not both"),
    (#", "pan": 1.5"#, "", "/tracks/1/clips/0/pan", "from -1 to 1"),
    (#", "pan": [{"over": "8..12", "value": [0, 1]}]"#, "", "/tracks/1/clips/0/pan/0", "beyond the clip"),
    (#", "audioFilters": [{"kind": "volume"}]"#, "", "/tracks/1/clips/0/audioFilters/0/kind", "limiter"),
    (#", "audioFilters": [{"kind": "highPass"}]"#, "", "/tracks/1/clips/0/audioFilters/0", "needs 'frequency'"),
    (
      #", "audioFilters": [{"kind": "lowPass", "frequency": 23000}]"#, "",
      "/tracks/1/clips/0/audioFilters/0/frequency", "below 22050 Hz"
    ),
    (
      #", "audioFilters": [{"kind": "delay", "time": 11}]"#, "", "/tracks/1/clips/0/audioFilters/0/time", "from 0 to 10"
    ),
    (#", "audioFilters": [{"kind": "preset"}]"#, "", "/tracks/1/clips/0/audioFilters/0", "needs 'preset'"),
    (
      #", "audioFilters": [{"kind": "preset", "preset": "hum"}]"#, "", "/tracks/1/clips/0/audioFilters/0/preset",
      "hum50"
    ),
    (
      #", "audioFilters": [{"kind": "preset", "preset": "voice", "gain": 1}]"#, "",
      "/tracks/1/clips/0/audioFilters/0/gain", "unknown key"
    ),
    ("", #""music": {"duck": {"by": -6}}"#, "/audioMix/music/duck", "needs 'under'"),
    ("", #""music": {"duck": {"under": "choir"}}"#, "/audioMix/music/duck/under", "no audio track 'choir'"),
    ("", #""music": {"duck": {"under": "music"}}"#, "/audioMix/music/duck/under", "under itself"),
    ("", #""music": {"duck": {"under": "voice", "by": 3}}"#, "/audioMix/music/duck/by", "from -60 to 0"),
    ("", #""music": {"gain": 3}"#, "/audioMix/music/gain", "did you mean 'volume'?"),
    ("", #""music": [{"pan": 2}]"#, "/audioMix/music/0/pan", "from -1 to 1"),
    ("", #""loudness": {"truePeak": -1}"#, "/audioMix/loudness", "needs 'target'"),
    ("", #""loudness": {"target": 16}"#, "/audioMix/loudness/target", "from -40 to -5"),
    ("", #""loudness": -16"#, "/audioMix/loudness", "'loudness'"),
  ])
  func `what is wrong is reported with its place`(_ clip: String, _ mix: String, _ place: String, _ message: String)
    throws
  {
    let found = try problems(film(clip: clip, mix: mix))
    #expect(found.map(\.pointer) == [place])
    #expect(found.first?.message.contains(message) == true, "\(found)")
  }

  @Test func `ducking in a circle is reported`() throws {
    let mix = #""music": {"duck": {"under": "voice"}}, "voice": {"duck": {"under": "music"}}"#
    #expect(try problems(film(mix: mix)).map(\.pointer) == ["/audioMix/music/duck", "/audioMix/voice/duck"])
  }

  @Test func `channels without speakers get a layout by name`() throws {
    var assets = try standardAssets()
    assets["s"]?.tracks[0].audio = AudioFormat(sampleRate: 48000, channels: 16, layout: "16 channels")
    func warnings(_ text: String) throws -> [Problem] {
      try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil).warnings
    }
    let found = try warnings(film()).filter { $0.message.contains("speakers") }
    #expect(found.map(\.pointer) == ["/tracks/1/clips/0"])
    #expect(found.first?.message.contains("left and right in turn; 'layout' says what they are: hexadecagonal") == true)
    assets["s"]?.tracks[0].audio = AudioFormat(sampleRate: 48000, channels: 6, layout: "6 channels")
    #expect(try warnings(film()).contains { $0.message.contains("are taken as 5.1") })
    let text = film(clip: #", "layout": "5.1""#)
    #expect(try lowered(text, assets: assets).composition.track("music")?.clips.first?.layout == .surround51)
    let wrong = try problems(film(clip: #", "layout": "quad""#), assets: assets)
    #expect(wrong.map(\.pointer) == ["/tracks/1/clips/0/layout"])
    #expect(wrong.first?.message.contains("has 6: 5.1") == true)
  }

  @Test func `channels are chosen by their numbers, and a layout is of those`() throws {
    var assets = try standardAssets()
    assets["s"]?.tracks[0].audio = AudioFormat(sampleRate: 48000, channels: 4, layout: "4 channels")
    func clip(_ key: String) throws -> Clip? {
      try lowered(film(clip: key), assets: assets).composition.track("music")?.clips.first
    }
    #expect(try clip("")?.audioChannels == nil)
    let chosen = try clip(#", "audioChannels": [3, 1, 1]"#)
    #expect(chosen?.audioChannels == [3, 1, 1] && chosen?.layout == nil)
    #expect(try clip(#", "audioChannels": [2, 0], "layout": "stereo""#)?.layout == .stereo)
    // What is chosen has the usual speakers of so many.
    func warns(_ key: String) throws -> Bool {
      let text = documentText(tracks: #"[{"type": "audio", "clips": [{"asset": "s"\#(key)}]}]"#)
      return try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: assets, output: nil).warnings
        .contains { $0.message.contains("'layout'") }
    }
    #expect(try warns("") && !warns(#", "audioChannels": [2]"#))
    for (key, place, message) in [
      (#", "audioChannels": [0, 4]"#, "audioChannels/1", "has 4 channels, counted from 0"),
      (#", "audioChannels": []"#, "audioChannels", "0 channels; 1 to 8 are allowed"),
      (#", "audioChannels": 1"#, "audioChannels", "such as [1, 0]"),
      (#", "audioChannels": [-1]"#, "audioChannels/0", "0 to 63"),
      (#", "audioChannels": [2], "layout": "quad""#, "layout", "'audioChannels' has 1: mono"),
    ] {
      let found = try problems(film(clip: key), assets: assets)
      #expect(found.map(\.pointer) == ["/tracks/1/clips/0/\(place)"], "\(key)")
      #expect(found.first?.message.contains(message) == true, "\(found)")
    }
  }

  @Test func `keys of sound need a track with sound`() throws {
    let text = documentText(
      tracks:
        #"""
        [{"sound": false, "clips": [
          {"asset": "v", "track": 1, "language": "deu", "pan": 0, "audioFilters": [], "pitch": "spectral",
           "audioChannels": [0]}]}]
        """#)
    let found = try problems(text)
    #expect(
      Set(found.map(\.pointer))
        == Set(
          ["track", "language", "pan", "audioFilters", "pitch", "audioChannels"].map { "/tracks/0/clips/0/\($0)" }))
    #expect(found.allSatisfy { $0.message.contains("\"sound\": true") })
  }
}
