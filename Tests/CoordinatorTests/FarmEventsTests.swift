import FarmAPI
import Logging
import Testing

@testable import Coordinator

struct FarmEventsTests {
  /// To yield takes a lock of the reader's task, and a reader that is cancelled takes the list's under that lock:
  /// neither may wait for the other.
  @Test(.timeLimit(.minutes(2))) func `events come while their readers are cancelled`() async {
    var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    logger.logLevel = .critical
    let events = FarmEvents(logger: logger)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { for number in 0..<20_000 { events.emit(.jobDeleted(job: "\(number)")) } }
      }
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<2000 {
            let reader = Task { for await _ in events.stream() {} }
            await Task.yield()
            reader.cancel()
            await reader.value
          }
        }
      }
    }
  }
}
