/// The windows of a service of CEA-708, in which its texts are.
///
/// A window is filled from the left to the right and scrolled upward. Texts that the author has set to run or scroll in
/// another direction have the same lines in the order of their rows. Colours, fonts, borders and effects are not used.
struct DTVCCWindows {
  fileprivate struct Cell {
    var scalar: Unicode.Scalar
    var isItalic: Bool
    var isUnderlined: Bool
  }

  private struct Window {
    var isVisible = false
    /// Of the top edge, in the rows of a screen of 75.
    var top = 0.0
    var columns = 1
    var wrapsWords = false
    var rows: [[Cell?]] = []
    var pen = (row: 0, column: 0)
    var isItalic = false
    var isUnderlined = false
    /// Whether what is written is no text to be shown.
    var isHiddenText = false

    var hasText: Bool { rows.contains { $0.contains { $0?.isText == true } } }

    mutating func clear() {
      for row in rows.indices { rows[row] = [] }
      pen = (0, 0)
    }

    mutating func resetPen() { (isItalic, isUnderlined, isHiddenText) = (false, false, false) }

    /// Whether a carriage return moves the lines up.
    var scrolls: Bool { pen.row + 1 >= rows.count }

    mutating func returnCarriage() {
      if scrolls {
        rows.removeFirst()
        rows.append([])
      } else {
        pen.row += 1
      }
      pen.column = 0
    }

    mutating func write(_ scalar: Unicode.Scalar) {
      if pen.column >= columns {
        guard wrapsWords else { return }
        wrap(before: scalar)
        if scalar == " " { return }
      }
      var row = rows[pen.row]
      while row.count <= pen.column { row.append(nil) }
      row[pen.column] =
        isHiddenText ? nil : Cell(scalar: scalar, isItalic: isItalic, isUnderlined: isUnderlined)
      rows[pen.row] = row
      pen.column += 1
    }

    /// Begins the next row with the last word of this one, which the next character continues.
    private mutating func wrap(before scalar: Unicode.Scalar) {
      let row = rows[pen.row]
      var word: [Cell?] = []
      if scalar != " ", let space = row.lastIndex(where: { $0?.isText != true }), space + 1 < row.count {
        word = Array(row[(space + 1)...])
        rows[pen.row].removeSubrange(space...)
      }
      returnCarriage()
      rows[pen.row] = word
      pen.column = word.count
    }
  }

  private var windows = [Window?](repeating: nil, count: 8)
  private var current: Int?

  /// Whether a window that is seen has text.
  var hasText: Bool { windows.contains { $0?.isVisible == true && $0?.hasText == true } }

  /// Whether what is written now is seen.
  var isSeen: Bool { current.flatMap { windows[$0]?.isVisible } ?? false }

  /// Whether a carriage return moves lines that are seen.
  var scrolls: Bool { current.flatMap { windows[$0]?.scrolls } ?? false }

  mutating func write(_ scalars: [Unicode.Scalar]) {
    for scalar in scalars { change { $0.write(scalar) } }
  }

  mutating func returnCarriage() { change { $0.returnCarriage() } }

  /// Empties the pen's row and moves to its beginning.
  mutating func eraseRow() {
    change {
      $0.rows[$0.pen.row] = []
      $0.pen.column = 0
    }
  }

  mutating func erase() { change { $0.clear() } }

  mutating func moveBack() {
    change {
      $0.pen.column = max(0, $0.pen.column - 1)
      if $0.pen.column < $0.rows[$0.pen.row].count { $0.rows[$0.pen.row][$0.pen.column] = nil }
    }
  }

  private mutating func change(_ body: (inout Window) -> Void) {
    guard let current, var window = windows[current] else { return }
    // The only reference to the window's arrays, so that they are not copied.
    windows[current] = nil
    body(&window)
    windows[current] = window
  }

  mutating func reset() { self = DTVCCWindows() }

  mutating func select(_ number: Int) { if windows[number] != nil { current = number } }

  /// ClearWindows, DisplayWindows, HideWindows, ToggleWindows and DeleteWindows.
  /// - Parameter bits: A bit for each window, that of the first is the lowest.
  mutating func change(_ code: UInt8, of bits: UInt8) {
    for number in windows.indices where bits >> UInt8(number) & 1 == 1 {
      switch code {
      case 0x88: windows[number]?.clear()
      case 0x89: windows[number]?.isVisible = true
      case 0x8A: windows[number]?.isVisible = false
      case 0x8B: windows[number]?.isVisible.toggle()
      default:
        windows[number] = nil
        if current == number { current = nil }
      }
    }
  }

