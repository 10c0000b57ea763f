public import CompositionModel
import EditDocument

extension VideoComposition {
  /// A picture, a video or a text that is drawn over the composited frame: what AVFoundation's
  /// `AVVideoCompositionCoreAnimationTool` is used for. Its ramps count from its own start.
  public struct Overlay: Sendable, Hashable {
    /// A length in pixels of the frame, or in hundredths of its width or height.
    public enum Length: Sendable, Hashable {
      case pixels(Int)
      case percent(Double)
    }

    public enum Content: Sendable, Hashable {
      /// A picture, or an animated one that plays again and again. If one of width and height is nil, it follows from
      /// the other; if both are, the picture has its own size.
      case image(AssetID, width: Length? = nil, height: Length? = nil)
      /// A video that plays `loop` times, nil for as long as it is shown. `use` is the part that plays; nil: all of it.
      case video(AssetID, use: MediaTimeRange? = nil, width: Length? = nil, height: Length? = nil, loop: Int? = 1)
      case text(StyledText)
      /// The values of a metadata track in the style of a text, whose own `text` is empty. Numbers are rounded to
      /// `decimals` of them, at most 6. Where the track has no value nothing is drawn.
      case metadata(
        TrackID, StyledText, decimals: Int = 0, rounding: NumberRounding = .nearest, prefix: String = "",
        suffix: String = "")
    }

    public enum Place: Sendable, Hashable {
      /// At an edge, in a corner or in the centre, `inset` away from those edges.
      case anchor(Anchor, inset: Length = .pixels(0))
      /// The same, `x` away from the left or the right edge, and `y` from the top or the bottom edge.
      case anchorInsets(Anchor, x: Length, y: Length)
      /// With its top left corner at a point.
      case point(x: Length, y: Length)
    }

    public typealias Anchor = CompositionModel.Anchor
    /// How numbers of a metadata track are rounded.
    public typealias NumberRounding = EditDocument.NumberRounding
    /// How the colours of a picture with alpha are stored.
    public typealias AlphaMode = CompositionModel.AlphaMode

    public var content: Content
    /// On the composition's timeline. Nil: the whole film.
    public var timeRange: MediaTimeRange?
    public var place: Place
    /// 0…1. It is multiplied by the value of `opacityRamps`.
    public var opacity: Double
    public var opacityRamps: RampList
    /// The metadata track whose numbers, 0…1, are the opacity, in place of `opacity` and its ramps. Where it has no
    /// value nothing is drawn. Nil: none.
    public var opacityTrack: TrackID?
    /// The metadata track whose numbers are degrees clockwise about the overlay's centre, in place of `transform`.
    /// Where it has no value the last one stays. Nil: none.
    public var rotationTrack: TrackID?
    /// In square pixels of the upright picture.
    public var crop: ValueRampList<Rectangle>?
    /// By its parts, about the overlay's own place.
    public var transform: ValueRampList<Turn>?
    public var filters: [Filter]
    /// Nil: straight.
    public var alpha: AlphaMode?
    /// Nil: drawn over what is below.
    public var blendMode: BlendMode?

    public init(
      _ content: Content, timeRange: MediaTimeRange? = nil, place: Place = .anchor(.center), opacity: Double = 1
    ) {
      self.content = content
      self.timeRange = timeRange
      self.place = place
      self.opacity = opacity
      opacityRamps = .one
      filters = []
    }
  }
}

extension VideoComposition.Overlay: DocumentValue {
  private static let common = [
    "over", "anchor", "inset", "x", "y", "crop", "transform", "rotate", "opacity", "blendMode", "filters", "ramps",
    "alpha",
  ]
  private static let keysOfText = [
    "text", "font", "bold", "italic", "size", "color", "align", "width", "outline", "shadow", "box", "lineSpacing",
    "letterSpacing",
  ]

  init(_ value: JSONValue) throws(DocumentError) {
    let members = try value.members
    func has(_ key: String) -> Bool { members.contains { $0.key == key } }
    let own =
      has("text")
      ? Self.keysOfText : has("video") ? ["video", "use", "width", "height", "loop"] : ["image", "width", "height"]
    let fields = try value.fields("an overlay", own + Self.common)
    let (width, height) = (
      try fields.read("width") { (value) throws(DocumentError) in try Length(value) },
      try fields.read("height") { (value) throws(DocumentError) in try Length(value) }
    )
    let content: Content
    if has("text") {
      content = try Self.text(fields)
    } else if has("video") {
      var loop: Int? = 1
      if let value = fields["loop"] {
        if case .boolean(let isForever) = value.content { loop = isForever ? nil : 1 } else { loop = try value.integer }
      }
      content = .video(
        try fields.required("video").text,
        use: try fields.read("use") { (value) throws(DocumentError) in try value.range }, width: width, height: height,
        loop: loop)
    } else {
      content = .image(try fields.required("image").text, width: width, height: height)
    }
    self.init(
      content, timeRange: try fields.read("over") { (value) throws(DocumentError) in try value.range },
      place: try Place(fields))
    if let value = fields["opacity"] {
      if case .object = value.content { opacityTrack = try Self.track(value) } else { opacity = try value.number }
    }
    rotationTrack = try fields.read("rotate") { (value) throws(DocumentError) in try Self.track(value) }
    let geometry = try WrittenGeometry(fields)
    (opacityRamps, crop) = (geometry.opacity, geometry.crop)
    switch geometry.transform {
    case .turn(let turns): transform = turns
    case .matrix: throw value.problem("the transform of an overlay is an object such as {\"rotate\": 90}")
    case nil: break
    }
    filters = try fields.list("filters")
    alpha = try fields.choice("alpha", "alpha")
    blendMode = try fields.choice("blendMode", "blend mode")
  }

