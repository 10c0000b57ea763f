import Foundation
import TestPrograms
import Testing

@testable import SystemSupport

struct TemporaryFileTests {
  @Test func `a path of the folder that TMPDIR names is new`() throws {
    let folder = try TemporaryFolder()
    let path = try TemporaryFiles.path(in: folder.url.path)
    #expect(path.hasPrefix("\(folder.url.path)/sheaf-"))
    #expect(try TemporaryFiles.path(in: folder.url.path) != path)
    #expect(try TemporaryFiles.path(in: nil).hasPrefix("/tmp/sheaf-"))
  }

  @Test func `a file without a name is written and read`() throws {
    let file = try OpenFile.unnamed()
    try file.write([1, 2, 3])
    #expect(try file.read(at: 0, length: 4) == [1, 2, 3])
    #expect(try file.status().st_nlink == 0)
  }

  @Test func `a folder that is not there is named`() throws {
    let error = #expect(throws: SystemError.self) { try TemporaryFiles.path(in: "/none") }
    #expect(error?.description == "writing into the folder of TMPDIR, /none, failed: No such file or directory")
  }
}
