import CompositionModel

/// Where a clip, a layer or an overlay is drawn: `crop`, `frame` and `transform`, each with its ramps.
struct GeometryEntry: Sendable {
  var crop: Document.Rectangle?
  var frame: Document.Rectangle?
  var transform: Document.Transform?
  var cropRamps: [WrittenRamp<Document.Rectangle>] = []
  var frameRamps: [WrittenRamp<Document.Rectangle>] = []
  var transformRamps: [WrittenRamp<Document.Transform>] = []

  init(
    crop: Document.Rectangle?, frame: Document.Rectangle?, transform: Document.Transform?, ramps: [Document.LayerRamp]
  ) {
    (self.crop, self.frame, self.transform) = (crop, frame, transform)
    cropRamps = ramps.compactMap { WrittenRamp($0, $0.crop) }
    frameRamps = ramps.compactMap { WrittenRamp($0, $0.frame) }
    transformRamps = ramps.compactMap { WrittenRamp($0, $0.transform) }
  }

  static let keys = ["crop", "frame", "transform"]
  static let insteadInTransform = [
    "rotation": "did you mean 'rotate'?", "angle": "did you mean 'rotate'?", "position": "did you mean 'translate'?",
    "translation": "did you mean 'translate'?", "x": "did you mean 'translate', [x, y]?",
    "y": "did you mean 'translate', [x, y]?", "zoom": "did you mean 'scale'?", "origin": "did you mean 'anchor'?",
  ]

  /// The keys that are written, as themselves or in ramps.
  var used: [String] {
    zip(
      GeometryEntry.keys,
      [
        crop != nil || !cropRamps.isEmpty, frame != nil || !frameRamps.isEmpty,
        transform != nil || !transformRamps.isEmpty,
      ]
    ).filter(\.1).map(\.0)
  }

  /// Pixels from an edge, and pixels of a side.
  static let offsets = -65536.0...65536
  /// Per cent of a side.
  static let percents = -1000.0...1000
  /// Degrees: a hundred turns each way.
  static let rotations = -36000.0...36000
  /// How many times larger a picture is made; a negative number mirrors it as well.
  static let scales = 0.001...100.0
  /// The first four numbers of a matrix, and the last two.
  static let factors = -1000.0...1000
  static let translations = -1_000_000.0...1_000_000
}

/// A ramp of one value of a layer.
struct WrittenRamp<Value: Hashable & Sendable>: Sendable {
  var place: Document.When
  var change: Document.Change<Value>
  var easing: Easing?
  var course: Document.Course
  var pointer: JSONPointer

  /// Nil: the ramp does not change the value.
  init?(_ ramp: Document.LayerRamp, _ change: Document.Change<Value>?) {
    guard let change else { return nil }
    (place, self.change, easing, course, pointer) = (ramp.when, change, ramp.easing, ramp.course, ramp.pointer)
  }
}

extension [Document.LayerRamp] {
  /// Those of the opacity.
  var opacity: [Document.Ramp] {
    compactMap { ramp in
      ramp.opacity.map {
        Document.Ramp(
          DocumentReader.RampTime(when: ramp.when, easing: ramp.easing, course: ramp.course), $0, pointer: ramp.pointer)
      }
    }
  }
}

// MARK: Reading

extension DocumentReader {
  /// Reads the ramps of a clip, a layer or an overlay. Those whose time cannot be used are left out.
  /// - Parameter table: That of the ramps, which has those of `GeometryEntry.keys` that they can have.
  mutating func layerRamps(
    _ value: JSONValue, _ table: ObjectTable, _ scope: TimeScope
  ) -> [Document.LayerRamp] {
    items(value, "ramps").compactMap { layerRamp($0, table, scope) }
  }

  private mutating func layerRamp(
    _ value: JSONValue, _ table: ObjectTable, _ scope: TimeScope
  ) -> Document.LayerRamp? {
    let quantity = RampQuantity.opacity
    let keys = table.keyNames
    guard let fields = fields(value, table), ([quantity.key] + GeometryEntry.keys).contains(where: fields.has) else {
      return nil
    }
    let time = rampTime(fields, scope)
    let opacity = rampNumbers(fields, of: quantity)
    let rectangles = ["crop", "frame"].map { key in
      keys.contains(key)
        ? rampValues(fields, key, example: "[[0, 0, 640, 360], [320, 180, 640, 360]]") { $0.rectangle($1) } : nil
    }
    let transform = rampValues(fields, "transform", example: #"[{"rotate": 0}, {"rotate": 90}]"#) {
      $0.transform($1)
    }
    guard let time else { return nil }
    var ramp = Document.LayerRamp(when: time.when, easing: time.easing)
    ramp.pointer = fields.pointer
    ramp.course = time.course
    (ramp.opacity, ramp.transform, ramp.crop, ramp.frame) = (opacity, transform, rectangles[0], rectangles[1])
    return ramp
  }

