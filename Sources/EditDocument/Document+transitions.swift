public import CompositionModel

extension Document {
  /// What a transition looks like. What is nil has its default; each kind has its own keys.
  public struct TransitionStyle: Hashable, Sendable {
    /// Nil: a dissolve.
    public var kind: Kind?
    /// Of `wipe` where the edge moves, of `slide` and `push`, which have no diagonals, where the second picture moves.
    /// Nil: to the left.
    public var direction: WipeDirection?
    /// Of `fade`: between both pictures; solid. Nil: black.
    public var color: Color?
    /// Of `circle`, `clock` and `iris`. Nil: the centre of the frame.
    public var center: Center?
    /// Of `iris`. Nil: a rectangle.
    public var shape: IrisShape?
    /// Of `wipe`, `circle`, `clock`, `iris` and `luma`: the width of the soft edge as a part of its way, 0 to 1. Nil:
    /// 0, sharp.
    public var softness: Double?
    /// Of `blur` and `pixelate`: the most that a picture is blurred, or the largest block, as a part of the frame's
    /// shorter side, 0 to 0.5. Nil: 0.05.
    public var amount: Double?
    /// Of `luma`, which must have it: an asset that is a still picture.
    public var matte: AssetID?
    /// Of `luma`: whether the second picture is seen first where the matte is brightest.
    public var invert: Bool?
    /// Of `custom`, which must have it: the name of a compositor of your own.
    public var name: String?
    /// Of `custom`: the text of a JSON object, which the compositor is given. Nil: `{}`.
    public var parameters: String?
    /// Of `custom`: the metadata tracks whose values the compositor is given.
    public var metadata: [TrackID] = []
    /// Nil: linear.
    public var easing: Easing?

    public init(_ kind: Kind? = nil) { self.kind = kind }

    public enum Kind: String, Hashable, Sendable, CaseIterable {
      case dissolve, fade, wipe, slide, push, circle, clock, iris, zoom, spin, blur, pixelate, luma, custom
    }

    /// A point in parts of the frame's width and height, 0 to 1.
    public struct Center: Hashable, Sendable {
      public var x: Double
      public var y: Double

      public init(x: Double, y: Double) {
        self.x = x
        self.y = y
      }
    }
  }

  /// A transition from one video track to another.
  public struct Transition: Hashable, Sendable {
    /// The track that is shown first.
    public var from: TrackID
    /// The track that is shown after it.
    public var to: TrackID
    /// Both tracks play throughout it.
    public var over: TimeRange
    public var style: TransitionStyle
    @Incidental var pointer = JSONPointer.root

    public init(from: TrackID, to: TrackID, over: TimeRange, style: TransitionStyle = TransitionStyle()) {
      self.from = from
      self.to = to
      self.over = over
      self.style = style
    }
  }

  /// The transition to a clip from the one before it on its track.
  public struct ClipTransition: Hashable, Sendable {
    /// Nil: 1 s; of a clip with `at` the time for which both clips overlap.
    public var duration: Time?
    /// How the sound of the one gives way to that of the other. Nil: linearly.
    public var sound: FadeCurve?
    /// Of an audio track a dissolve, which is a cross-fade.
    public var style: TransitionStyle
    @Incidental var pointer = JSONPointer.root
    /// The place of `duration`.
    @Incidental var durationPointer = JSONPointer.root
    /// No problem makes its duration uncertain.
    @Incidental var timesAreKnown = false

    public init(duration: Time? = nil, style: TransitionStyle = TransitionStyle()) {
      self.duration = duration
      self.style = style
    }
  }
}

extension Document.TransitionStyle {
  /// With every default filled in, and without the matte.
  package var style: CompositionModel.TransitionStyle {
    CompositionModel.TransitionStyle(filledKind, easing: easing ?? .linear)
  }

  private var filledKind: TransitionKind {
    let (softness, amount) = (softness ?? 0, amount ?? TransitionKind.standardAmount)
    let center = center ?? Center(x: 0.5, y: 0.5)
    let slide = direction.flatMap { SlideDirection(rawValue: $0.rawValue) } ?? .left
    switch kind ?? .dissolve {
    case .dissolve: return .dissolve
    case .fade: return .fade(through: color ?? .black)
    case .wipe: return .wipe(direction ?? .left, softness: softness)
    case .slide: return .slide(slide)
    case .push: return .push(slide)
    case .circle: return .circle(x: center.x, y: center.y, softness: softness)
    case .clock: return .clock(x: center.x, y: center.y, softness: softness)
    case .iris: return .iris(shape ?? .rectangle, x: center.x, y: center.y, softness: softness)
    case .zoom: return .zoom
    case .spin: return .spin
    case .blur: return .blur(amount: amount)
    case .pixelate: return .pixelate(amount: amount)
    case .luma: return .luma(softness: softness, isInverted: invert ?? false)
    case .custom:
      guard let name else { return .dissolve }
      return .custom(
        CustomCompositor(name: name, parameters: parameters ?? "{}", metadata: metadata.isEmpty ? nil : metadata))
    }
  }
}
