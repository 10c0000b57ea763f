import Foundation
import TestPrograms
import Testing

/// The table of imports in `docs/architecture.md` against the sources.
struct ArchitectureTests {
  private static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// By room, what the page says that it imports of the others.
  private static func stated() throws -> [String: Set<String>] {
    let page = try String(contentsOf: repository.appending(path: "docs/architecture.md"), encoding: .utf8)
    let table = try #require(
      page.components(separatedBy: "```").first { $0.contains("\nCompositionModel    -\n") }, "there is no table")
    var stated: [String: Set<String>] = [:]
    var room = ""
    for line in table.split(separator: "\n") {
      var words = line.split { " ,".contains($0) }.map(String.init)
      if line.first != " ", let first = words.first {
        room = first
        words.removeFirst()
      }
      stated[room, default: []].formUnion(words.filter { $0 != "-" })
    }
    return stated
  }

  private static let imported = Result { try imports() }

  /// By room with Swift files, what these import of the folders of `Sources`.
  private static func imports() throws -> [String: Set<String>] {
    let sources = repository.appending(path: "Sources")
    let rooms = Set(try FileManager.default.contentsOfDirectory(atPath: sources.path))
    var imported: [String: Set<String>] = [:]
    for room in rooms {
      let files = try FileManager.default.subpathsOfDirectory(atPath: sources.appending(path: room).path)
      for file in files where file.hasSuffix(".swift") {
        imported[room, default: []].formUnion([])
        let text = try String(contentsOf: sources.appending(path: "\(room)/\(file)"), encoding: .utf8)
        for line in text.split(separator: "\n") {
          let words = line.split(separator: " ")
          guard let place = words.firstIndex(of: "import"), place <= 2, words.count > place + 1 else { continue }
          let isImport = words[..<place].allSatisfy {
            ["package", "public", "internal", "private", "fileprivate"].contains($0) || $0.hasPrefix("@")
          }
          // Of `import struct Room.Name`, the room.
          let named = words[(place + 1)...].lazy.map { String($0.prefix { $0 != "." }) }.first { rooms.contains($0) }
          if isImport, let named { imported[room]?.insert(named) }
        }
      }
    }
    return imported
  }

  @Test func `each room imports what the page says`() throws {
    let (stated, imported) = (try Self.stated(), try Self.imported.get())
    #expect(Set(stated.keys) == Set(imported.keys))
    for (room, found) in imported.sorted(by: { $0.key < $1.key }) {
      #expect(found.subtracting(stated[room] ?? []).sorted() == [], "\(room) imports what the page does not have")
      #expect((stated[room] ?? []).subtracting(found).sorted() == [], "the page has what \(room) does not import")
    }
  }

  @Test func `no import runs upward`() throws {
    var left = try Self.imported.get()
    while let next = left.first(where: { room in room.value.allSatisfy { left[$0] == nil } }) {
      left[next.key] = nil
    }
    #expect(left.isEmpty, "these import one another in a circle: \(left.keys.sorted())")
  }

  /// By room, and by folder in it, the other folders whose types are named there. Files that are in no folder are in
  /// the folder "". Of names that two folders have nothing is known, and members are not looked at.
  private static func named() throws -> [String: [String: Set<String>]] {
    let sources = repository.appending(path: "Sources")
    var named: [String: [String: Set<String>]] = [:]
    for room in try FileManager.default.contentsOfDirectory(atPath: sources.path).sorted().spread(16) {
      let files = try FileManager.default.subpathsOfDirectory(atPath: sources.appending(path: room).path)
      var words: [String: Set<Substring>] = [:]
      var homes: [Substring: Set<String>] = [:]
      for file in files where file.hasSuffix(".swift") && !file.contains("Generated/") {
        let folder = file.contains("/") ? String(file.prefix { $0 != "/" }) : ""
        let text = try String(contentsOf: sources.appending(path: "\(room)/\(file)"), encoding: .utf8)
        let code = text.replacing(#/(?m)//.*$/#, with: "").replacing(#/"(\\.|[^"\\\n])*"/#, with: "\"\"")
        words[folder, default: []].formUnion(code.matches(of: #/(?:^|[^.\w])(?<word>[A-Z]\w+)/#).map(\.word))
        let declared = #/(?m)^(?:[a-z@]\S*\s+)*(?:struct|enum|class|actor|protocol|typealias)\s+(?<name>\w+)/#
        for match in code.matches(of: declared) { homes[match.name, default: []].insert(folder) }
      }
      for (folder, words) in words {
        let others = words.compactMap { homes[$0] }.filter { $0.count == 1 }.compactMap(\.first)
        named[room, default: [:]][folder] = Set(others).subtracting([folder])
      }
    }
    return named
  }

  @Test func `no circle runs through the folders of a room`() throws {
    for (room, folders) in try Self.named() {
      var left = folders
      while let next = left.first(where: { folder in folder.value.allSatisfy { left[$0] == nil } }) {
        left[next.key] = nil
      }
      #expect(left.isEmpty, "\(room): these name types of one another in a circle: \(left.keys.sorted())")
    }
  }

  /// Two definitions of a name, each in a C module of its own, end the build of a room that sees both, which only a
  /// clean one may notice.
  @Test func `no two C modules define the same function`() throws {
    let sources = Self.repository.appending(path: "Sources")
    var rooms: [Substring: Set<String>] = [:]
    for room in try FileManager.default.contentsOfDirectory(atPath: sources.path) {
      let files = try FileManager.default.subpathsOfDirectory(atPath: sources.appending(path: room).path)
      for file in files where file.hasSuffix(".h") {
        let text = try String(contentsOf: sources.appending(path: "\(room)/\(file)"), encoding: .utf8)
        for match in text.matches(of: #/(?m)^static inline [^(\n]*\b(?<name>sheaf_\w+)\(/#) {
          rooms[match.name, default: []].insert(room)
        }
      }
    }
    #expect(rooms.count > 20)
    for (name, rooms) in rooms { #expect(rooms.count == 1, "\(name) is defined in \(rooms.sorted())") }
  }
}
