/// What R'G'B' stands for: the primaries of red, green and blue, and the transfer function. Every default is filled in.
package struct ColourEncoding: Sendable, Hashable, CustomStringConvertible {
  package var primaries: ColourPrimaries
  package var transfer: TransferFunction

  package init(primaries: ColourPrimaries, transfer: TransferFunction) {
    self.primaries = primaries
    self.transfer = transfer
  }

  package var description: String { "\(primaries.title) \(transfer.title)" }
}

/// The primaries and the white of a display. The raw value is libavutil's name.
package enum ColourPrimaries: String, Sendable, Hashable, CaseIterable {
  case bt709, bt470m, bt470bg, smpte170m, film, bt2020, smpte428, smpte431, smpte432, ebu3213

  /// - Parameter tag: libavutil's name. Nil for a name that has no primaries.
  package init?(tag: String?) {
    guard let tag else { return nil }
    // Other numbers for the primaries of SMPTE 170M.
    self.init(rawValue: tag == "smpte240m" ? "smpte170m" : tag)
  }

  /// Whether these are primaries of standard television. Pictures whose file has no primaries are not converted between
  /// them.
  package var isStandard: Bool {
    switch self {
    case .bt709, .bt470bg, .smpte170m: true
    default: false
    }
  }

  package var title: String {
    switch self {
    case .bt709: "BT.709"
    case .bt470m: "BT.470 M"
    case .bt470bg: "BT.601 (625 lines)"
    case .smpte170m: "BT.601 (525 lines)"
    case .film: "film"
    case .bt2020: "BT.2020"
    case .smpte428: "XYZ"
    case .smpte431: "DCI-P3"
    case .smpte432: "Display P3"
    case .ebu3213: "EBU 3213"
    }
  }
}

/// How numbers become light.
package enum TransferFunction: Sendable, Hashable {
  /// A display with the exponent 2.4, BT.1886: what BT.601, BT.709, BT.2020 and sRGB pictures are shown on.
  case display
  /// A display with another exponent.
  case gamma22, gamma28
  /// SMPTE 428: the exponent 2.6.
  case cinema
  case linear, log100, log316
  /// SMPTE 2084.
  case pq
  /// ARIB STD-B67.
  case hlg

  /// - Parameter tag: libavutil's name. Nil for a name that has no transfer function.
  package init?(tag: String?) {
    switch tag {
    case "bt709", "smpte170m", "smpte240m", "bt2020-10", "bt2020-12", "iec61966-2-1", "iec61966-2-4", "bt1361e":
      self = .display
    case "bt470m": self = .gamma22
    case "bt470bg": self = .gamma28
    case "smpte428": self = .cinema
    case "linear": self = .linear
    case "log100": self = .log100
    case "log316": self = .log316
    case "smpte2084": self = .pq
    case "arib-std-b67": self = .hlg
    default: return nil
    }
  }

  package var isHDR: Bool { self == .pq || self == .hlg }

  package var title: String {
    switch self {
    case .display: "SDR"
    case .gamma22: "gamma 2.2"
    case .gamma28: "gamma 2.8"
    case .cinema: "gamma 2.6"
    case .linear: "linear light"
    case .log100, .log316: "logarithmic"
    case .pq: "PQ"
    case .hlg: "HLG"
    }
  }
}

/// How the brightness of high dynamic range is brought into a smaller one. The raw value is the name in documents.
public enum ToneMapping: String, Sendable, Hashable, Codable, CaseIterable {
  /// The EETF of BT.2390, of the greatest of red, green and blue.
  case bt2390
  /// What is brighter than the film's white is cut off.
  case clip
}

