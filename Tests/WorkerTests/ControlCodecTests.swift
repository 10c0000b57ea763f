import Testing

@testable import Worker

/// The socket between agent and task process; the agent believes nothing that comes over it.
struct ControlCodecTests {
  static let agentMessages: [AgentMessage] = [
    .task(TaskOrder(payload: Array("{}".utf8), inputs: [])),
    .task(
      TaskOrder(
        payload: [0, 255],
        inputs: [
          TaskInput(digest: "ab", size: .max, name: "film é.mov", isRanged: true),
          TaskInput(digest: "", size: 0, name: "", isRanged: false),
        ])),
    .available(request: .max), .unavailable(request: 7, message: "gone"),
  ]
  static let taskMessages: [TaskMessage] = [
    .ready(confinement: 3), .progress(.max), .finished,
    .need(RangeRequest(request: 1, input: 2, range: 3..<(.max))),
    .failed(TaskFailure(cause: .infrastructure, message: "disk full")),
  ]

  @Test(arguments: agentMessages)
  func `what the agent says arrives`(message: AgentMessage) throws {
    #expect(try ControlCodec.agentMessage(ControlCodec.encode(message).dropFirst(4)) == message)
  }

  @Test(arguments: taskMessages)
  func `what a task process says arrives, in whatever parts`(message: TaskMessage) throws {
    let bytes = ControlCodec.encode(message) + ControlCodec.encode(.progress(1))
    for cut in 0...bytes.count {
      var buffer = ControlFrameBuffer()
      var heard: [TaskMessage] = []
      for part in [bytes[..<cut], bytes[cut...]] {
        buffer.append(part)
        while let frame = try buffer.next() { heard.append(try ControlCodec.taskMessage(frame)) }
      }
      #expect(heard == [message, .progress(1)])
    }
  }

  @Test(arguments: taskMessages)
  func `no beginning of a message is a message, and nothing may follow one`(message: TaskMessage) {
    let frame = Array(ControlCodec.encode(message).dropFirst(4))
    for length in 0..<frame.count {
      #expect(throws: ControlError.self) { try ControlCodec.taskMessage(frame[..<length]) }
    }
    #expect(throws: ControlError.self) { try ControlCodec.taskMessage(frame + [0]) }
  }

  @Test
  func `a frame longer than allowed is refused by its length alone`() {
    var buffer = ControlFrameBuffer(limit: 100)
    buffer.append([0, 0, 0, 101])
    #expect(throws: ControlError.self) { try buffer.next() }
  }

  @Test(
    arguments: [
      [3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9],
      [3, 0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 9, 0xff, 0, 0, 0, 0, 0, 0, 10],
      [5, 9, 0, 0, 0, 0], [5, 1, 0xff, 0xff, 0xff, 0xff, 65], [0], [99],
    ] as [[UInt8]])
  func `ranges that are none, positions that are none, causes and kinds that are none are refused`(frame: [UInt8]) {
    #expect(throws: ControlError.self) { try ControlCodec.taskMessage(frame) }
  }

  @Test
  func `a failure's text is cut and made UTF-8`() throws {
    let long = String(repeating: "x", count: 60_000)
    guard
      case .failed(let failure) = try ControlCodec.taskMessage(
        ControlCodec.encode(.failed(TaskFailure(cause: .media, message: long))).dropFirst(4))
    else {
      Issue.record("another message")
      return
    }
    #expect(failure.message.utf8.count < 5000)
    let broken: [UInt8] = [5, 1, 0, 0, 0, 2, 0xc3, 0x28]
    #expect(
      try ControlCodec.taskMessage(broken) == .failed(TaskFailure(cause: .media, message: "\u{fffd}(")))
  }

  @Test
  func `random frames are refused or understood, and nothing else`() {
    var random: UInt64 = 1
    func next(below limit: UInt64) -> UInt64 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (random >> 33) % limit
    }
    var misread: [[UInt8]] = []
    for _ in 0..<20_000 {
      let frame = (0..<next(below: 40)).map { _ in UInt8(next(below: 9)) }
      do throws(ControlError) {
        let message = try ControlCodec.taskMessage(frame)
        if Array(ControlCodec.encode(message).dropFirst(4)) != frame { misread.append(frame) }
      } catch {
        continue
      }
    }
    #expect(misread == [])
  }
}
