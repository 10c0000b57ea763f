import CompositionModel
import EditDocument
import TestEdits
import Testing

/// A document with one thing wrong, the place of the problem, and words of its message.
struct Wrong: Sendable, CustomTestStringConvertible {
  var text: String
  var pointer: String
  var words: [String]

  init(_ text: String, _ pointer: String, _ words: String...) {
    (self.text, self.pointer, self.words) = (text, pointer, words)
  }

  var testDescription: String { "\(pointer) \(words)" }
}

/// One valid track, for documents that are wrong elsewhere.
private let film = #"[{"id": "A", "clips": [{"asset": "v", "use": "0..10"}]}]"#
/// The same without sound.
private let silentFilm = #"[{"id": "A", "sound": false, "clips": [{"asset": "v", "use": "0..10"}]}]"#

private func clips(_ clips: String) -> String { documentText(tracks: "[{\"id\": \"A\", \"clips\": [\(clips)]}]") }
private func silentClips(_ clips: String) -> String {
  documentText(tracks: "[{\"id\": \"A\", \"sound\": false, \"clips\": [\(clips)]}]")
}
private func export(_ export: String) -> String { documentText(tracks: film, export: export) }
private func video(_ video: String, to: String = "a.mkv") -> String {
  export("{\"to\": \"\(to)\", \"video\": \(video)}")
}
private func audio(_ audio: String, to: String = "a.mkv") -> String {
  export("{\"to\": \"\(to)\", \"audio\": \(audio)}")
}
private func composition(_ composition: String, tracks: String = film) -> String {
  documentText(tracks: tracks, "\"videoComposition\": \(composition)")
}
private func overlay(_ overlay: String) -> String { composition("{\"overlays\": [\(overlay)]}") }
private func mix(_ mix: String) -> String {
  documentText(tracks: #"[{"id": "A", "sound": true, "clips": [{"asset": "v"}]}]"#, "\"audioMix\": \(mix)")
}
private let twoTracks = """
  [{"id": "A", "clips": [{"asset": "v", "use": "0..6"}]}, {"id": "B", "clips": [{"asset": "w", "use": "0..6", "at": 4}]}]
  """
/// Clips of 6 s and of 4 s with a transition of 1 s.
private let joined = #"{"asset": "v", "use": "0..6"}, {"asset": "w", "use": "0..4", "transition": 1}"#
/// Clips of 6 s and of 4 s, the second with more keys.
private func pair(_ keys: String) -> String {
  clips(##"{"asset": "v", "use": "0..6"}, {"asset": "w", "use": "0..4", \##(keys)}"##)
}
private func transition(_ transition: String) -> String {
  composition("{\"transitions\": [\(transition)]}", tracks: twoTracks)
}
private func instructions(_ instructions: String) -> String {
  composition("{\"instructions\": [\(instructions)]}", tracks: twoTracks)
}

@Suite struct DocumentProblemTests {
  private func check(_ wrong: Wrong) throws {
    let found = try problems(wrong.text)
    #expect(found.count == 1, "\(found)")
    let problem = try #require(found.first)
    #expect(problem.pointer == wrong.pointer, "\(problem)")
    for word in wrong.words { #expect(problem.message.contains(word), "'\(problem.message)' lacks '\(word)'") }
  }

  @Test(arguments: [
    Wrong("[]", "", "array of 0 values", "a document", "sheaf"),
    Wrong(documentText(tracks: film).replacing(#""sheaf": 1,"#, with: ""), "", "needs 'sheaf', such as \"sheaf\": 1"),
    Wrong(film.replacingVersion("2"), "/sheaf", "2", "it reads 1"),
    Wrong(film.replacingVersion("\"1\""), "/sheaf", "\"1\"", "it reads 1"),
    Wrong(#"{"sheaf": 1, "export": {"to": "a.mkv"}}"#, "", "needs 'tracks'"),
    Wrong(documentText(tracks: film, #""trakcs": 1"#), "/trakcs", "unknown key 'trakcs'", "did you mean 'tracks'?"),
    Wrong(documentText(tracks: film, #""frameDuration": "1/25""#), "/frameDuration", "is a key of 'videoComposition'"),
    Wrong(documentText(tracks: film, #""timeRange": "0..1""#), "/timeRange", "is a key of 'export'"),
    Wrong(documentText(tracks: film, #""quality": 20"#), "/quality", "is a key of 'video' of 'export'"),
    Wrong(documentText(tracks: film, #""videoComposition": {}, "videoComposition": {}"#), "/videoComposition", "twice"),
    Wrong(documentText(tracks: film, #""audioMix": []"#), "/audioMix", "an object"),
    Wrong(documentText(tracks: "{}"), "/tracks", "an object should be an array"),
  ])
  func `the document as a whole`(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(
      #"{"sheaf": 1, "assets": {"v": 5}, "tracks": [{"clips": [{"asset": "v"}]}], "export": {"to": "a.mkv"}}"#,
      "/assets/v", "5 should be a string"),
    Wrong(
      #"{"sheaf": 1, "assets": {"v": ""}, "tracks": [{"clips": [{"asset": "v"}]}], "export": {"to": "a.mkv"}}"#,
      "/assets/v", "empty"),
    Wrong(clips(#"{"asset": "V2"}"#), "/tracks/0/clips/0/asset", "no asset 'V2'", "did you mean 'v'?"),
  ])
  func assets(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(documentText(tracks: #"[{"id": "A"}]"#), "/tracks/0", "needs 'clips'"),
    Wrong(documentText(tracks: #"[{"id": "", "clips": [{"asset": "v"}]}]"#), "/tracks/0/id", "empty"),
    Wrong(
      documentText(tracks: #"[{"type": "vidoe", "clips": [{"asset": "v"}]}]"#), "/tracks/0/type", "'vidoe'", "'video'"),
    Wrong(
      documentText(tracks: #"[{"id": "A", "clips": [{"asset": "v"}]}, {"id": "A", "clips": []}]"#),
      "/tracks/1/id", "another track 'A'"),
    Wrong(
      documentText(
        tracks:
          #"[{"id": "A", "sound": true, "clips": [{"asset": "v"}]}, {"id": "A.sound", "type": "audio", "clips": []}]"#),
      "/tracks/1/id", "another track 'A.sound'"),
    Wrong(
      documentText(tracks: #"[{"type": "audio", "sound": true, "clips": [{"asset": "s"}]}]"#),
      "/tracks/0/sound", "video tracks"),
    Wrong(
      documentText(tracks: #"[{"sound": 1, "clips": [{"asset": "v"}]}]"#), "/tracks/0/sound",
      "1 should be true or false"),
    Wrong(
      documentText(tracks: #"[{"sound": false, "pitch": "spectral", "clips": [{"asset": "v"}]}]"#),
      "/tracks/0/pitch", "'pitch' is for sound", "\"sound\": true"),
    Wrong(documentText(tracks: #"[{"id": "A", "clips": []}]"#), "/tracks", "no frames"),
    Wrong(documentText(tracks: "[]"), "/tracks", "no frames"),
  ])
  func tracks(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(clips(#"{"use": "0..5"}"#), "/tracks/0/clips/0", "needs 'asset'"),
    Wrong(clips("5"), "/tracks/0/clips/0", "5 is not a clip"),
    Wrong(clips(#"{"asset": "v", "usee": "0..5"}"#), "/tracks/0/clips/0/usee", "'usee'", "did you mean 'use'?"),
    Wrong(clips(#"{"asset": "v", "Start": 5}"#), "/tracks/0/clips/0/Start", "(did you mean 'at'?)"),
    Wrong(clips(#"{"asset": "v", "for": 5}"#), "/tracks/0/clips/0/for", "(did you mean 'duration'?)"),
    Wrong(clips(#"{"asset": "v", "timeRange": "0..1"}"#), "/tracks/0/clips/0/timeRange", "part of the asset is 'use'"),
    Wrong(
      silentClips(#"{"asset": "v", "volume": 0.5}"#), "/tracks/0/clips/0/volume", "is for sound", "\"sound\": true"),
    Wrong(clips(#"{"asset": "v", "in": 5}"#), "/tracks/0/clips/0/in", "kind of transition", "'use'", "'fadeIn'"),
    Wrong(clips(#"{"asset": "v", "out": "0:05"}"#), "/tracks/0/clips/0/out", "kind of transition", "'fadeOut'"),
    Wrong(clips(#"{"asset": "v", "fadeIn": 0}"#), "/tracks/0/clips/0/fadeIn", "longer than 0"),
    Wrong(
      clips(#"{"asset": "v", "use": "0..3", "fadeOut": "7/2"}"#), "/tracks/0/clips/0/fadeOut", "3.5 s", "lasts 3 s"),
    Wrong(
      clips(#"{"asset": "v", "use": "0..3", "fadeIn": 2, "out": {"kind": "wipe", "duration": 1.5}}"#),
      "/tracks/0/clips/0/out", "1.5 s", "its beginning takes 2 s"),
    Wrong(clips(#"{"asset": "v", "fadeIn": {"curve": "linear"}}"#), "/tracks/0/clips/0/fadeIn", "needs 'duration'"),
    Wrong(
      clips(#"{"asset": "v", "fadeIn": {"duration": 1, "curve": "ease"}}"#), "/tracks/0/clips/0/fadeIn/curve", "'ease'",
      "equal-power"),
    Wrong(clips(#"{"asset": "v", "fadeIn": 1, "in": "wipe"}"#), "/tracks/0/clips/0/in", "'fadeIn' or 'in'"),
    Wrong(pair(#""fadeIn": 1, "transition": 1"#), "/tracks/0/clips/1/fadeIn", "not both"),
    Wrong(
      clips(#"{"asset": "v", "use": "0..6", "fadeOut": 1}, {"asset": "w", "use": "0..4", "transition": 1}"#),
      "/tracks/0/clips/0/fadeOut", "/tracks/0/clips/1/transition"),
    Wrong(
      clips(#"{"asset": "v", "in": {"kind": "luma", "matte": "w"}}"#), "/tracks/0/clips/0/in/matte", "still picture"),
    Wrong(clips(#"{"asset": "v", "cornerRadius": -1}"#), "/tracks/0/clips/0/cornerRadius", "-1", "0"),
    Wrong(clips(##"{"asset": "v", "border": {"color": "#ffffff"}}"##), "/tracks/0/clips/0/border", "needs 'width'"),
    Wrong(clips(#"{"asset": "v", "borderRadius": 4}"#), "/tracks/0/clips/0/borderRadius", "'cornerRadius'"),
    Wrong(clips(#"{"asset": "v", "shadow": {"blur": 400}}"#), "/tracks/0/clips/0/shadow/blur", "400"),
    Wrong(
      documentText(tracks: #"[{"type": "audio", "clips": [{"asset": "s", "in": "wipe"}]}]"#), "/tracks/0/clips/0/in",
      "video tracks", "'fadeIn'"),
    Wrong(
      documentText(
        tracks: #"[{"type": "audio", "clips": [{"asset": "s", "use": "0..3", "volume": [{"at": 4, "volume": 1}]}]}]"#),
      "/tracks/0/clips/0/volume/0", "goes beyond the clip"),
    Wrong(
      documentText(
        tracks: #"""
          [{"type": "audio",
            "clips": [{"asset": "s", "use": "0..3", "name": "a", "volume": [{"at": "clip:a.start", "volume": 1}]}]}]
          """#),
      "/tracks/0/clips/0/volume/0/at", "'clip:a.start'", "counts from 0, or from the end"),
    Wrong(clips(#"{"asset": "v", "zoom": 2}"#), "/tracks/0/clips/0/zoom", "unknown key 'zoom'; the keys of a clip"),
    Wrong(clips(#"{"asset": "v", "until": 3, "duration": 4}"#), "/tracks/0/clips/0/until", "not both"),
    Wrong(
      clips(#"{"asset": "v", "at": 5, "until": 5}"#), "/tracks/0/clips/0/until", "5 is not after the clip's start at 5"),
    Wrong(clips(#"{"asset": "v", "until": "fin"}"#), "/tracks/0/clips/0/until", "not a time"),
    Wrong(
      clips(#"{"asset": "v", "until": "end"}"#), "/tracks/0/clips/0/until", "the film ends at 0", "the other clips"),
    Wrong(clips(#"{"asset": "v", "loop": true}, {"asset": "v"}"#), "/tracks/0/clips/0", "the last of its track"),
    Wrong(clips(#"{"asset": "logo", "loop": true, "duration": 4}"#), "/tracks/0/clips/0/loop", "nothing to repeat"),
    Wrong(
      silentClips(#"{"asset": "v", "use": "0..1", "sound": "keep"}"#), "/tracks/0/clips/0/sound", "no sound to keep"),
    Wrong(
      clips(
        #"{"asset": "v", "use": "0..9"}, {"asset": "w", "use": "0..1", "loop": true, "at": 2, "duration": 6}"#),
      "/tracks/0/clips/1", "overlap"),
    Wrong(
      clips(#"{"asset": "v", "use": "0+0.01", "loop": true, "duration": 500}"#), "/tracks/0/clips/0/loop",
      "50000 times", "at most 10000"),
    Wrong(clips(#"{"asset": "v", "speed": 0}"#), "/tracks/0/clips/0/speed", "0 should be", "from 1/100 to 100"),
    Wrong(clips(#"{"asset": "v", "speed": "2"}"#), "/tracks/0/clips/0/speed", "should be a number", "\"1/3\""),
    Wrong(clips(#"{"asset": "v", "speed": "1/0"}"#), "/tracks/0/clips/0/speed", "should be a number"),
    Wrong(
      clips(#"{"asset": "v", "speed": [{"value": 1}, {"at": 1, "value": "1"}], "duration": 50}"#),
      "/tracks/0/clips/0/speed/1/value", "should be a number"),
    Wrong(
      clips(#"{"asset": "v", "speed": [{"value": 200}], "duration": 50}"#), "/tracks/0/clips/0/speed/0/value", "100"),
    Wrong(clips(#"{"asset": "v", "speed": 2, "duration": 4}"#), "/tracks/0/clips/0/speed", "not both"),
    Wrong(clips(#"{"asset": "logo", "speed": 2, "use": "0..4"}"#), "/tracks/0/clips/0/speed", "no speed"),
    Wrong(clips(#"{"asset": "v", "use": 5}"#), "/tracks/0/clips/0/use", "5 is not a range", "\"4..9\""),
    Wrong(clips(#"{"asset": "v", "use": "0..5x"}"#), "/tracks/0/clips/0/use", "0..5x", "\"4..9\""),
    Wrong(clips(#"{"asset": "v", "use": "9..4"}"#), "/tracks/0/clips/0/use", "ends before it starts"),
    Wrong(clips(#"{"asset": "v", "use": "4..4"}"#), "/tracks/0/clips/0/use", "4..4", "empty"),
    Wrong(clips(#"{"asset": "v", "use": "-1..4"}"#), "/tracks/0/clips/0/use", "starts before 0"),
    Wrong(clips(#"{"asset": "v", "use": "50..61"}"#), "/tracks/0/clips/0/use", "50..61", "60 s", "0..60"),
    Wrong(clips(#"{"asset": "v", "use": "70..71"}"#), "/tracks/0/clips/0/use", "70..71", "60 s"),
    Wrong(clips(#"{"asset": "v", "use": "0..1/281474976710657"}"#), "/tracks/0/clips/0/use", "finely"),
    Wrong(clips(#"{"asset": "v", "at": -1}"#), "/tracks/0/clips/0/at", "-1 is before 0"),
    Wrong(clips(#"{"asset": "v", "at": "soon"}"#), "/tracks/0/clips/0/at", "soon", "7/30"),
    Wrong(clips(#"{"asset": "v", "at": null}"#), "/tracks/0/clips/0/at", "null"),
    Wrong(clips(#"{"asset": "v", "duration": 0}"#), "/tracks/0/clips/0/duration", "longer than 0"),
    Wrong(
      clips(#"{"asset": "v", "use": "0..10", "duration": "1/100"}"#), "/tracks/0/clips/0/duration", "1000", "100 times"),
    Wrong(clips(#"{"asset": "v", "use": "0..10", "duration": 10000}"#), "/tracks/0/clips/0/duration", "1/100"),
    Wrong(clips(#"{"asset": "v", "at": "9223372036854775807"}"#), "/tracks/0/clips/0", "too large"),
    Wrong(clips(#"{"asset": "s"}"#), "/tracks/0/clips/0/asset", "'s' has no video track", "audio"),
    Wrong(
      documentText(tracks: #"[{"type": "audio", "clips": [{"asset": "mute"}]}]"#),
      "/tracks/0/clips/0/asset", "'mute' has no audio track"),
    Wrong(clips(#"{"asset": "logo"}"#), "/tracks/0/clips/0", "still", "'duration'"),
    Wrong(
      clips(#"{"asset": "v", "use": "0..5"}, {"asset": "w", "use": "0..5", "at": 4}"#),
      "/tracks/0/clips/1", "4..9", "0..5", "/tracks/0/clips/0"),
    Wrong(
      clips(#"{"asset": "v", "use": "0..5", "at": 3}, {"asset": "w", "use": "0..5", "at": 0}"#),
      "/tracks/0/clips/0", "3..8", "/tracks/0/clips/1"),
    Wrong(clips(#"{"asset": "v", "fit": "containn"}"#), "/tracks/0/clips/0/fit", "'containn'", "'contain'", "cover"),
    Wrong(clips(#"{"asset": "v", "opacity": 1.5}"#), "/tracks/0/clips/0/opacity", "1.5", "from 0 to 1"),
    Wrong(clips(#"{"asset": "v", "opacity": 1e999}"#), "/tracks/0/clips/0/opacity", "1e999"),
    Wrong(
      silentClips(#"{"asset": "v", "pitch": "spectral"}"#), "/tracks/0/clips/0/pitch", "'pitch' is for sound",
      "\"sound\": true"),
    Wrong(
      documentText(tracks: #"[{"type": "audio", "clips": [{"asset": "s", "opacity": 1}]}]"#),
      "/tracks/0/clips/0/opacity", "video tracks", "'volume'"),
  ])
  func `clips of a track`(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(clips(#"{"asset": "v", "crop": []}"#), "/tracks/0/clips/0/crop", "[x, y, width, height]"),
    Wrong(clips(#"{"asset": "v", "crop": [0, 0, 0, 9]}"#), "/tracks/0/clips/0/crop/2", "0 should be above 0"),
    Wrong(
      clips(#"{"asset": "v", "crop": [1280, 0, 9, 9]}"#), "/tracks/0/clips/0/crop", "[1280, 0, 9, 9]", "outside 'v'",
      "1280x720"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "0..1", "crop": [[0, 0, 9, 9], ["100%", 0, 9, 9]]}]}"#),
      "/tracks/0/clips/0/ramps/0/crop", "outside 'v'"),
    Wrong(clips(#"{"asset": "v", "frame": [0, 0, "10", 9]}"#), "/tracks/0/clips/0/frame/2", "\"10\"", "per cent"),
    Wrong(clips(#"{"asset": "v", "frame": [0, "2000%", 9, 9]}"#), "/tracks/0/clips/0/frame/1", "1000%"),
    Wrong(clips(#"{"asset": "v", "frame": [0, 70000, 9, 9]}"#), "/tracks/0/clips/0/frame/1", "70000", "65536"),
    Wrong(clips(#"{"asset": "v", "transform": 1}"#), "/tracks/0/clips/0/transform", "matrix", "rotate"),
    Wrong(
      clips(#"{"asset": "v", "transform": [1, 2, 2, 4, 0, 0]}"#), "/tracks/0/clips/0/transform", "[1, 2, 2, 4, 0, 0]",
      "singular"),
    Wrong(clips(#"{"asset": "v", "transform": [1, 0, 0, 1, 0]}"#), "/tracks/0/clips/0/transform", "six numbers"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "0..1", "transform": [[1, 0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0]]}]}"#),
      "/tracks/0/clips/0/ramps/0/transform/1", "singular"),
    Wrong(clips(#"{"asset": "v", "transform": {"scale": 0}}"#), "/tracks/0/clips/0/transform/scale", "0 should be"),
    Wrong(
      clips(#"{"asset": "v", "transform": {"scale": [1, 101]}}"#), "/tracks/0/clips/0/transform/scale/1", "101", "100"),
    Wrong(clips(#"{"asset": "v", "transform": {"rotation": 9}}"#), "/tracks/0/clips/0/transform/rotation", "'rotate'"),
    Wrong(clips(#"{"asset": "v", "transform": {"anchor": "top"}}"#), "/tracks/0/clips/0/transform/anchor", "center"),
    Wrong(
      clips(#"{"asset": "v", "transform": [1, 0, 0, 1, 0, 0], "frame": [0, 0, 9, 9]}"#), "/tracks/0/clips/0/frame",
      "takes the place of 'frame'"),
    Wrong(
      clips(#"{"asset": "v", "transform": [1, 0, 0, 1, 0, 0], "fit": "cover"}"#), "/tracks/0/clips/0/fit",
      "takes the place of 'fit'"),
    Wrong(
      clips(#"{"asset": "v", "transform": {}, "ramps": [{"at": 1, "transform": [1, 0, 0, 1, 0, 0]}]}"#),
      "/tracks/0/clips/0/ramps/0/transform", "all matrices"),
    Wrong(
      clips(#"{"asset": "v", "use": "0..5", "ramps": [{"over": "4..6", "transform": [{}, {"rotate": 90}]}]}"#),
      "/tracks/0/clips/0/ramps/0", "5 s", "start of the clip"),
    Wrong(clips(#"{"asset": "v", "mask": {}}"#), "/tracks/0/clips/0/mask", "needs 'image'"),
    Wrong(
      clips(#"{"asset": "v", "mask": {"track": "B", "channel": "luma"}}"#), "/tracks/0/clips/0/mask/track",
      "no video track 'B'"),
    Wrong(clips(#"{"asset": "v", "mask": {"image": "w"}}"#), "/tracks/0/clips/0/mask/image", "'w' is not a still"),
    Wrong(
      clips(#"{"asset": "v", "mask": {"image": "logo", "channel": "red"}}"#), "/tracks/0/clips/0/mask/channel", "luma"),
    Wrong(clips(#"{"asset": "v", "blendMode": "multipy"}"#), "/tracks/0/clips/0/blendMode", "'multiply'"),
    Wrong(
      documentText(tracks: #"[{"type": "audio", "clips": [{"asset": "s", "frame": [0, 0, 9, 9]}]}]"#),
      "/tracks/0/clips/0/frame", "video tracks"),
    Wrong(
      composition(
        #"{"instructions": [{"over": "0..5"}]}"#,
        tracks: #"[{"clips": [{"asset": "v", "use": "0..5", "crop": [0, 0, 9, 9], "transform": {}}]}]"#),
      "/tracks/0/clips/0", "crop, transform are set on their layers"),
    Wrong(
      instructions(#"{"over": "0..10", "layers": [{"track": "A", "crop": [2000, 0, 9, 9]}]}"#),
      "/videoComposition/instructions/0/layers/0/crop", "outside 'v'"),
  ])
  func geometry(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(clips(#"{"asset": "v", "ramps": [{"over": "0..1"}]}"#), "/tracks/0/clips/0/ramps/0", "needs 'opacity'"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "0..1", "opacity": 0.5}]}"#), "/tracks/0/clips/0/ramps/0/opacity",
      "[0, 1]"),
    Wrong(clips(#"{"asset": "v", "ramps": [{"at": 1, "opacity": [0, 1]}]}"#), "/tracks/0/clips/0/ramps/0", "'over'"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"at": 1, "over": "0..1", "opacity": [0, 1]}]}"#),
      "/tracks/0/clips/0/ramps/0/at", "not both"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "0..1", "opacity": [0, 2]}]}"#),
      "/tracks/0/clips/0/ramps/0/opacity/1", "2", "from 0 to 1"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "1..1", "opacity": [0, 1]}]}"#), "/tracks/0/clips/0/ramps/0/over",
      "empty"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "0..2", "opacity": [0, 1]}, {"over": "1..3", "opacity": [0, 1]}]}"#),
      "/tracks/0/clips/0/ramps/1", "1..3", "0..2", "overlaps"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"at": 1, "opacity": 1}, {"at": 1, "opacity": 0}]}"#),
      "/tracks/0/clips/0/ramps/1", "overlaps"),
    Wrong(
      clips(#"{"asset": "v", "use": "0..5", "at": 20, "ramps": [{"over": "20..21", "opacity": [0, 1]}]}"#),
      "/tracks/0/clips/0/ramps/0", "20..21", "5 s", "start of the clip"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "0..1", "opacity": [0, 1], "easing": "ease"}]}"#),
      "/tracks/0/clips/0/ramps/0/easing", "'ease'", "ease-in-out"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "0..1", "opacity": [0, 1], "easing": [0.1, 0, 1]}]}"#),
      "/tracks/0/clips/0/ramps/0/easing", "four numbers"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "0..1", "opacity": [0, 1], "easing": [0.1, 0, 1.5, 1]}]}"#),
      "/tracks/0/clips/0/ramps/0/easing/2", "1.5", "from 0 to 1"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"at": 0, "opacity": 0, "easing": "hold"}]}"#),
      "/tracks/0/clips/0/ramps/0/easing", "no 'easing'"),
    Wrong(
      clips(#"{"asset": "v", "ramps": [{"over": "0..1", "frame": [0, 0, 10, 10]}]}"#),
      "/tracks/0/clips/0/ramps/0/frame", "at the start and at the end"),
    Wrong(
      clips(
        #"{"asset": "v", "ramps": [{"over": "0..2", "crop": [[0, 0, 9, 9], [1, 1, 9, 9]]}, {"at": 1, "crop": [0, 0, 9, 9]}]}"#
      ), "/tracks/0/clips/0/ramps/1", "overlaps"),
  ])
  func ramps(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(
      composition(#"{"renderSize": [1921, 1080]}"#), "/videoComposition/renderSize", "1921x1080", "odd width",
      "1920x1080"),
    Wrong(composition(#"{"renderSize": [1920, 1081]}"#), "/videoComposition/renderSize", "odd height", "1920x1080"),
    Wrong(composition(#"{"renderSize": [1920]}"#), "/videoComposition/renderSize", "a width and a height"),
    Wrong(composition(#"{"renderSize": [0, 2]}"#), "/videoComposition/renderSize/0", "0", "from 2 to 16384"),
    Wrong(composition(#"{"renderSize": [2.5, 2]}"#), "/videoComposition/renderSize/0", "2.5", "whole number"),
    Wrong(
      composition(#"{"renderSize": [16384, 16384]}"#), "/videoComposition/renderSize", "16384x16384", "at most"),
    Wrong(composition(#"{"scale": 0}"#), "/videoComposition/scale", "0", "at most 1"),
    Wrong(composition(#"{"scale": 1.5}"#), "/videoComposition/scale", "1.5", "at most 1"),
    Wrong(composition(#"{"scale": 0.3333333}"#), "/videoComposition/scale", "0.3333333", "six decimals"),
    Wrong(composition(#"{"frameDuration": 0}"#), "/videoComposition/frameDuration", "0", "1/30"),
    Wrong(composition(#"{"frameDuration": "2f"}"#), "/videoComposition/frameDuration", "2f", "1/30"),
    Wrong(composition(#"{"fps": 30}"#), "/videoComposition/fps", "unknown key 'fps' (did you mean 'frameRate'?)"),
    Wrong(composition(#"{"frameRate": 0}"#), "/videoComposition/frameRate", "0 should be", "from 1/60 to 1000"),
    Wrong(composition(#"{"frameRate": "30"}"#), "/videoComposition/frameRate", "a fraction"),
    Wrong(composition(#"{"frameRate": 30.12345678901}"#), "/videoComposition/frameRate", "as a fraction"),
    Wrong(
      composition(#"{"frameRate": 30, "frameDuration": "1/30"}"#), "/videoComposition/frameRate", "not both"),
    Wrong(composition(#"{"background": "black"}"#), "/videoComposition/background", "black", "#rrggbb"),
    Wrong(composition(##"{"background": "#00000080"}"##), "/videoComposition/background", "solid"),
    Wrong(composition(#"{"compositor": "x"}"#), "/videoComposition/compositor", "a key of an instruction"),
    Wrong(composition(#"{"color": "bt710"}"#), "/videoComposition/color", "'bt710'", "bt709", "hdr10"),
    Wrong(composition(#"{"color": 709}"#), "/videoComposition/color", "709", "'primaries', 'transfer' and 'matrix'"),
    Wrong(
      composition(#"{"color": {"primaries": "bt709", "transfer": "bt709"}}"#), "/videoComposition/color",
      "needs 'matrix'"),
    Wrong(
      composition(#"{"color": {"primaries": "bt709", "transfer": "pq", "matrix": "bt709"}}"#),
      "/videoComposition/color/transfer", "'pq'", "smpte2084"),
    Wrong(composition(#"{"toneMapping": "hable"}"#), "/videoComposition/toneMapping", "'hable'", "bt2390, clip"),
    Wrong(
      composition(#"{"scale": 0.5}"#, tracks: #"[{"clips": [{"asset": "v", "fit": "none"}]}]"#),
      "/tracks/0/clips/0/fit", "'none'", "scale"),
    Wrong(
      composition(
        #"{"scale": 0.5, "instructions": [{"over": "0..4", "layers": [{"track": "A", "fit": "none"}]}]}"#,
        tracks: #"[{"id": "A", "clips": [{"asset": "v", "use": "0..4"}]}]"#),
      "/videoComposition/instructions/0/layers/0/fit", "'none'", "scale"),
    Wrong(
      documentText(
        tracks: #"[{"type": "audio", "clips": [{"asset": "s"}]}]"#,
        #""videoComposition": {"overlays": [{"text": "hi"}]}"#),
      "/videoComposition", "give 'renderSize'"),
  ])
  func `video composition`(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(
      transition(#"{"from": "A", "to": "C", "over": "4..6"}"#), "/videoComposition/transitions/0/to",
      "no video track 'C'", "'A'"),
    Wrong(
      transition(#"{"from": "A", "to": "A", "over": "4..6"}"#), "/videoComposition/transitions/0/to", "both are 'A'"),
    Wrong(transition(#"{"from": "A", "over": "4..6"}"#), "/videoComposition/transitions/0", "needs 'to'"),
    Wrong(transition(#"{"from": "A", "to": "B"}"#), "/videoComposition/transitions/0", "needs 'over'"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "5..7"}"#), "/videoComposition/transitions/0/from", "5..7", "0..6"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "1..2"}"#), "/videoComposition/transitions/0/to", "no clip there"),
    Wrong(transition(#"{"from": "A", "to": "B", "over": "5..5"}"#), "/videoComposition/transitions/0/over", "empty"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "kind": "disolve"}"#),
      "/videoComposition/transitions/0/kind", "'disolve'", "'dissolve'"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "easing": "bouncy"}"#),
      "/videoComposition/transitions/0/easing", "'bouncy'", "ease-in-out"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "easing": [0, 0, 2, 1]}"#),
      "/videoComposition/transitions/0/easing/2", "2", "from 0 to 1"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "easing": [0, 0]}"#),
      "/videoComposition/transitions/0/easing", "four numbers"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "direction": "left"}"#),
      "/videoComposition/transitions/0/direction", "wipe, slide, push", "'dissolve'"),
    Wrong(
      transition(##"{"from": "A", "to": "B", "over": "4..6", "kind": "circle", "color": "#ffffff"}"##),
      "/videoComposition/transitions/0/color", "'fade'", "'circle'"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "kind": "push", "direction": "up-left"}"#),
      "/videoComposition/transitions/0/direction", "'up-left'", "left, right, up, down"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "kind": "wipe", "softness": 1.5}"#),
      "/videoComposition/transitions/0/softness", "1.5", "from 0 to 1"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "kind": "circle", "center": [0.5, 7]}"#),
      "/videoComposition/transitions/0/center/1", "7", "from 0 to 1"),
    Wrong(
      transition(##"{"from": "A", "to": "B", "over": "4..6", "kind": "fade", "color": "#00000080"}"##),
      "/videoComposition/transitions/0/color", "transparent"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "kind": "luma"}"#), "/videoComposition/transitions/0",
      "needs 'matte'"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "kind": "luma", "matte": "v"}"#),
      "/videoComposition/transitions/0/matte", "'v'", "still picture"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "kind": "luma", "matte": "s"}"#),
      "/videoComposition/transitions/0/matte", "'s'", "no picture"),
    Wrong(
      transition(#"{"from": "A", "to": "B", "over": "4..6", "kind": "luma", "matte": "logos"}"#),
      "/videoComposition/transitions/0/matte", "'logos'", "did you mean 'logo'?"),
  ])
  func transitions(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(clips(#"{"asset": "v", "transition": 1}"#), "/tracks/0/clips/0/transition", "first clip"),
    Wrong(pair(#""transition": 0"#), "/tracks/0/clips/1/transition", "longer than 0"),
    Wrong(pair(#""transition": -1"#), "/tracks/0/clips/1/transition", "-1", "before 0"),
    Wrong(pair(#""transition": true"#), "/tracks/0/clips/1/transition", "true", "dissolve", "luma"),
    Wrong(pair(#""transition": "wip""#), "/tracks/0/clips/1/transition", "'wip'", "did you mean 'wipe'?"),
    Wrong(pair(#""transition": "luma""#), "/tracks/0/clips/1/transition", "needs 'matte'"),
    Wrong(pair(#""transition": {"type": "wipe"}"#), "/tracks/0/clips/1/transition/type", "did you mean 'kind'?"),
    Wrong(
      pair(#""transition": {"kind": "slide", "softness": 0.1}"#), "/tracks/0/clips/1/transition/softness", "slide"),
    Wrong(pair(#""transition": {"duration": 5}"#), "/tracks/0/clips/1/transition", "5 s", "the clip", "4 s"),
    Wrong(
      clips(#"{"asset": "v", "use": "0..2"}, {"asset": "w", "use": "0..6", "transition": 3}"#),
      "/tracks/0/clips/1/transition", "3 s", "/tracks/0/clips/0", "lasts 2 s"),
    Wrong(
      clips(#"{"asset": "v"}, {"asset": "w", "use": "0..2", "transition": 1.5}, {"asset": "w", "transition": "3/4"}"#),
      "/tracks/0/clips/2/transition", "/tracks/0/clips/1", "lasts 2 s", "1.5 s at its start", "0.75 s at its end"),
    Wrong(pair(#""at": 6, "transition": 1"#), "/tracks/0/clips/1/transition", "starts at 6", "ends at 6", "'at'"),
    Wrong(
      pair(#""at": 5, "transition": {"duration": 2}"#), "/tracks/0/clips/1/transition/duration", "2 s", "1 s",
      "leave out 'at' or 'duration'"),
    Wrong(
      documentText(tracks: #"[{"type": "audio", "clips": [{"asset": "s"}, {"asset": "s", "transition": "wipe"}]}]"#),
      "/tracks/0/clips/1/transition", "audio track", "dissolve"),
    Wrong(
      documentText(
        tracks:
          #"[{"id": "A", "clips": [{"asset": "v"}, {"asset": "v", "transition": 1}]}, {"id": "A.B", "clips": []}]"#
      ),
      "/tracks/1/id", "'A.B'"),
    Wrong(
      composition(
        #"{"instructions": [{"over": "0..9", "layers": [{"track": "A"}]}]}"#,
        tracks: "[{\"id\": \"A\", \"clips\": [\(joined)]}]"),
      "/tracks/0/clips/1/transition", "'instructions'"),
    Wrong(
      composition(
        #"{"transitions": [{"from": "A", "to": "B", "over": "5..6"}]}"#,
        tracks: "[{\"id\": \"A\", \"clips\": [\(joined)]}, {\"id\": \"B\", \"clips\": [{\"asset\": \"w\", \"at\": 4}]}]"
      ),
      "/videoComposition/transitions/0", "two transitions at once", "/tracks/0/clips/1/transition"),
    Wrong(clips(joined + #", {"asset": "w", "use": "0..1", "at": 2}"#), "/tracks/0/clips/2", "overlap"),
  ])
  func transitionsBetweenClips(_ wrong: Wrong) throws { try check(wrong) }

  @Test func `a track is in one transition at a time`() throws {
    let text = transition(#"{"from": "A", "to": "B", "over": "4..11/2"}, {"from": "B", "to": "A", "over": "5..6"}"#)
    let found = try problems(text)
    #expect(found.map(\.pointer) == Array(repeating: "/videoComposition/transitions/1", count: 2))
    #expect(found.allSatisfy { $0.message.contains("two transitions at once") })
  }

  @Test(arguments: [
    Wrong(instructions(""), "/videoComposition/instructions", "no instruction"),
    Wrong(instructions(#"{"over": "1..10"}"#), "/videoComposition/instructions/0/over", "starts at 1", "0 or before"),
    Wrong(
      instructions(#"{"over": "0..4"}, {"over": "5..10"}"#), "/videoComposition/instructions/1/over", "gap", "0..4",
      "at 4"),
    Wrong(
      instructions(#"{"over": "0..6"}, {"over": "5..10"}"#), "/videoComposition/instructions/1/over", "overlaps", "0..6"
    ),
    Wrong(instructions(#"{"over": "0..9"}"#), "/videoComposition/instructions/0/over", "ends at 9", "10 s"),
    Wrong(
      instructions(#"{"over": "0..10", "layers": [{"track": "X"}]}"#),
      "/videoComposition/instructions/0/layers/0/track", "'X'"),
    Wrong(
      instructions(#"{"over": "0..10", "layers": [{"track": "A"}, {"track": "A"}]}"#),
      "/videoComposition/instructions/0/layers/1/track", "once"),
    Wrong(
      instructions(#"{"over": "0..10", "passthrough": "A"}"#), "/videoComposition/instructions/0/passthrough",
      "throughout"),
    Wrong(
      instructions(#"{"over": "0..10", "layers": [{"track": "A", "mask": {"image": "logo", "track": "B"}}]}"#),
      "/videoComposition/instructions/0/layers/0/mask/image", "not both"),
    Wrong(
      composition(
        #"{"instructions": [{"over": "0..5"}]}"#,
        tracks: #"[{"clips": [{"asset": "v", "use": "0..5", "opacity": 0.5}]}]"#),
      "/tracks/0/clips/0", "on their layers"),
    Wrong(
      composition(
        #"{"instructions": [{"over": "0..10"}], "transitions": [{"from": "A", "to": "B", "over": "4..6"}]}"#,
        tracks: twoTracks),
      "/videoComposition/transitions", "not both"),
  ])
  func `instructions tile`(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(overlay("{}"), "/videoComposition/overlays/0", "none of them"),
    Wrong(
      overlay(#"{"image": "logo", "fadeIn": 0.5}"#), "/videoComposition/overlays/0/fadeIn", "'ramps' of its opacity"),
    Wrong(
      overlay(#"{"text": "x", "fadeOut": 0.5}"#), "/videoComposition/overlays/0/fadeOut", "end-1/2..end"),
    Wrong(
      overlay(#"{"video": "v", "cornerRadius": 9}"#), "/videoComposition/overlays/0/cornerRadius", "a clip of a track"),
    Wrong(overlay(#"{"image": "logo", "text": "x"}"#), "/videoComposition/overlays/0", "'image', 'text'"),
    Wrong(
      overlay("{\"text\": \"\(String(repeating: "a", count: 10_001))\"}"), "/videoComposition/overlays/0/text", "10001",
      "at most 10000"),
    Wrong(overlay(#"{"image": "lgo"}"#), "/videoComposition/overlays/0/image", "'lgo'", "'logo'"),
    Wrong(overlay(#"{"image": "v"}"#), "/videoComposition/overlays/0/image", "'v' is a video", #""video": "v""#),
    Wrong(overlay(#"{"image": "s"}"#), "/videoComposition/overlays/0/image", "no picture"),
    Wrong(overlay(#"{"image": "logo", "width": 0}"#), "/videoComposition/overlays/0/width", "0", "from 1"),
    Wrong(overlay(#"{"image": "logo", "size": 5}"#), "/videoComposition/overlays/0/size", "unknown key 'size'"),
    Wrong(
      overlay(#"{"image": "logo", "anchor": "topright"}"#), "/videoComposition/overlays/0/anchor", "'topright'",
      "'top-right'"),
    Wrong(overlay(#"{"image": "logo", "anchor": "top", "x": 5}"#), "/videoComposition/overlays/0/anchor", "not both"),
    Wrong(
      overlay(#"{"image": "logo", "over": "10..11"}"#), "/videoComposition/overlays/0/over", "after the film", "10 s"),
    Wrong(overlay(#"{"image": "logo", "over": "5..2"}"#), "/videoComposition/overlays/0/over", "ends before"),
    Wrong(
      overlay(#"{"image": "logo", "over": "1..3", "ramps": [{"over": "1..3", "opacity": [0, 1]}]}"#),
      "/videoComposition/overlays/0/ramps/0", "1..3", "2 s", "start of the overlay"),
    Wrong(overlay(#"{"text": ""}"#), "/videoComposition/overlays/0/text", "empty"),
    Wrong(overlay(#"{"text": "x", "size": 0}"#), "/videoComposition/overlays/0/size", "0"),
    Wrong(overlay(##"{"text": "x", "color": "#fff"}"##), "/videoComposition/overlays/0/color", "#fff", "#rrggbb"),
    Wrong(overlay(#"{"text": "x", "align": "middle"}"#), "/videoComposition/overlays/0/align", "'middle'", "center"),
    Wrong(overlay(#"{"video": "logo"}"#), "/videoComposition/overlays/0/video", "still picture", #""image": "logo""#),
    Wrong(overlay(#"{"image": "logo", "loop": 2}"#), "/videoComposition/overlays/0/loop", "nothing to repeat"),
    Wrong(overlay(#"{"video": "v", "loop": 0}"#), "/videoComposition/overlays/0/loop", "from 1 to 1000000"),
    Wrong(overlay(#"{"video": "v", "loop": "3"}"#), "/videoComposition/overlays/0/loop", "true, false"),
    Wrong(overlay(#"{"video": "v", "use": "50..70"}"#), "/videoComposition/overlays/0/use", "50..70", "60 s"),
    Wrong(overlay(#"{"video": "s"}"#), "/videoComposition/overlays/0/video", "no picture"),
    Wrong(overlay(#"{"video": "v", "text": "x"}"#), "/videoComposition/overlays/0", "'video', 'text'"),
    Wrong(overlay(#"{"image": "logo", "width": "12"}"#), "/videoComposition/overlays/0/width", "per cent"),
    Wrong(overlay(#"{"image": "logo", "x": "1001%"}"#), "/videoComposition/overlays/0/x", "1001%"),
    Wrong(overlay(#"{"text": "x", "outline": {}}"#), "/videoComposition/overlays/0/outline", "needs 'width'"),
    Wrong(overlay(#"{"text": "x", "outline": 3}"#), "/videoComposition/overlays/0/outline", "width, color"),
    Wrong(
      overlay(#"{"text": "x", "outline": {"width": 201}}"#), "/videoComposition/overlays/0/outline/width", "0 to 200"),
    Wrong(overlay(#"{"text": "x", "shadow": {"blur": -1}}"#), "/videoComposition/overlays/0/shadow/blur", "0 to 200"),
    Wrong(overlay(#"{"text": "x", "shadow": {"dx": 1}}"#), "/videoComposition/overlays/0/shadow/dx", "x, y, blur"),
    Wrong(overlay(#"{"text": "x", "box": {"padding": 1.5}}"#), "/videoComposition/overlays/0/box/padding", "whole"),
    Wrong(overlay(#"{"text": "x", "lineSpacing": 0}"#), "/videoComposition/overlays/0/lineSpacing", "0.25 to 8"),
    Wrong(overlay(#"{"text": "x", "letterSpacing": 2000}"#), "/videoComposition/overlays/0/letterSpacing", "1000"),
    Wrong(overlay(#"{"text": "x", "font": "logo"}"#), "/videoComposition/overlays/0/font", "not a font", "png_pipe"),
    Wrong(overlay(#"{"text": "x", "font": "a/b.ttf"}"#), "/videoComposition/overlays/0/font", "has not been probed"),
    Wrong(overlay(#"{"text": "x", "bold": "yes"}"#), "/videoComposition/overlays/0/bold", "true or false"),
  ])
  func overlays(_ wrong: Wrong) throws { try check(wrong) }

  @Test(
    arguments: [
      Wrong(mix(#"{"musik": [{"volume": 1}]}"#), "/audioMix/musik", "no audio track 'musik'", "'A.sound'"),
      Wrong(mix(#"{"A": [{"volume": 1}]}"#), "/audioMix/A", "not an audio track", "'A.sound'"),
      Wrong(documentText(tracks: silentFilm, #""audioMix": {"A": [{"volume": 1}]}"#), "/audioMix/A", "\"sound\": true"),
      Wrong(mix(#"{"A.sound": "0.5"}"#), "/audioMix/A.sound", "decibels"),
      Wrong(mix(#"{"A.sound": [{"volume": -1}]}"#), "/audioMix/A.sound/0/volume", "-1", "from 0 to 10"),
      Wrong(
        mix(#"{"A.sound": [{"over": "0..2", "volume": [0, 1]}, {"at": 1, "volume": 1}]}"#), "/audioMix/A.sound/1",
        "overlaps"),
      Wrong(mix(#"{"A.sound": [{"opacity": 1}]}"#), "/audioMix/A.sound/0/opacity", "unknown key"),
    ].map(\.withVolume))
  func `audio mix`(_ wrong: Wrong) throws { try check(wrong) }

  @Test(arguments: [
    Wrong(export("{}"), "/export", "no name", ".mp4"),
    Wrong(export(#"{"to": "a.avi"}"#), "/export/to", "'a.avi'", ".mkv"),
    Wrong(export(#"{"to": "film"}"#), "/export/to", "'film'", ".mkv"),
    Wrong(export(#"{"to": "out.mp4/film"}"#), "/export/to", "must end in"),
    Wrong(export(#"{"to": "out/.mp4"}"#), "/export/to", "must end in"),
    Wrong(export(#"{"to": "a.mkv", "preset": "highest"}"#), "/export/preset", "'highestQuality'", "1920x1080"),
    Wrong(
      export(#"{"to": "a.mp4", "preset": "AVAssetExportPresetHEVC1920x1080"}"#), "/export/preset",
      "mean 'hevc1920x1080'"),
    Wrong(export(#"{"to": "a.mp4", "preset": "medium"}"#), "/export/preset", "'preset' of 'video'"),
    Wrong(export(#"{"to": "a.mp4", "preset": "1280x702"}"#), "/export/preset", "mean '1280x720'"),
    Wrong(
      export(#"{"to": "a.mp4", "preset": "hevc1920x1080WithAlpha"}"#), "/export/preset", "transparent",
      "'hevc1920x1080'", "appleProRes4444LPCM"),
    Wrong(export(#"{"to": "a.webm", "preset": "1280x720"}"#), "/export/preset", "webm", "mp4, mov, m4v, mkv"),
    Wrong(
      export(#"{"to": "a.mp4", "preset": "appleProRes422LPCM"}"#), "/export/preset", "mp4", "mov, mkv",
      "hevc1920x1080"),
    Wrong(
      documentText(
        tracks: #"[{"type": "audio", "clips": [{"asset": "v", "use": "0..2"}]}]"#,
        export: #"{"to": "a.mp4", "preset": "1280x720"}"#), "/export/preset", "no track has any", "appleM4A"),
    Wrong(export(#"{"to": "a.mkv", "metadataFilter": "forSharing"}"#), "/export/metadataFilter", "carryMetadata"),
    Wrong(
      export(#"{"to": "a.mkv", "carryMetadata": true, "metadataFilter": "all"}"#), "/export/metadataFilter", "'all'",
      "forSharing"),
    Wrong(export(#"{"to": "a.mkv", "carryMetadata": "x"}"#), "/export/carryMetadata", "no asset 'x'"),
    Wrong(export(#"{"to": "a.mkv", "carryMetadata": 1}"#), "/export/carryMetadata", "true, false or the name"),
    Wrong(
      export(#"{"to": "a.mp4", "chapters": [{"at": 2, "title": "A"}, {"at": 2, "title": "B"}]}"#),
      "/export/chapters/1/at", "after the chapter before it"),
    Wrong(export(#"{"to": "a.mp4", "chapters": [{"at": 10, "title": "A"}]}"#), "/export/chapters/0/at", "10 s long"),
    Wrong(export(#"{"to": "a.mp4", "chapters": [{"at": 0}]}"#), "/export/chapters/0", "needs 'title'"),
    Wrong(export(#"{"to": "a.mp4", "artwork": "x"}"#), "/export/artwork", "no asset 'x'"),
    Wrong(export(#"{"to": "a.mp4", "artwork": true}"#), "/export/artwork", "name of an asset, or false"),
    Wrong(export(#"{"to": "a.mp4", "coverArt": "v"}"#), "/export/coverArt", "mean 'artwork'"),
    Wrong(export(#"{"to": "a.mp4", "artwork": "v"}"#), "/export/artwork", "'v' is no picture", "PNG or a JPEG"),
    Wrong(export(#"{"to": "a.webm", "artwork": "logo"}"#), "/export/artwork", "webm", "mp4, mov, m4v, mkv, m4a"),
    Wrong(video(#"{"rotation": 45}"#, to: "a.mp4"), "/export/video/rotation", "45", "0, 90, 180, 270"),
    Wrong(video(#"{"rotation": 90}"#), "/export/video/rotation", "mkv", "mp4, mov, m4v"),
    Wrong(video(#"{"language": "English"}"#), "/export/video/language", "English", "ISO 639-2", "eng"),
    Wrong(video(#"{"title": ""}"#), "/export/video/title", "a title"),
    Wrong(
      export(#"{"to": "a.mp4", "audio": {"title": "\#(String(repeating: "x", count: 201))"}}"#), "/export/audio/title",
      "201", "200"),
    Wrong(
      export(#"{"to": "a.mxf", "audio": {"language": "eng"}}"#), "/export/audio/language", "mxf",
      "mp4, mov, m4v, mkv, webm, m4a, m3u8, mpd can"),
    Wrong(
      export(#"{"to": "a.mp3", "video": false, "audio": {"title": "Talk"}}"#), "/export/audio/title", "mp3",
      "m4a, m3u8, mpd can"),
    Wrong(
      export(#"{"to": "a.mp4", "preset": "passthrough", "audio": {"language": "eng", "bitRate": 96000}}"#),
      "/export/audio", "encodes nothing", "language, title"),
    Wrong(
      export(#"{"to": "a.mp4", "carry": ["chapters"]}"#), "/export/carry", "for the preset 'passthrough'"),
    Wrong(
      export(#"{"to": "a.mp4", "preset": "passthrough", "carry": "all"}"#), "/export/carry",
      "an array of tracks, chapters, timecode, attachments, metadata"),
    Wrong(
      export(#"{"to": "a.mp4", "preset": "passthrough", "carry": ["tracks", "chapter"]}"#), "/export/carry/1",
      "chapters"),
    Wrong(
      export(#"{"to": "a.mp4", "preset": "passthrough", "video": {"rotation": 90, "quality": 20}}"#), "/export/video",
      "encodes nothing", "rotation, language, title"),
    Wrong(
      documentText(
        tracks: film, #""videoComposition": { "frameRate": 12 }"#, export: #"{"to": "a.mxf"}"#), "/videoComposition",
      "1/12", "mxf", "1/25"),
    Wrong(
      documentText(
        tracks: #"[{"sound": true, "clips": [{"asset": "v", "use": "0..2"}]}]"#,
        export: #"{"to": "a.mxf", "audio": {"sampleRate": 44100}}"#), "/export/audio/sampleRate", "mxf", "48000"),
    Wrong(
      documentText(
        tracks: #"[{"sound": true, "clips": [{"asset": "v", "use": "0..2"}]}]"#,
        export: #"{"to": "a.mxf", "video": false}"#), "/export", "no sound without pictures"),
    Wrong(
      export(#"{"to": "a.mxf", "metadata": {"title": "T"}}"#), "/export/metadata/title", "mxf cannot store 'title'"),
    Wrong(export(#"{"to": "a.mkv", "timeRange": "4..11"}"#), "/export/timeRange", "4..11", "10 s long"),
    Wrong(export(#"{"to": "a.mkv", "timeRange": "3..3"}"#), "/export/timeRange", "empty"),
    Wrong(export(#"{"to": "a.mkv", "timeRange": "-1..3"}"#), "/export/timeRange", "before 0"),
    Wrong(export(#"{"to": "a.mkv", "timeRange": 4}"#), "/export/timeRange", "\"4..9\""),
    Wrong(export(#"{"to": "a.mkv", "metadata": {"title": 5}}"#), "/export/metadata/title", "string"),
    Wrong(
      documentText(tracks: silentFilm, export: #"{"to": "a.mkv", "video": false}"#), "/export",
      "nothing would be in the output", "'video' is false"),
    Wrong(video(#"{"codec": "dnxhd"}"#), "/export/video/codec", "'dnxhd'", "h264, hevc"),
    Wrong(video(#"{"codec": "h246"}"#), "/export/video/codec", "'h246'", "'h264'"),
    Wrong(video(#"{"codec": "ffv1"}"#, to: "a.mp4"), "/export/video/codec", "ffv1", "mp4", "mov, mkv"),
    Wrong(video(#"{"codec": "ffv1", "quality": 20}"#), "/export/video/quality", "'quality'", "ffv1"),
    Wrong(video(#"{"quality": 52}"#), "/export/video/quality", "52", "from 0 to 51"),
    Wrong(video(#"{"quality": "23"}"#), "/export/video/quality", "\"23\"", "number"),
    Wrong(video(#"{"quality": 23, "bitRate": 1000000}"#), "/export/video/bitRate", "exclude"),
    Wrong(video(#"{"bitRate": 10}"#), "/export/video/bitRate", "10", "from 1000"),
    Wrong(video(#"{"preset": "medum"}"#), "/export/video/preset", "'medum'", "'medium'", "placebo"),
    Wrong(video(#"{"profile": "hgih10"}"#), "/export/video/profile", "'hgih10'", "'high10'"),
    Wrong(
      video(#"{"profile": "high", "pixelFormat": "yuv420p10"}"#), "/export/video/profile", "'high'",
      "high10, high422, high444"),
    Wrong(video(#"{"profile": "high422", "pixelFormat": "yuv444p"}"#), "/export/video/profile", "high444"),
    Wrong(video(#"{"profile": "high", "quality": 0}"#), "/export/video/profile", "lossless"),
    Wrong(video(#"{"keyframeInterval": 0}"#), "/export/video/keyframeInterval", "0", "from 1"),
    Wrong(
      video(#"{"codec": "ffv1", "keyframeInterval": 30}"#), "/export/video/keyframeInterval", "every frame of ffv1",
      "give 1", "30"),
    Wrong(
      video(#"{"codec": "prores422", "keyframeInterval": "2"}"#), "/export/video/keyframeInterval",
      "every frame of prores422"),
    Wrong(video(#"{"keyframeInterval": "0"}"#), "/export/video/keyframeInterval", "0 s", "from 1"),
    Wrong(video(#"{"pixelFormat": "yuv420p10le"}"#), "/export/video/pixelFormat", "'yuv420p10le'", "'yuv420p10'"),
    Wrong(video(#"{"level": 4.3}"#), "/export/video/level", "4.3", "4.1, 4.2, 5"),
    Wrong(
      video(#"{"level": "3"}"#), "/export/video/level", "3600 macroblocks", "allows 1620", "lowest that can is 3.1"),
    Wrong(
      video(#"{"codec": "hevc", "level": 3}"#), "/export/video/level", "921600 luma samples", "lowest that can is 3.1"),
    Wrong(
      video(#"{"level": 3.1, "maxBitRate": 20000000}"#), "/export/video/maxBitRate", "20000000",
      "level 3.1 of high allows, 17500000", "3.2"),
    Wrong(
      video(#"{"level": 3.1, "maxBitRate": 10000000, "bufferDuration": 2}"#), "/export/video/bufferDuration",
      "20000000 bits", "17500000"),
    Wrong(video(#"{"maxBitRate": 1000}"#), "/export/video/maxBitRate", "from 50000"),
    Wrong(
      video(#"{"level": 3.1, "bitRate": 20000000}"#), "/export/video/bitRate", "20000000", "17500000", "lowest",
      "3.2"),
    Wrong(video(#"{"bitRate": 2000000, "maxBitRate": 1000000}"#), "/export/video/maxBitRate", "below 'bitRate'"),
    Wrong(video(#"{"bufferDuration": 2}"#), "/export/video/bufferDuration", "give both"),
    Wrong(
      video(#"{"maxBitRate": 1000000, "bufferDuration": "1/20"}"#), "/export/video/bufferDuration", "0.05 s",
      "from 0.133 s (2/15) to 60 s"),
    Wrong(video(#"{"quality": 0, "maxBitRate": 1000000}"#), "/export/video/quality", "lossless"),
    Wrong(video(#"{"codec": "vp9", "bitRate": 1000000}"#), "/export/video/bitRate", "h264, hevc", "vp9 has no"),
    Wrong(video(#"{"codec": "av1", "bitRate": 1000000}"#), "/export/video/bitRate", "h264, hevc", "av1 has no"),
    Wrong(video(#"{"codec": "vp9", "maxBitRate": 1000000}"#), "/export/video/maxBitRate", "h264, hevc", "vp9"),
    Wrong(video(#"{"codec": "h264"}"#, to: "a.m4a"), "/export/video/codec", "m4a, which has sound alone", "mp4"),
    Wrong(audio(#"{"codec": "vorbis"}"#), "/export/audio/codec", "'vorbis'", "aac, opus"),
    Wrong(
      audio(#"{"codec": "mp3", "bitRate": 100000}"#, to: "a.mp4"), "/export/audio/bitRate", "100000", "96000, 112000"),
    Wrong(video(#"{"codec": "av1", "quality": 30.5}"#), "/export/video/quality", "30.5", "whole"),
    Wrong(video(#"{"codec": "vp9"}"#, to: "a.mov"), "/export/video/codec", "vp9", "mp4, mkv, webm"),
    Wrong(audio(#"{"codec": "pcm"}"#, to: "a.mp4"), "/export/audio/codec", "pcm", "mp4", "mov, mkv"),
    Wrong(audio(#"{"codec": "flac"}"#, to: "a.mov"), "/export/audio/codec", "flac", "mp4, mkv"),
    Wrong(audio(#"{"sampleRate": 48001}"#), "/export/audio/sampleRate", "48001", "48000"),
    Wrong(audio(#"{"sampleRate": 192000}"#), "/export/audio/sampleRate", "192000", "aac"),
    Wrong(audio(#"{"channels": 3}"#), "/export/audio/channels", "3", "1, 2, 6, 8"),
    Wrong(audio(#"{"bitRate": 600000}"#), "/export/audio/bitRate", "600000", "529200"),
    Wrong(audio(#"{"codec": "flac", "bitRate": 128000}"#), "/export/audio/bitRate", "'bitRate'", "flac"),
    Wrong(audio(#"{"bitDepth": 24}"#), "/export/audio/bitDepth", "'bitDepth'", "aac"),
    Wrong(audio(#"{"codec": "pcm", "bitDepth": 20}"#), "/export/audio/bitDepth", "20", "16, 24"),
  ])
  func exports(_ wrong: Wrong) throws { try check(wrong) }

  @Test func `the command line's output is checked too`() throws {
    let found = try problems(documentText(tracks: silentFilm), output: "film.wav")
    #expect(found.map(\.pointer) == ["/export"])
    #expect(found[0].message.contains("wav has no pictures and no clip has sound"), "\(found)")
    #expect(try problems(documentText(tracks: film, export: "{}"), output: "film.mp4").isEmpty)
  }

  @Test func `settings without a codec are for that of the container that is written`() throws {
    let sound = documentText(
      tracks: #"[{"sound": true, "clips": [{"asset": "v", "use": "0..2"}]}]"#,
      export: #"{"to": "film.mp4", "video": true, "audio": {"channels": 1}}"#)
    for (output, video, audio) in [
      ("a.webm", VideoCodec.vp9, AudioCodec.opus), ("a.ogg", nil, .opus), ("a.m4a", nil, .aac), ("a.wav", nil, .pcm),
      ("a.mov", .h264, .aac),
    ] as [(String, VideoCodec?, AudioCodec)] {
      let export = try lowered(sound, output: output).export
      #expect(export.video?.codec == video && export.audio?.codec == audio, "\(output)")
      #expect(export.audio?.channels == 1)
    }
    let quick = documentText(tracks: film, export: #"{"to": "film.mp4", "video": {"preset": "veryfast"}}"#)
    #expect(try problems(quick).isEmpty)
    let found = try problems(quick, output: "film.webm")
    #expect(
      found.map(\.pointer) == ["/export/video/preset"] && found[0].message.contains("allowed are 5, 4"), "\(found)")
  }

  @Test func `odd widths are refused for 4:2:2, and any size is fine for 4:4:4`() throws {
    func size(_ size: String, _ format: String) throws -> Int {
      try problems(
        documentText(
          tracks: film, "\"videoComposition\": {\"renderSize\": \(size)}",
          export: "{\"to\": \"a.mkv\", \"video\": {\"pixelFormat\": \"\(format)\"}}")
      ).count
    }
    #expect(try size("[321, 240]", "yuv422p") == 1)
    #expect(try size("[320, 241]", "yuv422p10") == 0)
    #expect(try size("[321, 241]", "yuv444p") == 0)
  }
}

extension Wrong {
  /// A ramp with an unknown key in place of its value has two problems. With a volume it has only one.
  fileprivate var withVolume: Wrong {
    var wrong = self
    wrong.text = text.replacing(#"{"opacity": 1}"#, with: #"{"opacity": 1, "volume": 1}"#)
    return wrong
  }
}

extension String {
  /// A document of these tracks that claims another version of the language.
  fileprivate func replacingVersion(_ version: String) -> String {
    documentText(tracks: self).replacing("\"sheaf\": 1", with: "\"sheaf\": \(version)")
  }
}
