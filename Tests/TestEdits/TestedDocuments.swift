import Foundation
import Synchronization

/// The documents of tests, kept in the file that `SHEAF_TESTED_DOCUMENTS` names, each on a line as a JSON string.
/// Without the variable none are kept.
enum TestedDocuments {
  private static let file = Mutex<FileHandle?>(
    ProcessInfo.processInfo.environment["SHEAF_TESTED_DOCUMENTS"].flatMap { path in
      FileManager.default.createFile(atPath: path, contents: nil) ? FileHandle(forWritingAtPath: path) : nil
    })

  static func keep(_ text: String) throws {
    try file.withLock { file in
      try file?.write(contentsOf: try JSONEncoder().encode(text) + Data("\n".utf8))
    }
  }
}
