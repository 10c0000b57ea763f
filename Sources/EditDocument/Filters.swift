import CompositionModel

extension Document.Filter {
  /// The most filters of one clip, of one layer or of the film.
  static let greatestCount = 16
  /// The most points of a curve.
  static let greatestPoints = 32

  static let instead = [
    "type": "did you mean 'kind'?", "name": "did you mean 'kind'?", "strength": "did you mean 'amount'?",
    "intensity": "did you mean 'amount'?", "value": "did you mean 'amount'?", "sigma": "did you mean 'radius'?",
    "ev": "did you mean 'stops'?", "angle": "did you mean 'degrees'?", "file": "did you mean 'asset'?",
    "lut": "did you mean 'asset'?", "colour": "did you mean 'color'?",
  ]
}

extension DocumentReader {
  /// Reads filters.
  /// - Parameter ofFilm: Whether they are those of the whole film, whose pictures cannot become transparent.
  mutating func filters(_ value: JSONValue?, ofFilm: Bool = false) -> [Document.Filter] {
    let items = items(value, "filters, such as {\"kind\": \"blur\", \"radius\": 8}")
    if let value, items.count > Document.Filter.greatestCount {
      problems.addShape(value.pointer, "\(items.count) filters; at most \(Document.Filter.greatestCount) are allowed")
      return []
    }
    return items.compactMap { item in
      let filter = filter(item)
      guard ofFilm, !isOfPart, let filter, filter.kind == .chromaKey else { return filter }
      problems.addShape(
        filter.pointer.key("kind"), "'chromaKey' is for clips and layers: the film has nothing behind it to be seen")
      return nil
    }
  }

  /// Nil and a problem if the filter cannot be used.
  private mutating func filter(_ value: JSONValue) -> Document.Filter? {
    guard case .object(let members) = value.content, let written = members.first(where: { $0.key == "kind" }) else {
      if let fields = fields(value, "a filter", keys: FilterTables.allKeys, instead: Document.Filter.instead) {
        _ = required(fields, "kind", "a filter")
      }
      return nil
    }
    guard let kind = FilterTables.kind.form.read(&self, written.value), let table = FilterTables.tables[kind],
      let keys = FilterTables.parameters[kind]
    else { return nil }
    let found = problems.count
    guard let fields = fields(value, table) else { return nil }
    let parameters = zip(keys, kind.parameters).map { key, parameter in
      read(fields, key) ?? .constant(parameter.standard ?? 0)
    }
    let color = kind == .chromaKey ? read(fields, FilterTables.color) : nil
    let asset = kind == .lut ? read(fields, FilterTables.asset) : nil
    var curves = ToneCurves()
    if kind == .curves { for (key, curve) in FilterTables.curves { curves[keyPath: curve] = read(fields, key) } }
    guard problems.count == found else { return nil }
    let extra = FilterExtra(color: color, table: asset, curves: curves)
    var filter = Document.Filter(Document.Filter.Effect(kind, parameters, extra))
    filter.pointer = fields.pointer
    return filter
  }

  /// The points of a curve, whose `x` rises.
  mutating func toneCurve(_ value: JSONValue) -> [ToneCurves.Point]? {
    let most = Document.Filter.greatestPoints
    guard case .array(let items) = value.content, 2...most ~= items.count else {
      problems.addShape(
        value.pointer, "\(value.shown) should be 2 to \(most) points of a curve, such as [[0, 0], [0.5, 0.6], [1, 1]]")
      return nil
    }
    var points: [ToneCurves.Point] = []
    for item in items {
      guard case .array(let numbers) = item.content, numbers.count == 2 else {
        problems.addShape(item.pointer, "\(item.shown) should be a point of a curve: two numbers from 0 to 1")
        continue
      }
      let (x, y) = (number(numbers[0], in: 0...1), number(numbers[1], in: 0...1))
      guard let x, let y else { continue }
      if let last = points.last, x <= last.x {
        problems.add(
          numbers[0].pointer, "\(plain(x)) should be more than \(plain(last.x)), that of the point before it")
      }
      points.append(ToneCurves.Point(x: x, y: y))
    }
    return points
  }

