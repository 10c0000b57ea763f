import Digest
import FarmModel
import Foundation
import SwiftProtobuf
import SystemSupport
import TestPrograms
import Testing

@testable import Worker

/// The messages between agent and task process; the agent trusts nothing that comes from a task process.
struct ControlMessageTests {
  static let agentMessages: [Control_AgentMessage] = [
    .with { $0.task = .with { $0.payload = Data("{}".utf8) } },
    .with {
      $0.task = .with {
        $0.payload = Data([0, 255])
        $0.inputs = [
          .with {
            $0.digest = Data(SHA256Digest.of([1]).bytes)
            $0.size = .max
            $0.name = "film é.mov"
            $0.ranged = true
          },
          Control_Task.Input(),
        ]
      }
    },
    .with { $0.rangeReply = .with { $0.request = .max } },
    .with {
      $0.rangeReply = .with {
        $0.request = 7
        $0.error = "gone"
      }
    },
  ]
  static let taskMessages: [TaskMessage] = [
    .ready([.landlock, .seccomp]), .progress(done: .max, moved: 1), .progress(done: 0, moved: .max),
    .progress(done: 0, moved: 0), .finished,
    .rangeRequest(RangeRequest(request: 1, input: 2, range: 3..<(.max))),
    .rangeRequest(RangeRequest(request: 0, input: 0, range: 0..<1)),
    .failed(TaskFailure(.released, "disk full")), .failed(TaskFailure(.media, "")),
    .failed(TaskFailure(.document, "é")), .failed(TaskFailure(.exhausted, "no memory")), .failed(refusal),
  ]
  private static var refusal: TaskFailure {
    var failure = TaskFailure(.media, "piece 0 does not fit")
    failure.refusedInput = 0
    return failure
  }

