import EditDocument
import TestEdits
import Testing

@testable import CompositionModel

@Suite struct MetadataTests {
  private let film = #"[{"clips": [{"asset": "v", "use": "0..4"}, {"asset": "w", "use": "0..6"}]}]"#

  private func export(_ keys: String, to name: String = "a.mp4", carried: [String: String] = [:]) throws
    -> ExportSettings
  {
    var assets = try standardAssets()
    assets["v"]?.metadata = carried
    assets["w"]?.metadata = ["title": "of w"]
    let text = documentText(tracks: film, export: #"{"to": "\#(name)", \#(keys)}"#)
    return try lowered(text, assets: assets).export
  }

  private static let phone = [
    "major_brand": "qt  ", "compatible_brands": "qt  ", "encoder": "Lavf", "creation_time": "2024-05-01T10:00:00Z",
    "com.apple.quicktime.location.ISO6709": "+48.8577+002.295/", "com.apple.quicktime.make": "Apple",
    "com.apple.quicktime.model": "iPhone", "com.apple.quicktime.software": "17.1",
    "com.apple.quicktime.creationdate": "2024-05-01T12:00:00+0200", "com.apple.quicktime.title": "Beach",
    "com.android.version": "14", "copyright": "A", "SERIAL": "123", "Artist": "B", "copyright-eng": "A",
  ]

  @Test func `metadata are carried from the first or a named asset by the names of documents`() throws {
    #expect(try export(#""carryMetadata": false"#, carried: Self.phone).metadata.isEmpty)
    let all = try export(#""carryMetadata": true"#, carried: Self.phone).metadata
    #expect(
      all == [
        "creation_time": "2024-05-01T10:00:00Z", "location": "+48.8577+002.295/", "make": "Apple", "model": "iPhone",
        "software": "17.1", "date": "2024-05-01T12:00:00+0200", "title": "Beach", "com.android.version": "14",
        "copyright": "A", "serial": "123", "artist": "B",
      ])
    #expect(try export(#""carryMetadata": "w""#, carried: Self.phone).metadata == ["title": "of w"])
    let own = try export(#""carryMetadata": true, "metadata": {"title": "Mine", "mood": "good"}"#, carried: Self.phone)
    #expect(own.metadata["title"] == "Mine" && own.metadata["mood"] == "good" && own.metadata["artist"] == "B")
  }

  @Test func `the filter for sharing leaves nothing of the person, the place and the device`() throws {
    let shared = try export(
      #""carryMetadata": true, "metadataFilter": "forSharing", "metadata": {"location": "+1+2/"}"#,
      carried: Self.phone
    ).metadata
    // What the author writes is not filtered.
    #expect(shared == ["title": "Beach", "copyright": "A", "artist": "B", "location": "+1+2/"])
  }

  @Test func `names differ in more than case, and there are 200 with those that are carried`() throws {
    let many = Dictionary(uniqueKeysWithValues: (0..<250).map { ("key\($0)", "value") })
    let own = try export(#""carryMetadata": true, "metadata": {"Key7": "Mine", "title": "T"}"#, carried: many).metadata
    #expect(own.count == 200 && own["Key7"] == "Mine" && own["key7"] == nil && own["title"] == "T")
    let twice = documentText(
      tracks: film, export: #"{"to": "a.mp4", "metadata": {"title": "a", "Title": "b", "mood": "c"}}"#)
    let found = try problems(twice).map { "\($0)" }
    #expect(found.count == 1 && found[0].contains("/export/metadata/"), "\(found)")
    #expect(found[0].contains("'Title'") && found[0].contains("'title'"), "\(found)")
  }

  @Test func `what a container cannot hold is not carried`() throws {
    let text = documentText(
      tracks: #"[{"type": "audio", "clips": [{"asset": "v", "use": "0..4"}]}]"#,
      export: #"{"to": "a.wav", "carryMetadata": true}"#)
    var assets = try standardAssets()
    // The libraries write no field for the place.
    assets["v"]?.metadata = ["title": "T", "mood": "good", "location": "+1+2/"]
    #expect(try lowered(text, assets: assets).export.metadata == ["title": "T"])
  }

  @Test func `artwork is carried with metadata, unless the document has its own or none`() throws {
    func artwork(_ keys: String, to name: String = "a.mp4", _ change: (inout AssetDescription) -> Void = { _ in })
      throws -> Artwork?
    {
      var assets = try standardAssets()
      func picture(_ index: Int, _ codec: String, _ comment: String = "Other") -> AttachedPicture {
        var picture = AttachedPicture(
          index: index, codec: codec, size: PixelSize(width: 9, height: 8), metadata: ["comment": comment])
        picture.byteCount = 1000
        return picture
      }
      assets["v"]?.attachedPictures = [
        picture(3, "bmp", "Cover (front)"), picture(4, "png"), picture(5, "mjpeg", "Cover (front)"),
      ]
      assets["w"]?.attachedPictures = [picture(2, "png")]
      if var v = assets["v"] {
        change(&v)
        assets["v"] = v
      }
      let text = documentText(tracks: film, export: #"{"to": "\#(name)", \#(keys)}"#)
      return try lowered(text, assets: assets).export.artwork
    }
    let front = Artwork(asset: "v", track: 5, format: .jpeg)
    var shared = front
    shared.isForSharing = true
    let other = Artwork(asset: "w", track: 2, format: .png)
    #expect(try artwork(#""metadata": {}"#) == nil)
    #expect(try artwork(#""carryMetadata": true"#) == front)
    #expect(try artwork(#""carryMetadata": true, "metadataFilter": "forSharing""#) == shared)
    #expect(try artwork(#""carryMetadata": "w""#) == other)
    #expect(try artwork(#""carryMetadata": true, "artwork": "w""#) == other)
    #expect(try artwork(#""carryMetadata": true, "artwork": false"#) == nil)
    #expect(try artwork(#""carryMetadata": true"#, to: "a.webm") == nil)
    // Pictures that cannot be carried are left out; one that the document names is a problem.
    #expect(try artwork(#""carryMetadata": true"#) { $0.attachedPictures?[2].byteCount = 20_000_000 } == nil)
    #expect(throws: DocumentError.self) {
      try artwork(#""artwork": "v""#) { $0.attachedPictures?[2].byteCount = 20_000_000 }
    }
    // A clip that is a picture is not the film's artwork.
    #expect(
      try artwork(#""carryMetadata": true"#) {
        $0.container = "png_pipe"
        $0.attachedPictures = nil
      } == nil)
  }

  @Test func `chapters last until the next one and are those of the part that is exported`() throws {
    let chapters = #""chapters": [{"at": 1, "title": "A"}, {"at": "5", "title": "B"}, {"at": "8", "title": "C"}]"#
    func found(_ keys: String) throws -> [String] {
      (try export(keys).chapters ?? []).map { "\($0.title ?? "") \($0.range)" }
    }
    #expect(try found(chapters) == ["A 1..5", "B 5..8", "C 8..10"])
    #expect(try found(chapters + #", "timeRange": "2..8""#) == ["A 0..3", "B 3..6"])
    #expect(try export(#""metadata": {}"#).chapters == nil)
  }

  @Test func `mxf has sound of 48000 samples a second`() throws {
    let text = documentText(
      tracks: #"[{"sound": true, "clips": [{"asset": "v", "use": "0..4"}]}]"#, export: #"{"to": "a.mxf"}"#)
    let export = try lowered(text).export
    #expect(export.video?.codec == .prores422 && export.audio?.codec == .pcm && export.audio?.sampleRate == 48000)
  }
}
