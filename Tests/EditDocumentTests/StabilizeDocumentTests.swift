import CompositionModel
import EditDocument
import TestEdits
import Testing

@Suite struct StabilizeDocumentTests {
  private func clip(_ keys: String, asset: String = "v") throws -> Stabilization? {
    try lowered(documentText(tracks: "[{\"clips\": [{\"asset\": \"\(asset)\"\(keys)}]}]")).composition.tracks[0].clips[
      0
    ]
    .stabilization
  }

  @Test func `a clip is stabilized if it says so`() throws {
    #expect(try clip("") == nil)
    #expect(try clip(#", "stabilize": false"#) == nil)
    #expect(try clip(#", "stabilize": true"#) == Stabilization(smoothing: MediaTime(seconds: 1), zoom: nil))
    #expect(try clip(#", "stabilize": {}"#) == Stabilization())
    #expect(
      try clip(#", "use": "1..4", "stabilize": {"smoothing": "7/3", "zoom": 1.09}"#)
        == Stabilization(smoothing: MediaTime(value: 7, timescale: 3), zoom: 1.09))
    #expect(try clip(#", "stabilize": {"smoothing": "12f"}"#)?.smoothing == MediaTime(value: 12, timescale: 30))
  }

  @Test(arguments: [
    (#""stabilize": 1"#, "", "should be true, or an object"),
    (#""stabilize": "yes""#, "", "should be true, or an object"),
    (#""stabilize": {"zoom": 1}"#, "/zoom", "1.01 to 2"), (#""stabilize": {"zoom": 2.5}"#, "/zoom", "1.01 to 2"),
    (#""stabilize": {"smoothing": 0}"#, "/smoothing", "out of range"),
    (#""stabilize": {"smoothing": 10.5}"#, "/smoothing", "out of range"),
    (#""stabilize": {"strength": 3}"#, "/strength", "did you mean 'smoothing'"),
    (#""stabilize": true, "freeze": 2, "duration": 2"#, "", "does not shake"),
  ])
  func `what cannot be is a problem`(keys: String, place: String, message: String) throws {
    let found = try problems(documentText(tracks: "[{\"clips\": [{\"asset\": \"v\", \(keys)}]}]"))
    #expect(found.count == 1, "\(found)")
    #expect(found.first?.pointer == "/tracks/0/clips/0/stabilize" + place)
    #expect(found.first?.message.contains(message) == true, "\(found)")
  }

  @Test func `pictures that are too small, and sound, are not stabilized`() throws {
    var assets = try standardAssets()
    for index in assets["v"]?.tracks.indices ?? 0..<0 {
      assets["v"]?.tracks[index].video?.size = PixelSize(width: 320, height: 48)
    }
    let small = try problems(
      documentText(tracks: #"[{"clips": [{"asset": "v", "stabilize": true}]}]"#), assets: assets)
    #expect(small.map(\.pointer) == ["/tracks/0/clips/0/stabilize"])
    #expect(small.first?.message.contains("320x48 pixels") == true)
    let sound = try problems(
      documentText(
        tracks: #"[{"clips": [{"asset": "v"}]}, "#
          + #"{"type": "audio", "clips": [{"asset": "s", "stabilize": true}]}]"#))
    #expect(sound.map(\.message) == ["'stabilize' is for clips of video tracks"])
    #expect(try problems(documentText(tracks: #"[{"clips": [{"asset": "v", "stabilise": true}]}]"#)).count == 1)
  }

  @Test func `every turn of a clip that is repeated has the path of a whole one`() throws {
    let clips = try lowered(
      documentText(
        tracks: #"[{"clips": [{"asset": "v", "use": "1..3", "loop": true, "duration": 5, "stabilize": true}]}]"#)
    ).composition.tracks[0].clips
    #expect(clips.count == 3 && clips[2].source.duration == MediaTime(seconds: 1))
    #expect(clips.allSatisfy { $0.stabilization?.part == clips[0].source })
  }

  @Test func `the sound of a stabilized clip is not, and transparent pictures are none of a camera`() throws {
    var assets = try standardAssets()
    let text = documentText(tracks: #"[{"sound": true, "clips": [{"asset": "v", "stabilize": true}]}]"#)
    let tracks = try lowered(text).composition.tracks
    #expect(tracks.map(\.type) == [.video, .audio])
    #expect(tracks.map { $0.clips[0].stabilization != nil } == [true, false])
    for index in assets["v"]?.tracks.indices ?? 0..<0 { assets["v"]?.tracks[index].video?.hasAlpha = true }
    #expect(try problems(text, assets: assets).map(\.pointer) == ["/tracks/0/clips/0/stabilize"])
  }

  @Test func `what is stored cannot be copied`() throws {
    let found = try problems(
      #"{"sheaf": 1, "assets": {"v": "v.mp4"}, "tracks": [{"clips": [{"asset": "v", "stabilize": true}]}], "#
        + #""export": {"to": "a.mp4", "preset": "passthrough"}}"#)
    #expect(found.map(\.pointer) == ["/tracks/0/clips/0/stabilize"])
  }
}
