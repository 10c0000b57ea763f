package import Client
package import CompositionModel
import ContentStorage
import Digest
import EditDocument
package import FarmAPI
import FoundationEssentials
import Runtime
import SystemSupport

/// Makes still pictures on a local farm, and writes their files.
package struct LocalImages: Sendable {
  /// Where the pictures go.
  package enum Output: Sendable, Hashable {
    /// One picture, or a contact sheet.
    case file(String)
    /// A path with one number of so many digits at least: `prefix`, the picture's number from 1, `suffix`.
    case numbered(prefix: String, digits: Int, suffix: String)

    /// - Parameter number: Counts the pictures from 0.
    package func path(_ number: Int) -> String {
      switch self {
      case .file(let path): return path
      case .numbered(let prefix, let digits, let suffix):
        let text = "\(number + 1)"
        return prefix + String(repeating: "0", count: max(0, digits - text.count)) + text + suffix
      }
    }

    /// Reads a path of which `%d` or such as `%03d` is replaced by the number, and `%%` by one per cent sign. Nil if
    /// the path has a per cent sign that is neither, or several numbers.
    package init?(pattern: String) {
      var (prefix, suffix) = ("", "")
      var digits: Int?
      var rest = pattern[...]
      while let character = rest.popFirst() {
        var text = String(character)
        if character == "%" {
          if rest.first == "%" {
            rest.removeFirst()
          } else {
            let width = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(width.count)
            guard rest.popFirst() == "d", digits == nil, width.isEmpty || width.hasPrefix("0") || width.count == 1,
              let count = width.isEmpty ? 1 : Int(width), (1...9).contains(count)
            else { return nil }
            digits = count
            text = ""
          }
        }
        if digits == nil { prefix += text } else { suffix += text }
      }
      self = digits.map { .numbered(prefix: prefix, digits: $0, suffix: suffix) } ?? .file(prefix)
    }
  }

  /// A picture as it was written.
  package struct Written: Sendable {
    package var picture: ImageReply.Picture
    /// Nil if it failed, or is part of a contact sheet.
    package var path: String?
  }

  package struct Result: Sendable {
    /// In the order of the request.
    package var pictures: [Written]
    package var sheet: Written?
    /// The file of the cues of the sheet's pictures, and their number.
    package var cues: (path: String, count: Int)?
  }

  private let edit: EditFile?
  private let assets: [SubmittedAsset]
  private let request: ImageRequest
  private let output: Output
  /// Whether a WebVTT file beside the contact sheet says when its pictures are shown.
  private let writesCues: Bool

  /// - Parameters:
  ///   - edit: Nil: the pictures are of the one asset.
  ///   - assets: The assets of the document, or the one asset.
  package init(
    edit: EditFile?, assets: [SubmittedAsset], request: ImageRequest, output: Output, writesCues: Bool = false
  ) {
    self.writesCues = writesCues
    self.edit = edit
    self.assets = assets
    self.request = request
    self.output = output
  }

  /// Starts a farm, makes the pictures and writes those that could be made. A file of the same name is replaced by a
  /// complete one. Throws with every problem of the document and its media, and of the request.
  /// - Parameter found: The problems of files that could not be read.
  package func run(_ configuration: LocalFarm.Configuration, found: [Problem]) async throws -> Result {
    let known = knownNumbers ?? 0..<1
    try await BlockingWork.run { try check(known) }
    // The container has no effect on pictures, and the one of a document without an output takes every codec of them.
    let output = edit.map { $0.outputPath == nil ? "film.mkv" : "" } ?? ""
    let inspection = LocalInspection(edit: edit, assets: assets, output: output)
    // With problems of its own, a document is only examined for the others.
    let isWhole = found.isEmpty && edit?.document.problems.isEmpty ?? true
    return try await LocalFarm.run(configuration) { farm in
      let reply = try await inspection.ask(farm, configuration.contents, images: isWhole ? request : nil)
      let problems = inspection.problems(reply, and: found)
      guard problems.isEmpty else { throw CommandFailure(problems: problems) }
      guard let pictures = reply.images else { throw CoordinatorClient.unexpected }
      return try await BlockingWork.run { try write(pictures, farm.store) }
    }
  }

  /// The numbers of all pictures. Nil: with one after each of a time they depend on the length of the film.
  private var knownNumbers: Range<Int>? {
    if request.sheet != nil { return 0..<1 }
    switch request.times {
    case .list(let times): return times.indices
    case .count(let count): return 0..<max(0, count)
    case .every: return nil
    }
  }

  /// Checks that pictures of these numbers can be written. Blocks.
  private func check(_ numbers: Range<Int>) throws(CommandFailure) {
    for number in numbers { _ = try OutputFile(output.path(number)) }
    if writesCues { _ = try OutputFile(SpriteCues.path(beside: output.path(0))) }
  }

  private func write(_ reply: ImageReply, _ store: ContentStore) throws -> Result {
    // Before the first is written.
    let cues = writesCues ? try SpriteCues(reply, request) : nil
    if knownNumbers == nil { try check(reply.pictures.indices) }
    var result = Result(pictures: [])
    var contents: [String: OpenFile] = [:]
    func write(_ picture: ImageReply.Picture, _ number: Int) throws -> Written {
      guard let place = picture.place else { return Written(picture: picture, path: nil) }
      guard let digest = SHA256Digest(hex: place.digest) else { throw CoordinatorClient.unexpected }
      let content: OpenFile
      if let known = contents[place.digest] {
        content = known
      } else {
        content = try OpenFile.open(store.path(of: digest))
        contents[place.digest] = content
      }
      let path = output.path(number)
      let bytes = try content.read(at: place.offset, length: Int(place.byteCount))
      guard bytes.count == Int(place.byteCount) else {
        throw CommandFailure(.work, "\(path) could not be read from the content store")
      }
      try self.write(bytes, path)
      return Written(picture: picture, path: path)
    }
    for (number, picture) in reply.pictures.enumerated() { result.pictures.append(try write(picture, number)) }
    result.sheet = try reply.sheet.map { try write($0, 0) }
    if let cues, let sheet = result.sheet?.path {
      let path = SpriteCues.path(beside: sheet)
      try self.write(Array(cues.text(sheet: sheet).utf8), path)
      result.cues = (path, cues.count)
    }
    // The files are the output now.
    for content in contents.keys { SHA256Digest(hex: content).map { store.remove($0) } }
    return result
  }

  private func write(_ bytes: [UInt8], _ path: String) throws {
    let file = try OutputFile(path)
    do {
      try file.write(bytes)
    } catch {
      throw CommandFailure(.work, "\(path) could not be written: \(error)")
    }
  }
}
