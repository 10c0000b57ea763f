/// Opacities as the kernels take them: whole numbers of 1/16384, rounded to nearest.
enum Weight {
  static let one = 16384

  /// The nearest weight. An opacity outside 0…1 is limited to it.
  static func of(_ opacity: Double) -> Int {
    Int((min(1, max(0, opacity)) * Double(one)).rounded())
  }

  /// The product of two weights, rounded to nearest, halves up.
  static func product(_ a: Int, _ b: Int) -> Int {
    (a * b + one / 2) / one
  }
}
