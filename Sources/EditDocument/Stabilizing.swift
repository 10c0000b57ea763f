import CompositionModel

extension Document {
  /// How the movements of a camera that shakes are evened out.
  public struct Stabilize: Hashable, Sendable {
    /// Movements that take less time are evened out, 1/10 to 10 s. Nil: 1 s.
    public var smoothing: Time?
    /// How much the pictures are enlarged, so that their edges are not seen, 1.01 to 2. Nil: as little as is needed.
    public var zoom: Double?

    public init(smoothing: Time? = nil, zoom: Double? = nil) {
      self.smoothing = smoothing
      self.zoom = zoom
    }
  }
}

/// `stabilize` of a clip.
enum StabilizeKeys {
  static let smoothing = Key(
    "smoothing", .time, default: "1", "movements that take less time are evened out; 1/10 to 10 s")
  static let zoom = Key(
    "zoom", .number(Stabilization.zooms), default: "as little as is needed",
    "how much the pictures are enlarged, so that their edges are not seen")

  static let properties: [Property<Document.Stabilize>] = [smoothing.of(\.smoothing), zoom.of(\.zoom)]
  static let table = ObjectTable(
    name: "stabilize", noun: "the stabilizing of a clip", keys: Array(properties),
    instead: [
      "strength": "did you mean 'smoothing', seconds?", "amount": "did you mean 'smoothing', seconds?",
      "crop": "did you mean 'zoom'?", "scale": "did you mean 'zoom'?",
    ])
  static let form = Form<Document.Stabilize>(
    "`true`, or object", .any(["type": "boolean"], table.reference)
  ) { $0.stabilize($1) }
}

extension Document.Stabilize {
  /// `true` if nothing else is said, or an object.
  var json: JSONValue { self == Document.Stabilize() ? .boolean(true) : .object(self, StabilizeKeys.properties) }
}

extension DocumentReader {
  /// `true`, an object, or `false`, which is nil.
  fileprivate mutating func stabilize(_ value: JSONValue) -> Document.Stabilize? {
    switch value.content {
    case .boolean(let isOn): return isOn ? Document.Stabilize() : nil
    case .object:
      let found = problems.count
      guard let fields = fields(value, StabilizeKeys.table) else { return nil }
      var stabilize = Document.Stabilize()
      read(fields, StabilizeKeys.properties, into: &stabilize)
      return problems.count == found ? stabilize : nil
    default:
      problems.addShape(value.pointer, "\(value.shown) should be true, or an object with 'smoothing' and 'zoom'")
      return nil
    }
  }
}

extension Lowering {
  /// How a clip is stabilized. Nil: it is not; and a problem if it cannot be.
  mutating func stabilization(
    _ entry: ClipEntry, of asset: AssetDescription, _ id: AssetID
  ) -> Stabilization? {
    guard let written = entry.stabilize else { return nil }
    let pointer = entry.pointer.key("stabilize")
    var stabilization = Stabilization(zoom: written.zoom)
    if let smoothing = written.smoothing {
      let place = pointer.key("smoothing")
      guard let length = resolve(smoothing, at: place, on: .own(end: nil, "the clip")) else { return nil }
      guard Stabilization.lengths.contains(length) else {
        let (least, most) = (Stabilization.lengths.lowerBound, Stabilization.lengths.upperBound)
        problems.add(place, "\(length) s is out of range: \(least) to \(most) s")
        return nil
      }
      stabilization.smoothing = length
    }
    if nested[id] != nil {
      problems.add(pointer, "'\(id.shortened)' is a document: stabilize the clips in it")
      return nil
    }
    guard let video = asset.defaultTrack(.video)?.video else { return nil }
    if video.isStill || entry.written.freeze != nil {
      problems.add(pointer, "a still picture does not shake")
      return nil
    }
    if video.hasAlpha {
      problems.add(pointer, "'\(id.shortened)' has transparent pictures, which no camera has taken")
      return nil
    }
    let shown = video.cleanAperture?.size ?? video.size
    if min(shown.width, shown.height) < Stabilization.shortestSide {
      problems.add(
        pointer,
        "'\(id.shortened)' has \(shown.width)x\(shown.height) pixels, and movements are found in pictures of at least "
          + "\(Stabilization.shortestSide)x\(Stabilization.shortestSide)")
      return nil
    }
    return stabilization
  }
}
