/// The tables of a font by which characters have glyphs.
///
/// libass takes the first of Microsoft's tables, which in most fonts is the one that ends at U+FFFF, and without
/// fontconfig it looks into no other: emoji and rare ideographs would be boxes.
enum CharacterMaps {
  /// Lets the table of the first 65,536 characters, of each face that has another for all of Unicode, be that one.
  /// - Parameter font: TrueType or OpenType, one face or a collection. Anything else is left as it is.
  static func complete(_ font: inout [UInt8]) {
    guard tag(font, 0) == "ttcf" else { return complete(&font, face: 0) }
    for index in 0..<min(number(font, 8, 4) ?? 0, font.count / 16) {
      if let face = number(font, 12 + 4 * index, 4) { complete(&font, face: face) }
    }
  }

  private static func complete(_ font: inout [UInt8], face: Int) {
    let tables = (0..<(number(font, face + 4, 2) ?? 0)).map { face + 12 + 16 * $0 }
    guard let entry = tables.first(where: { tag(font, $0) == "cmap" }), let table = number(font, entry + 8, 4) else {
      return
    }
    let records = (0..<(number(font, table + 2, 2) ?? 0)).map { table + 4 + 8 * $0 }
    func record(_ encoding: Int) -> Int? {
      records.first { number(font, $0, 2) == 3 && number(font, $0 + 2, 2) == encoding }
    }
    guard let basic = record(1), let full = record(10), full + 8 <= font.count, basic + 8 <= font.count else { return }
    for byte in 4..<8 { font[basic + byte] = font[full + byte] }
  }

  /// A number with its first byte first. Nil beyond the end.
  private static func number(_ font: [UInt8], _ offset: Int, _ count: Int) -> Int? {
    guard offset >= 0, offset + count <= font.count else { return nil }
    return font[offset..<(offset + count)].reduce(0) { $0 << 8 | Int($1) }
  }

  private static func tag(_ font: [UInt8], _ offset: Int) -> String? {
    offset + 4 <= font.count ? String(decoding: font[offset..<(offset + 4)], as: UTF8.self) : nil
  }
}
