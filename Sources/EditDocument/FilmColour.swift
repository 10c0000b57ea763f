import CompositionModel

/// The film's colour as documents name it.
enum FilmColour: String, CaseIterable {
  case bt709, bt601
  case bt601625 = "bt601-625"
  case bt2020, displayP3, hdr10, hlg

  var tags: ColourTags {
    switch self {
    case .bt709: ColourTags(primaries: "bt709", transfer: "bt709", matrix: "bt709")
    case .bt601: ColourTags(primaries: "smpte170m", transfer: "smpte170m", matrix: "smpte170m")
    case .bt601625: ColourTags(primaries: "bt470bg", transfer: "smpte170m", matrix: "bt470bg")
    case .bt2020: ColourTags(primaries: "bt2020", transfer: "bt2020-10", matrix: "bt2020nc")
    case .displayP3: ColourTags(primaries: "smpte432", transfer: "bt709", matrix: "bt709")
    case .hdr10: ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc")
    case .hlg: ColourTags(primaries: "bt2020", transfer: "arib-std-b67", matrix: "bt2020nc")
    }
  }

  // What the three properties may be, by libavutil's names.
  static let primaries = ["bt709", "bt470bg", "smpte170m", "bt2020", "smpte431", "smpte432"]
  static let transfers = [
    "bt709", "smpte170m", "bt2020-10", "iec61966-2-1", "bt470m", "bt470bg", "smpte2084", "arib-std-b67",
  ]
  static let matrices = ["bt709", "bt470bg", "smpte170m", "bt2020nc"]
  /// The first is the default.
  static let ranges = ["limited", "full"]
}

extension ColourTags {
  /// The name of the three properties, or an object.
  var json: JSONValue {
    if !isFullRange, let named = FilmColour.allCases.first(where: { $0.tags == self }) { return .text(named.rawValue) }
    let members = [
      ("primaries", primaries), ("transfer", transfer), ("matrix", matrix), ("range", isFullRange ? "full" : nil),
    ]
    return .object(members.compactMap { key, name in name.map { (key, .text($0)) } })
  }
}

extension DocumentReader {
  /// The film's colour: a name, or AVFoundation's three properties and the range.
  mutating func filmColour(_ value: JSONValue) -> ColourTags? {
    guard case .object = value.content else {
      guard case .string = value.content else {
        problems.addShape(
          value.pointer,
          "\(value.shown) should be one of \(list(FilmColour.allCases.map(\.rawValue))), "
            + "or an object with 'primaries', 'transfer' and 'matrix'")
        return nil
      }
      let named: FilmColour? = choice(value, "colour")
      return named?.tags
    }
    guard let fields = fields(value, FilmColourKeys.table) else { return nil }
    let names = [
      read(fields, FilmColourKeys.primaries), read(fields, FilmColourKeys.transfer),
      read(fields, FilmColourKeys.matrix),
      fields.has("range") ? read(fields, FilmColourKeys.range) : FilmColour.ranges[0],
    ]
    guard names.allSatisfy({ $0 != nil }) else { return nil }
    return ColourTags(primaries: names[0], transfer: names[1], matrix: names[2], isFullRange: names[3] == "full")
  }
}

extension Lowering {
  /// The clip whose colours the film has: the first video, or else the first picture. A document whose own film has no
  /// tags, as one of drawn pictures alone, has no colours of its own, and decides only where there is no other video.
  var clipOfColours: VideoFormat? {
    let videos = shownAssets.filter { !$0.video.isStill }
    let own = videos.first {
      assets[$0.asset]?.container != AssetDescription.nestedContainer || !$0.video.isUntagged
    }
    return (own ?? videos.first ?? shownAssets.first)?.video
  }

  /// The film's tags: the document's `color`, or those of the first clip. Those of BT.709 where the film is of high
  /// definition and the clip in BT.601, where it is smaller and the clip an untagged one of high definition, and where
  /// the film is in H.264 and the clip in HDR.
  /// - Parameters:
  ///   - first: The clip that decides. Nil: the film has none.
  ///   - size: The size of the film, in pixels. Nil: not known yet; it never makes a film HDR.
  func filmColour(_ first: VideoFormat?, size: PixelSize? = nil) -> ColourTags {
    var colour = ColourTags()
    if let first, !first.isRGB {
      colour = first.colour
      if first.pixelFormat.hasPrefix("yuvj") { colour.isFullRange = true }
      // That of JPEG is one that not every player of films knows.
      if first.isStill { colour.isFullRange = false }
    }
    let location = colour.chromaLocation
    if let color = document.videoComposition.color {
      colour = color
    } else if isMadeSDR(colour) || isMadeOfScreens(colour)
      || size.map({ first?.changesDefinition(in: $0) == true }) == true
    {
      colour = FilmColour.bt709.tags
    }
    colour.chromaLocation = location
    return colour
  }

