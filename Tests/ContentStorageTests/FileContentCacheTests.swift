import Digest
import Foundation
import Glibc
import Synchronization
import SystemSupport
import TestPrograms
import Testing

@testable import ContentStorage

final class Counter: Sendable {
  private let sum = Mutex<Int64>(0)

  var value: Int64 { sum.withLock { $0 } }

  func add(_ count: Int64) { sum.withLock { $0 += count } }
}

struct FileContentCacheTests {
  private let folder: TemporaryFolder
  private let file: OpenFile

  init() throws {
    folder = try TemporaryFolder()
    file = try OpenFile.open(folder.write(Data("the film".utf8), "film"))
  }

  /// A cache for which `seconds` have passed since the files of the test were made.
  private func cache(after seconds: Int = 10, directory: String? = nil) -> FileContentCache {
    FileContentCache(directory: directory) { timespec(tv_sec: time(nil) + seconds, tv_nsec: 0) }
  }

  private func isRead(by cache: FileContentCache) throws -> Bool {
    let read = Counter()
    #expect(try cache.content(of: file) { read.add($0) } == content("the film"))
    return read.value > 0
  }

  @Test func `a file is read once`() throws {
    let cache = cache()
    #expect(try cache.knownContent(of: file) == nil)
    #expect(try isRead(by: cache))
    #expect(try !isRead(by: cache))
    #expect(try cache.knownContent(of: file) == content("the film"))
  }

  @Test func `a file that changed just now is read again`() throws {
    let cache = cache(after: 0)
    #expect(try isRead(by: cache))
    #expect(try isRead(by: cache), "it could have changed within the step of the file's times")
    // The clock of a media server may be ahead.
    #expect(try isRead(by: self.cache(after: -1)))
  }

  @Test func `a file that has changed is read again`() throws {
    let cache = cache()
    #expect(try isRead(by: cache))
    _ = try folder.write(Data("the cat!".utf8), "film")
    let other = try OpenFile.open(folder.path("film"))
    #expect(try cache.content(of: other) == content("the cat!"))
  }

  @Test func `another program knows what this one read`() throws {
    let directory = folder.path("cache")
    let (first, second) = (cache(directory: directory), cache(directory: directory))
    #expect(try isRead(by: first))
    #expect(try !isRead(by: cache(directory: directory)))
    // One that runs already knows it too.
    #expect(try !isRead(by: second))
  }

  @Test(arguments: ["nonsense\n", "1 2 3 4 5 6 7 \(content("").digest) 0123456789abcdef\n", "\u{0}\u{0}\u{0}", ""])
  func `a damaged table is ignored and used again`(text: String) throws {
    let directory = folder.path("cache")
    try Directories.make(directory)
    _ = try folder.write(Data(text.utf8), "cache/digests")
    #expect(try isRead(by: cache(directory: directory)))
    #expect(try !isRead(by: cache(directory: directory)))
  }

  /// A line's digest that a disk fault changed must not be believed.
  @Test func `every line is checked`() throws {
    let directory = folder.path("cache")
    #expect(try isRead(by: cache(directory: directory)))
    var text = try String(contentsOfFile: directory + "/digests", encoding: .utf8)
    let digest = content("the film").digest.hex
    text.replace(digest, with: content("the cat!").digest.hex)
    _ = try folder.write(Data(text.utf8), "cache/digests")
    #expect(try isRead(by: cache(directory: directory)))
  }

  @Test func `a folder that cannot be made is done without`() throws {
    let blocked = try folder.write(Data(), "file") + "/cache"
    #expect(try isRead(by: cache(directory: blocked)))
  }

  @Test func `the table is bounded`() throws {
    let directory = folder.path("cache")
    try Directories.make(directory)
    let line = String(repeating: "x", count: 199) + "\n"
    let full = String(repeating: line, count: FileContentCache.maximumCount)
    _ = try folder.write(Data(full.utf8), "cache/digests")
    #expect(try isRead(by: cache(directory: directory)))
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory + "/digests")).count < 1000)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["digests"])
  }

  @Test func `many who ask at once read the file once`() async throws {
    let large = try folder.create("large")
    try large.truncate(atOffset: 16 << 20)
    let file = try OpenFile.open(folder.path("large"))
    let cache = cache()
    let ends = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              _ = try? cache.content(of: file) { ends.add($0 == 16 << 20 ? 1 : 0) }
              continuation.resume()
            }
          }
        }
      }
    }
    #expect(ends.value == 2, "the last mebibyte, and the end")
  }

  @Test func `the table of recent entries drops the oldest`() {
    var table = RecentTable<Int, Int>(maximumCount: 4)
    for key in 0..<3 { table.insert(key, for: key) }
    #expect(table.value(for: 0) == 0)
    for key in 3..<5 { table.insert(key, for: key) }
    #expect(table.count <= 4)
    #expect(table.value(for: 0) == 0, "it was used last")
    #expect(table.value(for: 1) == nil)
    table.remove(0)
    #expect(table.value(for: 0) == nil)
  }
}