  /// Reports matrices beside what they take the place of, and transforms of both forms.
  mutating func checkTransforms(_ entry: GeometryEntry, _ fields: Fields) {
    var written = entry.transform.map { [($0, fields.pointer.key("transform"))] } ?? []
    for ramp in entry.transformRamps {
      let pointer = ramp.pointer.key("transform")
      written += ramp.change.values.map { ($0, pointer) }
    }
    guard let first = written.first else { return }
    for (transform, pointer) in written where transform.isMatrix != first.0.isMatrix {
      problems.add(pointer, "the transforms of a layer are all matrices, or all objects such as {\"rotate\": 90}")
      return
    }
    guard first.0.isMatrix else { return }
    for key in ["fit", "frame"] where key == "fit" ? fields.has(key) : entry.used.contains(key) {
      problems.add(
        fields.has(key) ? fields.pointer.key(key) : fields.pointer,
        "a matrix puts the picture itself into the film and takes the place of '\(key)'; write one of them, not both")
    }
  }

  /// `[x, y, width, height]`.
  mutating func rectangle(_ value: JSONValue) -> Document.Rectangle? {
    guard case .array(let items) = value.content, items.count == 4 else {
      problems.addShape(
        value.pointer,
        "\(value.shown) should be a rectangle: [x, y, width, height] in pixels, or in per cent such as \"50%\"")
      return nil
    }
    let (x, y) = (length(items[0]), length(items[1]))
    let (width, height) = (side(items[2]), side(items[3]))
    guard let x, let y, let width, let height else { return nil }
    return Document.Rectangle(x: x, y: y, width: width, height: height)
  }

  private mutating func side(_ value: JSONValue) -> Document.Length? {
    guard let side = length(value) else { return nil }
    if side.pixels > 0 || side.fraction > 0 { return side }
    problems.addShape(value.pointer, "\(value.shown) should be above 0: it is a side of a rectangle")
    return nil
  }

  /// Pixels, or per cent in a string.
  private mutating func length(_ value: JSONValue) -> Document.Length? {
    guard case .string(let text) = value.content else {
      return number(value, in: GeometryEntry.offsets).map { .pixels($0) }
    }
    if let percent = percent(text, in: GeometryEntry.percents) { return .percent(percent) }
    let message = "\(value.shown) should be a number of pixels, or per cent from \"-1000%\" to \"1000%\""
    if percent(text, in: -.infinity ... .infinity) == nil {
      problems.addShape(value.pointer, message)
    } else {
      problems.add(value.pointer, message)
    }
    return nil
  }

  /// The number of a text such as `12.5%`. Nil if it is another text, or outside the range.
  func percent(_ text: String, in range: ClosedRange<Double>) -> Double? {
    let digits = text.dropLast()
    guard text.hasSuffix("%"), text.last(where: \.isLetter) == nil, (try? exactDecimal(digits)) ?? nil != nil,
      let number = Double(digits), range.contains(number)
    else { return nil }
    return number == 0 ? 0 : number
  }

  mutating func transform(_ value: JSONValue) -> Document.Transform? {
    if case .array(let items) = value.content { return matrix(value, items) }
    guard case .object = value.content else {
      problems.addShape(
        value.pointer,
        "\(value.shown) should be a transform: a matrix [a, b, c, d, tx, ty], or an object with "
          + list(TransformKeys.table.keyNames))
      return nil
    }
    let found = problems.count
    guard let fields = fields(value, TransformKeys.table) else { return nil }
    var parts = Document.TransformParts()
    read(fields, TransformKeys.properties, into: &parts)
    return problems.count == found ? .parts(parts) : nil
  }

  /// One factor, or those across and down.
  mutating func scale(_ value: JSONValue) -> Document.TransformParts.Scale? {
    if case .array(let items) = value.content, items.count == 2 {
      return Document.TransformParts.Scale(x: factor(items[0]), y: factor(items[1]))
    }
    return Document.TransformParts.Scale(factor(value))
  }

