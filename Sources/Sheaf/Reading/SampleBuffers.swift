import Glibc
import Media
import SystemSupport

/// Samples of a track or of a composition, in order: an asynchronous sequence that reads while it is iterated. Each
/// iteration begins anew, with a decoder and a thread of its own. At most one sample of a file is read ahead, so memory
/// does not grow.
public struct SampleBuffers<Sample: Sendable>: AsyncSequence, Sendable {
  public typealias Element = Sample
  public typealias Failure = SheafError

  private let begin: @Sendable () -> any SampleParts<Sample>

  /// Samples of one file.
  init(_ open: @escaping @Sendable () throws -> any SampleSource<Sample>) {
    begin = { OnePart(open) }
  }

  /// Samples of files that are made while they are read.
  init(parts begin: @escaping @Sendable () -> any SampleParts<Sample>) {
    self.begin = begin
  }

  /// No samples.
  static var none: SampleBuffers { SampleBuffers { NoSource() } }

  public func makeAsyncIterator() -> Iterator { Iterator(begin) }

  /// A position in the samples. It belongs to one task.
  public struct Iterator: AsyncIteratorProtocol {
    private let begin: @Sendable () -> any SampleParts<Sample>
    private var parts: (any SampleParts<Sample>)?
    private var thread: SampleThread<Sample>?
    private var isAtEnd = false

    fileprivate init(_ begin: @escaping @Sendable () -> any SampleParts<Sample>) {
      self.begin = begin
    }

    /// The next sample; nil after the last, and after an error.
    public mutating func next() async throws(SheafError) -> Sample? {
      do {
        while !isAtEnd {
          try Task.checkCancellation()
          if let sample = try await thread?.next() { return sample }
          thread = nil
          let parts = self.parts ?? begin()
          self.parts = parts
          guard let open = try await parts.next() else {
            end()
            return nil
          }
          thread = try SampleThread(open)
        }
        return nil
      } catch {
        end()
        throw SheafError(reading: error)
      }
    }

    private mutating func end() {
      isAtEnd = true
      (thread, parts) = (nil, nil)
    }
  }
}

/// What samples are read from, a part after the other. One task uses it.
protocol SampleParts<Sample>: Actor {
  associatedtype Sample: Sendable

  /// What opens the next part; nil after the last.
  func next() async throws -> (@Sendable () throws -> any SampleSource<Sample>)?
}

private actor OnePart<Sample: Sendable>: SampleParts {
  private var open: (@Sendable () throws -> any SampleSource<Sample>)?

  init(_ open: @escaping @Sendable () throws -> any SampleSource<Sample>) {
    self.open = open
  }

  func next() -> (@Sendable () throws -> any SampleSource<Sample>)? {
    defer { open = nil }
    return open
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

/// A file of this machine, from which a source reads. Throws `.invalidMedia` if it cannot be opened.
func openFile(_ path: String) throws -> FileByteSource {
  let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw SheafError(.invalidMedia, "\(SystemError(errno, "opening \(path)"))") }
  return FileByteSource(descriptor: descriptor)
}

private final class NoSource<Sample: Sendable>: SampleSource {
  func next() -> Sample? { nil }
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
