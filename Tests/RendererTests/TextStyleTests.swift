import CompositionModel
import Glibc
import Media
import RenderTasks
import Testing

@testable import Renderer

/// Outlines, shadows, boxes and spacing, by what can be measured in the pictures.
@Suite struct TextStyleTests {
  /// A plane of a part of a text, 0…1, by row.
  private struct Picture {
    let planes: [[[Double]]]
    let rect: PixelRect

    init(_ block: TextBlock, _ rect: PixelRect) throws {
      let picture = try block.draw(rect)
      self.rect = rect
      planes = (0..<4).map { plane in
        (0..<rect.size.height).map { y in
          (0..<rect.size.width).map { Double(picture.plane(plane)[y * picture.stride / 2 + $0]) / 65535 }
        }
      }
    }

    var alpha: [[Double]] { planes[3] }
    var places: [(x: Int, y: Int)] {
      (0..<rect.size.height).flatMap { y in (0..<rect.size.width).map { ($0, y) } }
    }
  }

  private static func block(_ text: StyledText, width: Int = 2000) throws -> TextBlock {
    try FoundText(text).block(wrapWidth: width)
  }

  private static func around(_ rect: PixelRect, _ margin: Int) -> PixelRect {
    PixelRect(
      x: (rect.x - margin)..<(rect.columns.upperBound + margin), y: (rect.y - margin)..<(rect.rows.upperBound + margin))
  }

  /// The distance from a pixel to the nearest one of some.
  private static func distance(_ x: Int, _ y: Int, _ pixels: [(x: Int, y: Int)]) -> Double {
    let squares = pixels.map { pixel -> Int in
      let (dx, dy) = (pixel.x - x, pixel.y - y)
      return dx * dx + dy * dy
    }
    return Double(squares.min() ?? 1_000_000).squareRoot()
  }

