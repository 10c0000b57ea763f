package import CompositionModel
package import ContentStorage
package import Digest
package import EditDocument
package import FarmAPI
import FoundationEssentials
import Glibc
import Runtime
import SystemPackage
import SystemSupport

/// A document on this machine, and the media that it names.
package struct EditFile: Sendable {
  /// Stands for standard input on the command line.
  private static let standardInput = "-"

  /// As given on the command line; `-` is standard input.
  package let path: String
  /// With the values that its parameters were given.
  package let bytes: [UInt8]
  private let text: DocumentText
  /// The documents of other files that are assets of this one.
  private let nested: [NestedText.Part]
  package let document: ExaminedDocument
  /// The absolute folder that relative paths are relative to.
  private let folder: String

  /// Reads a document. Its problems are kept in `document`. Throws with exit code 65 if it cannot be read, or is not a
  /// JSON object.
  /// - Parameters:
  ///   - output: The film's path on the command line, whose container has the codecs that settings without one are for.
  ///     Nil: the document's.
  ///   - values: Of the document's parameters, by name.
  package init(_ path: String, output: String? = nil, values: [ParameterValue] = []) throws(CommandFailure) {
    self.path = path
    if let refusal = AssetFile.refusal(ofURL: path, "a document is a file") { throw CommandFailure(.document, refusal) }
    let limit = Submission.longestDocument
    let read: [UInt8]
    do throws(SystemError) {
      read = try OpenFile.contents(of: path == Self.standardInput ? "/dev/stdin" : path, limit: limit)
      folder = try Directories.resolve(path == Self.standardInput ? "." : Directories.parent(of: path))
    } catch {
      guard error.code != .fileTooLarge else {
        let kind = path == Self.standardInput ? nil : MediaSignature.kind(ofFile: path)
        throw CommandFailure(
          .document,
          kind.map { MediaSignature.refusal(path, $0) }
            ?? "the document \(path) is too long; it must have at most \(limit) bytes")
      }
      let hint = error.isMissing ? NearbyFile.hint(path) : ""
      throw CommandFailure(.document, "the document cannot be read: \(error)\(hint)")
    }
    // Bytes that are not UTF-8 were replaced, so nothing has this name.
    guard access(folder, F_OK) == 0 else {
      throw CommandFailure(.document, "the path of the document's folder, \(folder), is not UTF-8; rename the folder")
    }
    do throws(DocumentError) {
      text = try DocumentText(read, of: path)
    } catch {
      throw Self.failure(error.problems, path, read)
    }
    do throws(DocumentError) {
      let whole = try Self.nested(text.json, path: path, folder: folder)
      nested = whole.parts
      bytes = try Template.setting(values, in: whole.bytes)
      document = try Document.examine(bytes, output: output)
    } catch {
      throw Self.failure(text.places.located(error.problems), path, read)
    }
  }

  /// Why a text is no document: the kind of file that it is, if that is known to be another one.
  private static func failure(_ problems: [Problem], _ path: String, _ text: [UInt8]) -> CommandFailure {
    MediaSignature.kind(of: text).map { CommandFailure(.document, MediaSignature.refusal(path, $0)) }
      ?? CommandFailure(problems: problems)
  }

  /// A document that is not a file. Its problems are kept in `document`. Throws with exit code 65 if it is too long, or
  /// not a JSON object.
  /// - Parameters:
  ///   - folder: The absolute folder that relative paths are relative to.
  ///   - output: As above.
  package init(_ bytes: [UInt8], name: String, folder: String, output: String? = nil) throws(CommandFailure) {
    guard bytes.count <= Submission.longestDocument else {
      throw CommandFailure(
        .document, "the document \(name) is too long; it must have at most \(Submission.longestDocument) bytes")
    }
    path = name
    self.folder = folder
    do {
      // Its name is that of a file in which it may be written in another language.
      text = try DocumentText(bytes, of: Self.standardInput)
      let whole = try Self.nested(bytes, path: name, folder: folder)
      (self.bytes, nested) = (whole.bytes, whole.parts)
      document = try Document.examine(whole.bytes, output: output)
    } catch {
      throw CommandFailure(problems: error.problems)
    }
  }

  /// A document's text with those of the documents that are its assets.
  /// - Parameter path: Of its own file.
  private static func nested(_ text: [UInt8], path: String, folder: String) throws(DocumentError) -> NestedText {
    func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : "\(folder)/\(path)" }
    return try NestedText(text, identity: (try? Directories.resolve(path)) ?? path) {
      path throws(NestedText.Unreadable) in
      if let refusal = AssetFile.refusal(ofURL: path, "a document is a file") { throw NestedText.Unreadable(refusal) }
      let (text, identity): ([UInt8], String)
      do throws(SystemError) {
        text = try OpenFile.contents(of: absolute(path), limit: Submission.longestDocument)
        identity = try Directories.resolve(absolute(path))
      } catch {
        throw NestedText.Unreadable(
          error.isMissing
            ? "there is no document \(path)\(NearbyFile.hint(absolute(path)))"
            : "the document \(path) cannot be read: \(error)")
      }
      if let kind = MediaSignature.kind(of: text) { throw NestedText.Unreadable(MediaSignature.refusal(path, kind)) }
      do throws(DocumentError) {
        return NestedText.File(identity: identity, text: try DocumentText(text, of: path).json, written: text)
      } catch {
        throw NestedText.Unreadable(error.problems[0].place(in: path) + ": " + error.problems[0].message)
      }
    }
  }

  /// A document that is examined and not rendered, which needs no output: without one it gets the first container that
  /// can store what it names.
  /// - Parameter output: As on the command line; nil: the document's.
  /// - Returns: The document, and the output that it is examined with; nil: its own.
  package static func examined(
    _ path: String, output: String?, values: [ParameterValue] = []
  ) throws(CommandFailure) -> (EditFile, output: String?) {
    let edit = try EditFile(path, output: output, values: values)
    guard output == nil, edit.document.lacksOutput else { return (edit, output) }
    let provisional = edit.document.provisionalOutput
    return (try EditFile(edit, output: provisional), provisional)
  }

  /// The same document with another output.
  private init(_ other: EditFile, output: String) throws(CommandFailure) {
    (path, bytes, text, folder) = (other.path, other.bytes, other.text, other.folder)
    nested = other.nested
    do {
      document = try Document.examine(bytes, output: output)
    } catch {
      throw CommandFailure(problems: error.problems)
    }
  }

  /// A document of other bytes in the same place.
  package func replacing(_ bytes: [UInt8]) throws(CommandFailure) -> EditFile {
    try EditFile(bytes, name: path, folder: folder)
  }

  /// Whether a path is that of a document, or of standard input, and not of a media file: its name is that of YAML, or
  /// the first character that is no space is that of a JSON object. A file that cannot be opened is reported when it is
  /// opened as a media file.
  package static func isDocument(_ path: String) throws(CommandFailure) -> Bool {
    if path == standardInput || DocumentText.isYAML(path) { return true }
    let head: [UInt8]
    do throws(SystemError) {
      let file = try OpenFile.open(path, O_RDONLY | O_NONBLOCK)
      // A folder or a pipe is no document.
      guard try file.status().st_mode & S_IFMT == S_IFREG else { return false }
      head = try file.read(at: 0, length: 4096)
    } catch {
      if error.isMissing || error.isDenied { return false }
      throw CommandFailure(.document, "\(path) cannot be read: \(error)")
    }
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = head.starts(with: mark) ? head.dropFirst(mark.count) : head[...]
    let written = text.lazy.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }.prefix(2)
    // Captions of MicroDVD begin with a frame's number in braces.
    return written.first == UInt8(ascii: "{")
      && !written.dropFirst().contains { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// For people: the file's name.
  package var name: String {
    path == Self.standardInput ? "standard input" : String(path.split(separator: "/").last ?? "")
  }

  /// The document as it is written.
  package var written: Content { Content(digest: SHA256Digest.of(text.written), size: Int64(text.written.count)) }

  /// The files of the documents that are assets of this one, each once, with their paths as this one names them. Throws
  /// with exit code 65 if one has changed since it was read. Blocks.
  package func nestedFiles() throws(CommandFailure) -> [(path: String, content: Content)] {
    var files: [(path: String, content: Content)] = []
    for part in nested where !files.contains(where: { $0.path == part.path }) {
      let bytes = try? OpenFile.contents(of: resolve(part.path), limit: Submission.longestDocument)
      guard let bytes, bytes == part.written else {
        throw CommandFailure(.document, "the document \(part.path) has changed since the command began; run it again")
      }
      files.append((part.path, Content(digest: SHA256Digest.of(bytes), size: Int64(bytes.count))))
    }
    return files
  }

  /// A problem for each asset whose file an output at this path would replace, which is the folder of several outputs.
  package func replaced(by output: String, _ assets: [SubmittedAsset]) -> [Problem] {
    if document.hasPlaylist { return Self.replaced(byPlaylist: output, assets) }
    guard document.hasOutputs else { return Self.replaced(by: output, assets) }
    return document.outputFiles.flatMap { Self.replaced(by: "\(output)/\($0)", assets) }
  }

  /// The output's path in the document; nil if it has none.
  package var outputPath: String? { document.outputPath.map(resolve) }

  /// Throws the problems of the document's text and of the output's name if the name selects no container. No media are
  /// read before that.
  /// - Parameter output: As on the command line; nil: the document names the output.
  package func checkOutput(_ output: String?) throws(CommandFailure) {
    guard let problem = document.problem(ofOutput: output) else { return }
    throw CommandFailure(problems: located(document.problems + [problem]))
  }

  /// Problems of the document with their places in its text. The message of one in a document of another file has its
  /// place in that one.
  package func located(_ problems: [Problem]) -> [Problem] {
    text.places.located(problems.map(locatedInFile))
  }

  private func locatedInFile(_ problem: Problem) -> Problem {
    guard let part = nested.last(where: { problem.pointer.hasPrefix($0.pointer + "/") }) else { return problem }
    var inner = problem
    inner.pointer = String(problem.pointer.dropFirst(part.pointer.count))
    var located = problem
    // It was read before.
    guard let places = try? DocumentText(part.written, of: part.path).places else { return problem }
    located.message = places.located([inner])[0].place(in: part.path) + ": " + problem.message
    return located
  }

  /// Runs work on the document. The problems of the document that it throws get their places in its text.
  package func locating<R>(_ work: () async throws -> R) async throws -> R {
    do {
      return try await work()
    } catch var failure as CommandFailure {
      failure.problems = located(failure.problems)
      throw failure
    } catch let error as DocumentError {
      throw DocumentError(problems: located(error.problems))
    }
  }

  /// Where the film of this document goes, checked before any work.
  /// - Parameter output: The path of the film, or of the folder of several outputs.
  /// - Throws: Why it cannot be written there, with the place of the path if the document has it.
  package func destination(_ output: String) throws(DocumentError) -> FilmDestination {
    do {
      return try FilmDestination(output, outputs: document.outputFiles)
    } catch {
      throw DocumentError(problems: [
        Problem(pointer: output == outputPath ? "/export/to" : "", message: error.description)
      ])
    }
  }

  /// Why the film cannot be written to a path. Empty: it can. Blocks.
  package func problems(ofOutputAt output: String, _ assets: [SubmittedAsset]) -> [Problem] {
    let replaced = replaced(by: output, assets)
    do {
      _ = try destination(output)
      return replaced
    } catch {
      return replaced + error.problems
    }
  }

  /// The files that the document names, each read for its digest, and a problem for each file that cannot be read.
  package func assets(
    _ contents: FileContentCache
  ) async throws -> (assets: [SubmittedAsset], problems: [Problem]) {
    let named = document.assetPaths
    var found: [Int: SubmittedAsset] = [:]
    var problems: [Int: Problem] = [:]
    try await withThrowingTaskGroup(of: (Int, Result<SubmittedAsset, ContentStoreError>).self) { group in
      for (index, asset) in named.enumerated() {
        if let refusal = AssetFile.refusal(ofURL: asset.path, "assets are files") {
          problems[index] = Problem(pointer: asset.pointer, message: refusal)
          continue
        }
        let path = resolve(asset.path)
        group.addTask {
          (index, try await AssetFile.asset(path, id: asset.id, writtenAs: asset.path, contents))
        }
      }
      for try await (index, result) in group {
        switch result {
        case .success(let asset): found[index] = asset
        case .failure(let error): problems[index] = Problem(pointer: named[index].pointer, message: "\(error)")
        }
      }
    }
    return (named.indices.compactMap { found[$0] }, named.indices.compactMap { problems[$0] })
  }

  /// The same of a playlist, of which only how the names of its files begin is known.
  private static func replaced(byPlaylist output: String, _ assets: [SubmittedAsset]) -> [Problem] {
    guard let folder = try? Directories.resolve(Directories.parent(of: output)),
      let name = output.split(separator: "/").last, let dot = name.lastIndex(of: "."), dot > name.startIndex
    else { return [] }
    let stem = name[..<dot]
    return assets.filter { asset in
      Manifest.allCases.contains { asset.file == "\(folder)/\(stem).\($0)" }
        || asset.file.hasPrefix("\(folder)/\(stem)-")
          && ["m3u8", "mp4", "vtt"].contains { asset.file.hasSuffix(".\($0)") }
          && !asset.file.dropFirst(folder.count + 1).contains("/")
    }.map {
      Problem(
        asset: $0.id,
        message:
          "the files of the playlist \(output) may replace the file of this asset, whose name begins alike; choose "
          + "another name")
    }
  }

  /// A problem for each asset whose file an output at this path would replace.
  package static func replaced(by output: String, _ assets: [SubmittedAsset]) -> [Problem] {
    // A path that cannot be resolved is not a file yet, so it is not an asset.
    guard let target = try? Directories.resolve(output) else { return [] }
    return assets.filter { $0.file == target }.map {
      Problem(asset: $0.id, message: "the output \(output) is the file of this asset; choose another output")
    }
  }

  private func resolve(_ path: String) -> String { path.hasPrefix("/") ? path : "\(folder)/\(path)" }
}

