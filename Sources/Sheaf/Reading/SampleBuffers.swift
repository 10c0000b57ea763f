import Media
import SystemSupport

/// Samples of a track or of a composition, in order: an asynchronous sequence that reads while it is iterated. Each
/// iteration begins anew, with a decoder and a thread of its own. At most one sample is read ahead, so memory does not
/// grow.
public struct SampleBuffers<Sample: Sendable>: AsyncSequence, Sendable {
  public typealias Element = Sample
  public typealias Failure = SheafError

  private let open: @Sendable () throws -> any SampleSource<Sample>

  init(_ open: @escaping @Sendable () throws -> any SampleSource<Sample>) {
    self.open = open
  }

  /// No samples.
  static var none: SampleBuffers { SampleBuffers { NoSource() } }

  /// The same samples. They keep an object, such as the owner of the file that they are read from.
  func keeping(_ owner: some AnyObject & Sendable) -> SampleBuffers {
    SampleBuffers { [open] in try OwningSource(open(), owner) }
  }

  /// Each sample changed, or left out where `change` returns nil.
  func changed(_ change: @escaping @Sendable (Sample) throws -> Sample?) -> SampleBuffers {
    SampleBuffers { [open] in try ChangingSource(open(), change) }
  }

  public func makeAsyncIterator() -> Iterator { Iterator(open: open) }

  /// A position in the samples. It belongs to one task.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let open: @Sendable () throws -> any SampleSource<Sample>
    private var thread: SampleThread<Sample>?
    private var isAtEnd = false

    fileprivate init(open: @escaping @Sendable () throws -> any SampleSource<Sample>) {
      self.open = open
    }

    /// The next sample; nil after the last, and after an error.
    public mutating func next() async throws(SheafError) -> Sample? {
      if isAtEnd { return nil }
      do {
        try Task.checkCancellation()
        let thread = try self.thread ?? SampleThread(open)
        self.thread = thread
        let sample = try await thread.next()
        if sample == nil { end() }
        return sample
      } catch {
        end()
        throw SheafError(reading: error)
      }
    }

    private mutating func end() {
      isAtEnd = true
      thread = nil
    }
  }
}

extension SheafError {
  /// An error of reading a file in this process.
  init(reading error: any Error) {
    switch error as? MediaError {
    case .some(let error) where ![.outOfMemory, .outOfSpace].contains(error.code):
      self.init(.invalidMedia, "\(error)")
    default: self.init(error)
    }
  }
}

/// What samples are read from, in one thread.
protocol SampleSource<Sample>: AnyObject {
  associatedtype Sample: Sendable

  /// The next sample; nil after the last.
  func next() throws -> Sample?
}

private final class NoSource<Sample: Sendable>: SampleSource {
  func next() -> Sample? { nil }
}

private final class OwningSource<Sample: Sendable>: SampleSource {
  private let source: any SampleSource<Sample>
  private let owner: any AnyObject & Sendable

  init(_ source: any SampleSource<Sample>, _ owner: any AnyObject & Sendable) {
    (self.source, self.owner) = (source, owner)
  }

  func next() throws -> Sample? { try withExtendedLifetime(owner) { try source.next() } }
}

private final class ChangingSource<Sample: Sendable>: SampleSource {
  private let source: any SampleSource<Sample>
  private let change: (Sample) throws -> Sample?

  init(_ source: any SampleSource<Sample>, _ change: @escaping (Sample) throws -> Sample?) {
    (self.source, self.change) = (source, change)
  }

  func next() throws -> Sample? {
    while let sample = try source.next() {
      if let changed = try change(sample) { return changed }
    }
    return nil
  }
}

/// The thread of one reader: decoding blocks, and the threads of Swift's tasks must not wait for it.
private actor SampleThread<Sample: Sendable> {
  private let thread: SerialThread
  private let open: @Sendable () throws -> any SampleSource<Sample>
  private var source: (any SampleSource<Sample>)?

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  init(_ open: @escaping @Sendable () throws -> any SampleSource<Sample>) throws {
    thread = try SerialThread()
    self.open = open
  }

  deinit { thread.stop() }

  func next() throws -> Sample? {
    let source = try self.source ?? open()
    self.source = source
    return try source.next()
  }
}
