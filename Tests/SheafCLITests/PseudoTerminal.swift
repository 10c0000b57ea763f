import Foundation
import Glibc
import Synchronization

/// A terminal of which a test is the other side: it reads what a program writes, presses keys and changes the size.
final class PseudoTerminal: Sendable {
  /// `TIOCSPTLCK` and `TIOCGPTPEER`, which are macros that Swift does not import.
  private static let (lock, openPeer): (UInt, UInt) = (0x4004_5431, 0x5441)

  /// The program's side.
  let program: Int32
  private let test: Int32
  private let written = Mutex("")
  private let changes: AsyncStream<Void>

  init(width: Int, height: Int) throws {
    test = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var isLocked: Int32 = 0
    guard test >= 0, ioctl(test, Self.lock, &isLocked) == 0 else { throw POSIXError(.ENODEV) }
    program = ioctl(test, Self.openPeer, O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard program >= 0 else { throw POSIXError(.ENODEV) }
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    changes = stream
    resize(width: width, height: height)
    Thread.detachNewThread { [self] in
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = read(test, &bytes, bytes.count)
        guard count > 0 else { break }
        written.withLock { $0 += String(decoding: bytes[..<count], as: UTF8.self) }
        continuation.yield()
      }
      continuation.finish()
    }
  }

  deinit {
    close(program)
    close(test)
  }

  var output: String { written.withLock(\.self) }

  /// Until the program has written what a condition holds for.
  func wait(until holds: (String) -> Bool) async {
    if holds(output) { return }
    for await _ in changes where holds(output) { return }
  }

  func press(_ keys: String) {
    let bytes = Array(keys.utf8)
    _ = write(test, bytes, bytes.count)
  }

  func resize(width: Int, height: Int) {
    var size = winsize(ws_row: UInt16(height), ws_col: UInt16(width), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(test, UInt(TIOCSWINSZ), &size)
  }

  /// Whether keys come at once and are not shown.
  var isRaw: Bool {
    var settings = termios()
    tcgetattr(program, &settings)
    return settings.c_lflag & tcflag_t(ICANON | ECHO) == 0
  }

  /// What a person sees: the text as a terminal of this size shows it. Of the control sequences it knows those that put
  /// the cursor somewhere and that erase; it ignores the others.
  func picture(width: Int, height: Int) -> [String] {
    var cells = [[Character]](repeating: [Character](repeating: " ", count: width), count: height)
    var (row, column) = (0, 0)
    var rest = output.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      guard scalar == "\u{1B}", rest.first == "[" else {
        switch scalar {
        case "\r": column = 0
        case "\n": row += 1
        default:
          guard row < height, column < width else { continue }
          cells[row][column] = Character(scalar)
          column += 1
        }
        continue
      }
      rest = rest.dropFirst()
      let parameters = String(String.UnicodeScalarView(rest.prefix { !(0x40...0x7E).contains($0.value) }))
      rest = rest.dropFirst(parameters.unicodeScalars.count)
      let numbers = parameters.split(separator: ";").map { Int($0) ?? 1 }
      switch rest.popFirst() {
      case "H": (row, column) = ((numbers.first ?? 1) - 1, (numbers.dropFirst().first ?? 1) - 1)
      case "K": if row < height { for index in column..<max(column, width) { cells[row][index] = " " } }
      case "J":
        if row < height { for index in column..<max(column, width) { cells[row][index] = " " } }
        for index in min(row + 1, height)..<height { cells[index] = [Character](repeating: " ", count: width) }
      default: break
      }
    }
    return cells.map { String($0).replacing(/[ ]+$/, with: "") }
  }
}
