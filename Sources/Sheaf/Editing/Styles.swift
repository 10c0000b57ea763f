import CompositionModel
import EditDocument

// The model's own types as values of a document: colours, filters, masks, the styles of transitions, compositors.

extension Color: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let text = try value.text
    guard text.hasPrefix("#"), text.utf8.count == 7 || text.utf8.count == 9, text.dropFirst().allSatisfy(\.isHexDigit),
      let number = UInt32(text.dropFirst(), radix: 16)
    else { throw value.problem("\(value.shown) should be a colour: \"#rrggbb\" or \"#rrggbbaa\"") }
    let bits = text.utf8.count == 7 ? number << 8 | 0xFF : number
    self.init(
      red: UInt8(bits >> 24), green: UInt8(bits >> 16 & 0xFF), blue: UInt8(bits >> 8 & 0xFF), alpha: UInt8(bits & 0xFF))
  }

  func written() throws(DocumentError) -> JSONValue {
    let parts = alpha == 255 ? [red, green, blue] : [red, green, blue, alpha]
    return .text("#" + parts.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
  }
}

extension Filter<RampList>: DocumentValue, WritableValue {
  init(_ value: JSONValue) throws(DocumentError) {
    guard let written = try value.members.first(where: { $0.key == "kind" })?.value else {
      throw value.problem("a filter of an edit needs 'kind'")
    }
    let kind: FilterKind = try written.choice("kind of filter")
    let own = kind == .chromaKey ? ["color"] : kind == .lut ? ["asset"] : []
    let fields = try value.fields("a filter '\(kind.rawValue)'", ["kind"] + own + kind.parameters.map(\.key))
    var values: [RampList] = []
    for parameter in kind.parameters {
      if let written = fields[parameter.key] {
        values.append(try Self.parameter(written))
      } else if let standard = parameter.standard {
        values.append(try Self.parameter(.number(standard)))
      } else {
        _ = try fields.required(parameter.key)
      }
    }
    self.init(
      kind, values, color: kind == .chromaKey ? try Color(fields.required("color")) : nil,
      table: kind == .lut ? try fields.required("asset").text : nil)
  }

  private static func parameter(_ value: JSONValue) throws(DocumentError) -> RampList {
    if case .array = value.content { return try RampList(value, "value") }
    return try .constant(value, "value")
  }

  func written() throws(DocumentError) -> JSONValue {
    var members: [(String, JSONValue?)] = [("kind", .text(kind.rawValue)), ("asset", table.map { .text($0) })]
    if case .chromaKey(let color, _, _, _) = self { members.append(("color", try color.written())) }
    for (parameter, list) in zip(kind.parameters, values) {
      members.append((parameter.key, list.constant.map { .number($0) } ?? .array(list.written("value"))))
    }
    return .object(members)
  }
}

extension LayerMask: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields("a mask", ["image", "track", "channel", "invert"])
    let source: Source
    switch (try fields.text("image"), try fields.text("track")) {
    case (let image?, nil): source = .image(image)
    case (nil, let track?): source = .track(track)
    default: throw value.problem("a mask of an edit needs 'image' or 'track'")
    }
    self.init(
      source, channel: try fields.choice("channel", "channel") ?? .alpha, isInverted: try fields.flag("invert") ?? false
    )
  }

  func written() throws(DocumentError) -> JSONValue {
    var source: (String, JSONValue?)
    switch self.source {
    case .image(let image): source = ("image", .text(image))
    case .track(let track): source = ("track", .text(track))
    }
    return .object([
      source, ("channel", channel == .alpha ? nil : .text(channel.rawValue)),
      ("invert", isInverted ? .flag(true) : nil),
    ])
  }
}

extension CustomCompositor: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    try self.init(value.fields("a compositor", ["name", "parameters", "metadata"]))
  }

  fileprivate init(_ fields: DocumentFields) throws(DocumentError) {
    self.init(
      name: try fields.required("name").text, parameters: fields["parameters"]?.canonicalText ?? "{}",
      metadata: try fields.read("metadata") { (value) throws(DocumentError) in
        try value.list { (item) throws(DocumentError) in try item.text }
      })
  }

  func written() throws(DocumentError) -> JSONValue { .object(try members()) }

  fileprivate func members() throws(DocumentError) -> [(String, JSONValue?)] {
    do {
      let value = try JSONReader.read(Array(parameters.utf8)).value
      return [
        ("name", .text(name)), ("parameters", parameters == "{}" ? nil : value),
        ("metadata", metadata.map { .array($0.map { .text($0) }) }),
      ]
    } catch {
      let message = "the parameters of the compositor '\(name)' are not JSON: \(error.message)"
      throw DocumentError(problems: [Problem(pointer: "", message: message)])
    }
  }
}

extension TransitionStyle {
  /// Those of a document, without the matte.
  static let keys = [
    "kind", "direction", "color", "center", "softness", "matte", "invert", "name", "parameters", "metadata", "easing",
  ]

  init(_ fields: DocumentFields) throws(DocumentError) {
    let name: TransitionKind.Name = try fields.choice("kind", "kind of transition") ?? .dissolve
    let softness = try fields.number("softness") ?? 0
    let kind: TransitionKind
    switch name {
    case .dissolve: kind = .dissolve
    case .fade:
      kind = .fade(
        through: try fields.read("color") { (value) throws(DocumentError) in try Color(value) } ?? .black)
    case .wipe: kind = .wipe(try fields.choice("direction", "direction") ?? .left, softness: softness)
    case .slide: kind = .slide(try fields.choice("direction", "direction") ?? .left)
    case .push: kind = .push(try fields.choice("direction", "direction") ?? .left)
    case .circle:
      let center = try fields["center"]?.items(2, "a point, [x, y]")
      kind = .circle(x: try center?[0].number ?? 0.5, y: try center?[1].number ?? 0.5, softness: softness)
    case .luma: kind = .luma(softness: softness, isInverted: try fields.flag("invert") ?? false)
    case .custom: kind = .custom(try CustomCompositor(fields))
    }
    self.init(
      kind, easing: try fields.read("easing") { (value) throws(DocumentError) in try Easing(value) } ?? .linear)
  }

  func members() throws(DocumentError) -> [(String, JSONValue?)] {
    let own: [(String, JSONValue?)]
    switch kind {
    case .dissolve: own = []
    case .fade(let color): own = [("color", try color.written())]
    case .wipe(let direction, let softness):
      own = [("direction", .text(direction.rawValue)), ("softness", .number(softness))]
    case .slide(let direction), .push(let direction): own = [("direction", .text(direction.rawValue))]
    case .circle(let x, let y, let softness):
      own = [("center", .numbers([x, y])), ("softness", .number(softness))]
    case .luma(let softness, let isInverted):
      own = [("softness", .number(softness)), ("invert", isInverted ? .flag(true) : nil)]
    case .custom(let compositor): own = try compositor.members()
    }
    return [("kind", .text(kind.name.rawValue)), ("easing", easing == .linear ? nil : easing.written)] + own
  }
}
