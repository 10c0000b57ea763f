package import Wire

/// When a client connects again after it has lost its coordinator. Pure: it gets events with their times, and returns
/// what to do.
package struct Reconnection: Sendable, Hashable {
  /// How long a client waits between attempts, and when it gives up.
  package struct Limits: Sendable, Hashable {
    /// The pause before the first attempt. Each later pause is twice as long.
    package var shortestPause: Duration
    package var longestPause: Duration
    /// How long the coordinator may be away at a time.
    package var longestOutage: Duration
    /// How long a connected coordinator may send nothing before it counts as away.
    package var longestSilence: Duration
    /// How long a connection may take to be made, and then the coordinator to answer it.
    package var longestConnecting: Duration

    package init(
      shortestPause: Duration = .milliseconds(250), longestPause: Duration = .seconds(3),
      longestOutage: Duration = .seconds(300), longestSilence: Duration = .seconds(20),
      longestConnecting: Duration = WireProtocol.helloTimeout
    ) {
      self.shortestPause = shortestPause
      self.longestPause = longestPause
      self.longestOutage = longestOutage
      self.longestSilence = longestSilence
      self.longestConnecting = longestConnecting
    }
  }

  package enum Action: Sendable, Hashable {
    /// Connect again after the pause.
    /// - Parameter isFirst: Whether the outage has just begun, so that the user is to be informed.
    case retry(after: Duration, isFirst: Bool)
    /// Throw the error: another connection cannot change it.
    case giveUp
    /// The coordinator has been away for `longestOutage`.
    case outlasted
  }

  private let limits: Limits
  /// Whether the coordinator has answered before. A client that never had an answer may have a wrong address.
  private var hasAnswered = false
  /// When the outage began; nil while the coordinator answers.
  private var lostAt: Duration?
  private var pause: Duration

  package init(_ limits: Limits = Limits()) {
    self.limits = limits
    pause = limits.shortestPause
  }

  /// The coordinator has sent a message. Returns whether this ends an outage.
  package mutating func answered() -> Bool {
    defer { lostAt = nil }
    hasAnswered = true
    pause = limits.shortestPause
    return lostAt != nil
  }

  /// A connection was lost or not made.
  /// - Parameter now: On a clock that never goes back.
  package mutating func failed(_ error: WireError, at now: Duration) -> Action {
    switch error.code {
    // A damaged frame is a sign of a coordinator, too.
    case .refused(.shuttingDown), .refused(.unavailable), .damaged: break
    case .unreachable, .closed, .timeout: if !hasAnswered { return .giveUp }
    case .refused, .violation, .content, .temporary, .addressInUse, .untrusted, .ownCertificate: return .giveUp
    }
    let isFirst = lostAt == nil
    let start = lostAt ?? now
    guard now - start < limits.longestOutage else { return hasAnswered ? .outlasted : .giveUp }
    lostAt = start
    defer { pause = min(pause * 2, limits.longestPause) }
    return .retry(after: pause, isFirst: isFirst)
  }
}
