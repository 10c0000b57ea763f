import Glibc
import Synchronization
import SystemSupport

/// A terminal as one picture that is replaced as a whole, and that gives keys one by one. The terminal is as it was
/// before when the screen is closed.
final class Screen: Sendable {
  /// What restores the terminal of the open screen. Nil: none is open.
  private static let open = Mutex<(@Sendable () -> Void)?>(nil)

  private static let begin = "\u{1B}[?1049h\u{1B}[?25l"
  private static let end = "\u{1B}[?25h\u{1B}[?1049l"

  private let terminal: Terminal
  private let last = Mutex<[String]>([])

  /// Nil if standard input or standard output is no terminal that can be repainted.
  init?() {
    guard let terminal = Terminal.output, isatty(STDIN_FILENO) == 1 else { return nil }
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
    self.terminal = terminal
    var keys = before
    // Keys come at once and are not shown. Ctrl-C stays a signal; Ctrl-Z would leave the terminal as it is now.
    keys.c_lflag &= ~tcflag_t(ICANON | ECHO)
    withUnsafeMutableBytes(of: &keys.c_cc) { $0[Int(VSUSP)] = 0 }
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys)
    let original = before
    Self.open.withLock { open in
      open = {
        var original = original
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &original)
        // A terminal that is gone needs no restoring.
        do { try StandardOutput.write(Self.end) } catch {}
      }
    }
    // What cannot be written is reported with the first picture.
    do { try StandardOutput.write(Self.begin) } catch {}
  }

  /// Restores the terminal. Also called where the process ends at once, and then there may be no screen.
  static func close() {
    let restore = open.withLock { open in
      defer { open = nil }
      return open
    }
    restore?()
  }

  var size: TopFrame.Size { TopFrame.Size(width: terminal.width, height: terminal.height) }

  /// Replaces the picture. The terminal shows it at once, if it can (mode 2026), and only the lines that are new are
  /// written.
  /// - Parameter all: Whether every line is written, as after the size has changed.
  func show(_ lines: [String], all: Bool) throws(OutputError) {
    let before = last.withLock { last in
      defer { last = lines }
      return all ? [] : last
    }
    var text = ""
    for (index, line) in lines.enumerated() where index >= before.count || before[index] != line {
      text += "\u{1B}[\(index + 1);1H\(line)\u{1B}[0m\u{1B}[K"
    }
    if all { text += "\u{1B}[J" }
    guard !text.isEmpty else { return }
    try StandardOutput.write("\u{1B}[?2026h" + text + "\u{1B}[?2026l")
  }

  /// The keys that are pressed, until the reader's task is cancelled or standard input ends.
  static func keys() throws -> AsyncStream<Character> {
    let (stream, continuation) = AsyncStream.makeStream(of: Character.self)
    let end = KeysEnd()
    continuation.onTermination = { _ in end.isReached.withLock { $0 = true } }
    // A thread, because a read of a terminal blocks.
    try startThread {
      var byte: UInt8 = 0
      while !end.isReached.withLock(\.self) {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let found = poll(&input, 1, 100)
        if found == 0 || found < 0 && errno == EINTR { continue }
        guard found > 0, read(STDIN_FILENO, &byte, 1) == 1 else { break }
        continuation.yield(Character(Unicode.Scalar(byte)))
      }
      continuation.finish()
    }
    return stream
  }
}

/// Whether nobody reads keys any more.
private final class KeysEnd: Sendable {
  let isReached = Mutex(false)
}
