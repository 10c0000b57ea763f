import CompositionModel
import EditDocument
import TestEdits
import Testing

/// Closed captions between the pictures of an asset, in documents.
@Suite struct PictureCaptionDocumentTests {
  private func assets() throws -> [AssetID: AssetDescription] {
    var assets = try standardAssets()
    var captions = try SyntheticAssets.captions(hasStyles: false).tracks[0]
    (captions.index, captions.codec, captions.pictureTrack, captions.isEnabled) = (1000, "eia_608", 0, false)
    assets["mute"]?.tracks.append(captions)
    return assets
  }

  @Test func `they are drawn and are a text track, and are copied with their pictures alone`() throws {
    let tracks = #"[{"clips": [{"asset": "mute", "use": "0..8"}]}]"#
    let drawn = try lowered(
      documentText(
        tracks: tracks, #""captions": [{"asset": "mute"}, {"asset": "mute", "as": "track"}]"#), assets: assets())
    #expect(drawn.captions?.map(\.sourceTrack) == [1000, 1000])
    let copied = try lowered(
      documentText(tracks: tracks, export: #"{"to": "out.mkv", "preset": "passthrough"}"#), assets: assets())
    #expect(copied.captions?.isEmpty != false && copied.export.carried?.tracks.isEmpty != false)
  }

  @Test(arguments: ["mkv", "mp4", "mov"])
  func `they do not follow a text track where pictures are copied`(container: String) throws {
    var assets = try assets()
    let captioned = try #require(assets["mute"])
    assets["w"] = captioned
    var text = try #require(captioned.tracks.last)
    (text.index, text.codec, text.pictureTrack, text.isEnabled) = (1, "subrip", nil, true)
    assets["mute"]?.tracks = Array(captioned.tracks.dropLast()) + [text]
    let clips = #"[{"clips": [{"asset": "mute"}, {"asset": "w"}]}]"#
    let joined = documentText(tracks: clips, export: #"{"to": "out.\#(container)", "preset": "passthrough"}"#)
    let copied = try lowered(joined, assets: assets)
    #expect(copied.captions?.isEmpty != false && copied.export.carried?.tracks.isEmpty != false)
  }
}
