import CompositionModel

/// What a film that is copied does not have of its media, each with the reason.
extension Lowering {
  /// Reports the tracks that other files than the first have and that follow none of it.
  /// - Parameter found: By asset, the tracks that are in the film.
  mutating func loseOthers(
    _ clips: [Clip], _ sound: [Clip], _ found: [AssetID: Set<Int>], _ types: Set<MediaType>
  ) {
    guard let first = clips.first?.asset else { return }
    for clip in (clips + sound).firstOfEachAsset where clip.asset != first {
      let hasSound = sound.contains { $0.asset == clip.asset }
      let hasCaptions = document.namesCaptions(of: clip.asset)
      for track in assets[clip.asset]?.tracks ?? []
      where found[clip.asset]?.contains(track.index) != true && isCarried(track, types, hasSound: hasSound) {
        if track.type == .subtitle, hasCaptions { continue }
        lose(
          .track, track.index, clip.asset,
          "\(track.title) is left out: no track of '\(first.shortened)', the first file, is carried that it would follow"
        )
      }
    }
  }

  /// Reports the tracks that cannot be described.
  /// - Parameter named: By asset, the tracks that the document names.
  mutating func loseFailures(_ clips: [Clip], named: [AssetID: Set<Int>]) {
    for clip in clips.firstOfEachAsset {
      for failure in assets[clip.asset]?.failures ?? []
      where failure.index < TrackDescription.mostStreams && named[clip.asset]?.contains(failure.index) != true {
        lose(
          .track, failure.index, clip.asset,
          "track \(failure.index) (\(failure.type), \(failure.codec)) is left out: \(failure.message)")
      }
    }
  }

  /// Reports metadata and cover art of files of which a film of several has none.
  mutating func loseMetadata(_ clips: [Clip]) {
    let ids = clips.firstOfEachAsset.map(\.asset)
    guard ids.count > 1 else { return }
    let isArtworkCarried = if case .carried = document.export.artwork { true } else { false }
    for id in ids {
      guard let asset = assets[id] else { continue }
      let names = ["title", "artist", "album", "comment", "copyright", "description"].filter {
        asset.metadata[$0]?.isEmpty == false
      }
      if !names.isEmpty {
        lose(
          .metadata, nil, id,
          "its \(list(names)) \(names.count == 1 ? "is" : "are") left out: the film is of \(ids.count) files, and "
            + "'carryMetadata' chooses one")
      }
      if asset.attachedPictures?.isEmpty == false, isArtworkCarried {
        lose(
          .artwork, nil, id,
          "its cover art is left out: the film is of \(ids.count) files, and 'artwork' chooses a picture")
      }
    }
  }

  /// Reports what the file states of its pictures and the container does not.
  mutating func losePictureData(_ clips: [Clip], _ container: Container) {
    guard let first = clips.first else { return }
    var seen: Set<[String]> = []
    for clip in clips where seen.insert([clip.asset, "\(clip.sourceTrack)"]).inserted {
      guard let track = track(of: clip), let aperture = track.video?.cleanAperture else { continue }
      let reason: String
      if !container.hasEditLists {
        reason = "\(container) has none"
      } else if let other = clips.first(where: { self.track(of: $0)?.video?.cleanAperture != aperture }) {
        reason = "that of '\(other.asset.shortened)' is another, and a film has one"
      } else {
        continue
      }
      lose(
        .cleanAperture, track.index, clip.asset,
        "the clean aperture of \(track.title) is left out: \(reason), and players show all of its pictures")
    }
    let clip = first
    guard let track = track(of: clip), let video = track.video else { return }
    // libavformat writes it into these alone.
    if video.hasDolbyVision == true, container != .mp4, container != .mkv {
      lose(
        .hdr, track.index, clip.asset,
        "the configuration of Dolby Vision of \(track.title) is left out, and players show its pictures without it: it "
          + "can be stored in mp4 and mkv, not in \(container)")
    }
  }

  /// Reports what a file states of a track and the container cannot.
  mutating func loseDispositions(
    _ track: TrackDescription, _ asset: AssetID, _ container: Container, kept: Set<String>
  ) {
    let lost = (track.characteristics ?? []).filter { !kept.contains($0) }
    guard !lost.isEmpty else { return }
    lose(.disposition, track.index, asset, "\(container) does not state of \(track.title) that it is \(list(lost))")
  }

  /// Reports the styles of captions that the output's text tracks do not have.
  mutating func loseStyles(of captions: [Captions], _ container: Container) {
    var seen: Set<[String]> = []
    for caption in captions where container != .mkv {
      guard case .track = caption.use,
        let track = assets[caption.asset]?.tracks.first(where: { $0.index == caption.sourceTrack }),
        track.captions?.hasStyles == true || track.captions?.hasCueSettings == true,
        seen.insert([caption.asset, "\(track.index)"]).inserted
      else { continue }
      lose(
        .captionStyle, track.index, caption.asset,
        "places and styles of \(track.title) are left out: \(container) has few of them, and mkv has all")
    }
  }

  /// Records that something of an asset is not in the output.
  mutating func lose(_ what: Loss.Kind, _ track: Int?, _ asset: AssetID, _ why: String) {
    let problem = Problem(asset: asset, message: why)
    losses.append(Problem(pointer: problem.pointer, message: why, loss: Loss(what: what, track: track)))
  }
}