  @Test(arguments: agentMessages)
  func `a message of the agent arrives over a socket, and no byte beyond it is read`(message: Control_AgentMessage)
    throws
  {
    let (agent, process) = try OpenFile.socketPair()
    try agent.send(ControlFrame.encode(message) + [77])
    let received = try ControlFrame.receive(
      Control_AgentMessage.self, from: process, limit: ControlFrame.limitFromAgent)
    #expect(received == message)
    #expect(try process.readExactly(1) == [77])
    agent.shutDown()
    #expect(
      try ControlFrame.receive(Control_AgentMessage.self, from: process, limit: ControlFrame.limitFromAgent) == nil)
  }

  @Test(arguments: taskMessages)
  func `a message of a task process arrives, in whatever parts`(message: TaskMessage) throws {
    let bytes = message.frame + TaskMessage.progress(done: 1, moved: 2).frame
    for cut in 0...bytes.count {
      var buffer = ControlFrameBuffer()
      var received: [TaskMessage] = []
      for part in [bytes[..<cut], bytes[cut...]] {
        buffer.append(part)
        while let frame = try buffer.next() { received.append(try TaskMessage(frame)) }
      }
      #expect(received == [message, .progress(done: 1, moved: 2)])
    }
  }

  @Test(arguments: taskMessages)
  func `no beginning of a message is a message, and nothing may follow one`(message: TaskMessage) {
    let body = Array(message.frame.dropFirst(4))
    for length in 0..<body.count {
      #expect(throws: ControlError.self) { try TaskMessage(Array(body[..<length])) }
    }
    #expect(throws: ControlError.self) { try TaskMessage(body + [0]) }
    // A second message in the same frame, and a field that no message has.
    #expect(throws: ControlError.self) { try TaskMessage(body + body) }
    #expect(throws: ControlError.self) { try TaskMessage(body + [0x78, 1]) }
  }

  @Test
  func `a message longer than allowed is refused by its length alone`() throws {
    var buffer = ControlFrameBuffer(limit: 100)
    buffer.append([0, 0, 0, 101])
    #expect(throws: ControlError.self) { try buffer.next() }
    var unlimited = ControlFrameBuffer()
    unlimited.append([0, 1, 0, 1])
    #expect(throws: ControlError.self) { try unlimited.next() }
    let (agent, process) = try OpenFile.socketPair()
    try agent.send([0, 0, 0, 101])
    #expect(throws: ControlError.self) {
      try ControlFrame.receive(Control_AgentMessage.self, from: process, limit: 100)
    }
  }

  static let impossible: [Control_TaskMessage] = [
    // Ranges without bytes, and positions that no file has.
    .with {
      $0.rangeRequest = .with {
        $0.start = 9
        $0.end = 9
      }
    },
    .with {
      $0.rangeRequest = .with {
        $0.start = -1
        $0.end = 10
      }
    },
    .with {
      $0.rangeRequest = .with {
        $0.start = .min
        $0.end = .max
      }
    },
    // Ends that are none, or not a task process's to report.
    .with { $0.failed = .with { $0.message = Data("x".utf8) } },
    .with { $0.failed = .with { $0.end = .UNRECOGNIZED(9) } },
    Control_TaskMessage(),
  ]

  @Test(arguments: impossible)
  func `ranges without bytes, unknown ends and unknown kinds are refused`(message: Control_TaskMessage) {
    #expect(throws: ControlError.self) { try TaskMessage(Array(ControlFrame.encode(message).dropFirst(4))) }
  }

  @Test(
    arguments: [
      [], [0], [99], [0x0a], [0x0a, 1], [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1], [0x2a, 4, 8, 2, 0x12, 0x7f],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ] as [[UInt8]])
  func `bytes that are no message are refused`(body: [UInt8]) {
    #expect(throws: ControlError.self) { try TaskMessage(body) }
  }

  @Test
  func `a failure's text is cut and made UTF-8`() throws {
    let long = String(repeating: "x", count: 60_000)
    let sent = Control_TaskMessage.with {
      $0.failed = .with {
        $0.end = .media
        $0.message = Data(long.utf8)
      }
    }
    for body in [ControlFrame.encode(sent), TaskMessage.failed(TaskFailure(.media, long)).frame] {
      guard case .failed(let failure) = try TaskMessage(Array(body.dropFirst(4))) else {
        Issue.record("another message")
        return
      }
      #expect(failure.message.utf8.count < 5000 && failure.message.utf8.count >= TaskMessage.textLimit)
    }
    let broken = Control_TaskMessage.with {
      $0.failed = .with {
        $0.end = .media
        $0.message = Data([0xc3, 0x28])
      }
    }
    #expect(
      try TaskMessage(Array(ControlFrame.encode(broken).dropFirst(4))) == .failed(TaskFailure(.media, "\u{fffd}(")))
  }

  @Test
  func `random messages are refused or understood, and nothing else`() {
    var random: UInt64 = 1
    func next(below limit: UInt64) -> UInt64 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (random >> 33) % limit
    }
    // Tags of the protocol's fields and small numbers, so that many of them are messages.
    let bytes: [UInt8] = [0x0a, 0x10, 0x1a, 0x22, 0x2a, 0x08, 0x12, 0x18, 0x20, 0, 1, 2, 3, 4, 5, 0x80]
    var understood = 0
    var misread: [[UInt8]] = []
    let count = TestExtent.of(50_000, whole: 200_000)
    for _ in 0..<count {
      let body = (0..<next(below: 12)).map { _ in bytes[Int(next(below: UInt64(bytes.count)))] }
      do throws(ControlError) {
        let message = try TaskMessage(body)
        understood += 1
        if Array(message.frame.dropFirst(4)) != body, !isCutText(message) { misread.append(body) }
      } catch {
        continue
      }
    }
    #expect(misread == [])
    #expect(understood > count / 2000)
  }

  /// Whether a failure's text was malformed, so that it is not what was sent.
  private func isCutText(_ message: TaskMessage) -> Bool {
    if case .failed(let failure) = message { failure.message.contains("\u{fffd}") } else { false }
  }
}
