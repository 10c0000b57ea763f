import CompositionModel
import Digest
import FoundationEssentials
import Glibc
import SwiftProtobuf
import Wire

/// A document on this machine with the media that it names.
struct EditFile: Sendable {
  /// As given on the command line.
  let path: String
  let bytes: [UInt8]
  let document: Document
  /// The folder that relative paths are relative to; absolute.
  private let folder: String

  /// Reads a document as far as it can be read. Throws with exit code 65.
  init(_ path: String) throws {
    self.path = path
    do {
      bytes = try FileBytes.read(path, limit: Submission.maximumDocument)
    } catch {
      throw CommandFailure(.document, "the document cannot be read: \(error)")
    }
    do {
      document = try Document.examine(bytes)
    } catch {
      throw CommandFailure(problems: error.problems)
    }
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    folder = try AssetFile.absolute(parent.isEmpty ? "/" : parent)
  }

  /// Where the document itself puts the output.
  var outputPath: String? { document.outputPath.map(resolve) }

  /// Every file that the document names, read for its digest; and what is wrong with those that cannot be.
  func assets(_ digests: DigestCache) async throws -> (assets: [Sheaf_SubmittedAsset], problems: [Problem]) {
    let named = document.assetPaths
    var found: [Int: Sheaf_SubmittedAsset] = [:]
    var problems: [Int: Problem] = [:]
    try await withThrowingTaskGroup(of: (Int, Result<Sheaf_Content, VaultError>).self) { group in
      for (index, asset) in named.enumerated() {
        let path = resolve(asset.path)
        group.addTask { (index, try await BlockingWork.run { AssetFile.content(path, digests) }) }
      }
      for try await (index, result) in group {
        let asset = named[index]
        switch result {
        case .success(let content):
          found[index] = .with {
            $0.id = asset.id
            $0.content = content
            $0.path = asset.path
          }
        case .failure(let error): problems[index] = Problem(pointer: asset.pointer, message: "\(error)")
        }
      }
    }
    return (named.indices.compactMap { found[$0] }, named.indices.compactMap { problems[$0] })
  }

  /// Assets that a film at `output` would replace: what it is made of must outlive it.
  static func replaced(by output: String, _ assets: [Sheaf_SubmittedAsset]) -> [Problem] {
    // A path that cannot be resolved is no file yet, and so no asset.
    guard let resolved = realpath(output, nil) else { return [] }
    defer { free(resolved) }
    let target = String(cString: resolved)
    return assets.filter { $0.content.path == target }.map {
      Problem(
        pointer: "/assets/\($0.id)", message: "the output \(output) is this asset's own file; name another output")
    }
  }

  private func resolve(_ path: String) -> String { path.hasPrefix("/") ? path : "\(folder)/\(path)" }
}

/// A media file on this machine.
enum AssetFile {
  /// What the file is known by. Blocks.
  static func content(_ path: String, _ digests: DigestCache) -> Result<Sheaf_Content, VaultError> {
    do throws(VaultError) {
      let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      guard file >= 0 else { throw failure(path, errno) }
      defer { close(file) }
      var status = stat()
      if fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
        throw VaultError(.missing, "\(path) is a folder, not a media file")
      }
      let (digest, size) = try digests.digest(of: file, name: path)
      return .success(Sheaf_Content(digest: digest, size: size, path: try absolute(path)))
    } catch {
      return .failure(error)
    }
  }

  static func absolute(_ path: String) throws(VaultError) -> String {
    guard let resolved = realpath(path, nil) else { throw failure(path, errno) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func failure(_ path: String, _ code: Int32) -> VaultError {
    switch code {
    case ENOENT, ENOTDIR: VaultError(.missing, "there is no file \(path)")
    case EACCES: VaultError(.system(code), "the file \(path) may not be read (permission denied)")
    default: .system("opening \(path)", errno: code)
    }
  }
}
