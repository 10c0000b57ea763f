import CompositionModel

/// `videoComposition` as the document means it.
struct VideoCompositionEntry: Sendable {
  fileprivate(set) var written = Document.VideoComposition()
  /// Nil if the instructions are to be derived.
  fileprivate(set) var instructions: [InstructionEntry]?
  fileprivate(set) var overlays: [OverlayEntry] = []
  let pointer: JSONPointer

  var renderSize: PixelSize? { written.renderSize }
  var scale: Rational { written.scale ?? .one }
  /// That of `frameRate`, if that is written.
  var frameDuration: MediaTime? {
    // That it can be computed was checked when it was read.
    written.frameDuration ?? written.frameRate.flatMap { try? MediaTime(.one / $0) }
  }
  var background: Color { written.background ?? .black }
  var transitions: [Document.Transition] { written.transitions }
  var filters: [Document.Filter] { written.filters }
  /// Nil: the first clip's.
  var color: ColourTags? { written.color }
  var toneMapping: ToneMapping? { written.toneMapping }

  static let instead = [
    "fps": "did you mean 'frameRate'?", "size": "did you mean 'renderSize'?",
    "resolution": "did you mean 'renderSize'?", "width": "the size of the film is 'renderSize'",
    "height": "the size of the film is 'renderSize'", "titles": "texts are among 'overlays'",
    "colour": "did you mean 'color'?", "text": "texts are among 'overlays'",
    "compositor": "'compositor' is a key of an instruction",
    "images": "pictures on top are among 'overlays'",
  ]

  /// The pixels on a side of a frame.
  static let sides = 2...PixelSize.largestSide
  /// Seconds from one frame to the next.
  static let frameDurations = (shortest: MediaTime(value: 1, timescale: 1000), longest: MediaTime(seconds: 60))

  /// Frames a second, as `frameDurations` allow them.
  static let frameRates = Rational(1, over: 60)...Rational(1000)

  static func allows(frameDuration: MediaTime) -> Bool {
    frameDurations.shortest <= frameDuration && frameDuration <= frameDurations.longest && frameDuration.isPlace
  }
}

/// The rates at which films are shown, in frames a second.
enum StandardRate {
  /// Those of NTSC, which are written as decimals that are not exact: 23.976, 29.97 and so on.
  private static let fractional = [24, 30, 48, 60, 120].map { Rational($0 * 1000, over: 1001) }
  private static let all = fractional + [24, 25, 30, 48, 50, 60, 100, 120].map { Rational($0) }

  /// The rate that a decimal number stands for: 29.97 is 30000/1001, and so is any number within 0.005 of it.
  static func meant(by written: Rational) -> Rational {
    fractional.first { isWithin(written, $0, tolerance: Rational(1, over: 200)) } ?? written
  }

  /// The nearest standard rate, if it differs by 0.5 % at most; otherwise the rate itself. Cameras whose clock is not
  /// exact record 30.01 frames a second.
  static func nearest(to measured: Rational) -> Rational {
    guard let nearest = all.min(by: { distance(measured, $0) < distance(measured, $1) }),
      // No rate of the list is too large for it.
      let tolerance = try? nearest / Rational(200), isWithin(measured, nearest, tolerance: tolerance)
    else { return measured }
    return nearest
  }

  private static func isWithin(_ a: Rational, _ b: Rational, tolerance: Rational) -> Bool {
    distance(a, b) <= tolerance
  }

  private static func distance(_ a: Rational, _ b: Rational) -> Rational {
    // Rates that are too large for an exact difference are near to none.
    guard let difference = try? a - b else { return Rational(Int64.max) }
    return difference < .zero ? -difference : difference
  }
}

