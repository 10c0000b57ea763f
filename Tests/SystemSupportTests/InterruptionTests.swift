import Glibc
import Synchronization
import SystemSupport
import TestPrograms
import Testing

/// Reads and writes that are partial, interrupted by signals, or meet an end that is closed; and threads.
@Suite(.timeLimit(.minutes(10)))
struct InterruptionTests {
  @Test
  func `a call is repeated while signals interrupt it, and only then`() throws {
    var calls = 0
    let count = try retryingOnInterrupt("testing") { () -> Int in
      calls += 1
      errno = EINTR
      return calls < 3 ? -1 : 7
    }
    #expect(count == 7 && calls == 3)
    #expect(throws: SystemError(EAGAIN, "testing")) {
      try retryingOnInterrupt("testing") { () -> Int in
        errno = EAGAIN
        return -1
      }
    }
  }

  @Test
  func `large messages go through small socket buffers whole, though signals interrupt both ends`() async throws {
    let (left, right) = try OpenFile.socketPair()
    let bytes = TestBytes.varied(3_000_000)
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in }
    // Without SA_RESTART, so that a waiting call returns with EINTR.
    #expect(sigaction(SIGUSR2, &action, nil) == 0)
    let threads = Mutex<[pthread_t]>([])
    let received: [UInt8]? = try await withCheckedThrowingContinuation { continuation in
      do {
        try startThread {
          threads.withLock { $0.append(pthread_self()) }
          let result = Result { try right.readExactly(bytes.count) }
          threads.withLock { $0.removeAll { $0 == pthread_self() } }
          continuation.resume(with: result)
        }
        try startThread {
          threads.withLock { $0.append(pthread_self()) }
          // A failure shows as bytes that the other thread does not get.
          try? left.send(bytes)
          threads.withLock { $0.removeAll { $0 == pthread_self() } }
          left.shutDown()
        }
        try startThread {
          for _ in 0..<300 {
            threads.withLock { for thread in $0 { pthread_kill(thread, SIGUSR2) } }
            usleep(100)
          }
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
    #expect(received == bytes)
  }

  @Test
  func `the end of a stream is another result than an empty one`() throws {
    let (left, right) = try OpenFile.socketPair()
    #expect(try right.receiveWithoutWaiting(10) == nil)
    #expect(try waitForInput([right.descriptor, -1], milliseconds: 0) == [false, false])
    try left.send([1, 2, 3])
    #expect(try waitForInput([left.descriptor, right.descriptor]) == [false, true])
    #expect(try right.receiveWithoutWaiting(2) == [1, 2])
    left.shutDown()
    #expect(try right.readExactly(2) == nil, "the end comes after one byte")
    #expect(try right.receiveWithoutWaiting(10) == [])
    #expect(try right.readSome(10) == [])
  }

  @Test
  func `sending without waiting stops where there is no room, and a closed end is an error and no signal`() throws {
    let (left, right) = try OpenFile.socketPair()
    var sent = 0
    while true {
      let count = try left.sendWithoutWaiting([UInt8](repeating: 0, count: 1 << 16))
      if count == 0 { break }
      sent += count
    }
    #expect(sent > 0)
    right.shutDown()
    #expect(throws: SystemError(EPIPE, "sending to a socket")) { try left.send([1]) }
    #expect(throws: SystemError.self) { try left.sendWithoutWaiting([1]) }
  }

  @Test
  func `a serial thread runs an actor's jobs one at a time, on one thread, in order`() async throws {
    let counter = try Counter()
    await withTaskGroup { group in
      for _ in 0..<100 { group.addTask { await counter.count() } }
    }
    #expect(await counter.total == 100)
    #expect(await counter.threads.count == 1)
  }

  private actor Counter {
    private let thread: SerialThread
    private(set) var total = 0
    private(set) var threads: Set<pthread_t> = []

    init() throws(SystemError) {
      thread = try SerialThread()
    }

    deinit {
      thread.stop()
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    func count() {
      let before = total
      threads.insert(pthread_self())
      total = before + 1
    }
  }
}