  /// Whether a film without `color` is in SDR although its first clip, which has these tags, is not: browsers and most
  /// phones play H.264 in 8 bits only. Several outputs show the same pictures.
  func isMadeSDR(_ first: ColourTags) -> Bool {
    guard document.videoComposition.color == nil, first.highDynamicRange != nil else { return false }
    return videoCodec == .h264 || videoCodec.definition.isOfScreens || outputInH264 != nil
  }

  /// Whether a film without `color` has the colours of screens although its first clip, which has these tags, has wider
  /// ones: its codec has no others.
  private func isMadeOfScreens(_ first: ColourTags) -> Bool {
    videoCodec.definition.isOfScreens && !first.isOfScreens
  }

  /// The first of several outputs whose pictures are in H.264.
  private var outputInH264: OutputEntry? {
    document.export.siblings.first {
      let codec = $0.export.presetVideo.codec ?? .standard(in: $0.container)
      return $0.hasPictures && (codec == .h264 || codec.definition.isOfScreens)
    }
  }

  /// A film that is in SDR because of its codec, and how it would be in HDR.
  func addMadeSDR(_ edit: Edit, to warnings: inout ProblemList) {
    guard let video = edit.export.video, document.videoComposition.toneMapping == nil, let first = clipOfColours,
      !first.isRGB, isMadeSDR(first.colour), let range = first.colour.highDynamicRange
    else { return }
    let name: FilmColour = TransferFunction(tag: first.colour.transfer) == .pq ? .hdr10 : .hlg
    let keeping = "\"color\": \"\(name.rawValue)\" in 'videoComposition' makes it HDR with 10 bits"
    let others = edit.export.container.videoCodecs.filter { $0 != .h264 }
    let other = video.codec == .h264 && document.export.siblings.isEmpty ? others.first : nil
    let place = outputInH264.map { output in
      let codec = output.export.presetVideo.codec ?? .standard(in: output.container)
      return "the \(codec == .h264 ? "H.264" : codec.rawValue) of the output '\(output.name)'"
    }
    // Its codec has no HDR, and no setting changes that.
    if video.codec.definition.isOfScreens { return }
    warnings.add(
      JSONPointer.root.key("export").key("video"),
      "the film is SDR with \(video.pixelFormat.bitDepth) bits although its first clip is \(range), because few players "
        + "show HDR in \(place ?? "H.264"): \(keeping)"
        + (other.map { ", and so does \"codec\": \"\($0.rawValue)\"" } ?? ""))
  }

  /// What a film in PQ states of its brightness: the mastering display of the first clip in PQ, and the greatest levels
  /// of all such clips, if each states them. Nil for other films.
  func hdrMetadata(_ film: ColourTags) -> HDRMetadata? {
    guard TransferFunction(tag: film.transfer) == .pq else { return nil }
    let formats = shownAssets.map(\.video).filter { TransferFunction(tag: $0.colour.transfer) == .pq }
    let lights = formats.compactMap { $0.hdr?.light }
    var metadata = HDRMetadata(display: formats.first?.hdr?.display)
    if lights.count == formats.count, let brightest = lights.map(\.maximum).max() {
      metadata.light = ContentLightLevel(
        maximum: brightest, maximumAverage: lights.map(\.maximumAverage).max() ?? 0)
    }
    return metadata.display == nil && metadata.light == nil ? nil : metadata
  }

  /// Assets whose colours are converted, one warning each. Another matrix or range is no change of colours, the
  /// primaries of standard television differ by less than displays do, and a colour or a tone mapping that the document
  /// names is what its author wants.
  func addColourConversions(_ edit: Edit, to warnings: inout ProblemList) {
    guard let film = edit.export.video?.colour, document.videoComposition.color == nil else { return }
    var reported: Set<AssetID> = []
    func add(_ id: AssetID, _ pointer: JSONPointer) {
      // Colours of the document are graphics, as those of texts.
      guard let video = assets[id]?.defaultTrack(.video)?.video, video.drawn == nil, reported.insert(id).inserted
      else { return }
      let path = ColourPath(video, film: film, size: edit.videoComposition.renderSize)
      let isTelevision = [path.source, path.film].allSatisfy { $0.primaries.isStandard && $0.transfer == .display }
      guard !path.isSame, !isTelevision else { return }
      if path.mayExceedFilm, document.videoComposition.toneMapping != nil { return }
      let mapping = edit.videoComposition.toneMapping ?? .bt2390
      let brightness =
        path.mayExceedFilm
        ? mapping == .clip
          ? ", in which what is brighter than white is cut off"
          : ", in which its highlights are compressed (\"toneMapping\": \"\(mapping.rawValue)\")"
        : path.film.transfer.isHDR && !path.source.transfer.isHDR ? ", in which its white is 203 cd/m2" : ""
      warnings.add(
        pointer, "the colours of '\(id.shortened)' are converted from \(path.source) to \(path.film)\(brightness)")
    }
    for (asset, _, clip) in shownAssets { add(asset, clip) }
    for overlay in document.videoComposition.overlays {
      switch overlay.content {
      case .image(let id, _, _): add(id, overlay.pointer)
      case .video(let id, _, _, _): add(id, overlay.pointer)
      case .shape, .text, .waveform: break
      }
    }
  }
}
