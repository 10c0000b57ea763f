import Glibc
import Jobs
import Synchronization
import SystemSupport

/// Ends the waits of a database connection from outside its thread: for a server that does not answer, that is the only
/// way to end them soon.
final class Cutoff: Sendable {
  private struct State {
    var isCut = false
    /// Another descriptor of the connection's socket, which libpq does not close.
    var socket: OpenFile?
  }

  private let state = Mutex(State())
  /// The two ends of a socket. `cut` shuts the first one down, which a thread notices at the second one.
  private let ends: (cut: OpenFile, polled: OpenFile)

  init() throws(JobStoreError) {
    do {
      ends = try OpenFile.socketPair()
    } catch {
      throw JobStoreError(error)
    }
  }

  var isCut: Bool { state.withLock { $0.isCut } }

  /// For ever: ends the waits of the thread, and breaks its connection.
  func cut() {
    ends.cut.shutDown()
    state.withLock { state in
      state.isCut = true
      state.socket?.shutDown()
    }
  }

  /// To be called when a connection is open: `cut` breaks it from then on.
  func watch(socket: Int32) throws(JobStoreError) {
    let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw JobStoreError(SystemError(errno, "duplicating a descriptor")) }
    let file = OpenFile(owning: copy, name: "a database connection")
    let isCut = state.withLock { state in
      state.socket = file
      return state.isCut
    }
    guard !isCut else { throw Self.closed }
  }

  /// To be called when a connection is closed.
  func unwatch() { state.withLock { $0.socket = nil } }

  enum Wake { case cut, ready, over }

  /// Waits until the socket can be read, or written, or the time is over, or `cut` is called.
  ///
  /// - Parameters:
  ///   - socket: Nil waits for the time alone.
  ///   - events: The events of `poll` that are waited for.
  ///   - milliseconds: Nil waits without a limit.
  func wait(socket: Int32?, for events: Int32 = POLLIN, milliseconds: Int32? = nil) -> Wake {
    var polled = [
      pollfd(fd: ends.polled.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket ?? -1, events: Int16(events), revents: 0),
    ]
    // A wait that a signal interrupts is over at once, and the caller looks again.
    guard poll(&polled, nfds_t(polled.count), milliseconds ?? -1) > 0 else { return isCut ? .cut : .over }
    return isCut ? .cut : polled[1].revents == 0 ? .over : .ready
  }

  static var closed: JobStoreError { JobStoreError(.closed, "the job store is closed") }
}
