/// Rows in columns with headers.
struct Table {
  struct Column {
    var header: String
    var isNumber = false
    /// What the column may be shortened to, in columns of the terminal; nil if it may not be.
    var shortest: Int?
    /// A column with a higher value is left out first where the width does not suffice; zero is never left out.
    var dispensable = 0
  }

  private static let gap = 2

  var columns: [Column]
  var rows: [[String]] = []
  /// Lines to print under a row, by the row's index. They are not cut.
  var notes: [Int: [String]] = [:]

  /// The lines of the table.
  /// - Parameter width: The width of the terminal in columns; nil where lines may have any length.
  func lines(width: Int?) -> [String] {
    let rows = rows.map { $0.map(\.onOneLine) }
    let natural = columns.indices.map { index in
      ([columns[index].header] + rows.map { $0[index] }).map(\.displayWidth).max() ?? 0
    }
    var widths = natural
    var shown = Array(columns.indices)
    if let width {
      fit(&widths, shown, width)
      while total(widths, shown) > width, let index = leastNeeded(shown) {
        shown.removeAll { $0 == index }
        widths = natural
        fit(&widths, shown, width)
      }
    }
    var lines = [line(columns.map(\.header), widths, shown)]
    for (number, row) in rows.enumerated() {
      lines.append(line(row, widths, shown))
      lines += notes[number] ?? []
    }
    return lines
  }

  /// Shortens the columns that may be shortened, in their order.
  private func fit(_ widths: inout [Int], _ shown: [Int], _ width: Int) {
    for index in shown {
      guard let shortest = columns[index].shortest else { continue }
      let excess = max(0, total(widths, shown) - width)
      widths[index] = max(min(widths[index], shortest), widths[index] - excess)
    }
  }

  private func leastNeeded(_ shown: [Int]) -> Int? {
    shown.filter { columns[$0].dispensable > 0 }.max { columns[$0].dispensable < columns[$1].dispensable }
  }

  private func total(_ widths: [Int], _ shown: [Int]) -> Int {
    shown.reduce(0) { $0 + widths[$1] } + Self.gap * max(0, shown.count - 1)
  }

  private func line(_ cells: [String], _ widths: [Int], _ shown: [Int]) -> String {
    var line = ""
    for index in shown {
      let cell = cells[index].shortened(to: widths[index])
      let space = String(repeating: " ", count: widths[index] - cell.displayWidth)
      line += (index == shown.first ? "" : String(repeating: " ", count: Self.gap))
      line += columns[index].isNumber ? space + cell : cell + space
    }
    while line.last == " " { line.removeLast() }
    return line
  }
}

extension String {
  /// How many columns of a terminal the text takes. Characters of East Asia and pictograms take two.
  var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }

  /// The text, cut with an ellipsis if it takes more columns.
  func shortened(to width: Int) -> String {
    guard displayWidth > width else { return self }
    var (text, used) = ("", 0)
    for character in self {
      used += character.displayWidth
      if used > width - 1 { break }
      text.append(character)
    }
    return width > 0 ? text + "…" : ""
  }
}

extension Character {
  fileprivate var displayWidth: Int {
    guard let scalar = unicodeScalars.first else { return 0 }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    case 0x300...0x36F, 0x200B...0x200D, 0xFE00...0xFE0F: return 0
    default: return 1
    }
  }
}
