import Digest
import Foundation
import Synchronization

/// What a run of ffmpeg or ffprobe makes, if it follows from its arguments and the files that it reads. It is kept by
/// these for this process and, in `.build/test-media`, for later ones. A file that has not been used for three days is
/// removed. The folder may be removed at any time.
struct MadeMedia {
  /// The longest file that is kept, and the longest that is read, in bytes.
  private static let (longest, longestInput) = (2 << 20, 64 << 20)
  private static let lifetime: TimeInterval = 3 * 86400
  private static let kept = Mutex<[String: Data]>([:])
  /// What ffmpeg and its libraries are.
  private static let version = Result { try Tool.result(of: "ffmpeg", ["-version"]).output }

  private static let folder: URL = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: ".build/test-media")
    let files = try? FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: [.contentModificationDateKey])
    for file in files ?? [] where age(of: file) > lifetime { try? FileManager.default.removeItem(at: file) }
    return folder
  }()

  /// Seconds since the file was written or last used.
  private static func age(of file: URL) -> TimeInterval {
    let values = try? file.resourceValues(forKeys: [.contentModificationDateKey])
    return -(values?.contentModificationDate?.timeIntervalSinceNow ?? 0)
  }

  private let name: String
  /// The file that is written. Nil: standard output.
  private let target: String?
  private let inputs: [String]

  /// Nil: something else may decide what is made, such as a file that an argument or a list names.
  init?(_ program: String, _ arguments: [String]) throws {
    guard program == "ffmpeg" || program == "ffprobe", let last = arguments.last else { return nil }
    var key = [program]
    var inputs: [String] = []
    for (index, argument) in arguments.enumerated() {
      let isLast = index == arguments.count - 1
      let isInput = index > 0 && arguments[index - 1] == "-i" || isLast && program == "ffprobe"
      if isLast, program == "ffmpeg" {
        guard argument == "-" || argument.hasPrefix("/"), !argument.hasPrefix("/dev/"), !argument.contains("%") else {
          return nil
        }
        key.append(argument == "-" ? argument : URL(filePath: argument).pathExtension)
      } else if isInput, argument.hasPrefix("/") {
        guard let text = Self.identity(of: argument) else { return nil }
        key.append(text)
        inputs.append(argument)
      } else {
        let names = ["file", "movie=", "concat", FileManager.default.temporaryDirectory.path]
        if names.contains(where: { argument.contains($0) }) { return nil }
        if isInput, index < 3 || arguments[index - 3...index - 2] != ["-f", "lavfi"] { return nil }
        key.append(argument)
      }
    }
    guard !inputs.isEmpty || program == "ffmpeg" && arguments.contains("lavfi") else { return nil }
    name = SHA256Digest.of(Array(try Self.version.get()) + [0] + Array(key.joined(separator: "\0").utf8)).hex
    target = program == "ffprobe" || last == "-" ? nil : last
    self.inputs = inputs
  }

  /// The digest and the extension of a file. Nil: there is no such file, it is long, or it may name others.
  private static func identity(of path: String) -> String? {
    let kind = URL(filePath: path).pathExtension
    guard !["m3u8", "mpd", "sdp", "txt", "ffconcat"].contains(kind), !path.contains("%"),
      let file = FileHandle(forReadingAtPath: path), let size = try? file.seekToEnd(), size <= longestInput,
      (try? file.seek(toOffset: 0)) != nil, let bytes = try? file.readToEnd() ?? Data()
    else { return nil }
    return bytes.withUnsafeBytes { SHA256Digest.of($0) }.hex + "." + kind
  }

  /// Makes the file, and returns the standard output, as a run before has. Nil: there was none.
  func restored() throws -> Data? {
    guard let bytes = found() else { return nil }
    guard let target else { return bytes }
    try bytes.write(to: URL(filePath: target))
    return Data()
  }

  private func found() -> Data? {
    if let bytes = Self.kept.withLock({ $0[name] }) { return bytes }
    let file = Self.folder.appending(path: name)
    guard let bytes = try? Data(contentsOf: file) else { return nil }
    if Self.age(of: file) > 86400 {
      // Another process may have removed it.
      try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: file.path)
    }
    Self.kept.withLock { $0[name] = bytes }
    return bytes
  }

  /// Keeps what was made. Output that has the name of a file is not that of the next one with these bytes.
  func keep(_ output: Data) throws {
    let bytes = try target.map { try Data(contentsOf: URL(filePath: $0)) } ?? output
    guard bytes.count <= Self.longest else { return }
    if target == nil, inputs.contains(where: { bytes.range(of: Data($0.utf8)) != nil }) { return }
    Self.kept.withLock { $0[name] = bytes }
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    try bytes.write(to: Self.folder.appending(path: name), options: .atomic)
  }
}