/// The colours of a source and of the film it is shown in, with the tags that are missing filled in.
///
/// - A tag that is missing is BT.2020 if the matrix is that of BT.2020 or the transfer function PQ or HLG.
/// - Otherwise a video of fewer than 720 lines is BT.601 in a film of BT.709 with 720 lines or more, unless its matrix
///   is another one.
/// - Otherwise a source has the film's primaries, if those are of standard television, and the film's transfer
///   function, if the film is not HDR. An untagged film has those of each source.
/// - Otherwise primaries are BT.709 for stills, RGB and from 720 lines on, and BT.601 below; and the transfer function
///   is that of a display.
package struct ColourPath: Sendable, Hashable {
  package var source: ColourEncoding
  package var film: ColourEncoding

  package init(source: ColourEncoding, film: ColourEncoding) {
    self.source = source
    self.film = film
  }

  /// The path from the pictures of a track to a film.
  package init(_ video: VideoFormat, film tags: ColourTags, size: PixelSize) {
    let lines = video.isStill || video.isRGB ? nil : video.size.height
    self.init(video.colour, lines: lines, film: tags, filmLines: size.height)
  }

  /// The path from texts, and from the colours in a document, to a film.
  package init(graphicsIn tags: ColourTags, size: PixelSize) {
    self.init(ColourTags(), lines: nil, film: tags, filmLines: size.height)
  }

  /// - Parameter lines: Nil for stills and RGB, whose size has no meaning for their colours.
  private init(_ tags: ColourTags, lines: Int?, film: ColourTags, filmLines: Int) {
    let (from, to) = (tags.knownPrimaries, film.knownPrimaries)
    let (fromTransfer, toTransfer) = (TransferFunction(tag: tags.transfer), TransferFunction(tag: film.transfer))
    let shownTransfer = toTransfer ?? fromTransfer.flatMap { $0.isHDR ? nil : $0 } ?? .display
    let filmPrimaries =
      to ?? from.flatMap { $0.isStandard ? $0 : nil } ?? ColourPrimaries(ofLines: from == nil ? nil : filmLines)
    let isEnlarged = tags.isTakenForBT601(lines: lines, in: film, filmLines: filmLines)
    source = ColourEncoding(
      primaries: from ?? (filmPrimaries.isStandard && !isEnlarged ? filmPrimaries : ColourPrimaries(ofLines: lines)),
      transfer: fromTransfer ?? (shownTransfer.isHDR ? .display : shownTransfer))
    self.film = ColourEncoding(primaries: filmPrimaries, transfer: shownTransfer)
  }

  /// Whether R'G'B' of the source is that of the film.
  package var isSame: Bool { source == film }

  /// Whether the source may be brighter than the film can show.
  package var mayExceedFilm: Bool { source.transfer.isHDR && !film.transfer.isHDR }
}

extension ColourPrimaries {
  /// Those of pictures without any tag. Nil lines: of a still or of RGB.
  fileprivate init(ofLines lines: Int?) {
    guard let lines, lines < 720 else {
      self = .bt709
      return
    }
    self = lines == 288 || lines == 576 ? .bt470bg : .smpte170m
  }
}

extension ColourTags {
  /// The primaries that the tags name, or that follow from the others.
  fileprivate var knownPrimaries: ColourPrimaries? {
    if let named = ColourPrimaries(tag: primaries) { return named }
    let isWide = matrix == "bt2020nc" || matrix == "bt2020c" || TransferFunction(tag: transfer)?.isHDR == true
    return isWide ? .bt2020 : nil
  }
}

extension PixelSize {
  /// Whether players take pictures of this size for BT.709 if nothing states it, and not for BT.601.
  package var isHighDefinition: Bool { height >= 720 }
}

extension ColourTags {
  /// Whether these tags, of a picture of so many lines, mean BT.601: by its primaries or its matrix, or without both
  /// by fewer than 720 lines.
  /// - Parameter lines: Nil for stills and RGB, whose size has no meaning for their colours.
  fileprivate func isInBT601(lines: Int?) -> Bool {
    if let primaries = knownPrimaries, primaries != .bt709 { return primaries.isStandard }
    if let matrix { return ["bt470bg", "smpte170m", "smpte240m", "fcc"].contains(matrix) }
    return primaries == nil && lines.map { $0 < 720 } ?? false
  }

  /// Whether a picture without primaries is taken for BT.601 in a film, although untagged pictures have the film's
  /// tags: in one of BT.709 and high definition.
  fileprivate func isTakenForBT601(lines: Int?, in film: ColourTags, filmLines: Int) -> Bool {
    knownPrimaries == nil && isInBT601(lines: lines) && film.knownPrimaries == .bt709 && filmLines >= 720
  }
}

extension VideoFormat {
  /// Whether its colours are those of BT.601, by its tags or for want of them by its size.
  package var isInBT601: Bool { !isRGB && colour.isInBT601(lines: isStill ? nil : size.height) }

  /// Whether it states none of its primaries, its transfer function and its matrix.
  package var isUntagged: Bool { colour.primaries == nil && colour.transfer == nil && colour.matrix == nil }

  /// Whether players would take the colours of a film of this size for others if it had the tags of this video, its
  /// first: it is in BT.601 and the film of high definition, or it is of high definition, has no tags, and the film is
  /// not of high definition.
  package func changesDefinition(in film: PixelSize) -> Bool {
    if film.isHighDefinition { return isInBT601 }
    return !isRGB && !isStill && size.isHighDefinition && colour.primaries == nil && colour.matrix == nil
      && TransferFunction(tag: colour.transfer)?.isHDR != true
  }

  /// Whether it is taken for BT.601 in a film: it has no primaries, and the film is of BT.709 and high definition.
  package func isTakenForBT601(in film: ColourTags, _ size: PixelSize) -> Bool {
    !isRGB && colour.isTakenForBT601(lines: isStill ? nil : self.size.height, in: film, filmLines: size.height)
  }

  /// Stored as red, green and blue and not as luma and chroma.
  package var isRGB: Bool {
    let name = pixelFormat
    return ["rgb", "bgr", "gbr", "pal8", "xyz", "bayer"].contains { name.contains($0) }
      || ["argb", "abgr"].contains { name.hasPrefix($0) } || colour.matrix == "gbr" || colour.matrix == "rgb"
  }
}
