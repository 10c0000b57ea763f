/// What the agent asks of its nursery: a byte that says what, and the number that the agent gave the process, big-endian.
/// The descriptors of a new process's socket and standard error follow `fork`.
enum NurseryRequest: Sendable, Hashable {
  case fork(UInt32)
  case kill(UInt32)

  static let length = 5

  var bytes: [UInt8] {
    let (kind, number): (UInt8, UInt32) =
      switch self {
      case .fork(let number): (1, number)
      case .kill(let number): (2, number)
      }
    return [kind] + withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  init(_ bytes: [UInt8]) throws(ControlError) {
    var reader = ControlReader(bytes)
    let kind = try reader.byte()
    let number = try reader.number32()
    switch kind {
    case 1: self = .fork(number)
    case 2: self = .kill(number)
    default: throw ControlError("no request is of kind \(kind)")
    }
  }
}

/// The nursery's first words.
struct NurseryGreeting: Sendable, Hashable {
  /// `CSandbox`'s flags of what is in force already.
  var confinement: UInt8
  /// The build of libraries, renderer and fonts.
  var identity: String
}

/// What the nursery tells the agent, in control frames.
enum NurseryReport: Sendable, Hashable {
  case ready(NurseryGreeting)
  case ended(UInt32, ProcessEnd)

  var frame: [UInt8] {
    var frame = ControlWriter()
    switch self {
    case .ready(let greeting):
      frame.append(UInt8(1))
      frame.append(greeting.confinement)
      frame.append(greeting.identity)
    case .ended(let number, let end):
      frame.append(UInt8(2))
      frame.append(number)
      frame.append(UInt32(bitPattern: end.exitCode))
      frame.append(UInt32(bitPattern: end.signal))
      frame.append(end.cpuMilliseconds)
      frame.append(end.peakKilobytes)
    }
    return frame.finish()
  }

  init(_ frame: some Sequence<UInt8>) throws(ControlError) {
    var reader = ControlReader(frame)
    switch try reader.byte() {
    case 1: self = .ready(NurseryGreeting(confinement: try reader.byte(), identity: try reader.text()))
    case 2:
      let number = try reader.number32()
      self = .ended(
        number,
        ProcessEnd(
          exitCode: Int32(bitPattern: try reader.number32()), signal: Int32(bitPattern: try reader.number32()),
          cpuMilliseconds: try reader.number64(), peakKilobytes: try reader.number64()))
    case let kind: throw ControlError("no report is of kind \(kind)")
    }
    try reader.finish()
  }
}
