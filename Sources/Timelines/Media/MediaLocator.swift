import CompositionModel
import FoundationEssentials
import SystemSupport

/// Paths and URLs of media, as timelines have them.
enum MediaPath {
  /// The path that a URL of a file, or a plain path, stands for. Nil: it is the URL of something else.
  static func path(ofURL url: String) -> String? {
    guard let scheme = url.firstRange(of: "://") else {
      // `file:beach.mov` is relative.
      return url.lowercased().hasPrefix("file:") ? decoded(String(url.dropFirst(5))) : url
    }
    guard url[..<scheme.lowerBound].lowercased() == "file" else { return nil }
    // The host is that of the editor's own machine.
    let rest = url[scheme.upperBound...]
    guard let slash = rest.firstIndex(of: "/") else { return decoded(String(rest)) }
    let path = decoded(String(rest[slash...]))
    let isDrive = path.dropFirst(2).first == ":" && path.dropFirst().first?.isLetter == true
    return isDrive ? String(path.dropFirst()) : path
  }

  /// Without the percent-encoding of URLs. A text that is not of that form stays as it is.
  static func decoded(_ text: String) -> String {
    guard text.contains("%") else { return text }
    var (bytes, rest): ([UInt8], Substring.UTF8View) = ([], text[...].utf8)
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      if byte == UInt8(ascii: "%"), digits.count == 2, let code = UInt8(Substring(digits), radix: 16) {
        bytes.append(code)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self) ?? text
  }

  /// The path that a URL, or a reference to a file, most likely stands for.
  static func plain(_ url: String) -> String { decoded(path(ofURL: url) ?? name(of: url)) }

  /// The name of the file.
  static func name(of path: String) -> String {
    String((self.path(ofURL: path) ?? path).split { $0 == "/" || $0 == "\\" }.last ?? "")
  }

  /// Without the extension of a file.
  static func stem(_ name: String) -> String {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex, name.distance(from: dot, to: name.endIndex) <= 6
    else { return name }
    return String(name[..<dot])
  }

  /// Whether files of this name are still pictures.
  static func isStill(_ path: String) -> Bool {
    guard let dot = path.lastIndex(of: ".") else { return false }
    return ["png", "jpg", "jpeg", "tif", "tiff", "bmp", "tga", "dpx", "exr", "pnm", "ppm", "heic", "avif"]
      .contains(path[path.index(after: dot)...].lowercased())
  }
}

/// Finds the media of a timeline: by its path, by its path from the timeline's folder, and by its name in other
/// folders.
package struct MediaLocator {
  /// The folder of the timeline's file.
  private let folder: String
  /// The folder of the document, to which its paths are relative.
  private let documentFolder: String
  private let others: [String]
  /// By lowercase name, the paths of the files of the other folders.
  private var names: [String: [String]]?
  /// The folders that cannot be read.
  private(set) var notes = TimelineNotes()

  /// - Parameters:
  ///   - folder: Absolute.
  ///   - documentFolder: Absolute.
  ///   - others: As the user has named them, relative to the working folder or absolute.
  package init(folder: String, documentFolder: String, others: [String]) {
    (self.folder, self.documentFolder, self.others) = (folder, documentFolder, others)
  }

  /// Where a file is.
  package struct Found: Sendable, Hashable {
    /// As the document has it: relative to its folder if the timeline, or the user, had a relative path.
    package var path: String
    /// As it can be opened; nil if there is no such file.
    package var file: String?
    /// Other files of the same name.
    package var others: [String] = []
  }

  /// - Parameter clip: The clip's name, by which a file without a path is looked for.
  package mutating func find(_ reference: MediaReference, clip: String) -> Found {
    guard let path = MediaPath.path(ofURL: reference.path) else {
      return Found(path: MediaPath.name(of: reference.path))
    }
    if !path.isEmpty {
      for candidate in [path, MediaPath.decoded(path)] {
        let absolute = candidate.hasPrefix("/") ? candidate : Self.join(folder, candidate)
        if Self.isFile(absolute) { return Found(path: written(absolute, like: candidate), file: absolute) }
      }
    }
    let wanted = [MediaPath.name(of: path), clip, reference.reel ?? ""].filter { !$0.isEmpty }
    for name in wanted {
      let matches = named(name)
      guard let best = matches.first else { continue }
      let absolute = best.hasPrefix("/") ? best : Self.join(FileManager.default.currentDirectoryPath, best)
      return Found(path: written(absolute, like: best), file: absolute, others: Array(matches.dropFirst()))
    }
    guard !path.isEmpty else { return Found(path: wanted.first ?? "missing") }
    let isDrive = path.dropFirst().first == ":"
    let plain = MediaPath.decoded(path)
    return Found(path: path.hasPrefix("/") || isDrive ? path : written(Self.join(folder, plain), like: plain))
  }

  /// The path of a file as the document has it.
  private func written(_ absolute: String, like original: String) -> String {
    original.hasPrefix("/") ? absolute : Self.relative(absolute, to: documentFolder)
  }

  /// The files of a name, or, if it has no extension, whose name without theirs is this, the shortest path first.
  private mutating func named(_ name: String) -> [String] {
    if names == nil {
      var found: [String: [String]] = [:]
      for folder in others { addFiles(of: folder, to: &found) }
      names = found.mapValues { $0.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) } }
    }
    return names?[name.lowercased()] ?? []
  }

  /// Links to folders are not followed: they may lead back.
  private mutating func addFiles(of folder: String, to found: inout [String: [String]]) {
    var folders = [folder]
    while let folder = folders.popLast() {
      let entries: [String]
      do {
        entries = try FileManager.default.contentsOfDirectory(atPath: folder)
      } catch {
        notes.add("", "the folder \(folder)", "media in it are not found: it cannot be read")
        continue
      }
      for entry in entries.sorted() {
        let path = Self.join(folder, entry)
        if Directories.isFolder(path) {
          if Directories.link(at: path) == nil { folders.append(path) }
        } else if Self.isFile(path) {
          let name = entry.lowercased()
          for key in Set([name, MediaPath.stem(name)]) { found[key, default: []].append(path) }
        }
      }
    }
  }

  static func isFile(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path) && !Directories.isFolder(path)
  }

  static func join(_ folder: String, _ path: String) -> String {
    let path = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
    return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
  }

  /// A path from a folder; both are absolute.
  package static func relative(_ path: String, to folder: String) -> String {
    let (path, folder) = (normal(path), normal(folder))
    let common = zip(path, folder).prefix { $0 == $1 }.count
    let up = Array(repeating: "..", count: folder.count - common)
    return (up + path[common...]).joined(separator: "/")
  }

  private static func normal(_ path: String) -> [String] {
    path.split(separator: "/").reduce(into: []) { parts, part in
      if part == "..", !parts.isEmpty { parts.removeLast() } else if part != "." { parts.append(String(part)) }
    }
  }
}

extension MediaPath {
  /// The URL of an absolute path, and the reference to a relative one, as RFC 3986 has them.
  static func url(ofPath path: String) -> String {
    guard !path.isEmpty else { return "" }
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/!$&'()*+,;=@".utf8)
    var text = path.hasPrefix("/") ? "file://" : ""
    for byte in path.utf8 {
      if plain.contains(byte) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return text
  }
}