extension DocumentReader {
  /// Reads `videoComposition`. The assets and tracks must be declared already.
  mutating func videoComposition(_ value: JSONValue?, at pointer: JSONPointer) -> VideoCompositionEntry {
    var entry = VideoCompositionEntry(pointer: pointer)
    guard let value,
      let fields = fields(
        value, VideoCompositionKeys.table,
        elsewhere: [
          ("'export'", ExportKeys.table.keyNames), ("'video' of 'export'", VideoKeys.table.keyNames),
        ])
    else { return entry }
    // Of the two the duration counts, if it can be read. Overlays are read with it.
    let rates = [VideoCompositionKeys.frameDuration.name, VideoCompositionKeys.frameRate.name]
    entry.written.frameDuration = read(fields, VideoCompositionKeys.frameDuration)
    if entry.written.frameDuration == nil { entry.written.frameRate = read(fields, VideoCompositionKeys.frameRate) }
    frameDuration = entry.frameDuration
    read(fields, VideoCompositionKeys.properties, into: &entry.written) { !rates.contains($0.name) }
    if let written = fields["instructions"] {
      let items = items(written, "instructions")
      if case .array = written.content { entry.instructions = items.map { instruction($0) } }
    }
    entry.overlays = items(fields["overlays"], "overlays").compactMap { overlay($0) }
    entry.written.instructions = entry.instructions?.map(\.written)
    entry.written.overlays = entry.overlays.map(\.written)
    return entry
  }

  mutating func scale(_ value: JSONValue) -> Rational? {
    if case .number(let text) = value.content, let scale = try? exactDecimal(text), .zero < scale, scale <= .one,
      scale.denominator <= 1_000_000
    {
      return scale
    }
    let message = "\(value.shown) should be a number above 0 and at most 1, of at most six decimals"
    // A schema cannot say how many decimals a number has.
    if case .number(let text) = value.content, let number = Double(text), 0 < number, number <= 1 {
      problems.add(value.pointer, message)
    } else {
      problems.addShape(value.pointer, message)
    }
    return nil
  }

  mutating func frameDuration(_ value: JSONValue) -> MediaTime? {
    guard let written = time(value) else { return nil }
    guard case .seconds(let duration) = written else {
      problems.addShape(
        value.pointer, "\(value.shown) counts frames; this key sets the duration of a frame, such as \"1/30\"")
      return nil
    }
    if VideoCompositionEntry.allows(frameDuration: duration) { return duration }
    guard duration.isPlace else {
      problems.add(
        value.pointer, "\(value.shown) is too finely divided; write a fraction of two whole numbers below 2^31")
      return nil
    }
    problems.add(
      value.pointer, "\(value.shown) should be from 1/1000 to 60 seconds, such as \"1/30\" or \"1001/30000\"")
    return nil
  }

  /// Frames a second.
  fileprivate mutating func frameRate(_ value: JSONValue) -> Rational? {
    guard var rate = rational(value, in: VideoCompositionEntry.frameRates) else { return nil }
    if case .number = value.content { rate = StandardRate.meant(by: rate) }
    if let duration = try? MediaTime(.one / rate), duration.isPlace { return rate }
    problems.add(value.pointer, "\(value.shown) has too many digits to be kept exactly; write it as a fraction")
    return nil
  }

  /// A colour that is not transparent, because the output has no transparency.
  mutating func background(_ value: JSONValue?) -> Color? {
    guard let value, let color = color(value) else { return nil }
    if color.alpha == 255 { return color }
    problems.addShape(value.pointer, "\(value.shown) is transparent; a background is solid: \"#rrggbb\"")
    return nil
  }
}

extension Form where Value == Rational {
  /// Frames a second. A decimal number may mean one of NTSC's rates, so only whole numbers are written as numbers.
  static var frameRate: Form {
    let rational = Form.rational(VideoCompositionEntry.frameRates)
    return Form(rational.type, rational.schema, write: rational.write) { $0.frameRate($1) }
  }
}

/// The format of the output's frames.
struct LoweredFormat {
  /// Nil if neither the document nor a clip gives it.
  var size: PixelSize?
  /// The size of the pictures that are encoded: `size`, unless their pixels are not square or they are those of one of
  /// several outputs with a size of its own.
  var stored: PixelSize?
  var pixelFormat: PixelFormat
  var colour: ColourTags
  var hdr: HDRMetadata?
}

