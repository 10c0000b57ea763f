import ArgumentParser
import Client
import FarmAPI
import SystemSupport
import UnixSignals
import Wire

struct TopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top", abstract: "Show what a farm does, live.",
    discussion: """
      The workers with their busy slots, the jobs that go on with their progress, their frames a second and the time \
      that is left, what each waits for, the newest jobs that have ended, and what holds up the whole farm. It is \
      looked at once a second.

      Keys: q quits. o sorts the jobs in the order in which the farm takes them, n by name, p by progress, r by frames \
      a second, a by age.

      Without a terminal, or with --once, one picture is printed as text, without rates. No colors are used if \
      NO_COLOR is set. When the coordinator is away for less than 5 minutes the command connects again.
      """)

  @OptionGroup var coordinator: CoordinatorOptions

  @Flag(help: "Print one picture as text, and end. [SHEAF_ONCE]")
  var once = false

  func run() async throws {
    try await reporting {
      let endpoint = try coordinator.endpoint()
      let isOnce = Setting.flag(once, "SHEAF_ONCE")
      try await Interruption.cancelling {
        guard !isOnce, let screen = Screen() else { return try await Self.printOnce(endpoint) }
        defer { Screen.close() }
        try await TopView(screen, endpoint).run()
      }
    }
  }

  private static func printOnce(_ endpoint: CoordinatorClient.Endpoint) async throws {
    var state = TopState()
    state.update(try await CoordinatorClient.run(endpoint) { try await FarmLook(JobRun($0)) }, at: .zero)
    let size = TopFrame.Size(width: Terminal.output?.width ?? 100, height: nil)
    let frame = TopFrame(state, farm: endpoint.place, size: size, time: .now, keys: false)
    for line in frame.plain { try Console.print(line) }
  }
}

/// Shows a farm on a terminal until `q` is pressed or the task is cancelled.
private struct TopView {
  private enum Event: Sendable {
    case looked(FarmLook, at: Duration)
    case notice(FarmClient.Notice)
    case key(Character)
    case resized
    /// The clock goes on, also where the coordinator does not answer.
    case tick
    case failed(any Error)
  }

  private let screen: Screen
  private let endpoint: CoordinatorClient.Endpoint
  private let isColored: Bool

  init(_ screen: Screen, _ endpoint: CoordinatorClient.Endpoint) {
    self.screen = screen
    self.endpoint = endpoint
    isColored = (ProcessEnvironment.value("NO_COLOR") ?? "").isEmpty
  }

  func run() async throws {
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask { [endpoint] in await Self.look(endpoint, continuation) }
      let keys = try Screen.keys()
      group.addTask {
        for await key in keys { continuation.yield(.key(key)) }
      }
      group.addTask {
        while true {
          try await Task.sleep(for: .seconds(1))
          continuation.yield(.tick)
        }
      }
      group.addTask {
        for await _ in await UnixSignalsSequence(trapping: .sigwinch, .sigcont) { continuation.yield(.resized) }
      }
      try await show(events)
    }
  }

  /// Looks at the farm once a second, on one connection for as long as it lasts.
  private static func look(
    _ endpoint: CoordinatorClient.Endpoint, _ events: AsyncStream<Event>.Continuation
  ) async {
    let start = ContinuousClock.now
    let client = FarmClient(endpoint) { events.yield(.notice($0)) }
    do {
      try await client.run { run in
        while true {
          let found = try await FarmLook(run)
          events.yield(.looked(found, at: start.duration(to: .now)))
          try await Task.sleep(for: .seconds(1))
        }
      }
    } catch {
      events.yield(.failed(error))
    }
  }

  private func show(_ events: AsyncStream<Event>) async throws {
    var state = TopState()
    try paint(state, all: true)
    for await event in events {
      var isResized = false
      switch event {
      case .looked(let look, let time):
        state.outage = nil
        state.update(look, at: time)
      case .notice(.lost(let reason)): state.outage = reason
      case .notice: state.outage = nil
      case .key(let key):
        if key == "q" || key == "Q" { return }
        // Ctrl-L, as elsewhere.
        isResized = key == "\u{0C}"
        if let order = TopOrder(rawValue: key) { state.order = order }
      case .resized: isResized = true
      case .tick: break
      case .failed(let error): throw error
      }
      try paint(state, all: isResized)
    }
    try Task.checkCancellation()
  }

  private func paint(_ state: TopState, all: Bool) throws {
    let frame = TopFrame(
      state, farm: endpoint.place, size: screen.size, time: .now, keys: true)
    let lines = isColored ? frame.colored : frame.lines.map(\.text)
    try screen.show(lines, all: all)
  }
}
