public import Foundation

/// A folder that is removed when its owner is freed.
public final class TemporaryFolder: Sendable {
  public let url: URL

  /// - Parameter parent: Nil: the folder for temporary files.
  public init(in parent: String? = nil) throws {
    let parent = parent.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    url = parent.appendingPathComponent("sheaf-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    do { try FileManager.default.removeItem(at: url) } catch { print("not removed: \(url.path): \(error)") }
  }

  public func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// An empty file, opened for reading and writing.
  public func create(_ name: String) throws -> FileHandle {
    let file = url.appendingPathComponent(name)
    try Data().write(to: file)
    return try FileHandle(forUpdating: file)
  }

  /// - Returns: The file's path.
  public func write(_ data: Data, _ name: String) throws -> String {
    try data.write(to: url.appendingPathComponent(name))
    return path(name)
  }
}
