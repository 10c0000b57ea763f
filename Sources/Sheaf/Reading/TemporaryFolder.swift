import FoundationEssentials

/// A folder of its own that is removed with its contents when nothing holds it any more.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("sheaf-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    // What cannot be removed is left to the owner of the folder for temporary files.
    _ = try? FileManager.default.removeItem(atPath: path)
  }
}
