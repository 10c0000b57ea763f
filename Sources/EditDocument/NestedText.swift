package import CompositionModel

/// The text of a document with the documents that it names by their paths put in their places.
package struct NestedText: Sendable {
  /// A document of a file that is an asset.
  package struct Part: Sendable {
    /// The place of the document in the one around all.
    package var pointer: String
    /// As a person would name it: relative to the folder of the document around all, or absolute.
    package var path: String
    /// As it is in the file.
    package var written: [UInt8]
  }

  /// Why a file cannot be read as a document.
  package struct Unreadable: Error {
    package var message: String

    package init(_ message: String) { self.message = message }
  }

  /// A document's file.
  package struct File {
    /// What tells one file from another, such as its absolute path.
    package var identity: String
    /// As it is in the file.
    package var written: [UInt8]
    /// As JSON.
    package var text: [UInt8]

    /// - Parameter written: Nil: as JSON.
    package init(identity: String, text: [UInt8], written: [UInt8]? = nil) {
      (self.identity, self.text, self.written) = (identity, text, written ?? text)
    }
  }

  package private(set) var bytes: [UInt8]
  /// In the order of the text; each before those in it.
  package private(set) var parts: [Part] = []

  /// - Parameters:
  ///   - text: JSON; a text that is none is left as it is.
  ///   - identity: Of the document's own file, as `File` has it.
  ///   - read: Reads a file: its path is relative to the folder of `text`, or absolute.
  /// - Throws: A problem for each document that cannot be read.
  package init(
    _ text: [UInt8], identity: String, read: (_ path: String) throws(Unreadable) -> File
  ) throws(DocumentError) {
    bytes = text
    var problems: [Problem] = []
    // What the documents add to this one.
    var left = JSONReader.greatestByteCount
    let (filled, parts) = Self.filled(
      text, at: "", folder: nil, around: [identity], left: &left, problems: &problems, read)
    guard problems.isEmpty else { throw DocumentError(problems: problems) }
    (bytes, self.parts) = (filled, parts)
  }

  private static func filled(
    _ text: [UInt8], at place: String, folder: String?, around: [String], left: inout Int,
    problems: inout [Problem],
    _ read: (String) throws(Unreadable) -> File
  ) -> (text: [UInt8], parts: [Part]) {
    // What is not JSON is reported by who reads the document.
    guard let root = try? JSONReader.read(text).value else { return (text, []) }
    var result: [UInt8] = []
    var parts: [Part] = []
    var rest = 0
    for written in root.namedDocuments where left >= 0 {
      let pointer = place + written.path.pointer.text
      guard around.count <= NestedKeys.greatestDepth else {
        problems.append(
          Problem(
            pointer: pointer, message: "documents are assets of each other more than \(NestedKeys.greatestDepth) deep"))
        continue
      }
      let path = joined(folder, written.text)
      do throws(Unreadable) {
        let file = try read(path)
        guard !around.contains(file.identity) else {
          throw Unreadable("the document '\(written.text.shortened)' is an asset of itself")
        }
        left -= file.text.count
        guard left >= 0 else {
          throw Unreadable(
            "with the documents that are its assets, each as often as it is named, the document has more than "
              + "\(JSONReader.greatestByteCount) bytes")
        }
        if let error = Self.syntaxError(file.text) {
          throw Unreadable("\(path):\(error.line):\(error.column): not JSON: \(error.message)")
        }
        let own = folderPart(of: written.text)
        parts.append(Part(pointer: pointer, path: path, written: file.written))
        let inner = filled(
          file.text, at: pointer, folder: joined(folder, own), around: around + [file.identity], left: &left,
          problems: &problems, read)
        parts += inner.parts
        result += text[rest..<written.path.offset]
        result += inner.text
        if let own, !written.hasFolder {
          result += Array(", \"\(NestedKeys.folder.name)\": \(JSONValue.text(own).canonicalText)".utf8)
        }
        rest = text.endOfScalar(at: written.path.offset)
      } catch {
        problems.append(Problem(pointer: pointer, message: error.message))
      }
    }
    return (result + text[rest...], parts)
  }

  private static func syntaxError(_ text: [UInt8]) -> JSONSyntaxError? {
    do {
      _ = try JSONReader.read(text)
      return nil
    } catch {
      return error
    }
  }

  /// The folder of a path. Nil: that from which the path counts.
  private static func folderPart(of path: String) -> String? {
    guard let slash = path.lastIndex(of: "/") else { return nil }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func joined(_ folder: String?, _ path: String?) -> String? {
    path.map { joined(folder, $0) } ?? folder
  }

  private static func joined(_ folder: String?, _ path: String) -> String {
    guard let folder, !path.hasPrefix("/") else { return path }
    return "\(folder)/\(path)"
  }
}

extension JSONValue {
  /// The documents among a document's assets that are named by their paths, in the order of the text.
  fileprivate var namedDocuments: [(path: JSONValue, text: String, hasFolder: Bool)] {
    guard case .object(let assets)? = member(DocumentKeys.assets.name)?.content else { return [] }
    return assets.compactMap { _, asset in
      guard let path = asset.member(NestedKeys.document.name), case .string(let text) = path.content, !text.isEmpty
      else { return nil }
      return (path, text, asset.member(NestedKeys.folder.name) != nil)
    }
  }
}
