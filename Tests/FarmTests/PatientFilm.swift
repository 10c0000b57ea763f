import Foundation
import TestPrograms

/// A film whose frames wait until the test opens a gate, for tests of what happens in the midst of a film: however busy
/// the machine is, the film is not done before the test is ready for it, and waiting takes nothing of the processor. A
/// compositor of `TestWorker` waits, which the workers have to be.
struct PatientFilm {
  static let worker = "TestWorker"

  /// Frames a second.
  static let rate = 10

  private let gate: String
  private let milliseconds: Int

  /// - Parameters:
  ///   - gate: A file that is made: the gate is closed.
  ///   - milliseconds: The longest that a frame waits. A task without a finished frame for a minute counts as hung.
  init(gate: String, milliseconds: Int = 10_000) throws {
    (self.gate, self.milliseconds) = (gate, milliseconds)
    try Data().write(to: URL(fileURLWithPath: gate))
  }

  /// Lets the frames of the first seconds through, or all.
  func open(seconds: Int = 1000) throws {
    try Data(count: seconds).write(to: URL(fileURLWithPath: gate), options: .atomic)
  }

  /// Of media with sound, 11 s.
  /// - Parameter number: Films with different ones have no segment in common.
  func document(number: Int = 0) async throws -> String {
    let media = try await InvisibleFarmTests.smallMedia.value
    let assets = """
      "flower": "\(media)/flower.mp4", "rabbit": "\(media)/big-buck-bunny-trailer.mp4",
      "song": "\(media)/belly-button.ogg"
      """
    let tracks = """
      { "id": "A", "clips": [ { "asset": "flower", "use": "0..5" }, { "asset": "rabbit", "use": "4..10" } ] },
      { "id": "S", "type": "audio", "clips": [ { "asset": "song", "use": "0..11" } ] }
      """
    return document(assets, tracks, audio: #"{ "codec": "alac" }"#, seconds: 11, number)
  }

  /// Of drawn pictures: it needs no file, and films with different numbers have no task in common.
  func drawing(seconds: Int, number: Int) -> String {
    document(
      "\"a\": { \"color\": \"#20\(40 + number)60\" }",
      "{ \"id\": \"A\", \"clips\": [ { \"asset\": \"a\", \"duration\": \(seconds) } ] }", audio: "false",
      seconds: seconds, number)
  }

  private func document(_ assets: String, _ tracks: String, audio: String, seconds: Int, _ number: Int) -> String {
    """
    { "sheaf": 1, "assets": { \(assets) }, "tracks": [ \(tracks) ],
      "videoComposition": { "renderSize": [128, 72], "frameRate": \(Self.rate),
        "instructions": [ { "over": "0..\(seconds)", "layers": [ { "track": "A" } ],
          "compositor": { "name": "patient",
            "parameters": { "track": "A", "gate": "\(gate)", "milliseconds": \(milliseconds),
              "number": \(number) } } } ] },
      "export": { "to": "film.mp4", "audio": \(audio),
        "video": { "codec": "h264", "quality": 28, "preset": "veryfast" } } }
    """
  }
}