  /// The track of a number that comes from one.
  private static func track(_ value: JSONValue) throws(DocumentError) -> TrackID {
    try value.fields("a number of a metadata track", ["track"]).required("track").text
  }

  private static func text(_ fields: DocumentFields) throws(DocumentError) -> Content {
    let written = try fields.required("text")
    guard case .object = written.content else { return .text(try StyledText(try written.text, fields)) }
    let source = try written.fields(
      "a text of a metadata track", ["track", "decimals", "rounding", "prefix", "suffix"])
    return .metadata(
      try source.required("track").text, try StyledText("", fields), decimals: try source.integer("decimals") ?? 0,
      rounding: try source.choice("rounding", "rounding") ?? .nearest, prefix: try source.text("prefix") ?? "",
      suffix: try source.text("suffix") ?? "")
  }

  func written() throws(DocumentError) -> JSONValue {
    func number(_ track: TrackID?) -> JSONValue? { track.map { .object([("track", .text($0))]) } }
    let geometry = LayerGeometry(crop: crop, transform: transform.map { .turn($0) })
    return .object(
      (try contentMembers()) + (try place.members()) + [
        ("over", timeRange.map { .range($0) }),
        try JSONValue.member("opacity") { () throws(DocumentError) in
          guard opacityTrack == nil || opacity == 1 else {
            let message = "an overlay has the opacity \(opacity) or that of the track '\(opacityTrack ?? "")', not both"
            throw DocumentError(problems: [Problem(pointer: "", message: message)])
          }
          return number(opacityTrack) ?? (opacity == 1 ? nil : .number(opacity))
        }, ("rotate", number(rotationTrack)),
        try JSONValue.member("filters", filters), ("alpha", alpha.map { .text($0.rawValue) }),
        ("blendMode", blendMode.map { .text($0.rawValue) }),
      ] + (try WrittenGeometry(opacity: opacityRamps, geometry: geometry).written()))
  }

  /// Changes the style of a text overlay.
  mutating func changeText(_ change: (inout StyledText) -> Void) {
    switch content {
    case .text(var text):
      change(&text)
      content = .text(text)
    case .metadata(let track, var style, let decimals, let rounding, let prefix, let suffix):
      change(&style)
      content = .metadata(
        track, style, decimals: decimals, rounding: rounding, prefix: prefix, suffix: suffix)
    case .image, .video: break
    }
  }

  private func contentMembers() throws(DocumentError) -> [(String, JSONValue?)] {
    switch content {
    case .image(let asset, let width, let height):
      [("image", .text(asset))] + (try Length.members(width, height))
    case .video(let asset, let use, let width, let height, let loop):
      [
        ("video", .text(asset)), ("use", use.map { .range($0) }),
        ("loop", loop == 1 ? nil : loop.map { .integer($0) } ?? .flag(true)),
      ] + (try Length.members(width, height))
    case .text(let text): try text.members(.text(text.text))
    // The text of the style has no place in a document.
    case .metadata(_, let style, _, _, _, _) where !style.text.isEmpty:
      throw DocumentError(
        problems: [
          Problem(
            pointer: "",
            message: "the style of a metadata track's overlay has the text \"\(style.text)\"; it must be empty")
        ])
    case .metadata(let track, let style, let decimals, let rounding, let prefix, let suffix):
      try style.members(
        .object([
          ("track", .text(track)), ("decimals", decimals == 0 ? nil : .integer(decimals)),
          ("rounding", rounding == .nearest ? nil : .text(rounding.rawValue)),
          ("prefix", prefix.isEmpty ? nil : .text(prefix)), ("suffix", suffix.isEmpty ? nil : .text(suffix)),
        ]))
    }
  }
}

