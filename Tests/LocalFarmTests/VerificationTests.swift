import Digest
import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

@testable import LocalFarm

struct VerificationTests {
  @Test(arguments: [(1, 1), (1, 2), (1, 3), (50, 7), (10, 100), (99, 100), (33, 1000)].spread(3))
  func `a share has the first, the last, and those that the seed puts first`(percent: Int, count: Int) throws {
    let drawn = SegmentDraw.segments(percent: percent, of: count, seed: "seed")
    // The rule as its documentation has it, by another program.
    let expected = try Tool.run(
      "python3",
      [
        "-c",
        """
        import hashlib, math, sys
        percent, count = int(sys.argv[1]), int(sys.argv[2])
        wanted = min(count, max(2, math.ceil(percent * count / 100)))
        inner = sorted(range(1, count - 1), key=lambda n: hashlib.sha256(f"seed:{n}".encode()).hexdigest())
        print(*sorted({0, count - 1} | set(inner[:max(0, wanted - 2)])))
        """, "\(percent)", "\(count)",
      ]
    ).output
    #expect(drawn.map(String.init).joined(separator: " ") + "\n" == String(decoding: expected, as: UTF8.self))
  }

  @Test func `other seeds draw other segments, and each segment is drawn by some`() {
    #expect(SegmentDraw.segments(percent: 10, of: 0, seed: "a").isEmpty)
    let draws = (0..<200).map { SegmentDraw.segments(percent: 10, of: 40, seed: "\($0)") }
    #expect(draws.allSatisfy { $0.count == 4 && $0.first == 0 && $0.last == 39 && Set($0).count == 4 })
    #expect(Set(draws.joined()) == Set(0..<40))
    #expect(Set((0..<50).map { _ in SegmentDraw.newSeed() }).count == 50)
    #expect(SegmentDraw.newSeed().count == 16)
  }

  @Test func `a folder that is used stays, and one that was left goes`() throws {
    let parent = try TemporaryFolder()
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: parent.url.path).sorted() }
    let first = try VerificationFolder(in: parent.url.path)
    // Left by a process that was killed, and one whose process is about to lock it.
    for name in ["verify-left", "verify-new", "verify-old", "other"] {
      try FileManager.default.createDirectory(atPath: parent.path("\(name)/store"), withIntermediateDirectories: true)
    }
    try Data().write(to: parent.url.appending(path: "verify-left/lock"))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -7200)], ofItemAtPath: parent.path("verify-old"))
    do {
      let second = try VerificationFolder(in: parent.url.path)
      let used = [first.path, second.path].map { ($0 as NSString).lastPathComponent }
      #expect(try names() == (["other", "verify-new"] + used).sorted())
    }
    #expect(try names() == ["other", "verify-new", (first.path as NSString).lastPathComponent].sorted())
    first.remove()
    #expect(try names() == ["other", "verify-new"])
  }
}
