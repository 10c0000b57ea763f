public import CompositionModel

extension Document {
  /// A filter of pictures.
  public struct Filter: Hashable, Sendable {
    public typealias Effect = CompositionModel.Filter<Parameter>

    /// Such as `.blur(radius: 8)`.
    public var effect: Effect
    @Incidental var pointer = JSONPointer.root

    public init(_ effect: Effect) { self.effect = effect }

    /// A parameter of a filter: a number, or ramps of it.
    public enum Parameter: Hashable, Sendable, Codable, ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
      case constant(Double)
      /// At least one, on the time of the clip or the overlay, or of the film.
      case ramps([Ramp])

      public init(floatLiteral number: Double) { self = .constant(number) }
      public init(integerLiteral number: Int) { self = .constant(Double(number)) }

      public init(from decoder: any Decoder) throws {
        self = try JSONValue.decoded(decoder) { reader, value in
          guard case .array = value.content else {
            return reader.number(value, in: -.infinity ... .infinity).map { .constant($0) }
          }
          return .ramps(
            reader.ramps(
              value, of: .value(-.infinity ... .infinity), RampTables.parameter, .signed))
        }
      }

      public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

      var level: Level {
        switch self {
        case .constant(let number): .constant(number)
        case .ramps(let ramps): .ramps(ramps)
        }
      }
    }
  }

  /// A filter of sound.
  public struct AudioFilter: Hashable, Sendable {
    /// Such as `.highPass(frequency: 80, q: 0.707)`.
    public var effect: CompositionModel.AudioFilter
    @Incidental var pointer = JSONPointer.root
    /// Whether it is one of a preset's, which has the pointer.
    @Incidental var isOfPreset = false

    public init(_ effect: CompositionModel.AudioFilter) { self.effect = effect }
  }

  /// A picture that decides where a clip or a layer is seen.
  public struct Mask: Hashable, Sendable {
    /// An asset that is a still picture. Nil: the mask is `track`.
    public var image: AssetID?
    /// A video track, which is not shown itself. Nil: the mask is `image`.
    public var track: TrackID?
    /// What of it counts. Nil: its alpha.
    public var channel: LayerMask.Channel?
    /// Whether the layer is seen where the mask is transparent or black. Nil: it is not.
    public var invert: Bool?
    @Incidental var pointer = JSONPointer.root

    public init(image: AssetID, channel: LayerMask.Channel? = nil, invert: Bool? = nil) {
      (self.image, self.channel, self.invert) = (image, channel, invert)
    }

    public init(track: TrackID, channel: LayerMask.Channel? = nil, invert: Bool? = nil) {
      (self.track, self.channel, self.invert) = (track, channel, invert)
    }

    init(pointer: JSONPointer) { self.pointer = pointer }

    /// With every default filled in.
    package var mask: LayerMask {
      LayerMask(
        track.map { .track($0) } ?? .image(image ?? ""), channel: channel ?? .alpha, isInverted: invert ?? false)
    }
  }
}

extension Document.Filter {
  var kind: FilterKind { effect.kind }
  /// In the order of `FilterKind.parameters`.
  var parameters: [Parameter] { effect.values }

  package var color: Color? { effect.extra.color }

  /// The asset of a look-up table.
  package var table: AssetID? { effect.table }

  var json: JSONValue {
    var members = [(key: "kind", value: JSONValue.text(kind.rawValue))]
    if let color { members.append((FilterTables.color.name, .color(color))) }
    if let table { members.append((FilterTables.asset.name, .text(table))) }
    if let curves = effect.extra.curves {
      for (key, curve) in FilterTables.curves {
        if let points = curves[keyPath: curve] { members.append((key.name, key.form.write(points))) }
      }
    }
    let keys = FilterTables.parameters[kind] ?? []
    return .object(members + zip(keys, parameters).map { ($0.name, $0.form.write($1)) })
  }
}

extension Document.AudioFilter {
  var json: JSONValue {
    let keys = AudioFilterTables.parameters[effect.kind] ?? []
    return .object(
      [("kind", .text(effect.kind.rawValue))] + zip(keys, effect.values).map { ($0.name, $0.form.write($1)) })
  }
}