  mutating func point(_ value: JSONValue, _ noun: String) -> Document.Point? {
    guard case .array(let items) = value.content, items.count == 2 else {
      problems.addShape(value.pointer, "\(value.shown) should be \(noun), in pixels or per cent")
      return nil
    }
    let (x, y) = (length(items[0]), length(items[1]))
    guard let x, let y else { return nil }
    return Document.Point(x: x, y: y)
  }

  mutating func blendMode(_ value: JSONValue) -> Document.Blending? {
    choice(value, "blend mode", among: [BlendMode.normal] + BlendMode.allCases.map(\.rawValue))
      .map { BlendMode(rawValue: $0).map { .mode($0) } ?? .normal }
  }

  private mutating func factor(_ value: JSONValue) -> Double {
    let scales = GeometryEntry.scales
    if case .number(let text) = value.content, let number = Double(text), scales.contains(abs(number)) {
      return number
    }
    problems.addShape(
      value.pointer,
      "\(value.shown) should be a number from \(plain(scales.lowerBound)) to \(plain(scales.upperBound)), or its negative, "
        + "which mirrors")
    return 1
  }

  private mutating func matrix(_ value: JSONValue, _ items: [JSONValue]) -> Document.Transform? {
    guard items.count == 6 else {
      problems.addShape(value.pointer, "\(value.shown) should be the six numbers of a matrix: [a, b, c, d, tx, ty]")
      return nil
    }
    let numbers = items.enumerated().map { index, item in
      number(item, in: index < 4 ? GeometryEntry.factors : GeometryEntry.translations)
    }
    guard let a = numbers[0], let b = numbers[1], let c = numbers[2], let d = numbers[3], let tx = numbers[4],
      let ty = numbers[5]
    else { return nil }
    let matrix = AffineMatrix(a: a, b: b, c: c, d: d, tx: tx, ty: ty)
    if !matrix.isSingular { return .matrix(matrix) }
    problems.add(
      value.pointer,
      "[\(list([a, b, c, d, tx, ty].map(plain)))] is singular: a·d - b·c is \(plain(matrix.determinant)), so that the "
        + "picture has no area; it must be \(plain(AffineMatrix.leastDeterminant)) at least, or its negative")
    return nil
  }
}

extension Document.Transform {
  var isMatrix: Bool { if case .matrix = self { true } else { false } }
}

// MARK: Lowering

/// The geometry of a clip or a layer with its times known, on the composition's timeline.
struct PlacedGeometry {
  struct Step<Value> {
    var over: MediaTimeRange
    var from: Value
    var to: Value
    var easing: Easing?
    var pointer: JSONPointer
  }

  /// A value that is written without a ramp is set before the film.
  var crop: [Step<Document.Rectangle>] = []
  var frame: [Step<Document.Rectangle>] = []
  var transform: [Step<Document.Transform>] = []

  /// The geometry of pictures of one size.
  fileprivate(set) var resolved: [PixelSize: LayerGeometry] = [:]
}

extension Lowering {
  /// Puts geometry in its time. Nil if there is none, and nil and problems if its ramps cannot be used.
  /// - Parameters:
  ///   - clip: where the clip or the overlay is, on whose own time the ramps are. Nil: they are on the composition's
  ///     timeline.
  ///   - owner: what that is, for messages.
  mutating func placed(
    _ entry: GeometryEntry, within clip: MediaTimeRange?, owner: String = "the clip", at pointer: JSONPointer
  ) -> PlacedGeometry? {
    guard !entry.used.isEmpty else { return nil }
    guard let crop = steps(entry.crop, entry.cropRamps, "crop", within: clip, owner, at: pointer),
      let frame = steps(entry.frame, entry.frameRamps, "frame", within: clip, owner, at: pointer),
      let transform = steps(entry.transform, entry.transformRamps, "transform", within: clip, owner, at: pointer)
    else { return nil }
    return PlacedGeometry(crop: crop, frame: frame, transform: transform)
  }

