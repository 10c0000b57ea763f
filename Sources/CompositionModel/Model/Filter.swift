/// A filter of a picture. `docs/document/filters.md` has the formula of each.
///
/// `Value` is a parameter: a `RampList` in a composition, and a number for one frame. Ranges are those of
/// `FilterKind.parameters`.
public enum Filter<Value: Sendable & Hashable & Codable>: Sendable, Hashable, Codable {
  /// Gaussian. `radius` is the standard deviation in pixels of the film.
  case blur(radius: Value)
  /// An unsharp mask on luma. `radius` is in pixels of the film.
  case sharpen(amount: Value, radius: Value)
  case exposure(stops: Value)
  case brightness(amount: Value)
  case contrast(amount: Value)
  case saturation(amount: Value)
  case hue(degrees: Value)
  case colorBalance(temperature: Value, tint: Value)
  case grayscale(amount: Value)
  case sepia(amount: Value)
  case invert(amount: Value)
  case vignette(amount: Value, radius: Value, softness: Value)
  /// Blocks of one colour. `size` is their side in pixels of the film.
  case pixelate(size: Value)
  /// Noise on luma as of a film, another in each frame. `amount` is its standard deviation, in parts of the distance
  /// from black to white, and `size` that of a grain in pixels of the film. `time` is where the timeline of the noise
  /// begins: in a composition on the film's, in a task on the segment's. Of one frame it is the time since then.
  case grain(amount: Value, size: Value, seed: Value, time: MediaTime = .zero)
  /// Light around what is brighter than `threshold`. `radius` is the standard deviation of its Gaussian in pixels of
  /// the film.
  case glow(amount: Value, radius: Value, threshold: Value)
  /// So many shades of red, green and blue.
  case posterize(levels: Value)
  case curves(ToneCurves, amount: Value)
  /// Evens out differences of neighbouring samples below `amount`, in parts of the distance from black to white.
  case denoise(amount: Value)
  /// Makes the colours that are near to one transparent.
  case chromaKey(color: Color, similarity: Value, blend: Value, spill: Value)
  /// A look-up table of colours. `table` is an asset's name in a composition, and a file's digest in a task.
  case lut(table: String, amount: Value)
}

/// What filters of some kinds have beside their parameters.
package struct FilterExtra: Sendable, Hashable {
  /// The colour that a chroma key removes.
  package var color: Color?
  /// The look-up table of a `lut`.
  package var table: String?
  package var curves: ToneCurves?
  /// The beginning of grain, or the time since then.
  package var time: MediaTime?

  package init(
    color: Color? = nil, table: String? = nil, curves: ToneCurves? = nil, time: MediaTime? = nil
  ) {
    (self.color, self.table, self.curves, self.time) = (color, table, curves, time)
  }
}

/// The kinds of filters. The raw value is the name in documents.
public enum FilterKind: String, Sendable, Hashable, CaseIterable {
  case blur, sharpen, exposure, brightness, contrast, saturation, hue, colorBalance, grayscale, sepia, invert
  case vignette, pixelate, grain, glow, posterize, curves, denoise, chromaKey, lut

  /// A parameter of a filter.
  public struct Parameter: Sendable, Hashable {
    /// The key in documents.
    public var key: String
    public var range: ClosedRange<Double>
    /// Nil: a document must give it.
    public var standard: Double?
    /// A filter of which every parameter with a neutral value has it changes nothing.
    public var neutral: Double?
  }

