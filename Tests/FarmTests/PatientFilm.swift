import Foundation
import TestPrograms

/// A film that takes a while and little of the processor, for tests of what happens in the midst of a film: each of
/// its ten frames a second waits in a compositor of `TestWorker`, which the workers have to be.
enum PatientFilm {
  static let worker = "TestWorker"
  /// For `--worker-executable`.
  static let executable = Place.products.appendingPathComponent(worker).path

  /// Frames a second.
  static let rate = 10

  /// Of media with sound, 11 s.
  /// - Parameters:
  ///   - milliseconds: How long a frame takes.
  ///   - number: Films with different ones have no segment in common.
  static func document(milliseconds: Int, number: Int = 0) async throws -> String {
    let media = try await InvisibleFarmTests.smallMedia.value
    let assets = """
      "flower": "\(media)/flower.mp4", "rabbit": "\(media)/big-buck-bunny-trailer.mp4",
      "song": "\(media)/belly-button.ogg"
      """
    let tracks = """
      { "id": "A", "clips": [ { "asset": "flower", "use": "0..5" }, { "asset": "rabbit", "use": "4..10" } ] },
      { "id": "S", "type": "audio", "clips": [ { "asset": "song", "use": "0..11" } ] }
      """
    return document(assets, tracks, audio: #"{ "codec": "alac" }"#, seconds: 11, milliseconds, number)
  }

  /// Of drawn pictures: it needs no file, and films with different numbers have no task in common.
  static func drawing(seconds: Int, milliseconds: Int, number: Int) -> String {
    document(
      "\"a\": { \"color\": \"#20\(40 + number)60\" }",
      "{ \"id\": \"A\", \"clips\": [ { \"asset\": \"a\", \"duration\": \(seconds) } ] }", audio: "false",
      seconds: seconds, milliseconds, number)
  }

  private static func document(
    _ assets: String, _ tracks: String, audio: String, seconds: Int, _ milliseconds: Int, _ number: Int
  ) -> String {
    """
    { "sheaf": 1, "assets": { \(assets) }, "tracks": [ \(tracks) ],
      "videoComposition": { "renderSize": [128, 72], "frameRate": \(rate),
        "instructions": [ { "over": "0..\(seconds)", "layers": [ { "track": "A" } ],
          "compositor": { "name": "patient",
            "parameters": { "track": "A", "milliseconds": \(milliseconds), "number": \(number) } } } ] },
      "export": { "to": "film.mp4", "audio": \(audio),
        "video": { "codec": "h264", "quality": 28, "preset": "veryfast" } } }
    """
  }
}
