extension Lowering {
  /// An overlay on composition time. With a `scale` its lengths in pixels shrink as the frame does.
  mutating func lower(_ entry: OverlayEntry, frame: PixelSize?) -> Overlay? {
    let content = content(entry, frame: frame)
    let ramps = timeline(entry.ramps)
    var over = film
    if let written = entry.over {
      guard let range = resolve(written, at: entry.pointer.key("over")) else { return nil }
      over = range
      if isFilmKnown, !film.isEmpty, film.end <= range.start {
        problems.add(
          entry.pointer.key("over"), "\(range) starts after the film, which is \(seconds(film.duration)) long")
        return nil
      }
    }
    // Without `over` the ramps are held against the film's length, which must then be known.
    guard entry.over != nil || isFilmKnown else { return nil }
    guard let ramps, let list = rampList(ramps, opacity: 1, within: over, owner: "the overlay"), let content else {
      return nil
    }
    return Overlay(
      content: content, over: over, placement: placement(entry.placement), opacity: entry.opacity, ramps: list)
  }

  private mutating func content(_ entry: OverlayEntry, frame: PixelSize?) -> OverlayContent? {
    switch entry.content {
    case .image(let id, let width, let height):
      guard let asset = assets[id] else { return nil }
      guard let video = asset.defaultTrack(.video)?.video else {
        problems.add(entry.pointer.key("image"), "'\(id)' has no picture")
        return nil
      }
      guard video.isStill else {
        problems.add(
          entry.pointer.key("image"),
          "'\(id)' is a video; a video as an overlay is part of the document's language but this version cannot render "
            + "it yet, only a still picture (put the video on a track above the others)")
        return nil
      }
      let isOwnSize = width == nil && height == nil && document.videoComposition.scale != .one
      let own = isOwnSize ? video.presentationSize.width : nil
      return .image(
        asset: id, width: (width ?? own).map { max(1, scaled($0)) }, height: height.map { max(1, scaled($0)) })
    case .text(var text, let size):
      // An eighteenth of the frame's height is 60 pixels at 1080.
      text.size = size.map { $0 * document.videoComposition.scale.approximate } ?? Double(frame?.height ?? 18) / 18
      text.width = text.width.map { max(1, scaled($0)) }
      return .text(text)
    }
  }

  private func placement(_ placement: OverlayPlacement) -> OverlayPlacement {
    switch placement {
    case .anchor(let anchor, let inset): .anchor(anchor, inset: scaled(inset))
    case .point(let x, let y): .point(x: scaled(x), y: scaled(y))
    }
  }

  private func scaled(_ length: Int) -> Int {
    length.scaled(by: document.videoComposition.scale, .toNearestOrAwayFromZero)
  }
}

extension Int {
  /// A length in pixels times a document's `scale`, above 0 and at most 1: never longer than it was.
  func scaled(by scale: Rational, _ rule: FloatingPointRoundingRule) -> Int {
    let whole = Int128(self) * scale.numerator
    let (quotient, rest) = whole.quotientAndRemainder(dividingBy: scale.denominator)
    let isPastHalf = 2 * rest.magnitude >= scale.denominator.magnitude
    let correction: Int128 = rule == .down ? (rest < 0 ? -1 : 0) : isPastHalf ? rest.signum() : 0
    return Int(quotient + correction)
  }
}
