import CompositionModel
package import ContentStorage
package import Digest
package import FarmAPI
import FoundationEssentials
import Glibc
import Runtime
import Synchronization
import SystemSupport

/// Where the film of a job goes: a file, the folder for the files of a document with several outputs, or a playlist, in
/// whose folder its other files are. Each file appears under its name only when it is complete.
package final class FilmDestination: Sendable {
  package let path: String
  /// Nil: what the job makes is not known, and there is a folder of this name; or it is a playlist.
  private let file: OutputFile?
  /// The folder of several files.
  private let folder: String
  /// The name of the playlist. Nil: it is another film.
  private let playlist: String?
  private let state: Mutex<State>

  private struct State {
    var files: [String: OutputFile] = [:]
    var written: [ContentPackage.File] = []
  }

  /// Checks everything that can be checked before the film is rendered. Throws with exit code 65.
  /// - Parameter outputs: The names of the files of a document with several outputs; empty if it has one. Nil: it is
  ///   not known yet.
  package init(_ path: String, outputs: [String]?) throws(CommandFailure) {
    self.path = path
    state = Mutex(State())
    var status = stat()
    let isFolder = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    playlist = isFolder ? nil : Self.playlist(path)
    folder = playlist == nil ? path : Directories.parent(of: path)
    if playlist != nil {
      file = nil
      try Self.checkFolder(folder)
      if stat(folder, &status) == 0 { _ = try OutputFile(path) }
      return
    }
    if let outputs, !outputs.isEmpty {
      file = nil
      try Self.checkFolder(path)
      if isFolder { for name in outputs { _ = try OutputFile(Self.path(name, in: path)) } }
    } else {
      file = outputs == nil && isFolder ? nil : try OutputFile(path)
    }
  }

  /// As `OutputFile.readAhead`. Does nothing for several outputs.
  package func readAhead(_ contents: FileContentCache) { file?.readAhead(contents) }

  /// The files of several outputs that were written, in the order of the document. Empty for one film.
  package var written: [ContentPackage.File] { state.withLock { $0.written } }

  /// The folder of the files of several outputs, or beside a playlist.
  /// - Parameter path: As on the command line.
  package static func folder(of path: String) -> String {
    playlist(path) == nil ? path : Directories.parent(of: path)
  }

  /// The name of the playlist at a path. Nil: it is none.
  private static func playlist(_ path: String) -> String? {
    guard let container = try? Container(path: path), container.isPlaylist else { return nil }
    return path.split(separator: "/").last.map(String.init)
  }

  private static func path(_ name: String, in folder: String) -> String {
    folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }

  /// Throws unless the folder exists or can be made.
  private static func checkFolder(_ path: String) throws(CommandFailure) {
    var place = path
    while true {
      var status = stat()
      if stat(place, &status) == 0 {
        let subject = place == path ? "the folder of the outputs \(path)" : "the folder \(place) for the outputs"
        guard status.st_mode & S_IFMT == S_IFDIR else {
          throw CommandFailure(
            .document, "\(subject) is not a folder: the document has several outputs, so their folder should be here")
        }
        guard access(place, W_OK | X_OK) == 0 else {
          throw CommandFailure(.document, "\(subject) may not be written: \(String(cString: strerror(errno)))")
        }
        return
      }
      let (parent, reason) = (Directories.parent(of: place), errno)
      guard reason == ENOENT, parent != place else {
        throw CommandFailure(
          .document, "the folder of the outputs \(path) cannot be made: \(String(cString: strerror(reason)))")
      }
      guard lstat(place, &status) != 0 else {
        throw CommandFailure(
          .document,
          "the folder of the outputs \(path) cannot be made: \(place) is a symbolic link to what is not there")
      }
      place = parent
    }
  }

  /// The one file. Throws if there is a folder in its place.
  private func singleFile() throws(CommandFailure) -> OutputFile {
    if let file { return file }
    // Its error says that it is no regular file.
    return try OutputFile(path)
  }

  /// The file of an output.
  private func file(_ name: String) throws -> OutputFile {
    if let known = state.withLock({ $0.files[name] }) { return known }
    if file != nil {
      var status = stat()
      guard stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFDIR else {
        throw CommandFailure(.document, "the job has several outputs, and \(path) is a file: name a folder")
      }
    }
    do {
      try Directories.make(folder)
    } catch {
      throw CommandFailure(.document, "the folder of the outputs \(folder) cannot be made: \(error)")
    }
    let made = try OutputFile(Self.path(name, in: folder))
    state.withLock { $0.files[name] = made }
    return made
  }

  /// Checks that a package has the files of a job's outputs.
  private func check(_ package: ContentPackage, _ outputs: [OutputReport]) throws {
    guard package.files.map(\.name) == outputs.map(\.file) else {
      throw ContentStoreError(
        .mismatch,
        "the result has the files \(package.files.map(\.name).joined(separator: ", ")), and the outputs are "
          + outputs.map(\.file).joined(separator: ", "))
    }
    guard let playlist, !outputs.contains(where: { $0.file == playlist }) else { return }
    let found = outputs.map(\.file).filter { Self.playlist($0) != nil }
    throw CommandFailure(
      .document,
      found.isEmpty
        ? "the job has several outputs, and none is the playlist \(playlist): name a folder"
        : "the job's files are named after its playlist \(found[found.count - 1]): give it that name, or name a folder")
  }

  private static func package(end: [UInt8], of size: Int64) throws -> ContentPackage {
    do {
      return try ContentPackage(end: end, of: size)
    } catch {
      throw ContentStoreError(.mismatch, "the files of the outputs cannot be read: \(error)")
    }
  }

  /// Makes a complete film of this machine the output, or its files the outputs. The film itself stays. Throws
  /// `.missing` if there is none, `.mismatch` if its bytes are not those of its digest.
  /// - Parameters:
  ///   - outputs: The outputs of the job. Empty: it has one.
  ///   - contents: Has the digests of files that were read before.
  package func take(
    _ source: String, digest: SHA256Digest, outputs: [OutputReport], contents: FileContentCache
  ) throws {
    guard !outputs.isEmpty else { return try singleFile().take(source, digest: digest, contents: contents) }
    let whole = try mapErrors { () throws(SystemError) in try OpenFile.open(source) }
    let size = try Int64(whole.status().st_size)
    let count = Int(min(size, Int64(ContentPackage.greatestEnd)))
    let package = try Self.package(end: try whole.read(at: size - Int64(count), length: count), of: size)
    try check(package, outputs)
    for file in package.files { try self.file(file.name).take(file, of: whole) }
    state.withLock { $0.written = package.files }
  }

  /// Fetches a film, or the files of several outputs one after the other, each as `OutputFile` does.
  package func download(
    _ content: Content, outputs: [OutputReport], progress: @escaping @Sendable (TransferProgress) -> Void,
    read: @escaping OutputFile.Read
  ) async throws {
    guard !outputs.isEmpty else {
      return try await singleFile().download(content, progress: progress, read: read)
    }
    let count = Int(min(content.size, Int64(ContentPackage.greatestEnd)))
    let end = try await read(content.size - Int64(count), count)
    let package = try Self.package(end: [UInt8](end), of: content.size)
    try check(package, outputs)
    for file in package.files {
      let output = try await BlockingWork.run { try self.file(file.name) }
      try await output.download(file.content) { done in
        progress(
          TransferProgress(.download, name: file.name, done: file.offset + done.done, total: package.byteCount))
      } read: { offset, length in
        try await read(file.offset + offset, length)
      }
    }
    state.withLock { $0.written = package.files }
  }
}