  /// In the order of the case's values.
  public var parameters: [Parameter] {
    func amount(
      _ range: ClosedRange<Double>, _ standard: Double?, neutral: Double?, key: String = "amount"
    ) -> Parameter {
      Parameter(key: key, range: range, standard: standard, neutral: neutral)
    }
    switch self {
    case .blur: return [amount(0...500, 8, neutral: 0, key: "radius")]
    case .sharpen: return [amount(0...4, 0.5, neutral: 0), amount(0.2...50, 1.5, neutral: nil, key: "radius")]
    case .exposure: return [amount(-10...10, nil, neutral: 0, key: "stops")]
    case .brightness: return [amount(-1...1, nil, neutral: 0)]
    case .contrast, .saturation: return [amount(0...4, nil, neutral: 1)]
    case .hue: return [amount(-3600...3600, nil, neutral: 0, key: "degrees")]
    case .colorBalance:
      return [amount(-1...1, 0, neutral: 0, key: "temperature"), amount(-1...1, 0, neutral: 0, key: "tint")]
    case .grayscale, .sepia, .invert: return [amount(0...1, 1, neutral: 0)]
    case .vignette:
      return [
        amount(0...1, 0.5, neutral: 0), amount(0...2, 0.5, neutral: nil, key: "radius"),
        amount(0...2, 0.5, neutral: nil, key: "softness"),
      ]
    case .pixelate: return [amount(1...500, 16, neutral: 1, key: "size")]
    case .grain:
      return [
        amount(0...1, 0.06, neutral: 0), amount(0.5...20, 1.5, neutral: nil, key: "size"),
        amount(0...65535, 0, neutral: nil, key: "seed"),
      ]
    case .glow:
      return [
        amount(0...2, 0.6, neutral: 0), amount(0...500, 20, neutral: nil, key: "radius"),
        amount(0...0.99, 0.6, neutral: nil, key: "threshold"),
      ]
    case .posterize: return [amount(2...256, 6, neutral: nil, key: "levels")]
    case .curves: return [amount(0...1, 1, neutral: 0)]
    case .denoise: return [amount(0...0.5, 0.05, neutral: 0)]
    case .chromaKey:
      return [
        amount(0...1, 0.15, neutral: nil, key: "similarity"), amount(0...1, 0.1, neutral: nil, key: "blend"),
        amount(0...1, 0.5, neutral: nil, key: "spill"),
      ]
    case .lut: return [amount(0...1, 1, neutral: 0)]
    }
  }
}

extension Filter {
  public var kind: FilterKind { parts.kind }

  /// The parameters, in the order of `FilterKind.parameters`.
  public var values: [Value] { parts.values }

  private var parts: (kind: FilterKind, values: [Value]) {
    switch self {
    case .blur(let radius): (.blur, [radius])
    case .sharpen(let amount, let radius): (.sharpen, [amount, radius])
    case .exposure(let stops): (.exposure, [stops])
    case .brightness(let amount): (.brightness, [amount])
    case .contrast(let amount): (.contrast, [amount])
    case .saturation(let amount): (.saturation, [amount])
    case .hue(let degrees): (.hue, [degrees])
    case .colorBalance(let temperature, let tint): (.colorBalance, [temperature, tint])
    case .grayscale(let amount): (.grayscale, [amount])
    case .sepia(let amount): (.sepia, [amount])
    case .invert(let amount): (.invert, [amount])
    case .vignette(let amount, let radius, let softness): (.vignette, [amount, radius, softness])
    case .pixelate(let size): (.pixelate, [size])
    case .grain(let amount, let size, let seed, _): (.grain, [amount, size, seed])
    case .glow(let amount, let radius, let threshold): (.glow, [amount, radius, threshold])
    case .posterize(let levels): (.posterize, [levels])
    case .curves(_, let amount): (.curves, [amount])
    case .denoise(let amount): (.denoise, [amount])
    case .chromaKey(_, let similarity, let blend, let spill): (.chromaKey, [similarity, blend, spill])
    case .lut(_, let amount): (.lut, [amount])
    }
  }

  /// - Parameters:
  ///   - values: As many as `kind` has parameters.
  ///   - extra: What a filter of that kind has beside them.
  package init(_ kind: FilterKind, _ values: [Value], _ extra: FilterExtra) {
    switch kind {
    case .blur: self = .blur(radius: values[0])
    case .sharpen: self = .sharpen(amount: values[0], radius: values[1])
    case .exposure: self = .exposure(stops: values[0])
    case .brightness: self = .brightness(amount: values[0])
    case .contrast: self = .contrast(amount: values[0])
    case .saturation: self = .saturation(amount: values[0])
    case .hue: self = .hue(degrees: values[0])
    case .colorBalance: self = .colorBalance(temperature: values[0], tint: values[1])
    case .grayscale: self = .grayscale(amount: values[0])
    case .sepia: self = .sepia(amount: values[0])
    case .invert: self = .invert(amount: values[0])
    case .vignette: self = .vignette(amount: values[0], radius: values[1], softness: values[2])
    case .pixelate: self = .pixelate(size: values[0])
    case .grain: self = .grain(amount: values[0], size: values[1], seed: values[2], time: extra.time ?? .zero)
    case .glow: self = .glow(amount: values[0], radius: values[1], threshold: values[2])
    case .posterize: self = .posterize(levels: values[0])
    case .curves: self = .curves(extra.curves ?? ToneCurves(), amount: values[0])
    case .denoise: self = .denoise(amount: values[0])
    case .chromaKey:
      self = .chromaKey(color: extra.color ?? .black, similarity: values[0], blend: values[1], spill: values[2])
    case .lut: self = .lut(table: extra.table ?? "", amount: values[0])
    }
  }

