internal import CompositionModel
internal import Synchronization
internal import SystemSupport

/// Makes frames, or blocks of samples, in a thread of its own, ahead of the thread that takes them in order, so that
/// decoding and compositing or mixing run beside the encoder. Which thread waits for which changes no product.
package final class Pipeline<Product, Failure: Error>: Sendable {
  /// A product, by its index. Nobody changes it afterwards.
  package typealias Make = (Int) throws(Failure) -> Product

  private let products = Mutex<[Made]>([])
  private let isStopped = Atomic(false)
  /// Products that may still be made before one is taken.
  private let room: Semaphore
  private let filled = Semaphore(0)
  private let ended = Semaphore(0)

  private struct Made: @unchecked Sendable {
    // Sendable: the thread that made it does not change it any more, even if it shows a frame again, and libavutil
    // counts references atomically.
    let result: Result<Product, Failure>
  }

  /// Starts the thread. `finish` must be called once, also after an error.
  /// - Parameters:
  ///   - count: The number of products.
  ///   - ahead: How many of them are kept at most; at least 1.
  ///   - prepare: Called in the thread. It returns the function that makes each, which is called in order, and is
  ///     released in the thread. The first error of either ends the thread.
  package init(
    count: Int, ahead: Int, _ prepare: @escaping @Sendable () throws(Failure) -> Make
  ) throws(MediaError) {
    room = Semaphore(UInt32(clamping: max(1, ahead)))
    try mapErrors(to: MediaError.during("starting", "a thread")) { () throws(SystemError) in
      try startThread { self.run(count, prepare) }
    }
  }

  private func run(_ count: Int, _ prepare: () throws(Failure) -> Make) {
    do throws(Failure) {
      let make = try prepare()
      for index in 0..<count {
        room.wait()
        if isStopped.load(ordering: .acquiring) { break }
        hand(.success(try make(index)))
      }
    } catch {
      hand(.failure(error))
    }
    ended.post()
  }

  private func hand(_ result: Result<Product, Failure>) {
    let made = Made(result: result)
    products.withLock { $0.append(made) }
    filled.post()
  }

  /// Waits for the next product. It must be called `count` times at most, and not after an error.
  package func next() throws(Failure) -> Product {
    filled.wait()
    let made = products.withLock { $0.removeFirst() }
    room.post()
    return try made.result.get()
  }

  /// Ends the thread, after the product that it is making, and waits for its end.
  package func finish() {
    isStopped.store(true, ordering: .releasing)
    room.post()
    ended.wait()
  }
}
