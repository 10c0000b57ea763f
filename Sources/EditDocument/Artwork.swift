import CompositionModel

/// `export.artwork` as the document means it.
enum ArtworkEntry: Sendable {
  /// Not given: that of the asset whose metadata are carried.
  case carried
  /// `false`, or one that cannot be used.
  case omitted
  case asset(AssetID)
}

extension DocumentReader {
  /// Reads `export.artwork`.
  mutating func artwork(_ value: JSONValue) -> Document.Artwork? {
    switch value.content {
    case .boolean(false): return Document.Artwork.none
    case .string: return asset(value).map { .asset($0) }
    default:
      problems.addShape(value.pointer, "\(value.shown) should be the name of an asset, or false")
      return nil
    }
  }
}

extension Lowering {
  /// The output's artwork: the one that the document names, or else that of the asset whose metadata are carried, as
  /// far as the container can store it. A clip that is a picture is not carried.
  mutating func outputArtwork(in container: Container?) -> Artwork? {
    var artwork = storedArtwork(in: container)
    if document.export.metadata.filter != nil { artwork?.isForSharing = true }
    return artwork
  }

  private mutating func storedArtwork(in container: Container?) -> Artwork? {
    switch document.export.artwork {
    case .omitted: return nil
    case .carried:
      guard let id = carriedAsset(metadataSource), case .success(let artwork) = assets[id]?.artwork(of: id),
        artwork.track != nil
      else { return nil }
      for picture in assets[id]?.attachedPictures ?? [] {
        let isKept = container?.hasArtwork == true && picture.index == artwork.track
        guard !isKept, let container else { continue }
        lose(
          .artwork, picture.index, id,
          "the attached picture \(picture.index) is left out: \(container) "
            + (container.hasArtwork ? "has one that players show" : "has none"))
      }
      return container?.hasArtwork == true ? artwork : nil
    case .asset(let id):
      let pointer = document.export.pointer.key("artwork")
      let isPossible = container?.hasArtwork ?? true
      if let container, !isPossible, !isLeftToOtherOutputs(\.hasArtwork) {
        let others = Container.allCases.filter(\.hasArtwork).map(\.rawValue)
        problems.add(pointer, "\(container) cannot have artwork; \(list(others)) can")
      }
      switch assets[id]?.artwork(of: id) {
      case .success(let artwork): return isPossible ? artwork : nil
      case .failure(let error): problems.add(pointer, error.reason)
      case nil: break  // It is reported with the asset.
      }
      return nil
    }
  }
}

extension AssetDescription {
  /// Why an asset cannot be artwork. The reason is for the document's author.
  fileprivate struct ArtworkProblem: Error {
    var reason: String
  }

  /// The picture of a file that is one, or else the first that is attached to the file, one for the front first.
  fileprivate func artwork(of id: AssetID) -> Result<Artwork, ArtworkProblem> {
    func problem(_ reason: String) -> Result<Artwork, ArtworkProblem> {
      .failure(ArtworkProblem(reason: "'\(id.shortened)' \(reason)"))
    }
    var artwork: Artwork?
    var size: Int64?
    if let picture = tracks.first, picture.video?.isStill == true, attachedPictures == nil {
      let isAlone = ["png_pipe", "jpeg_pipe"].contains(container)
      guard isAlone, let format = Artwork.Format(codec: picture.codec) else {
        return problem("is a picture of the format \(picture.codec); artwork is a PNG or a JPEG file")
      }
      artwork = Artwork(asset: id, track: nil, format: format)
      size = byteCount
    } else {
      guard let pictures = attachedPictures, let attached = pictures.first else {
        return problem("is no picture and has none; artwork is a PNG or a JPEG file, or a file with such a picture")
      }
      let usable = pictures.filter { Artwork.Format(codec: $0.codec) != nil }
      guard let picture = usable.first(where: { $0.metadata["comment"] == "Cover (front)" }) ?? usable.first,
        let format = Artwork.Format(codec: picture.codec)
      else {
        return problem("has a picture of the format \(attached.codec); artwork is a PNG or a JPEG picture")
      }
      artwork = Artwork(asset: id, track: picture.index, format: format)
      size = picture.byteCount.map { Int64($0) }
    }
    guard let artwork, let size, (1...Int64(Artwork.greatestByteCount)).contains(size) else {
      return problem(
        "has a picture of \(size ?? 0) bytes; artwork has 1 to \(Artwork.greatestByteCount)")
    }
    return .success(artwork)
  }
}

extension Container {
  /// Whether its files can have artwork.
  fileprivate var hasArtwork: Bool {
    switch self {
    case .mp4, .mov, .m4v, .m4a, .mkv, .flac, .mp3, .ogg: true
    case .webm, .mxf, .wav, .gif, .apng, .webp, .m3u8, .mpd: false
    }
  }
}
