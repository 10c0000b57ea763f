import CompositionModel

extension Document.Mask {
  static let instead = [
    "asset": "did you mean 'image'?", "matte": "did you mean 'image'?", "video": "did you mean 'track'?",
    "inverted": "did you mean 'invert'?", "type": "did you mean 'channel'?",
  ]
}

extension DocumentReader {
  /// Reads a mask. Nil and a problem if it cannot be used.
  mutating func mask(_ value: JSONValue) -> Document.Mask? {
    guard let fields = fields(value, MaskKeys.table) else { return nil }
    var mask = Document.Mask(pointer: fields.pointer)
    // Tracks that follow are not declared yet: lowering compares the name with them.
    read(fields, MaskKeys.properties, into: &mask)
    let isOne = !fields.has("track") || !fields.has("image")
    return isOne && (mask.track != nil || mask.image != nil) ? mask : nil
  }
}

extension ExaminedDocument {
  /// The masks of tracks, clips and layers, each with the track that it is of.
  var masks: [(entry: Document.Mask, owner: TrackID)] {
    let ofTracks = tracks.flatMap { track in
      ([track.mask] + track.clips.map(\.mask)).compactMap(\.self).map { ($0, track.id) }
    }
    let ofLayers = (videoComposition.instructions ?? []).flatMap { instruction -> [(Document.Mask, TrackID)] in
      guard case .layers(let layers) = instruction.content else { return [] }
      return layers.compactMap { layer in layer.mask.map { ($0, layer.track) } }
    }
    return ofTracks + ofLayers
  }
}

extension Lowering {
  /// The tracks whose pictures are masks and nothing else. Explicit instructions can show such a track too.
  var hiddenTracks: Set<TrackID> {
    guard let instructions = document.videoComposition.instructions else { return maskTracks }
    return maskTracks.subtracting(instructions.flatMap(\.content.tracks))
  }

  /// Reports masks of tracks that cannot be used, and what has no effect on a track that is a mask.
  mutating func checkMaskTracks() {
    let videos = document.tracks.filter { $0.type == .video }
    let tracks = Dictionary(videos.map { ($0.id, $0) }) { first, _ in first }
    var opaque: [TrackID: AssetID?] = [:]
    var checked: Set<TrackID> = []
    for (entry, owner) in document.masks {
      guard let id = entry.mask.track else { continue }
      let pointer = entry.pointer.key("track")
      guard let track = tracks[id] else {
        let names = videos.map(\.id)
        problems.add(
          pointer, "there is no video track '\(id.shortened)'\(suggestion(for: id, amongDeclared: names))")
        continue
      }
      if id == owner {
        problems.add(pointer, "a track cannot be the mask of its own clips; put the mask on another track")
        continue
      }
      if entry.mask.channel == .alpha {
        let asset = opaque[id] ?? firstOpaqueAsset(of: track)
        opaque[id] = .some(asset)
        if let asset {
          problems.add(
            entry.pointer,
            "'\(asset.shortened)' on track '\(id.shortened)' has no transparency, which is what counts of a mask: "
              + "write \"channel\": \"luma\"")
        }
      }
      guard checked.insert(id).inserted else { continue }
      check(track, maskAt: entry.pointer)
    }
  }

  /// The asset of the first clip whose pictures have no alpha channel. Nil: all have one.
  private func firstOpaqueAsset(of track: TrackEntry) -> AssetID? {
    track.clips.lazy.compactMap(\.asset).first { assets[$0]?.defaultTrack(.video)?.video?.hasAlpha == false }
  }

  /// Reports what a track that is a mask cannot have.
  private mutating func check(_ track: TrackEntry, maskAt pointer: JSONPointer) {
    let isIn = "of track '\(track.id.shortened)', which is a mask (\(pointer.text))"
    let keys = track.keysOfLayers
    if !keys.isEmpty { problems.add(track.pointer, "\(list(keys)) \(isIn), would have no effect") }
    for clip in track.clips {
      var keys = clip.keysOfLayers
      if clip.fit != .contain { keys.append("fit") }
      if !clip.filters.isEmpty { keys.append("filters") }
      if !keys.isEmpty { problems.add(clip.pointer, "\(list(keys)) of a clip \(isIn), would have no effect") }
      for pointer in [clip.transition?.pointer, clip.entrance?.pointer, clip.exit?.pointer].compactMap(\.self) {
        problems.add(pointer, "a transition \(isIn); there can be none")
      }
    }
    guard document.videoComposition.instructions == nil else { return }
    for transition in document.videoComposition.transitions where [transition.from, transition.to].contains(track.id) {
      problems.add(transition.pointer, "a transition \(isIn), which is not shown")
    }
  }

  /// The mask. Nil and a problem if its asset is not a still picture.
  mutating func lower(_ entry: Document.Mask?) -> LayerMask? {
    guard let entry else { return nil }
    guard case .image(let image) = entry.mask.source else { return entry.mask }
    guard let asset = assets[image] else { return nil }
    guard asset.defaultTrack(.video)?.video?.isStill == true else {
      problems.add(
        entry.pointer.key("image"),
        "'\(image)' is not a still picture, which the image of a mask must be; a video can be on a track of its own: "
          + "\"mask\": {\"track\": …}")
      return nil
    }
    return entry.mask
  }
}
