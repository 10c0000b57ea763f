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
}

extension DocumentReader {
  /// The film's colour: a name, or AVFoundation's three properties.
  mutating func filmColour(_ value: JSONValue?) -> ColourTags? {
    guard let value else { return nil }
    guard case .object = value.content else {
      guard case .string = value.content else {
        problems.add(
          value.pointer,
          "\(value.shown) should be one of \(list(FilmColour.allCases.map(\.rawValue))), "
            + "or an object with 'primaries', 'transfer' and 'matrix'")
        return nil
      }
      let named: FilmColour? = choice(value, "colour")
      return named?.tags
    }
    let noun = "a film's 'color'"
    guard let fields = fields(value, noun, keys: ["primaries", "transfer", "matrix"]) else { return nil }
    let primaries = required(fields, "primaries", noun)
    let transfer = required(fields, "transfer", noun)
    let matrix = required(fields, "matrix", noun)
    let names = [
      choice(primaries, "primaries", among: FilmColour.primaries),
      choice(transfer, "transfer function", among: FilmColour.transfers),
      choice(matrix, "matrix", among: FilmColour.matrices),
    ]
    guard names.allSatisfy({ $0 != nil }) else { return nil }
    return ColourTags(primaries: names[0], transfer: names[1], matrix: names[2])
  }
}

extension Lowering {
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

  /// Assets whose colours are converted, one warning each. Another matrix or range is no change of colours.
  func addColourConversions(_ edit: Edit, to warnings: inout ProblemList) {
    guard let film = edit.export.video?.colour else { return }
    var reported: Set<AssetID> = []
    func add(_ id: AssetID, _ pointer: JSONPointer) {
      guard let video = assets[id]?.defaultTrack(.video)?.video, reported.insert(id).inserted else { return }
      let path = ColourPath(video, film: film, size: edit.videoComposition.renderSize)
      guard !path.isSame else { return }
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
      case .text: break
      }
    }
  }
}
