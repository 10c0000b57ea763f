import CompositionModel
import EditDocument

extension RampList {
  /// The number that the list always is. Nil for a list that changes, and for one that is set within the film.
  var constant: Double? {
    guard let ramp = ramps.first, ramps.count == 1, ramp.over.isEmpty, ramp.over.start == Self.earliest else {
      return ramps.isEmpty ? 1 : nil
    }
    return ramp.to
  }

  /// Nil for a list without any ramp.
  var level: Document.Level? {
    guard !ramps.isEmpty else { return nil }
    return constant.map { .constant($0) } ?? .ramps(written)
  }

  var written: [Document.Ramp] {
    ramps.map { ramp in
      ramp.over.isEmpty
        ? Document.Ramp(at: .seconds(ramp.over.start), ramp.to)
        : Document.Ramp(over: Document.TimeRange(ramp.over), from: ramp.from, to: ramp.to, easing: ramp.easing)
    }
  }

  /// Nil if a time is in frames, or if a ramp has more than two values or goes more than once.
  init?(_ ramps: [Document.Ramp]) {
    let read = ramps.all { ramp -> Ramp? in
      guard ramp.between.isEmpty, ramp.course == Document.Course() else { return nil }
      return ramp.when.inSeconds.map { Ramp(over: $0, from: ramp.from, to: ramp.to, easing: ramp.easing) }
    }
    guard let read else { return nil }
    self.init(read)
  }

  /// Nil if a time is in frames.
  init?(_ level: Document.Level) {
    switch level {
    case .constant(let number):
      guard let list = try? RampList.constant(number) else { return nil }  // It never fails.
      self = list
    case .ramps(let ramps): self.init(ramps)
    }
  }
}

/// A value of an edit that a ramp of a layer changes.
protocol RampPart: Interpolatable {
  associatedtype Written: Hashable & Sendable
  /// Nil if a length is in per cent.
  init?(_ written: Written)
  func written() throws(DocumentError) -> Written
}

extension Rectangle: RampPart {
  init?(_ written: Document.Rectangle) {
    guard let x = written.x.inPixels, let y = written.y.inPixels, let width = written.width.inPixels,
      let height = written.height.inPixels
    else { return nil }
    self.init(x: x, y: y, width: width, height: height)
  }

  func written() throws(DocumentError) -> Document.Rectangle {
    Document.Rectangle(x: .pixels(x), y: .pixels(y), width: .pixels(width), height: .pixels(height))
  }
}

extension AffineMatrix: RampPart {
  init?(_ written: Document.Transform) {
    guard case .matrix(let matrix) = written else { return nil }
    self = matrix
  }

  func written() throws(DocumentError) -> Document.Transform { .matrix(self) }
}

extension TransformComponents: RampPart {
  init?(_ written: Document.Transform) {
    guard case .parts(let parts) = written, let x = (parts.translate?.x ?? .pixels(0)).inPixels,
      let y = (parts.translate?.y ?? .pixels(0)).inPixels
    else { return nil }
    self.init(
      rotation: parts.rotate ?? 0, scaleX: parts.scale?.x ?? 1, scaleY: parts.scale?.y ?? 1, x: x, y: y,
      anchorX: Coordinate(parts.anchor?.x ?? .percent(50)), anchorY: Coordinate(parts.anchor?.y ?? .percent(50)))
  }

  func written() throws(DocumentError) -> Document.Transform {
    .parts(
      Document.TransformParts(
        rotate: rotation, scale: .init(x: scaleX, y: scaleY), translate: .init(x: .pixels(x), y: .pixels(y)),
        anchor: .init(x: try anchorX.written(), y: try anchorY.written())))
  }
}

extension TransformComponents.Coordinate {
  fileprivate init(_ length: Document.Length) {
    switch length {
    case .pixels(let pixels): self.init(fraction: 0, pixels: pixels)
    case .percent(let percent): self.init(fraction: percent / 100, pixels: 0)
    }
  }

  fileprivate func written() throws(DocumentError) -> Document.Length {
    guard fraction != 0 else { return .pixels(pixels) }
    guard pixels == 0, fraction.isFinite else {
      throw DocumentError("", "an anchor is \(fraction) of a side and \(pixels) pixels; a document has one of them")
    }
    // A document has hundredths. Of the neighbours, the one that is read as the same fraction, if there is one.
    let percent = fraction * 100
    return .percent([percent, percent.nextUp, percent.nextDown].first { $0 / 100 == fraction } ?? percent)
  }
}

extension Document.Length {
  /// Nil for per cent.
  fileprivate var inPixels: Double? { if case .pixels(let pixels) = self { pixels } else { nil } }
}

extension ValueRampList where Value: RampPart {
  /// The value before the film, which a document has without a ramp.
  fileprivate var first: Value? {
    guard let ramp = ramps.first, ramp.over.isEmpty, ramp.over.start == RampList.earliest else { return nil }
    return ramp.to
  }

