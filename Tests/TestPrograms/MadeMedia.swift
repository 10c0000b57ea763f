import Digest
import Foundation

/// What a run of ffmpeg or ffprobe makes, if it follows from its arguments and the files that it reads. It is kept by
/// these in `.build/test-media`, for any process. A file that has not been used for three days is removed. The folder
/// may be removed at any time, so that a file which is gone is one that was never there.
struct MadeMedia {
  /// The longest file that is kept, and the longest that is read, in bytes.
  private static let (longest, longestInput) = (2 << 20, 64 << 20)
  private static let lifetime: TimeInterval = 3 * 86400
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
        guard let text = try Self.identity(of: argument) else { return nil }
        key.append(text)
        inputs.append(argument)
      } else {
        // Where an argument has, or may have, the path of a file.
        let paths = ["file", "movie=", "concat", "=/", "='/", FileManager.default.temporaryDirectory.path]
        if argument.hasPrefix("/") || paths.contains(where: { argument.contains($0) }) { return nil }
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
  private static func identity(of path: String) throws -> String? {
    let file = URL(filePath: path)
    let names = ["m3u8", "mpd", "sdp", "txt", "ffconcat"]
    guard FileManager.default.fileExists(atPath: path), !names.contains(file.pathExtension), !path.contains("%") else {
      return nil
    }
    let values = try file.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
    guard values.isRegularFile == true, let size = values.fileSize, size <= longestInput else { return nil }
    return try Data(contentsOf: file).withUnsafeBytes { SHA256Digest.of($0) }.hex + "." + file.pathExtension
  }

  /// Makes the file, and returns the standard output, as a run before has. Nil: there was none.
  func restored() throws -> Data? {
    guard let bytes = found() else { return nil }
    guard let target else { return bytes }
    try bytes.write(to: URL(filePath: target))
    return Data()
  }

  private func found() -> Data? {
    let file = Self.folder.appending(path: name)
    guard let bytes = try? Data(contentsOf: file) else { return nil }
    if Self.age(of: file) > 86400 {
      try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: file.path)
    }
    return bytes
  }

  /// Keeps what was made. Output that has the name of a file is not that of the next one with these bytes.
  func keep(_ output: Data) throws {
    let bytes = try target.map { try Data(contentsOf: URL(filePath: $0)) } ?? output
    guard bytes.count <= Self.longest else { return }
    if target == nil, inputs.contains(where: { bytes.range(of: Data($0.utf8)) != nil }) { return }
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    try bytes.write(to: Self.folder.appending(path: name), options: .atomic)
  }
}