  mutating func parameter(_ value: JSONValue, _ parameter: FilterKind.Parameter) -> Document.Filter.Parameter {
    guard case .array(let items) = value.content else {
      return .constant(number(value, in: parameter.range) ?? 0)
    }
    if items.isEmpty { problems.addShape(value.pointer, "there is no ramp: give a number, or one ramp at least") }
    return .ramps(ramps(value, of: .value(parameter.range), RampTables.parameter, .signed))
  }
}

extension Lowering {
  /// The filters on the composition's timeline. Nil and problems if one cannot be used; nil alone if there are none.
  /// - Parameters:
  ///   - range: The range of the clip or the overlay whose time their ramps are on. Nil: they are on the film's.
  ///   - owner: What that is, for messages.
  mutating func filters(
    _ entries: [Document.Filter], within range: MediaTimeRange? = nil, owner: String = "the clip"
  ) -> [Filter<RampList>]? {
    var filters: [Filter<RampList>] = []
    for entry in entries {
      if let id = entry.table, let asset = assets[id], asset.colourTable == nil {
        problems.add(
          entry.pointer.key("asset"), "'\(id.shortened)' is not a look-up table of colours: a .cube file is expected")
      }
      var values: [RampList] = []
      for parameter in entry.parameters { values.append(lower(parameter, within: range, owner) ?? .one) }
      var extra = entry.effect.extra
      // Grain is on the timeline that the ramps are on.
      if extra.time != nil { extra.time = range?.start ?? .zero }
      let filter = Filter(entry.kind, values, extra)
      if !filter.changesNothing { filters.append(filter) }
    }
    return filters.isEmpty ? nil : filters
  }

  /// Filters whose lengths are smaller with the frame, as `scale` of `videoComposition` makes it.
  /// - Parameter geometry: The geometry of the picture. A matrix is scaled itself, and lengths are in the picture's own
  ///   pixels then.
  func scaled(_ filters: [Filter<RampList>]?, _ geometry: LayerGeometry? = nil) -> [Filter<RampList>]? {
    lengthScale(geometry).map { scale in filters?.map { $0.scaled(by: scale) } } ?? filters
  }

  /// What is drawn around a picture, in the film's own size.
  func scaled(_ decoration: LayerDecoration?, _ geometry: LayerGeometry?) -> LayerDecoration? {
    scale == .one ? decoration : decoration?.scaled(by: scale.approximate, lengths: lengthScale(geometry) ?? 1)
  }

  /// What lengths are multiplied with that are in pixels of the film. Nil: nothing; with a matrix they are in pixels of
  /// the picture.
  private func lengthScale(_ geometry: LayerGeometry?) -> Double? {
    if case .matrix? = geometry?.transform { return nil }
    return scale == .one ? nil : scale.approximate
  }

  /// Reports the fit `blur` of an asset with transparency.
  mutating func checkFit(_ fit: Fit?, of asset: AssetDescription?, _ id: AssetID, at pointer: JSONPointer) {
    guard fit == .blur, asset?.defaultTrack(.video)?.video?.hasAlpha == true else { return }
    problems.add(
      pointer.key("fit"),
      "'\(id.shortened)' has transparency, through which its blurred copy would be seen: use another fit than 'blur'")
  }

  private mutating func lower(
    _ parameter: Document.Filter.Parameter, within range: MediaTimeRange?, _ owner: String
  ) -> RampList? {
    switch parameter {
    case .constant(let value):
      return exact(at: .root) { () throws(TimeError) in try RampList.constant(value) }
    case .ramps(let entries):
      let timeline = range.map { WrittenTimeline.own(end: $0.duration, owner) } ?? .film
      guard let placed = self.timeline(entries, on: timeline), let first = placed.first else { return nil }
      if let range {
        for entry in placed { checkPlace(of: entry.ramp.over, within: range, owner: owner, at: entry.pointer) }
      }
      return exact(at: first.pointer) { () throws(TimeError) in
        let list = try RampList(placed.map(\.ramp)).shifted(by: range?.start ?? .zero)
        // Before the first ramp the value is that which it starts with.
        return RampList(try RampList.constant(first.ramp.from).ramps + list.ramps)
      }
    }
  }
}
