import CompositionModel
import EditDocument
import TestEdits
import Testing

/// What pictures of sound mean in a document.
@Suite struct WaveformDocumentTests {
  private func document(_ waveform: String, _ overlay: String = "", scale: String = "") -> String {
    documentText(
      tracks:
        #"[{"id": "A", "clips": [{"asset": "v", "use": "0..8"}]}, {"id": "M", "sound": false, "clips": [{"asset": "w"}]}]"#,
      #""videoComposition": {"renderSize": [640, 360]\#(scale), "overlays": [{"waveform": \#(waveform)\#(overlay)}]}"#)
  }

  private func waveform(_ waveform: String, _ overlay: String = "", scale: String = "") throws -> Waveform? {
    let overlays = try lowered(document(waveform, overlay, scale: scale)).videoComposition.overlays
    guard overlays.count == 1, case .waveform(let found) = overlays[0].content else { return nil }
    return found
  }

  @Test func `a waveform is that of a track or of an asset`() throws {
    #expect(
      try waveform(#"{"track": "A.sound"}"#) == Waveform(.track("A.sound"), size: PixelSize(width: 640, height: 90)))
    #expect(
      try waveform(
        #"{"asset": "s", "style": "line", "window": "0.5", "lineWidth": 4, "gain": "6dB"}"#,
        ##", "width": "50%", "height": 60, "color": "#ff8000""##, scale: #", "scale": 0.5"#)
        == Waveform(
          .asset("s", sourceTrack: 0), style: .line, window: MediaTime(value: 1, timescale: 2), lineWidth: 2, gain: 6,
          color: Color(red: 255, green: 128, blue: 0), size: PixelSize(width: 160, height: 30)))
    #expect(
      try waveform(
        #"{"asset": "v", "style": "spectrum", "bars": 24, "gap": 0.1, "cornerRadius": 3}"#,
        #", "in": [0, 0, "50%", "100%"]"#)?.size == PixelSize(width: 320, height: 360))
  }

  @Test func `what is wrong is refused in its place`() throws {
    for (text, place, words) in [
      (#"{}"#, "", "needs 'track'"), (#"{"track": "A"}"#, "/track", "its sound is 'A.sound'"),
      (#"{"track": "voice"}"#, "/track", "no audio track 'voice'"), (#"{"asset": "mute"}"#, "/asset", "has no sound"),
      (#"{"asset": "s", "track": "A.sound"}"#, "/asset", "not of both"),
      (#"{"asset": "s", "style": "circle"}"#, "/style", "bars, line, spectrum"),
      (#"{"asset": "s", "lineWidth": 3}"#, "/lineWidth", "style 'line'"),
      (#"{"asset": "s", "style": "line", "bars": 3}"#, "/bars", "this one is 'line'"),
      (#"{"asset": "s", "style": "spectrum", "window": 3}"#, "/window", "this one is 'spectrum'"),
      (#"{"asset": "s", "window": 61}"#, "/window", "0.01 to 60"), (#"{"asset": "s", "bars": 0}"#, "/bars", "1 to 512"),
      (##"{"asset": "s", "color": "#ffffff"}"##, "/color", "a key of the overlay"),
    ] {
      let found = try problems(document(text)).map { "\($0)" }
      #expect(
        found.count == 1 && found[0].contains("/videoComposition/overlays/0/waveform\(place):")
          && found[0].contains(words), "\(text): \(found)")
    }
    let crop = try problems(document(#"{"asset": "s"}"#, #", "crop": [0, 0, 9, 9]"#)).map { "\($0)" }
    #expect(crop.count == 1 && crop[0].contains("/overlays/0/crop"), "\(crop)")
  }
}
