/// How the picture A gives way to the picture B. Everything in it is a function of the transition's progress: 0 shows A
/// alone, 1 shows B alone.
///
/// A and B are pictures of the whole frame, transparent where their clips are. Every kind but `fade` mixes them,
/// multiplied by their alpha, as (1-m)A + mB with a share m for each pixel, so that what lies below shows where neither
/// covers it.
public struct TransitionStyle: Sendable, Hashable, Codable {
  public var kind: TransitionKind
  /// From the position in the transition's time to its progress, which is limited to 0…1.
  public var easing: Easing

  public init(_ kind: TransitionKind, easing: Easing = .linear) {
    self.kind = kind
    self.easing = easing
  }

  public static let dissolve = TransitionStyle(.dissolve)
}

/// The kind of a transition, with what is special to it.
///
/// A softness is the width of the edge between both pictures, from where only A is seen to where only B is, as a part
/// of the way that the edge takes: 0…1. At 0 the edge is sharp and antialiased.
public enum TransitionKind: Sendable, Hashable, Codable {
  /// The share of B is the progress, everywhere.
  case dissolve
  /// In the first half a colour that fills the frame takes the place of A, in the second half B that of the colour. The
  /// colour's alpha is not used.
  case fade(through: Color)
  /// An edge moves over the frame. Behind it is B.
  case wipe(WipeDirection, softness: Double)
  /// B moves over A into the frame.
  case slide(SlideDirection)
  /// B moves into the frame, and A before it out of the frame.
  case push(SlideDirection)
  /// A circle grows from a centre until it reaches the corner that is farthest away. Inside it is B. The centre is in
  /// parts of the frame's width and height: 0…1.
  case circle(x: Double, y: Double, softness: Double)
  /// A hand turns once around a centre, clockwise from the top. Behind it is B. The centre is as that of a circle.
  case clock(x: Double, y: Double, softness: Double)
  /// A shape grows from a centre until it covers the frame. Inside it is B. The centre is as that of a circle.
  case iris(IrisShape, x: Double, y: Double, softness: Double)
  /// A grows to twice its size. Over it B grows from half its size to its own, and becomes opaque.
  case zoom
  /// Over A, which stays, B grows from nothing and turns once, clockwise.
  case spin
  /// A dissolves into B, both blurred: most of all in the middle, where the standard deviation is `amount` of the
  /// frame's shorter side, 0…0.5.
  case blur(amount: Double)
  /// A dissolves into B, both in blocks: the largest in the middle, where their side is `amount` of the frame's shorter
  /// side, 0…0.5.
  case pixelate(amount: Double)
  /// B is seen where the progress exceeds the luma of a still picture that is stretched to the frame: first where that
  /// is black. Inverted: first where it is white.
  case luma(softness: Double, isInverted: Bool)
  /// A compositor of the author's own makes the picture of A and B, each drawn over what lies below.
  case custom(CustomCompositor)
}

extension TransitionKind {
  /// The names of the kinds. The raw value is the name in documents.
  package enum Name: String, Sendable, CaseIterable {
    case dissolve, fade, wipe, slide, push, circle, clock, iris, zoom, spin, blur, pixelate, luma, custom
  }

  /// The `amount` of a transition that gives none.
  package static let standardAmount = 0.05

  package var name: Name {
    switch self {
    case .dissolve: .dissolve
    case .fade: .fade
    case .wipe: .wipe
    case .slide: .slide
    case .push: .push
    case .circle: .circle
    case .clock: .clock
    case .iris: .iris
    case .zoom: .zoom
    case .spin: .spin
    case .blur: .blur
    case .pixelate: .pixelate
    case .luma: .luma
    case .custom: .custom
    }
  }
}

/// Where the edge of a wipe moves. A diagonal one is parallel to the diagonal of the frame that it crosses. The raw
/// value is the name in documents.
public enum WipeDirection: String, Sendable, Hashable, Codable, CaseIterable {
  case left, right, up, down
  case upLeft = "up-left"
  case upRight = "up-right"
  case downLeft = "down-left"
  case downRight = "down-right"
}

/// What grows over the frame. The raw value is the name in documents.
public enum IrisShape: String, Sendable, Hashable, Codable, CaseIterable {
  /// A rectangle with the frame's shape.
  case rectangle
  /// A rhombus with the frame's diagonals.
  case diamond
}

/// Where a picture moves. The raw value is the name in documents.
public enum SlideDirection: String, Sendable, Hashable, Codable, CaseIterable {
  case left, right, up, down
}