extension VideoComposition.Overlay.Length: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    guard case .string(let text) = value.content else {
      self = .pixels(try value.integer)
      return
    }
    guard text.hasSuffix("%"), let percent = Double(text.dropLast()) else {
      throw value.problem("\(value.shown) should be a whole number of pixels, or per cent such as \"50%\"")
    }
    self = .percent(percent)
  }

  func written() throws(DocumentError) -> JSONValue {
    switch self {
    case .pixels(let pixels): .integer(pixels)
    case .percent(let percent): .text("\(percent)%")
    }
  }

  fileprivate static func members(_ width: Self?, _ height: Self?) throws(DocumentError) -> [(String, JSONValue?)] {
    [("width", try width?.written()), ("height", try height?.written())]
  }
}

extension VideoComposition.Overlay.Place {
  fileprivate init(_ fields: DocumentFields) throws(DocumentError) {
    typealias Length = VideoComposition.Overlay.Length
    func length(_ key: String) throws(DocumentError) -> Length {
      try fields.read(key) { (value) throws(DocumentError) in try Length(value) } ?? .pixels(0)
    }
    if fields["x"] != nil || fields["y"] != nil {
      self = .point(x: try length("x"), y: try length("y"))
    } else if case .array(let items)? = fields["inset"]?.content, items.count == 2 {
      self = .anchorInsets(
        try fields.choice("anchor", "anchor") ?? .center, x: try Length(items[0]), y: try Length(items[1]))
    } else {
      self = .anchor(try fields.choice("anchor", "anchor") ?? .center, inset: try length("inset"))
    }
  }

  fileprivate func members() throws(DocumentError) -> [(String, JSONValue?)] {
    switch self {
    case .anchor(let anchor, let inset): [("anchor", .text(anchor.rawValue)), ("inset", try inset.written())]
    case .anchorInsets(let anchor, let x, let y):
      [("anchor", .text(anchor.rawValue)), ("inset", .array([try x.written(), try y.written()]))]
    case .point(let x, let y): [("x", try x.written()), ("y", try y.written())]
    }
  }
}

extension StyledText {
  fileprivate init(_ text: String, _ fields: DocumentFields) throws(DocumentError) {
    func color(_ fields: DocumentFields, _ standard: CompositionModel.Color) throws(DocumentError)
      -> CompositionModel.Color
    {
      try fields.read("color") { (value) throws(DocumentError) in try Color(value) } ?? standard
    }
    self.init(
      text: text, isBold: try fields.flag("bold") ?? false,
      isItalic: try fields.flag("italic") ?? false, size: try fields.required("size").number,
      color: try color(fields, .white), alignment: try fields.choice("align", "alignment") ?? .center,
      width: try fields.integer("width"), lineSpacing: try fields.number("lineSpacing"),
      letterSpacing: try fields.number("letterSpacing"))
    if let font = try fields.text("font") { self.font = font }
    if let outline = try fields["outline"]?.fields("an outline", ["width", "color"]) {
      self.outline = TextOutline(width: try outline.required("width").number, color: try color(outline, .black))
    }
    if let shadow = try fields["shadow"]?.fields("a shadow", ["x", "y", "blur", "color"]) {
      let standard = TextShadow()
      self.shadow = TextShadow(
        x: try shadow.integer("x") ?? standard.x, y: try shadow.integer("y") ?? standard.y,
        blur: try shadow.number("blur") ?? standard.blur, color: try color(shadow, standard.color))
    }
    if let box = try fields["box"]?.fields("a box", ["color", "padding", "radius"]) {
      let standard = TextBox()
      self.box = TextBox(
        color: try color(box, standard.color), padding: try box.integer("padding") ?? standard.padding,
        radius: try box.integer("radius") ?? standard.radius)
    }
  }

  fileprivate func members(_ text: JSONValue) throws(DocumentError) -> [(String, JSONValue?)] {
    [
      ("text", text), ("font", .text(fontFile ?? font)), ("bold", isBold ? .flag(true) : nil),
      ("italic", isItalic ? .flag(true) : nil), ("size", .number(size)), ("color", try color.written()),
      ("align", .text(alignment.rawValue)), ("width", width.map { .integer($0) }),
      ("lineSpacing", lineSpacing.map { .number($0) }), ("letterSpacing", letterSpacing.map { .number($0) }),
      (
        "outline",
        try outline.written { (outline) throws(DocumentError) in
          .object([("width", .number(outline.width)), ("color", try outline.color.written())])
        }
      ),
      (
        "shadow",
        try shadow.written { (shadow) throws(DocumentError) in
          .object([
            ("x", .integer(shadow.x)), ("y", .integer(shadow.y)), ("blur", .number(shadow.blur)),
            ("color", try shadow.color.written()),
          ])
        }
      ),
      (
        "box",
        try box.written { (box) throws(DocumentError) in
          .object([
            ("color", try box.color.written()), ("padding", .integer(box.padding)), ("radius", .integer(box.radius)),
          ])
        }
      ),
    ]
  }
}
