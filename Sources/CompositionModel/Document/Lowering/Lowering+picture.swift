/// What the output's frames are; of the size, nil where nothing tells.
struct LoweredFormat {
  var size: PixelSize?
  var pixelFormat: PixelFormat
  var colour: ColourTags
}

extension Lowering {
  /// The video clips in order of time, the upper one first where two start together.
  private var picturesInOrder: [(clip: LoweredClip, video: VideoFormat)] {
    tracks.filter { $0.entry.type == .video }.flatMap(\.clips.entries)
      .compactMap { entry in
        assets[entry.element.clip.asset]?.defaultTrack(.video)?.video.map { (entry.element, $0) }
      }
      .enumerated()
      .sorted { a, b in
        let (first, second) = (a.element.clip.clip.target.start, b.element.clip.clip.target.start)
        return first == second ? a.offset < b.offset : first < second
      }
      .map(\.element)
  }

  mutating func pictureFormat() -> LoweredFormat {
    let pictures = picturesInOrder
    // A photograph or a title card before the first shot should not decide how the film is stored.
    let first = (pictures.first { !$0.video.isStill } ?? pictures.first)?.video
    let written = document.export.video.settings
    let codec = written?.codec ?? .h264
    let own = first.map { PixelFormat(nearest: $0) } ?? .yuv420p
    let pixelFormat = written?.pixelFormat ?? (codec == .ffv1 ? own : .yuv420p)
    var format = LoweredFormat(size: nil, pixelFormat: pixelFormat, colour: ColourTags())
    if let first, !first.isRGB {
      format.colour = first.colour
      if first.pixelFormat.hasPrefix("yuvj") { format.colour.isFullRange = true }
    }
    format.size = renderSize(pictures.map(\.video), pixelFormat)
    return format
  }

  /// FEATURES F28.
  private mutating func renderSize(_ pictures: [VideoFormat], _ pixelFormat: PixelFormat) -> PixelSize? {
    let entry = document.videoComposition
    let (across, down) = (1 << pixelFormat.chromaShift.horizontal, 1 << pixelFormat.chromaShift.vertical)
    if let size = entry.renderSize, entry.scale == .one {
      let even = PixelSize(width: size.width / across * across, height: size.height / down * down)
      if even == size || document.export.video.isNone { return checkedArea(size, entry.pointer.key("renderSize")) }
      let side =
        even.width != size.width && even.height != size.height
        ? "width and height" : even.width != size.width ? "width" : "height"
      problems.add(
        entry.pointer.key("renderSize"),
        "\(size.width)x\(size.height) has an odd \(side), which \(pixelFormat) cannot store; "
          + "the nearest that it can is \(even.width)x\(even.height)")
      return nil
    }
    var largest = entry.renderSize
    if largest == nil {
      for size in pictures.map(\.presentationSize) where size.width * size.height > largest.area { largest = size }
    }
    guard let largest else { return nil }
    let scaled = PixelSize(
      width: fitted(largest.width, to: entry.scale, step: across),
      height: fitted(largest.height, to: entry.scale, step: down))
    let greatest = DocumentReader.renderSizes.upperBound
    if scaled.width <= greatest, scaled.height <= greatest { return checkedArea(scaled, entry.pointer) }
    problems.add(
      entry.pointer,
      "the largest clip is \(largest.width)x\(largest.height), and a film at most \(greatest)x\(greatest): "
        + "give 'renderSize' or 'scale'")
    return nil
  }

  private mutating func checkedArea(_ size: PixelSize, _ pointer: JSONPointer) -> PixelSize? {
    // 16384x8192; libav refuses pictures of about twice as many.
    let greatest = 1 << 27
    if size.width * size.height <= greatest { return size }
    problems.add(pointer, "\(size.width)x\(size.height) has more than \(greatest) pixels; a frame has at most so many")
    return nil
  }

  private func fitted(_ length: Int, to scale: Rational, step: Int) -> Int {
    max(2, length.scaled(by: scale, .down) / step * step)
  }

  /// The renderer does not convert between high and standard dynamic range yet, so a film has one of them.
  mutating func checkDynamicRange() {
    var first: (range: String, name: AssetID)?
    let clips = picturesInOrder.map { (id: $0.clip.clip.asset, $0.video, $0.clip.entry.pointer.key("asset")) }
    let overlays = document.videoComposition.overlays.compactMap { overlay in
      guard case .image(let id, _, _) = overlay.content, let video = assets[id]?.defaultTrack(.video)?.video else {
        return nil as (id: AssetID, VideoFormat, JSONPointer)?
      }
      return (id, video, overlay.pointer.key("image"))
    }
    for (id, video, pointer) in clips + overlays {
      let range = video.dynamicRange
      guard let known = first else {
        first = (range, id)
        continue
      }
      guard known.range != range else { continue }
      problems.add(
        pointer,
        "'\(id)' is \(range) and '\(known.name)' is \(known.range); mixing them is part of the document's language but "
          + "this version cannot render it yet")
      return
    }
  }
}

extension Choice {
  var isNone: Bool { if case .none = self { true } else { false } }
}

extension PixelSize? {
  fileprivate var area: Int { map { $0.width * $0.height } ?? 0 }
}

extension VideoFormat {
  /// Stored as red, green and blue and not as luma and chroma.
  var isRGB: Bool {
    let name = pixelFormat
    return ["rgb", "bgr", "gbr", "pal8", "xyz", "bayer"].contains { name.contains($0) }
      || ["argb", "abgr"].contains { name.hasPrefix($0) } || colour.matrix == "gbr" || colour.matrix == "rgb"
  }

  var dynamicRange: String {
    switch colour.transfer {
    case "smpte2084": "HDR (PQ)"
    case "arib-std-b67": "HDR (HLG)"
    default: "standard dynamic range"
    }
  }
}

extension PixelFormat {
  /// The one that holds a decoded picture with the least change.
  init(nearest video: VideoFormat) {
    let name = video.pixelFormat
    let isDeep = video.bitDepth > 8
    if video.isRGB
      || ["444", "440", "nv24", "nv42", "p410", "p416", "ayuv", "vuy", "xv"].contains(where: { name.contains($0) })
    {
      self = isDeep ? .yuv444p10 : .yuv444p
    } else if ["422", "411", "nv16", "nv20", "p210", "p216", "y210", "y212"].contains(where: { name.contains($0) }) {
      self = isDeep ? .yuv422p10 : .yuv422p
    } else {
      self = isDeep ? .yuv420p10 : .yuv420p
    }
  }
}