  @Test(arguments: ["S", "ع", "漢", "😀"]) func `an outline is as wide as it says, outside of the letters`(text: String)
    throws
  {
    let width = 5.0
    let plain = StyledText(text: text, size: 40, color: .white)
    var styled = plain
    styled.outline = TextOutline(width: width, color: Color(red: 255, green: 0, blue: 0))
    let (letters, outlined) = (try Self.block(plain), try Self.block(styled))
    let rect = Self.around(letters.ink, 9)
    let (before, after) = (try Picture(letters, rect), try Picture(outlined, rect))
    let solid = before.places.filter { before.alpha[$0.y][$0.x] > 0.99 }
    let inked = before.places.filter { before.alpha[$0.y][$0.x] > 0.02 }
    try #require(solid.count > 20)
    var near = 0
    for (x, y) in before.places {
      if Self.distance(x, y, solid) <= width - 0.5 {
        #expect(after.alpha[y][x] > 0.98, "\(x), \(y) is \(after.alpha[y][x])")
        near += 1
      }
      if Self.distance(x, y, inked) >= width + 1.5 { #expect(after.alpha[y][x] < 0.01, "\(x), \(y)") }
      // The letters lie on it.
      if before.alpha[y][x] > 0.99 {
        for plane in 0..<3 { #expect(abs(after.planes[plane][y][x] - before.planes[plane][y][x]) < 0.01) }
      }
    }
    #expect(near > solid.count)
    #expect(outlined.extent.contains(Self.around(letters.ink, 5)))
  }

  @Test func `letters that are transparent show no outline through them`() throws {
    let text = StyledText(
      text: "M", size: 90, color: Color(red: 255, green: 255, blue: 255, alpha: 0),
      outline: TextOutline(width: 3, color: .black))
    let block = try Self.block(text)
    let letters = try Self.block(StyledText(text: "M", size: 90))
    let (hollow, full) = (try Picture(block, block.extent), try Picture(letters, block.extent))
    let inside = full.places.filter { full.alpha[$0.y][$0.x] == 1 }
    #expect(inside.count > 200 && inside.allSatisfy { hollow.alpha[$0.y][$0.x] == 0 })
    #expect(hollow.places.contains { hollow.alpha[$0.y][$0.x] == 1 })
  }

  @Test(arguments: [32, 77, 128, 191, 240] as [UInt8])
  func `transparent letters are as transparent as their colour, and their outline is not`(alpha: UInt8) throws {
    let share = Double(alpha) / 255
    let text = StyledText(
      text: "M", size: 90, color: Color(red: 255, green: 255, blue: 255, alpha: alpha),
      outline: TextOutline(width: 3, color: .black))
    let block = try Self.block(text)
    let letters = try Self.block(StyledText(text: "M", size: 90))
    let (half, full) = (try Picture(block, block.extent), try Picture(letters, block.extent))
    for (x, y) in full.places where full.alpha[y][x] == 1 {
      #expect(abs(half.alpha[y][x] - share) < 0.001 && abs(half.planes[0][y][x] - share) < 0.001)
    }
    // Between letters and outline there is no gap.
    for (x, y) in full.places where full.alpha[y][x] > 0 && full.alpha[y][x] < 1 {
      #expect(abs(half.alpha[y][x] - (1 - full.alpha[y][x] * (1 - share))) < 0.02)
    }
  }

  /// The shadow alone, because the letters are transparent, against a convolution in double precision.
  @Test(arguments: [0.0, 1.5, 7]) func `a shadow is the letters, moved and blurred`(blur: Double) throws {
    let color = Color(red: 255, green: 128, blue: 0, alpha: 200)
    let text = StyledText(
      text: "Sea", size: 40, color: Color(red: 0, green: 0, blue: 0, alpha: 0),
      shadow: TextShadow(x: 7, y: -4, blur: blur, color: color))
    let (block, letters) = (try Self.block(text), try Self.block(StyledText(text: "Sea", size: 40)))
    let made = try Picture(block, block.extent)
    let reach = Int((blur * 1.5).rounded(.up))
    let source = try Picture(letters, Self.around(block.extent, reach + 10))
    let shares = (-reach...reach).map { blur == 0 ? 1 : exp(-Double($0 * $0) / (2 * blur * blur / 4)) }
    let total = shares.reduce(0, +)
    var worst = 0.0
    for (x, y) in made.places {
      var sum = 0.0
      for (j, down) in shares.enumerated() {
        for (i, across) in shares.enumerated() {
          let at = (x: x + 10 + i - 7, y: y + 10 + j + 4)
          sum += down * across * source.alpha[at.y][at.x]
        }
      }
      let alpha = sum / total / total * 200 / 255
      worst = max(worst, abs(made.alpha[y][x] - alpha), abs(made.planes[1][y][x] - alpha * 128 / 255))
    }
    #expect(worst < 0.0006, "off by \(worst)")
    #expect(letters.ink.shifted(x: 7, y: -4).size.width <= block.extent.size.width)
  }

  @Test func `a box has its padding and its round corners`() throws {
    let text = StyledText(
      text: "Box", size: 40,
      box: TextBox(color: Color(red: 0, green: 0, blue: 255, alpha: 89), padding: 12, radius: 10))
    let block = try Self.block(text)
    let rect = PixelRect(x: -20, y: -20, size: PixelSize(width: block.size.width + 40, height: block.size.height + 40))
    let made = try Picture(block, rect)
    func alpha(_ x: Int, _ y: Int) -> Double { made.alpha[y + 20][x + 20] }
    #expect(alpha(-13, 5) == 0 && abs(alpha(-12, 20) - 89 / 255) < 0.001 && abs(alpha(20, -12) - 89 / 255) < 0.001)
    #expect(alpha(block.size.width + 12, 5) == 0 && abs(alpha(block.size.width + 11, 20) - 89 / 255) < 0.001)
    // The corner of a circle of 10 pixels: on the diagonal it starts at 10 - 10/√2 = 2.9.
    #expect(alpha(-12, -12) == 0 && alpha(-11, -11) == 0 && abs(alpha(-8, -8) - 89 / 255) < 0.001)
    #expect(
      block.extent.contains(
        PixelRect(x: -12, y: -12, size: PixelSize(width: block.size.width + 24, height: block.size.height + 24))))
    let square = try Picture(
      Self.block(StyledText(text: "Box", size: 40, box: TextBox(padding: 12, radius: 0))), rect)
    #expect(square.alpha[8][8] > 0.5)
  }

  @Test func `an overlay with a box is placed by the box`() throws {
    var fixture = try VideoFixture()
    let text = StyledText(text: "Hi", size: 20, box: TextBox(color: .white, padding: 8, radius: 0))
    try fixture.add(text)
    let size = PixelSize(width: 160, height: 90)
    let overlay = PlannedOverlay(
      content: try fixture.content(text), frames: [0..<1], placement: .anchor(.topLeft, inset: 6), opacity: 1,
      ramps: .one)
    let task = fixture.task([], size: size, colour: ColourTags(matrix: "bt709"), frameCount: 1, overlays: [overlay])
    let frame = PackedFrame(try fixture.frame(task), size)
    #expect(frame[0, 5, 20] == 16 && frame[0, 6, 20] == 235 && frame[0, 20, 5] == 16 && frame[0, 20, 6] == 235)
  }

  @Test func `lines are apart and characters too as far as is asked for`() throws {
    let plain = try Self.block(StyledText(text: "A\nB\nC", size: 40))
    let line = Double(plain.size.height) / 3
    let wide = try Self.block(StyledText(text: "A\nB\nC", size: 40, lineSpacing: 1.5))
    #expect(abs(Double(wide.size.height) - line * 4) <= 2)
    let tight = try Self.block(StyledText(text: "A\nB\nC", size: 40, lineSpacing: 0.5))
    #expect(abs(Double(tight.size.height) - line * 2) <= 2)
    let letters = try Self.block(StyledText(text: "MMMMM", size: 40))
    let spaced = try Self.block(StyledText(text: "MMMMM", size: 40, letterSpacing: 10))
    #expect((40...50).contains(spaced.size.width - letters.size.width))
  }

  @Test(arguments: [
    "The quick brown fox jumps over the lazy dog and runs", "نص عربي طويل يكفي لكي ينقسم على أكثر من سطر واحد هنا",
  ])
  func `justified lines are as wide as the text may be, but for the last`(text: String) throws {
    let block = try Self.block(StyledText(text: text, size: 30, alignment: .justify), width: 300)
    try #require(block.size.height > 90)
    let picture = try Picture(block, PixelRect(x: 0, y: 0, size: block.size))
    let columns = (0..<2).map { line in
      let rows = picture.alpha[(line * block.size.height / 3)..<((line + 1) * block.size.height / 3)]
      return (0..<block.size.width).filter { x in rows.contains { $0[x] > 0.3 } }
    }
    #expect(abs(block.size.width - 300) <= 1)
    for line in columns { #expect((line.first ?? 99) < 12 && (line.last ?? 0) > 288) }
  }
}
