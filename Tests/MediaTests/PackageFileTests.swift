import CompositionModel
import Digest
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Packages as files: parts that are written at the same time, and read apart.
@Suite struct PackageFileTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func written(_ make: (PackageParts) throws -> Void, count: Int) throws -> [UInt8] {
    let name = "\(UUID().uuidString)"
    let file = try scratch.create(name)
    let parts = PackageParts(descriptor: file.fileDescriptor, count: count)
    try make(parts)
    try parts.finish()
    return try Array(Data(contentsOf: URL(fileURLWithPath: scratch.path(name))))
  }

  private func append(_ bytes: [UInt8], _ part: Int, _ parts: PackageParts) throws {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(MediaError) in try parts.append(bytes, to: part) }
    }.get()
  }

  private static let contents: [[UInt8]] = [
    (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 * 7) }, [],
    (0..<1_500_001).map { UInt8(truncatingIfNeeded: $0) },
  ]

  @Test func `the order in which parts are written changes nothing`() throws {
    let ordered = try written(
      { parts in
        for (number, bytes) in Self.contents.enumerated() { try append(bytes, number, parts) }
      }, count: 3)
    let mixed = try written(
      { parts in
        try append(Array(repeating: 9, count: 70_000), 0, parts)
        var places = [0, 0, 0]
        for step in [100_000, 1, 333_333, 2_000_000, 3_000_000] {
          for number in [2, 0, 1] {
            let end = min(places[number] + step, Self.contents[number].count)
            // What was written before the part is made again is not in it.
            if step == 100_000, number == 0 { parts.clear(0) }
            try append(Array(Self.contents[number][places[number]..<end]), number, parts)
            places[number] = end
          }
        }
      }, count: 3)
    #expect(ordered == mixed)

    let source = MemorySource(ordered)
    let package = try ContentPackage.read(source, name: "a package")
    #expect(package.files.map(\.name) == ["0", "1", "2"])
    for (file, bytes) in zip(package.files, Self.contents) {
      #expect(file.content == Content(digest: .of(bytes), size: Int64(bytes.count)))
      let part = PartByteSource(source, file)
      #expect(try part.bytes(at: 0, count: bytes.count + 10) == bytes)
      #expect(try part.bytes(at: Int64(bytes.count), count: 1).isEmpty)
    }
  }

  @Test func `what is no package is refused as a piece is`() throws {
    for bytes in [[], [UInt8](repeating: 0, count: 100)] as [[UInt8]] {
      let error = #expect(throws: MediaError.self) { try ContentPackage.read(MemorySource(bytes), name: "piece 3") }
      #expect(error?.code == .invalidPiece && error?.description.contains("piece 3") == true)
    }
  }
}
