import CompositionModel
import EditDocument

/// The generators that are pictures of a document. OpenTimelineIO leaves their names and parameters to programs.
enum OTIOGenerators {
  /// The name that is written, with the colour in the parameter `color`.
  static let solid = "SolidColor"

  /// Nil: it is no picture of one colour.
  static func picture(_ reference: OTIOObject?) -> DrawnPicture? {
    let kind = (reference?.generatorKind ?? "").lowercased().filter { $0.isLetter }
    if ["black", "blackvideo"].contains(kind) { return DrawnPicture(color: .black) }
    guard ["solid", "solidcolor", "color", "colour", "colormatte", "fullframecolor"].contains(kind) else { return nil }
    let parameters = reference?.parameters ?? [:]
    guard let value = parameters["color"] ?? parameters["colour"] ?? parameters["Color"] else { return nil }
    return color(value).map { DrawnPicture(color: $0) }
  }

  static func reference(_ color: Color) -> OTIOObject {
    var reference = OTIOObject("GeneratorReference.1", name: "")
    reference.generatorKind = color == .black ? "black" : solid
    reference.parameters = ["color": JSONValue(content: .string(color.hexadecimal))]
    return reference
  }

  /// Of `#rrggbb`, `#rrggbbaa`, and of three or four numbers from 0 to 1, also by their letters.
  private static func color(_ value: JSONValue) -> Color? {
    func number(_ value: JSONValue) -> Double? {
      if case .number(let text) = value.content { Double(text) } else { nil }
    }
    switch value.content {
    case .string(let text): return Color(hexadecimal: text)
    case .array(let items):
      let numbers = items.compactMap(number)
      return numbers.count == items.count ? Color(parts: numbers) : nil
    case .object(let members):
      return Color(
        parts: ["r", "g", "b", "a"].compactMap { key in members.first { $0.key == key }.flatMap { number($0.value) } })
    default: return nil
    }
  }
}

extension Color {
  /// `#rrggbb`, or with alpha `#rrggbbaa`. Nil: it is another text.
  init?(hexadecimal text: some StringProtocol) {
    let digits = text.drop { $0 == "#" }
    guard text.hasPrefix("#"), digits.count == 6 || digits.count == 8, let number = UInt32(digits, radix: 16) else {
      return nil
    }
    let code = digits.count == 6 ? number << 8 | 0xFF : number
    self.init(
      red: UInt8(code >> 24), green: UInt8(code >> 16 & 0xFF), blue: UInt8(code >> 8 & 0xFF), alpha: UInt8(code & 0xFF))
  }

  /// Three or four numbers from 0 to 1.
  init?(parts: [Double]) {
    guard parts.count == 3 || parts.count == 4, parts.allSatisfy({ $0.isFinite }) else { return nil }
    let codes = parts.map { UInt8((min(1, max(0, $0)) * 255).rounded()) }
    self.init(red: codes[0], green: codes[1], blue: codes[2], alpha: codes.count == 4 ? codes[3] : 255)
  }

  var hexadecimal: String {
    func two(_ code: UInt8) -> String { (code < 16 ? "0" : "") + String(code, radix: 16) }
    return "#" + two(red) + two(green) + two(blue) + (alpha == 255 ? "" : two(alpha))
  }
}
