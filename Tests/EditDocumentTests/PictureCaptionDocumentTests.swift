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
}
