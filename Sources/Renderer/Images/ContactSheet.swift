import CompositionModel
import Media
import RenderTasks

/// Pictures of one size in rows, on black, each with its time at its lower left if it is asked for.
final class ContactSheet {
  let size: PixelSize
  /// Packed RGB.
  let format: FrameFormat
  let colour = ColourTags(isFullRange: true)
  private let grid: ImageGrid
  private let cell: PixelSize
  private let canvas: Frame

  init(_ grid: ImageGrid, cell: PixelSize) throws(RenderError) {
    self.grid = grid
    self.cell = cell
    guard (1...ImageSheet.most).contains(grid.columns), (1...ImageSheet.most).contains(grid.rows),
      ImageGrid.gaps.contains(grid.gap)
    else {
      throw RenderError(.task, "a contact sheet of \(grid.columns)x\(grid.rows) pictures")
    }
    size = grid.size(cell: cell)
    guard let packed = FrameFormat(name: "rgb24") else { throw RenderError(.infrastructure, "libav has no rgb24") }
    format = packed
    let (size, colour) = (size, colour)
    canvas = try mapErrors(to: RenderError.during("making the contact sheet")) { () throws(MediaError) in
      try Frame(size: size, format: packed, colour: colour)
    }
    let rowBytes = canvas.stride(ofPlane: 0)
    canvas.withMutablePlane(0) { base in
      for row in 0..<size.height {
        (base + row * rowBytes).initializeMemory(as: UInt8.self, repeating: 0, count: 3 * size.width)
      }
    }
  }

  /// Draws a picture of the cell's size.
  /// - Parameter number: Counts the cells from 0, row by row. A picture beyond the last is not drawn.
  func draw(_ picture: Frame, at number: Int, label: String?) throws(RenderError) {
    guard picture.size == cell, picture.format == format else {
      throw RenderError(.task, "a picture of \(picture.size.width)x\(picture.size.height) for a contact sheet")
    }
    guard (0..<(grid.columns * grid.rows)).contains(number) else { return }
    let (x, y) = grid.corner(of: number, cell: cell)
    let (to, from) = (canvas.stride(ofPlane: 0), picture.stride(ofPlane: 0))
    canvas.withMutablePlane(0) { target in
      picture.withPlane(0) { source in
        for row in 0..<cell.height {
          (target + (y + row) * to + x * 3).copyMemory(from: source + row * from, byteCount: cell.width * 3)
        }
      }
      if let label { draw(label, x, y, target.assumingMemoryBound(to: UInt8.self), to) }
    }
  }

  /// The whole sheet in another format.
  func picture(format output: FrameFormat, colour tags: ColourTags) throws(RenderError) -> Frame {
    if output == format { return canvas }
    return try mapErrors(to: RenderError.during("making the contact sheet")) { () throws(MediaError) in
      let scaler = try FrameScaler(
        from: FrameScaler.Side(size: size, format: format, colour: colour),
        to: FrameScaler.Side(size: size, format: output, colour: tags), hasFullChroma: true)
      let target = try Frame(size: size, format: output, colour: tags)
      try scaler.scale(canvas, into: target)
      return target
    }
  }

  // MARK: Times

  /// The rows of each character's 5 by 7 points, the leftmost point first of five bits. Times need no others, so that a
  /// sheet depends on no font.
  private static let glyphs: [Character: [UInt8]] = [
    "0": [0x0E, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0E], "1": [0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E],
    "2": [0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F], "3": [0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E],
    "4": [0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02], "5": [0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E],
    "6": [0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E], "7": [0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08],
    "8": [0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E], "9": [0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C],
    ":": [0x00, 0x04, 0x04, 0x00, 0x04, 0x04, 0x00], ".": [0x00, 0x00, 0x00, 0x00, 0x00, 0x0C, 0x0C],
  ]

  /// White on a dark box, in points of whole pixels; cut at the cell's edges.
  private func draw(_ label: String, _ x: Int, _ y: Int, _ target: UnsafeMutablePointer<UInt8>, _ rowBytes: Int) {
    let point = max(1, cell.height / 90)
    let (width, height) = (min(cell.width, (label.count * 6 + 1) * point), min(cell.height, 9 * point))
    let top = y + cell.height - height
    for row in 0..<height {
      for column in 0..<width {
        let (line, place) = (row / point - 1, column / point - 1)
        var isSet = false
        if line >= 0, line < 7, place >= 0, place % 6 < 5, place / 6 < label.count {
          let character = label[label.index(label.startIndex, offsetBy: place / 6)]
          isSet = (Self.glyphs[character]?[line] ?? 0) >> (4 - place % 6) & 1 == 1
        }
        let pixel = target + (top + row) * rowBytes + (x + column) * 3
        for component in 0..<3 { pixel[component] = isSet ? 255 : pixel[component] / 3 }
      }
    }
  }
}
