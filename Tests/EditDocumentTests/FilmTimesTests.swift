import CompositionModel
import EditDocument
import TestEdits
import Testing

/// When the parts of a document that warnings are about are in its film.
@Suite struct FilmTimesTests {
  private func times(_ text: String) throws -> FilmTimes {
    try Document.parse(Array(text.utf8)).lowerWithTimes(assets: standardAssets(), output: nil).times
  }

  private func ranges(_ pointer: String, _ times: FilmTimes) -> [String]? {
    times.ranges(at: [pointer])[pointer]?.map { "\($0)" }
  }

  private func film(_ export: String = #"{"to": "out.mkv"}"#) -> String {
    let clips = [
      #"{"asset": "v", "use": "0..4"}"#, #"{"asset": "w", "use": "1..4", "transition": 1}"#,
      #"{"asset": "v", "use": "4..6"}"#,
    ]
    let sound = #"{"type": "audio", "clips": [{"asset": "v", "use": "0..1", "at": 7}]}"#
    return documentText(
      tracks: "[{\"clips\": [\(clips.joined(separator: ", "))]}, \(sound)]",
      #""videoComposition": {"overlays": [{"text": "a"}, {"image": "logo", "over": "1..3"}]}"#, export: export)
  }

  @Test func `a place is that of the part around it`() throws {
    let times = try times(film())
    #expect(ranges("/tracks/0/clips/0", times) == ["0..4"])
    #expect(ranges("/tracks/0/clips/1/volume/0", times) == ["3..6"])
    #expect(ranges("/tracks/0/clips/2", times) == ["6..8"])
    #expect(ranges("/tracks/0/clips/1/transition/kind", times) == ["3..4"])
    #expect(ranges("/videoComposition/overlays/0/font", times) == ["0..8"])
    #expect(ranges("/videoComposition/overlays/1", times) == ["1..3"])
  }

  @Test func `an asset is wherever it is used, and what is about the whole film is nowhere`() throws {
    let times = try times(film())
    #expect(ranges("/assets/v", times) == ["0..4", "6..8", "7..8"])
    #expect(ranges("/assets/w", times) == ["3..6"])
    #expect(ranges("/assets/logo", times) == ["1..3"])
    for pointer in ["", "/tracks/0", "/assets/mute", "/export/video", "/tracks/0/clips/11"] {
      #expect(ranges(pointer, times) == nil, "\(pointer)")
    }
    #expect(times.ranges(at: []).isEmpty)
  }

  @Test func `of several outputs the one with pictures has the overlays`() throws {
    let outputs = #"{"name": "a", "container": "m4a"}, {"name": "b", "container": "mp4"}"#
    let times = try times(film(#"{"to": "out", "outputs": [\#(outputs)]}"#))
    #expect(ranges("/videoComposition/overlays/1", times) == ["1..3"])
    #expect(ranges("/tracks/0/clips/2", times) == ["6..8"])
  }
}
