import Runtime
import SystemSupport

/// Watches the disk of the worker's cache. When it is low, the cache is trimmed first. If that is not enough, the
/// worker takes no tasks until there is room.
struct DiskWatch: Sendable {
  /// A folder on the disk.
  var folder: String
  /// Bytes that must be free; zero switches the watch off.
  var minimum: Int64
  /// How often the disk is looked at.
  var interval: Duration = .seconds(2)
  /// The bytes that are free on the disk of a folder. Blocks.
  var freeBytes: @Sendable (String) throws(SystemError) -> Int64 = { folder throws(SystemError) in
    try Directories.availableBytes(in: folder)
  }

  /// Returns why no task can be taken, for a person; nil if there is room.
  func check(_ cache: ContentCache) async -> String? {
    guard minimum > 0 else { return nil }
    do {
      var free = try await measured()
      if free < minimum {
        await cache.trim(freeing: minimum - free)
        free = try await measured()
      }
      guard free < minimum else { return nil }
      return "the disk of \(folder) has \(ByteCount.text(free)) free; below \(ByteCount.text(minimum)) no task is taken"
    } catch {
      // A disk that cannot be asked is used; a task that finds it full is released.
      return nil
    }
  }

  private func measured() async throws -> Int64 {
    let (folder, freeBytes) = (folder, freeBytes)
    return try await BlockingWork.run { try freeBytes(folder) }
  }
}