extension Lowering {
  // MARK: Frame duration

  /// The document's frame duration. By default it is that of the highest nominal rate among the clips that are shown,
  /// or of the standard rate next to it, or else 1/30 s.
  mutating func lowerFrameDuration() {
    let entry = document.videoComposition
    if let written = entry.frameDuration {
      frameDuration = written
      return
    }
    let hidden = hiddenTracks
    let rates = document.tracks.filter { $0.type == .video && !hidden.contains($0.id) }.flatMap(\.clips)
      .compactMap { clip in clip.asset.flatMap { assets[$0] }?.defaultTrack(.video)?.video }
      .filter { !$0.isStill && .zero < $0.nominalFrameRate }
      .map(\.nominalFrameRate)
    guard let highest = rates.max() else { return }
    // A rate whose inverse does not fit a time is refused like one that is out of range.
    guard let rate = try? StandardRate.nearest(to: highest.exact), let duration = try? MediaTime(.one / rate),
      VideoCompositionEntry.allows(frameDuration: duration)
    else {
      problems.add(
        entry.pointer,
        "the highest frame rate among the clips, \(highest) a second, cannot be the film's: give 'frameDuration'")
      return
    }
    frameDuration = duration
  }

  // MARK: Format

  /// The assets of the video clips in the order in which they are first shown, the upper one first if two start
  /// together, each with its first clip. Pictures that are only masks are not shown.
  var shownAssets: [(asset: AssetID, video: VideoFormat, clip: JSONPointer)] {
    let hidden = hiddenTracks
    let clips = tracks.lazy.filter { $0.entry.type == .video && !hidden.contains($0.entry.id) }
      .flatMap(\.clips.entries)
    var firsts: [AssetID: (start: MediaTime, number: Int, clip: JSONPointer)] = [:]
    for (number, (range, clip)) in clips.enumerated() {
      if let first = firsts[clip.clip.asset], first.start <= range.start { continue }
      firsts[clip.clip.asset] = (range.start, number, clip.entry.pointer)
    }
    return firsts.sorted { a, b in (a.value.start, a.value.number) < (b.value.start, b.value.number) }
      .compactMap { asset, first in
        assets[asset]?.defaultTrack(.video)?.video.map { (asset, $0, first.clip) }
      }
  }

  /// The size, pixel format and colours of the output's frames.
  mutating func outputFormat() -> LoweredFormat {
    let formats = shownAssets.map(\.video)
    // A photograph or a title card before the first shot does not decide how the film is stored.
    let first = formats.first { !$0.isStill } ?? formats.first
    let coloured = clipOfColours
    let written = document.export.presetVideo
    let colour = filmColour(coloured)
    let pixelFormat = written.pixelFormat ?? defaultPixelFormat(first, isHDR: colour.highDynamicRange != nil)
    var format = LoweredFormat(size: nil, pixelFormat: pixelFormat, colour: colour, hdr: hdrMetadata(colour))
    format.size = renderSize(formats, pixelFormat)
    if let size = format.size { format.colour = filmColour(coloured, size: size) }
    format.stored = format.size.flatMap { outputSize($0, pixelFormat) } ?? format.size
    format.stored = format.stored?.stored(with: written.shape, as: pixelFormat)
    if let size = format.stored, !document.export.video.isNone,
      let reason = videoCodec.definition.problem(with: size, pixelFormat)
    {
      let entry = document.videoComposition
      problems.add(
        size != format.size
          ? document.export.place : entry.renderSize == nil ? entry.pointer : entry.pointer.key("renderSize"),
        "\(size.width)x\(size.height) cannot be stored: \(reason)")
      (format.size, format.stored) = (nil, nil)
    }
    return format
  }

