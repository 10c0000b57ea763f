import Testing

@testable import Client
@testable import Wire

struct ReconnectionTests {
  private let lost = WireError(.closed, "closed")
  private let unreachable = WireError(.unreachable, "no answer")

  @Test func `pauses grow to a limit, and an answer shortens them again`() {
    var reconnection = Reconnection()
    let endsNone = reconnection.answered()
    var actions = (0..<7).map { reconnection.failed(lost, at: .seconds($0)) }
    let pauses: [Duration] = [
      .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(3), .seconds(3), .seconds(3),
    ]
    #expect(actions == pauses.enumerated().map { .retry(after: $1, isFirst: $0 == 0) })
    let endsOne = reconnection.answered()
    #expect(!endsNone && endsOne)
    actions = [reconnection.failed(lost, at: .seconds(10))]
    #expect(actions == [.retry(after: .milliseconds(250), isFirst: true)])
  }

  @Test func `an outage that is too long ends the client, and an answer starts its time again`() {
    var reconnection = Reconnection(.init(longestOutage: .seconds(300)))
    var ended: [Bool] = []
    for (answers, second) in [(true, 0), (false, 299), (true, 301), (false, 600), (false, 601)] {
      if answers { _ = reconnection.answered() }
      ended.append(reconnection.failed(unreachable, at: .seconds(second)) == .outlasted)
    }
    #expect(ended == [false, false, false, false, true])
  }

  @Test func `a coordinator that has never answered may have another address`() {
    for error in [unreachable, lost, WireError(.timeout, "no answer")] {
      var reconnection = Reconnection()
      let action = reconnection.failed(error, at: .zero)
      #expect(action == .giveUp)
    }
    // These are answers of a coordinator that is there.
    for code in [WireError.Code.refused(.shuttingDown), .refused(.unavailable), .damaged] {
      var reconnection = Reconnection()
      let action = reconnection.failed(WireError(code, "later"), at: .zero)
      #expect(action != .giveUp)
    }
  }

  @Test func `what another connection cannot change is not tried again`() {
    for code in [WireError.Code.refused(.token), .refused(.protocol), .violation, .content, .untrusted] {
      var reconnection = Reconnection()
      _ = reconnection.answered()
      let action = reconnection.failed(WireError(code, "no"), at: .zero)
      #expect(action == .giveUp)
    }
  }

  /// Such as in the middle of a frame, or before its hello.
  @Test func `a client that was stopped for too long connects again`() {
    let timeout = WireError(.timeout, "a frame was not completed: only 0 bytes came within 30 s")
    var reconnection = Reconnection()
    _ = reconnection.answered()
    let action = reconnection.failed(WireError(.refused(timeout.refusalCode), timeout.message), at: .zero)
    #expect(action == .retry(after: .milliseconds(250), isFirst: true))
  }
}
