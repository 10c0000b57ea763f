internal import CMedia
import CompositionModel

/// Decodes the captions of CEA-708, picture by picture.
///
/// A caption is one state of the screen. What is written is one with what was written at most half a second before, and
/// is shown from the beginning on: a line that comes letter by letter is one caption, as those of CEA-608 are.
struct DTVCCDecoder {
  /// The most bytes of commands that wait for the end of a delay. One more ends it.
  private static let greatestDelayedSize = 128

  private let timebase: AVRational
  private var packets = DTVCCPackets()
  private var commands = DTVCCCommands()
  private var windows = DTVCCWindows()
  /// When the delay ends, in ticks. Nil: there is none.
  private var delayEnd: Int64?
  private var delayed: [ArraySlice<UInt8>] = []
  private var delayedSize = 0
  /// When the state of the screen began, and when something was last written, in ticks.
  private var start = Int64.min
  private var lastWriting = Int64.min
  /// The most ticks between what is written into one caption.
  private let greatestPause: Int64
  /// The last caption. The next state may continue it.
  private var last: (start: Int64, end: Int64, text: String)?
  private var count = 0
  /// The captions that are complete.
  private(set) var found: TimedCaptions

  /// - Parameters:
  ///   - timebase: Seconds a tick.
  ///   - name: The file's, for messages.
  init(_ timebase: AVRational, name: String) {
    self.timebase = timebase
    greatestPause = av_rescale_q(1, AVRational(num: 1, den: 2), timebase)
    found = TimedCaptions(timebase, name: name, header: CaptionsFormat.plainHeader, hasStyles: false)
  }

  /// Two bytes of a packet, which is of type 3 of `PictureCaptionData` at its start, else of type 2.
  /// - Parameter time: Of the picture, not before that of the last one.
  mutating func add(_ first: UInt8, _ second: UInt8, isStart: Bool, at time: Int64) throws(MediaError) {
    while let delayEnd, delayEnd <= time { try release(at: delayEnd) }
    for block in packets.add(first, second, isStart: isStart) {
      for command in commands.add(block) { try take(command, at: time) }
    }
  }

  /// After the last picture. Nothing says when what is seen then ends.
  mutating func end() throws(MediaError) {
    while let delayEnd { try release(at: delayEnd) }
    guard windows.hasText else { return try flush() }
    let text = windows.text
    let continues = last.map { $0.end == start && $0.text == text } ?? false
    if let last, continues { start = last.start } else { try flush() }
    last = nil
    try add(start: start, end: nil, text)
  }

  /// Executes a command, or keeps it until the delay ends.
  private mutating func take(_ command: ArraySlice<UInt8>, at time: Int64) throws(MediaError) {
    guard let code = command.first else { return }
    guard delayEnd != nil, code != 0x8F else { return try execute(code, command, at: time) }
    if code == 0x8E { return try release(at: time) }
    delayed.append(command)
    delayedSize += command.count
    if delayedSize > Self.greatestDelayedSize { try release(at: time) }
  }

  private mutating func release(at time: Int64) throws(MediaError) {
    let commands = delayed
    (delayEnd, delayed, delayedSize) = (nil, [], 0)
    for command in commands { try take(command, at: time) }
  }

  private mutating func execute(_ code: UInt8, _ command: ArraySlice<UInt8>, at time: Int64) throws(MediaError) {
    let parameters = Array(command.dropFirst())
    if let scalars = DTVCCCharacters.scalars(command) {
      try beginWriting(at: time)
      return windows.write(scalars)
    }
    switch code {
    case 0x08:
      try beginWriting(at: time)
      windows.moveBack()
    case 0x0C:
      if windows.isSeen { try endState(at: time) }
      windows.erase()
    case 0x0D:
      // The lines of a caption that does not scroll may be written at once.
      if windows.isSeen, windows.scrolls || time &- start > greatestPause { try endState(at: time) }
      windows.returnCarriage()
    case 0x0E:
      if windows.isSeen { try endState(at: time) }
      windows.eraseRow()
    case 0x80...0x87: windows.select(Int(code & 7))
    case 0x88...0x8C:
      try endState(at: time)
      windows.change(code, of: parameters[0])
    case 0x8D where parameters[0] > 0:
      delayEnd = time &+ av_rescale_q(Int64(parameters[0]), AVRational(num: 1, den: 10), timebase)
    case 0x8F:
      try endState(at: time)
      (delayEnd, delayed, delayedSize) = (nil, [], 0)
      windows.reset()
    case 0x90: windows.setPen(parameters)
    case 0x92: windows.movePen(parameters)
    case 0x97: windows.setAttributes(parameters)
    case 0x98...0x9F:
      try endState(at: time)
      windows.define(Int(code & 7), parameters)
    default: break
    }
  }

  /// Called before something is written.
  private mutating func beginWriting(at time: Int64) throws(MediaError) {
    guard windows.isSeen else { return }
    if start != time {
      if !windows.hasText {
        start = time
      } else if time &- lastWriting > greatestPause {
        try endState(at: time)
      }
    }
    lastWriting = time
  }

  /// Called before what is seen changes otherwise. What is seen was shown until now.
  private mutating func endState(at time: Int64) throws(MediaError) {
    guard start != time else { return }
    defer {
      start = time
      lastWriting = time
    }
    guard start < time, windows.hasText else { return }
    let text = windows.text
    if let last, last.end == start, last.text == text {
      self.last?.end = time
    } else {
      try flush()
      last = (start, time, text)
    }
  }

  private mutating func flush() throws(MediaError) {
    guard let last else { return }
    self.last = nil
    try add(start: last.start, end: last.end, last.text)
  }

  private mutating func add(start: Int64, end: Int64?, _ text: String) throws(MediaError) {
    try found.add(start: start, end: end, fields: "\(count),0,Default,,0,0,0,,\(text)")
    count += 1
  }
}
