import Foundation

/// Real media: the repository's own, and a larger collection where there is one.
enum MediaFiles {
  /// Whether this is a run of `make exactness`.
  static let isExhaustive = ProcessInfo.processInfo.environment["SHEAF_EXACTNESS"] != nil

  static let own = files(in: repository.appendingPathComponent("Tests/Media"))

  /// The repository's own, and of the files of `SHEAF_SHARED_MEDIA`, or of a folder `shared/media` next to the
  /// repository, each eighth and one of each type; with the seed of `make exactness` all. Prints a line where there are
  /// none.
  static let all: [String] = {
    let named = ProcessInfo.processInfo.environment["SHEAF_SHARED_MEDIA"].map { URL(fileURLWithPath: $0) }
    let shared = named ?? repository.deletingLastPathComponent().appendingPathComponent("shared/media")
    let found = files(in: shared)
    if found.isEmpty { print("no shared media at \(shared.path): only the repository's own are used") }
    if isExhaustive { return own + found }
    var types: Set<String> = []
    let some = found.enumerated().filter { index, path in
      types.insert(URL(fileURLWithPath: path).pathExtension).inserted || index.isMultiple(of: 8)
    }
    return own + some.map(\.element)
  }()

  private static let repository = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static let media: Set<String> = [
    "mp4", "mov", "m4v", "m4a", "3gp", "mkv", "webm", "ts", "mpg", "mpeg", "avi", "gif", "apng", "png", "jpg", "webp",
    "wav", "mp3", "ogg", "opus", "ac3", "flac",
  ]

  private static func files(in folder: URL) -> [String] {
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return names.filter { media.contains(URL(fileURLWithPath: $0).pathExtension) }.sorted().map {
      folder.appendingPathComponent($0).path
    }
  }
}
