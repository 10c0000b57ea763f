import CompositionModel
import EditDocument
import TestEdits
import Testing

/// The key `smart` of an export.
@Suite struct SmartDocumentTests {
  private static let tracks = #"[{"id": "A", "sound": false, "clips": [{"asset": "v", "use": "0..10"}]}]"#

  private func text(_ export: String) -> String {
    documentText(tracks: Self.tracks, #""videoComposition": {"frameDuration": "1/25"}"#, export: export)
  }

  @Test func `it is kept, and off by default`() throws {
    #expect(try lowered(text(#"{"to": "a.mp4", "smart": true}"#)).export.isSmart == true)
    #expect(try lowered(text(#"{"to": "a.mp4", "smart": false}"#)).export.isSmart == nil)
    #expect(try lowered(text(#"{"to": "a.mp4"}"#)).export.isSmart == nil)
    for export in [
      #"{"to": "a.mp4", "smart": true, "preset": "1280x720"}"#,
      #"{"to": "a.webm", "smart": true, "video": {"codec": "vp9"}}"#,
      #"{"to": "a.mov", "smart": true, "video": {"codec": "prores422", "keyframeInterval": 1}}"#,
      #"{"to": "a.mkv", "smart": true, "video": {"quality": 18, "profile": "high", "preset": "slow"}}"#,
    ] {
      #expect(try lowered(text(export)).export.isSmart == true)
    }
  }

  @Test(arguments: [
    (
      #"{"to": "a.mp4", "smart": true, "video": {"codec": "hevc"}}"#, "/export/smart",
      "pictures in hevc cannot be copied"
    ),
    (#"{"to": "a.mp4", "smart": true, "video": {"codec": "av1"}}"#, "/export/smart", "'smart' is for h264, prores422"),
    (#"{"to": "a.mkv", "smart": true, "video": {"codec": "ffv1"}}"#, "/export/smart", "pictures in ffv1"),
    (#"{"to": "a.gif", "smart": true}"#, "/export/smart", "pictures in gif"),
    (#"{"to": "a.m3u8", "smart": true}"#, "/export/smart", "the keyframes of a playlist"),
    (#"{"to": "a.mp4", "smart": true, "video": {"bitRate": 4000000}}"#, "/export/video/bitRate", "leave 'bitRate' or"),
    (
      #"{"to": "a.mp4", "smart": true, "video": {"maxBitRate": 4000000}}"#, "/export/video/maxBitRate",
      "whatever the limit"
    ),
    (#"{"to": "a.mp4", "smart": true, "video": {"level": "4"}}"#, "/export/video/level", "keep the level"),
    (
      #"{"to": "a.mp4", "smart": true, "video": {"keyframeInterval": 30}}"#, "/export/video/keyframeInterval",
      "their files"
    ),
    (#"{"to": "a.mp4", "smart": true, "video": {"quality": 0}}"#, "/export/video/quality", "without loss"),
    (#"{"to": "a.mp4", "smart": 1}"#, "/export/smart", "1 should be true or false"),
    (
      #"{"to": "out", "smart": true, "outputs": [{"name": "x", "container": "mp4"}]}"#, "/export/smart",
      "a film with one output"
    ),
    (#"{"to": "a.mp4", "smart": true, "preset": "passthrough"}"#, "/export/smart", "copies everything"),
  ]) func `what copied pictures cannot keep is a problem`(export: String, pointer: String, words: String) throws {
    let found = try problems(text(export))
    #expect(found.contains { $0.pointer == pointer && $0.message.contains(words) }, "\(found)")
  }

  @Test func `a film of sound alone has nothing to copy`() throws {
    let found = try problems(
      documentText(
        tracks: #"[{"type": "audio", "clips": [{"asset": "s", "use": "0..10"}]}]"#,
        export: #"{"to": "a.m4a", "smart": true}"#))
    #expect(found.map(\.pointer) == ["/export/smart"] && found[0].message.contains("the output has none"))
  }
}