  private mutating func steps<Value>(
    _ constant: Value?, _ ramps: [WrittenRamp<Value>], _ key: String, within clip: MediaTimeRange?,
    _ owner: String, at pointer: JSONPointer
  ) -> [PlacedGeometry.Step<Value>]? {
    let timeline = clip.map { WrittenTimeline.own(end: $0.duration, owner) } ?? .film
    guard let ordered = ordered(ramps.map { ($0.place, $0.pointer) }, on: timeline) else { return nil }
    let found = problems.count
    var steps: [PlacedGeometry.Step<Value>] = []
    if let constant {
      steps.append(
        PlacedGeometry.Step(
          over: MediaTimeRange(emptyAt: RampList.earliest), from: constant, to: constant, easing: nil,
          pointer: pointer.key(key)))
    }
    for (index, over) in ordered {
      let ramp = ramps[index]
      var place: MediaTimeRange? = over
      if let clip {
        checkPlace(of: over, within: clip, owner: owner, at: ramp.pointer)
        place = exact(at: ramp.pointer) { () throws(TimeError) in try over.shifted(by: clip.start) }
      }
      guard let place else { return nil }
      guard let parts = self.steps(ramp.change, ramp.course, over: place, at: ramp.pointer) else { return nil }
      steps += parts.map {
        PlacedGeometry.Step(
          over: $0.over, from: $0.from, to: $0.to, easing: ramp.easing, pointer: ramp.pointer.key(key))
      }
    }
    return problems.count == found ? steps : nil
  }

  /// The geometry of an asset's pictures in the film. Nil if there is none, and nil and problems if a crop is outside
  /// the picture.
  mutating func geometry(_ placed: inout PlacedGeometry?, of asset: AssetID) -> LayerGeometry? {
    guard let picture = assets[asset]?.defaultTrack(.video)?.video?.presentationSize else { return nil }
    return geometry(&placed, of: picture, named: asset)
  }

  /// - Parameter picture: its size.
  mutating func geometry(
    _ placed: inout PlacedGeometry?, of picture: PixelSize, named asset: AssetID
  ) -> LayerGeometry? {
    guard let frame = frameSize, let steps = placed else { return nil }
    if let known = steps.resolved[picture] { return known }
    let scale = scale.approximate
    var geometry = LayerGeometry()
    if !steps.crop.isEmpty {
      for step in steps.crop { checkCrop(step, asset, picture) }
      geometry.crop = list(steps.crop) { $0.resolved(in: picture, scale: 1) }
    }
    if !steps.frame.isEmpty { geometry.frame = list(steps.frame) { $0.resolved(in: frame, scale: scale) } }
    let matrices = list(steps.transform.compactMap { $0.matrix(scale: scale) }) { $0 }
    let turns = list(steps.transform.compactMap { $0.turn(in: frame, scale: scale) }) { $0 }
    if !matrices.ramps.isEmpty { geometry.transform = .matrix(matrices) }
    if !turns.ramps.isEmpty { geometry.transform = .turn(turns) }
    placed?.resolved[picture] = geometry
    return geometry
  }

  private func list<Written, Value>(
    _ steps: [PlacedGeometry.Step<Written>], _ resolve: (Written) -> Value
  ) -> ValueRampList<Value> {
    ValueRampList(
      steps.map { ValueRamp(over: $0.over, from: resolve($0.from), to: resolve($0.to), easing: $0.easing) })
  }

  private mutating func checkCrop(
    _ step: PlacedGeometry.Step<Document.Rectangle>, _ asset: AssetID, _ picture: PixelSize
  ) {
    for written in [step.from, step.to] {
      let crop = written.resolved(in: picture, scale: 1)
      guard crop.intersection(Rectangle(picture)).isEmpty else { continue }
      problems.add(
        step.pointer,
        "the crop [\(CompositionModel.list([crop.x, crop.y, crop.width, crop.height].map(plain)))] is outside '\(asset)', "
          + "which is \(picture.width)x\(picture.height)")
      return
    }
  }
}

extension PlacedGeometry.Step<Document.Transform> {
  fileprivate func matrix(scale: Double) -> PlacedGeometry.Step<AffineMatrix>? {
    guard case .matrix(let from) = from, case .matrix(let to) = to else { return nil }
    func scaled(_ matrix: AffineMatrix) -> AffineMatrix {
      matrix.then(AffineMatrix(a: scale, b: 0, c: 0, d: scale, tx: 0, ty: 0))
    }
    return PlacedGeometry.Step<AffineMatrix>(
      over: over, from: scaled(from), to: scaled(to), easing: easing, pointer: pointer)
  }

  fileprivate func turn(in frame: PixelSize, scale: Double) -> PlacedGeometry.Step<TransformComponents>? {
    guard case .parts(let from) = from, case .parts(let to) = to else { return nil }
    return PlacedGeometry.Step<TransformComponents>(
      over: over, from: from.resolved(in: frame, scale: scale), to: to.resolved(in: frame, scale: scale),
      easing: easing, pointer: pointer)
  }
}