  /// The pixel format of a document that gives none, for a first clip of a format and a film of high dynamic range or
  /// not.
  private func defaultPixelFormat(_ first: VideoFormat?, isHDR: Bool) -> PixelFormat {
    let (entry, name) = (document.export.presetVideo, videoCodec)
    let source = first.map { PixelFormat(nearest: $0) } ?? .yuv420p
    let plain = name.definition.defaultPixelFormat(source: source, isHDR: false)
    guard isHDR else { return plain }
    let deep = name.definition.defaultPixelFormat(source: source, isHDR: true)
    // A profile that is asked for may have 8 bits only.
    let settings = VideoSettings(
      codec: name, rateControl: name.definition.rateControl(quality: entry.quality, bitRate: entry.bitRate),
      preset: entry.preset, profile: entry.profile, keyframeInterval: 1, pixelFormat: deep, colour: ColourTags())
    return name.definition.problem(with: settings)?.key == "profile" ? plain : deep
  }

  /// The document's size, or that of the largest clip that has one, scaled and fitted to the pixel format.
  private mutating func renderSize(_ formats: [VideoFormat], _ pixelFormat: PixelFormat) -> PixelSize? {
    let entry = document.videoComposition
    let (across, down) = (1 << pixelFormat.chromaShift.horizontal, 1 << pixelFormat.chromaShift.vertical)
    var largest = entry.renderSize
    if largest == nil {
      // A picture that is drawn in the size of the film gives it none.
      let sized = formats.filter { $0.drawn.map { $0.size != nil } ?? true }
      for size in sized.map(\.presentationSize) where size.area > largest?.area ?? 0 { largest = size }
      if sized.isEmpty, !formats.isEmpty { largest = Self.standardSize }
    }
    if let largest, let preset = document.export.preset?.video { scale = min(scale, preset.scale(of: largest)) }
    if let size = entry.renderSize, scale == .one {
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
    guard let largest else { return nil }
    func fitted(_ length: Int, step: Int) -> Int { max(2, length.scaled(by: scale, .down) / step * step) }
    let scaled = PixelSize(width: fitted(largest.width, step: across), height: fitted(largest.height, step: down))
    let greatest = PixelSize.largestSide
    if scaled.width <= greatest, scaled.height <= greatest { return checkedArea(scaled, entry.pointer) }
    problems.add(
      entry.pointer,
      "the largest clip is \(largest.width)x\(largest.height), and a film at most \(greatest)x\(greatest): "
        + "give 'renderSize' or 'scale'")
    return nil
  }

  private mutating func checkedArea(_ size: PixelSize, _ pointer: JSONPointer) -> PixelSize? {
    if size.area <= PixelSize.largestArea { return size }
    problems.add(
      pointer,
      "\(size.width)x\(size.height) has \(size.area) pixels; a frame has at most \(PixelSize.largestArea)")
    return nil
  }
}

extension PixelSize {
  fileprivate var area: Int { width * height }
}

extension Int {
  /// A length in pixels times a document's `scale`, which is above 0 and at most 1. Rounded down, or to nearest with
  /// halves away from zero.
  func scaled(by scale: Rational, _ rule: FloatingPointRoundingRule) -> Int {
    let whole = Int128(self) * scale.numerator
    let (quotient, rest) = whole.quotientAndRemainder(dividingBy: scale.denominator)
    let isPastHalf = 2 * rest.magnitude >= scale.denominator.magnitude
    let correction: Int128 = rule == .down ? (rest < 0 ? -1 : 0) : isPastHalf ? rest.signum() : 0
    return Int(quotient + correction)
  }
}

extension ColourTags {
  /// The name of a transfer function for a high dynamic range; nil for others.
  var highDynamicRange: String? {
    switch transfer {
    case "smpte2084": "HDR (PQ)"
    case "arib-std-b67": "HDR (HLG)"
    default: nil
    }
  }
}

extension PixelFormat {
  /// The format that stores a decoded picture with the least change, by libavutil's name of the picture's format.
  fileprivate init(nearest video: VideoFormat) {
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