/// A media file on this machine.
package enum AssetFile {
  /// Why a text that is a URL is not a path; nil if it is not a URL.
  /// - Parameter rule: What a path names here, such as "assets are files".
  package static func refusal(ofURL text: String, _ rule: String) -> String? {
    guard let end = text.firstRange(of: "://")?.lowerBound, end > text.startIndex,
      text[..<end].utf8.allSatisfy({ Character(Unicode.Scalar($0)).isLetter || "0123456789+-.".utf8.contains($0) })
    else { return nil }
    return "\(text) is a URL, and \(rule): download it first, and name the file"
  }

  /// A media file as an asset of a submission, with its content and its absolute path, or why it cannot be read.
  /// - Parameters:
  ///   - id: In the document. Nil: the path.
  ///   - written: The path in the document. Nil: `path`.
  package static func asset(
    _ path: String, id: String? = nil, writtenAs written: String? = nil, _ contents: FileContentCache
  ) async throws -> Result<SubmittedAsset, ContentStoreError> {
    try await BlockingWork.run(.hashing) {
      Result { () throws(ContentStoreError) in
        let (file, absolute) = try open(path)
        return SubmittedAsset(
          id: id ?? path, path: written ?? path, content: try contents.content(of: file), file: absolute)
      }
    }
  }

  /// Whether `asset` finds a file that it can read.
  package static func canBeOpened(_ path: String) -> Bool { (try? open(path)) != nil }

  private static func open(_ path: String) throws(ContentStoreError) -> (OpenFile, absolute: String) {
    if let refusal = refusal(ofURL: path, "media are files") { throw ContentStoreError(.missing, refusal) }
    do throws(SystemError) {
      // A pipe is opened without waiting for its writer, and rejected later.
      let file = try OpenFile.open(path, O_RDONLY | O_NONBLOCK)
      if try file.status().st_mode & S_IFMT != S_IFDIR {
        let absolute = try Directories.resolve(path)
        // The wire carries text, so a byte that is not UTF-8 would become another character.
        guard access(absolute, F_OK) == 0 else {
          throw SystemError(EILSEQ, "opening \(path), whose absolute path is not UTF-8,")
        }
        return (file, absolute)
      }
    } catch {
      if error.isMissing { throw ContentStoreError(.missing, "there is no file \(path)\(NearbyFile.hint(path))") }
      if error.isDenied { throw ContentStoreError(.system, "the file \(path) may not be read (permission denied)") }
      throw ContentStoreError(error)
    }
    throw ContentStoreError(.missing, "\(path) is a folder, not a media file")
  }
}