  fileprivate func firstWritten() throws(DocumentError) -> Value.Written? {
    guard let first else { return nil }
    return try first.written()
  }

  /// All ramps but that of `first`.
  fileprivate func ramps(
    _ path: WritableKeyPath<Document.LayerRamp, Document.Change<Value.Written>?>
  ) throws(DocumentError) -> [Document.LayerRamp] {
    var written: [Document.LayerRamp] = []
    for ramp in ramps.dropFirst(first == nil ? 0 : 1) {
      var layer = Document.LayerRamp(ramp.over, ramp.easing)
      layer[keyPath: path] = Document.Change(from: try ramp.from.written(), to: try ramp.to.written())
      written.append(layer)
    }
    return written
  }

  /// `.some(nil)` if nothing is written, and nil if a value or a time cannot be converted.
  fileprivate static func list(
    _ constant: Value.Written?, _ ramps: [Document.LayerRamp],
    _ path: KeyPath<Document.LayerRamp, Document.Change<Value.Written>?>
  ) -> ValueRampList<Value>?? {
    var list = ValueRampList([])
    if let constant {
      guard let value = Value(constant) else { return nil }
      list = .constant(value)
    }
    for ramp in ramps {
      guard let change = ramp[keyPath: path] else { continue }
      guard let over = ramp.when.inSeconds, let from = Value(change.from), let to = Value(change.to) else { return nil }
      list.ramps.append(ValueRamp(over: over, from: from, to: to, easing: ramp.easing))
    }
    return .some(list.ramps.isEmpty ? nil : list)
  }
}

extension Document.LayerRamp {
  /// Whether it goes once, from one value to another.
  fileprivate var isStraight: Bool {
    course == Document.Course() && (opacity?.between ?? []).isEmpty && (crop?.between ?? []).isEmpty
      && (frame?.between ?? []).isEmpty && (transform?.between ?? []).isEmpty
  }

  fileprivate init(_ over: MediaTimeRange, _ easing: Easing?) {
    switch Document.When(over) {
    case .at(let time): self.init(at: time)
    case .over(let range): self.init(over: range, easing: easing)
    }
  }
}

/// The opacity of a layer or an overlay and its place, which share the list `ramps` of a document.
struct GeometryParts {
  var opacity: RampList
  var geometry: LayerGeometry

  init(opacity: RampList, geometry: LayerGeometry) {
    self.opacity = opacity
    self.geometry = geometry
  }

  /// Nil if a length or a time is not one of an edit, or if a ramp has more than two values or goes more than once.
  init?(
    crop: Document.Rectangle?, frame: Document.Rectangle?, transform: Document.Transform?, _ ramps: [Document.LayerRamp]
  ) {
    guard ramps.allSatisfy(\.isStraight) else { return nil }
    let opacity = ramps.filter { $0.opacity != nil }.all { ramp in
      ramp.when.inSeconds.map {
        Ramp(over: $0, from: ramp.opacity?.from ?? 1, to: ramp.opacity?.to ?? 1, easing: ramp.easing)
      }
    }
    guard let opacity, let crop = ValueRampList<Rectangle>.list(crop, ramps, \.crop),
      let frame = ValueRampList<Rectangle>.list(frame, ramps, \.frame)
    else { return nil }
    var layerTransform: LayerTransform?
    let transforms = [transform].compactMap(\.self) + ramps.compactMap(\.transform?.from)
    if case .matrix? = transforms.first {
      guard let list = ValueRampList<AffineMatrix>.list(transform, ramps, \.transform) else { return nil }
      layerTransform = list.map { .matrix($0) }
    } else {
      guard let list = ValueRampList<TransformComponents>.list(transform, ramps, \.transform) else { return nil }
      layerTransform = list.map { .turn($0) }
    }
    self.init(
      opacity: RampList(opacity), geometry: LayerGeometry(crop: crop, frame: frame, transform: layerTransform))
  }

  func crop() throws(DocumentError) -> Document.Rectangle? { try geometry.crop?.firstWritten() ?? nil }
  func frame() throws(DocumentError) -> Document.Rectangle? { try geometry.frame?.firstWritten() ?? nil }

  func transform() throws(DocumentError) -> Document.Transform? {
    switch geometry.transform {
    case .matrix(let list): try list.firstWritten()
    case .turn(let list): try list.firstWritten()
    case nil: nil
    }
  }

  func ramps() throws(DocumentError) -> [Document.LayerRamp] {
    var ramps: [Document.LayerRamp] = []
    for ramp in opacity.ramps {
      var layer = Document.LayerRamp(ramp.over, ramp.easing)
      layer.opacity = Document.Change(from: ramp.from, to: ramp.to)
      ramps.append(layer)
    }
    ramps += try geometry.crop?.ramps(\.crop) ?? []
    ramps += try geometry.frame?.ramps(\.frame) ?? []
    switch geometry.transform {
    case .matrix(let list): ramps += try list.ramps(\.transform)
    case .turn(let list): ramps += try list.ramps(\.transform)
    case nil: break
    }
    return ramps
  }
}