  /// - Parameters:
  ///   - color: The colour of the filter `chromaKey`, and of no other.
  ///   - table: The look-up table of the filter `lut`, and of no other.
  package init(_ kind: FilterKind, _ values: [Value], color: Color? = nil, table: String? = nil) {
    self.init(kind, values, FilterExtra(color: color, table: table))
  }

  /// The same filter with other parameters.
  package func map<Other>(_ change: (Value) throws(TimeError) -> Other) throws(TimeError) -> Filter<Other> {
    var changed: [Other] = []
    for value in values { changed.append(try change(value)) }
    return Filter<Other>(kind, changed, extra)
  }

  package var extra: FilterExtra {
    switch self {
    case .chromaKey(let color, _, _, _): FilterExtra(color: color)
    case .lut(let table, _): FilterExtra(table: table)
    case .curves(let curves, _): FilterExtra(curves: curves)
    case .grain(_, _, _, let time): FilterExtra(time: time)
    default: FilterExtra()
    }
  }

  /// The look-up table of a `lut`.
  package var table: String? { extra.table }

  /// The same filter with its timeline moved, if it has one of its own.
  package func shifted(by offset: MediaTime) throws(TimeError) -> Filter {
    guard let time = extra.time else { return self }
    return Filter(kind, values, FilterExtra(time: try time + offset))
  }

  /// The same filter with another look-up table, if it has one.
  package func withTable(_ name: String) -> Filter {
    if case .lut(_, let amount) = self { .lut(table: name, amount: amount) } else { self }
  }
}

extension Filter<RampList> {
  /// Whether the filter's picture is not the same at all times.
  package var changes: Bool {
    kind == .grain
      || values.contains { list in list.ramps.count > 1 || list.ramps.contains { $0.from != $0.to } }
  }

  /// The same filter with lengths multiplied.
  package func scaled(by scale: Double) -> Filter {
    func scaled(_ list: RampList) -> RampList {
      RampList(list.ramps.map { Ramp(over: $0.over, from: $0.from * scale, to: $0.to * scale, easing: $0.easing) })
    }
    switch self {
    case .blur(let radius): return .blur(radius: scaled(radius))
    case .sharpen(let amount, let radius): return .sharpen(amount: amount, radius: scaled(radius))
    case .pixelate(let size): return .pixelate(size: scaled(size))
    case .grain(let amount, let size, let seed, let time):
      return .grain(amount: amount, size: scaled(size), seed: seed, time: time)
    case .glow(let amount, let radius, let threshold):
      return .glow(amount: amount, radius: scaled(radius), threshold: threshold)
    default: return self
    }
  }

  /// The filter at a time. A value outside its parameter's range is limited to it.
  package func at(_ time: MediaTime) throws(TimeError) -> Filter<Double> {
    var values: [Double] = []
    for (list, parameter) in zip(self.values, kind.parameters) {
      let value = try list.value(at: time)
      values.append(min(parameter.range.upperBound, max(parameter.range.lowerBound, value)))
    }
    var extra = extra
    if let begin = extra.time { extra.time = try time - begin }
    return Filter<Double>(kind, values, extra)
  }

  /// Whether the filter changes nothing at any time.
  package var changesNothing: Bool {
    Filter<Double>.isNeutral(
      kind,
      values.map { list in
        guard let first = list.ramps.first?.from else { return 1 }
        return list.ramps.allSatisfy { $0.from == first && $0.to == first } ? first : nil
      })
  }
}

extension [Filter<RampList>]? {
  /// Whether an opaque picture stays opaque.
  package var keepCoverage: Bool { self?.contains { $0.kind == .chromaKey } != true }
}

extension Filter<Double> {
  /// Whether the filter changes nothing.
  package var changesNothing: Bool { Self.isNeutral(kind, values) }

  /// - Parameter values: Nil for a value that changes.
  fileprivate static func isNeutral(_ kind: FilterKind, _ values: [Double?]) -> Bool {
    let deciding = zip(kind.parameters, values).filter { $0.0.neutral != nil }
    return !deciding.isEmpty && deciding.allSatisfy { $0.0.neutral == $0.1 }
  }
}
