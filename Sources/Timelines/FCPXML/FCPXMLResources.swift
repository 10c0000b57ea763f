import CompositionModel

/// The resources of an FCPXML file: the formats, the files and the compound clips, each once.
struct FCPXMLResources {
  private(set) var elements: [XMLNode] = []
  private var formats: [String: String] = [:]
  private var assets: [String: String] = [:]
  private var compounds: [Timeline: String] = [:]

  private mutating func nextID() -> String { "r\(elements.count + 1)" }

  /// - Parameter duration: Of a frame. Nil: of a still picture.
  mutating func format(frameDuration: Rational?, size: PixelSize?) -> String {
    let duration = frameDuration.map { FCPXMLTime.text($0) }
    let key = "\(duration ?? ""),\(size?.width ?? 0)x\(size?.height ?? 0)"
    if let known = formats[key] { return known }
    let id = nextID()
    elements.append(
      XMLNode(
        "format",
        [
          "id": id, "name": duration == nil ? "FFVideoFormatRateUndefined" : nil, "frameDuration": duration,
          "width": size.map { "\($0.width)" }, "height": size.map { "\($0.height)" },
        ]))
    formats[key] = id
    return id
  }

  /// - Parameter hasPicture: Of a file that was not examined.
  mutating func asset(_ reference: MediaReference, isStill: Bool, hasPicture: Bool) throws(TimeError) -> String {
    let facts = reference.facts
    let hasPicture = facts?.hasPicture ?? hasPicture
    let key = "\(reference.path)\n\(hasPicture)"
    if let known = assets[key] { return known }
    var format: String?
    if let facts, facts.hasPicture, facts.isStill || facts.rate.map({ .zero < $0 }) == true {
      let duration = try facts.isStill ? nil : facts.rate.map { rate throws(TimeError) in try .one / rate }
      format = self.format(frameDuration: duration, size: facts.size)
    }
    let hasSound = !isStill && facts?.hasSound ?? true
    let duration = isStill ? .zero : reference.available?.duration
    let id = nextID()
    elements.append(
      XMLNode(
        "asset",
        [
          "id": id, "name": MediaPath.stem(MediaPath.name(of: reference.path)),
          "start": FCPXMLTime.text(isStill ? .zero : reference.available?.start ?? .zero),
          "duration": duration.map { FCPXMLTime.text($0) }, "hasVideo": hasPicture ? "1" : nil, "format": format,
          "hasAudio": hasSound ? "1" : nil,
        ],
        [XMLNode("media-rep", ["kind": "original-media", "src": MediaPath.url(ofPath: reference.path)])]))
    assets[key] = id
    return id
  }

  func compound(_ timeline: Timeline) -> String? { compounds[timeline] }

  mutating func add(_ timeline: Timeline, _ sequence: XMLNode) -> String {
    let id = nextID()
    elements.append(XMLNode("media", ["id": id, "name": timeline.name], [sequence]))
    compounds[timeline] = id
    return id
  }
}

enum FCPXMLTime {
  /// `1001/30000s`, `5s`.
  static func text(_ time: Rational) -> String { "\(time)s" }
}