  /// DefineWindow. A window that exists keeps its text and its pen.
  /// - Parameter parameters: Six bytes.
  mutating func define(_ number: Int, _ parameters: [UInt8]) {
    let exists = windows[number] != nil
    var window = windows[number] ?? Window()
    window.isVisible = parameters[0] & 0x20 != 0
    let (count, columns) = (Int(parameters[3] & 0x0F) + 1, Int(parameters[4] & 0x3F) + 1)
    // Of the screen's 75 rows, or of a hundred parts of its height.
    let anchor = Double(parameters[1] & 0x7F) * (parameters[1] & 0x80 != 0 ? 0.75 : 1)
    // The point that is there is in the upper edge, the middle or the lower edge.
    window.top = anchor - Double(min(2, (parameters[3] >> 4) / 3)) / 2 * Double(count) * DTVCCWindows.rowHeight
    window.columns = columns
    window.rows = window.rows.prefix(count).map { Array($0.prefix(columns)) }
    while window.rows.count < count { window.rows.append([]) }
    window.pen = (min(window.pen.row, count - 1), min(window.pen.column, columns))
    let (style, pen) = (parameters[5] >> 3 & 7, parameters[5] & 7)
    // Those of the styles of windows that wrap words; 0 is the first for a window that is new.
    if style > 0 || !exists { window.wrapsWords = [4, 5, 6].contains(style) }
    if pen > 0 || !exists { window.resetPen() }
    windows[number] = window
    current = number
  }

  /// SetWindowAttributes.
  /// - Parameter parameters: Four bytes.
  mutating func setAttributes(_ parameters: [UInt8]) { change { $0.wrapsWords = parameters[2] & 0x40 != 0 } }

  /// SetPenAttributes.
  /// - Parameter parameters: Two bytes.
  mutating func setPen(_ parameters: [UInt8]) {
    change {
      ($0.isItalic, $0.isUnderlined) = (parameters[1] & 0x80 != 0, parameters[1] & 0x40 != 0)
      $0.isHiddenText = parameters[0] >> 4 == 15
    }
  }

  /// SetPenLocation.
  /// - Parameter parameters: Two bytes.
  mutating func movePen(_ parameters: [UInt8]) {
    change {
      $0.pen = (
        min(Int(parameters[0] & 0x0F), $0.rows.count - 1), min(Int(parameters[1] & 0x3F), $0.columns - 1)
      )
    }
  }

  /// Of a line of text, in the screen's 75 rows.
  private static let rowHeight = 5.0
  private static let screenHeight = 75.0

  /// What is seen, as the text of an event of a script: the lines of all windows from the top on, without the spaces at
  /// their edges. They are at the top of the picture if the first of them is in the upper half of the screen.
  var text: String {
    let seen = windows.compactMap { $0?.isVisible == true ? $0 : nil }
    var lines: [String] = []
    var isAtTop = false
    var (isItalic, isUnderlined) = (false, false)
    for window in seen.enumerated().sorted(by: { ($0.element.top, $0.offset) < ($1.element.top, $1.offset) }) {
      for (number, row) in window.element.rows.enumerated() {
        guard let first = row.firstIndex(where: { $0?.isText == true }),
          let last = row.lastIndex(where: { $0?.isText == true })
        else { continue }
        if lines.isEmpty {
          let middle = window.element.top + (Double(number) + 0.5) * Self.rowHeight
          isAtTop = middle < Self.screenHeight / 2
        }
        var line = ""
        for cell in row[first...last] {
          if let cell, cell.isText {
            if cell.isItalic != isItalic { line += cell.isItalic ? "{\\i1}" : "{\\i0}" }
            if cell.isUnderlined != isUnderlined { line += cell.isUnderlined ? "{\\u1}" : "{\\u0}" }
            (isItalic, isUnderlined) = (cell.isItalic, cell.isUnderlined)
          }
          line += cell?.escaped ?? " "
        }
        lines.append(line)
      }
    }
    return (isAtTop ? "{\\an8}" : "") + lines.joined(separator: "\\N")
  }
}

extension DTVCCWindows.Cell {
  fileprivate var isText: Bool { !scalar.properties.isWhitespace }

  /// As it is written in a script, where braces and a character after a backslash have a meaning.
  fileprivate var escaped: String {
    switch scalar {
    case "{", "}": "\\\(scalar)"
    case "\\": "\\\u{2060}"
    default: String(scalar)
    }
  }
}
