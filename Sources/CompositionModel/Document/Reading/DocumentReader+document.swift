extension DocumentReader {
  /// Reads the whole document; nil if it is not even an object.
  mutating func document(_ value: JSONValue) -> Document? {
    let keys = ["sheaf", "assets", "tracks", "videoComposition", "audioMix", "export"]
    guard let fields = fields(value, "a document", keys: keys) else { return nil }
    if let version = required(fields, "sheaf", "a document, to say which version of the language it is in,") {
      if case .number("1") = version.content {
      } else {
        problems.add(version.pointer, "\(version.shown) is not a version that this Sheaf reads; it reads 1")
      }
    }
    let assets = assets(fields["assets"])
    names.assets = assets.map(\.id)
    let tracks = tracks(required(fields, "tracks", "a document"))
    let hasSureTimes = fields.has("tracks") && names.tracksAreKnown && tracks.allSatisfy(\.hasSureTimes)
    let videoComposition = videoComposition(fields["videoComposition"], at: fields.pointer.key("videoComposition"))
    let audioMix = audioMix(fields["audioMix"])
    let export = export(fields["export"], at: fields.pointer.key("export"))
    return Document(
      problems: problems.problems, assets: assets, tracks: tracks, hasSureTimes: hasSureTimes,
      videoComposition: videoComposition, audioMix: audioMix, export: export, problemList: problems)
  }

  private mutating func assets(_ value: JSONValue?) -> [AssetEntry] {
    var assets: [AssetEntry] = []
    for (id, value) in members(value, "paths by name, such as {\"beach\": \"media/beach.mov\"}") {
      if id.isEmpty { problems.add(value.pointer, "an asset needs a name that is not empty") }
      guard let path = name(value, "an asset's path") else {
        names.damagedAssets.insert(id)
        continue
      }
      assets.append(AssetEntry(id: id, path: path, pointer: value.pointer))
    }
    return assets
  }

  /// The name of an asset that the document has.
  mutating func asset(_ value: JSONValue?) -> AssetID? {
    guard let value, let id = string(value) else { return nil }
    if names.knownAssets.contains(id) { return id }
    if !names.damagedAssets.contains(id) {
      let assets = names.assets
      problems.add(
        value.pointer, "there is no asset '\(id.shortened)' in 'assets'\(suggestion(for: id, among: assets))")
    }
    return nil
  }

  private mutating func audioMix(_ value: JSONValue?) -> [(track: TrackID, ramps: [RampEntry])] {
    var mix: [(track: TrackID, ramps: [RampEntry])] = []
    for (track, value) in members(value, "lists of volumes by track, such as {\"music\": [{\"volume\": 0.5}]}") {
      checkTrack(track, .audio, at: value.pointer)
      mix.append((track, ramps(value, of: "volume", in: 0...10)))
    }
    return mix
  }

  /// Checks that there is a track of this name and type. Says nothing where a track's own name could not be read.
  @discardableResult
  mutating func checkTrack(_ id: TrackID, _ type: MediaType, at pointer: JSONPointer) -> Bool {
    if names.tracks[id] == type { return true }
    guard names.tracksAreKnown else { return false }
    let wanted = type == .video ? names.videoTracks : names.audioTracks
    let noun = type == .video ? "a video track" : "an audio track"
    if names.tracks[id] != nil {
      let sound = type == .audio && names.tracks[id + ".sound"] != nil ? "; its sound is '\(id).sound'" : ""
      let silent = type == .audio && sound.isEmpty ? "; give it \"sound\": true to hear it as '\(id).sound'" : ""
      problems.add(pointer, "track '\(id.shortened)' is not \(noun)\(sound)\(silent)")
    } else if wanted.isEmpty {
      problems.add(pointer, "there is no track '\(id.shortened)': the document has no \(type) track")
    } else {
      problems.add(
        pointer, "there is no \(type) track '\(id.shortened)'\(suggestion(for: id, among: wanted))")
    }
    return false
  }
}

/// The names that a document declares, which its other parts refer to.
struct DeclaredNames {
  var assets: [AssetID] = [] {
    didSet { knownAssets = Set(assets) }
  }
  private(set) var knownAssets: Set<AssetID> = []
  /// Declared, but not readable: no problem of those who refer to them.
  var damagedAssets: Set<AssetID> = []
  /// Each track's type, the sounds of video tracks among them.
  var tracks: [TrackID: MediaType] = [:]
  /// In the document's order.
  var videoTracks: [TrackID] = []
  var audioTracks: [TrackID] = []
  /// How many of `audioTracks` are the sound of a video track.
  var soundCount = 0
  /// False where a track's name could not be read.
  var tracksAreKnown = true
}
