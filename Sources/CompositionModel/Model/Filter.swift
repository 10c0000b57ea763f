/// A filter of a picture. `docs/document.md` has the formula of each.
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
  /// Makes the colours that are near to one transparent.
  case chromaKey(color: Color, similarity: Value, blend: Value, spill: Value)
  /// A look-up table of colours. `table` is an asset's name in a composition, and a file's digest in a task.
  case lut(table: String, amount: Value)
}

/// The kinds of filters. The raw value is the name in documents.
public enum FilterKind: String, Sendable, Hashable, CaseIterable {
  case blur, sharpen, exposure, brightness, contrast, saturation, hue, colorBalance, grayscale, sepia, invert
  case vignette, pixelate, chromaKey, lut

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
    case .chromaKey(_, let similarity, let blend, let spill): (.chromaKey, [similarity, blend, spill])
    case .lut(_, let amount): (.lut, [amount])
    }
  }

  /// - Parameters:
  ///   - values: As many as `kind` has parameters.
  ///   - color: The colour of the filter `chromaKey`, and of no other.
  ///   - table: The look-up table of the filter `lut`, and of no other.
  package init(_ kind: FilterKind, _ values: [Value], color: Color? = nil, table: String? = nil) {
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
    case .chromaKey:
      self = .chromaKey(color: color ?? .black, similarity: values[0], blend: values[1], spill: values[2])
    case .lut: self = .lut(table: table ?? "", amount: values[0])
    }
  }

  /// The same filter with other parameters.
  package func map<Other>(_ change: (Value) throws(TimeError) -> Other) throws(TimeError) -> Filter<Other> {
    var changed: [Other] = []
    for value in values { changed.append(try change(value)) }
    return Filter<Other>(kind, changed, color: color, table: table)
  }

  /// The colour that a chroma key removes.
  private var color: Color? {
    if case .chromaKey(let color, _, _, _) = self { color } else { nil }
  }

  /// The look-up table of a `lut`.
  package var table: String? {
    if case .lut(let table, _) = self { table } else { nil }
  }

  /// The same filter with another look-up table, if it has one.
  package func withTable(_ name: String) -> Filter {
    if case .lut(_, let amount) = self { .lut(table: name, amount: amount) } else { self }
  }
}

extension Filter<RampList> {
  /// The same filter with lengths multiplied.
  package func scaled(by scale: Double) -> Filter {
    func scaled(_ list: RampList) -> RampList {
      RampList(list.ramps.map { Ramp(over: $0.over, from: $0.from * scale, to: $0.to * scale, easing: $0.easing) })
    }
    switch self {
    case .blur(let radius): return .blur(radius: scaled(radius))
    case .sharpen(let amount, let radius): return .sharpen(amount: amount, radius: scaled(radius))
    case .pixelate(let size): return .pixelate(size: scaled(size))
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
    return Filter<Double>(kind, values, color: color, table: table)
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
