import Digest
import FarmModel
import Testing

@testable import Webhooks

/// The rules that need no server.
struct SendingRuleTests {
  @Test(arguments: [
    ("8.8.8.8", true), ("10.1.2.3", false), ("100.127.255.255", false), ("100.128.0.0", true), ("127.0.0.1", false),
    ("169.254.169.254", false), ("172.15.0.1", true), ("172.31.255.254", false), ("192.168.0.1", false),
    ("198.19.1.1", false), ("224.0.0.1", false), ("255.255.255.255", false), ("0.0.0.0", false), ("::1", false),
    ("::", false), ("::ffff:10.0.0.1", false), ("::ffff:8.8.8.8", true), ("64:ff9b::7f00:1", false),
    ("64:ff9b::808:808", true), ("2002:7f00:1::", false), ("2002:808:808::", true), ("fc00::1", false),
    ("fe80::1", false), ("ff02::1", false), ("2001:db8::1", false), ("2001:0:1::", false),
    ("2606:4700::1111", true), ("2a00:1450:4001::5", true),
  ])
  func `only addresses of the public Internet are asked`(address: String, isPublic: Bool) throws {
    #expect(AddressRule().allows(try #require(Self.bytes(address))) == isPublic)
  }

  @Test func `a network that the operator allows is asked, and its neighbour is not`() throws {
    let rule = AddressRule(allowing: ["10.32.0.0/11", "fd12::/16", "127.0.0.1"].compactMap { Network($0) })
    for address in ["10.32.0.0", "10.63.255.255", "fd12:ffff::", "127.0.0.1", "::ffff:10.40.0.1"] {
      #expect(rule.allows(try #require(Self.bytes(address))), "\(address)")
    }
    for address in ["10.31.255.255", "10.64.0.0", "fd13::", "127.0.0.2", "::1"] {
      #expect(!rule.allows(try #require(Self.bytes(address))), "\(address)")
    }
  }

  @Test(arguments: [
    "", "10.0.0.0/33", "10.0.0.1/8", "10.0.0/8", "::/129", "10.0.0.0/", "10.0.0.0/+8", "a/8", "1.2.3.4/8/8",
  ])
  func `what is no network is refused`(text: String) {
    #expect(Network(text) == nil)
  }

  @Test func `a message is tried by the specification's schedule, and then no more`() {
    var pauses: [Double] = []
    for turn in 1...10 {
      switch SendingSchedule.outcome(of: .answered(status: 500, wait: .zero), turn: turn, jitter: 0).next {
      case .retry(let pause): pauses.append(Double(pause.components.seconds))
      case .failed: #expect(turn == 10)
      case .delivered: Issue.record("a failure")
      }
    }
    #expect(pauses == [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400])
    #expect(
      SendingSchedule.outcome(of: .failed("x"), turn: 2, jitter: 0.5)
        == DeliveryOutcome(.retry(after: .seconds(315)), message: "x"))
    #expect(SendingSchedule.outcome(of: .answered(status: 299, wait: .zero), turn: 9, jitter: 1).next == .delivered)
    // A reply asks for no more than a day.
    #expect(
      SendingSchedule.outcome(of: .answered(status: 429, wait: .seconds(1_000_000)), turn: 1, jitter: 0).next
        == .retry(after: .seconds(86_400)))
  }

  /// RFC 4231, test cases 2 and 6.
  @Test func `a message's code is that of the standard`() {
    let hex = { (bytes: [UInt8]) in SHA256Digest(bytes: bytes)?.hex }
    #expect(
      hex(MessageCode.sha256(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(
      hex(
        MessageCode.sha256(
          of: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
          key: [UInt8](repeating: 0xaa, count: 131)))
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }

  private static func bytes(_ address: String) -> [UInt8]? { Network.address(address) }
}
