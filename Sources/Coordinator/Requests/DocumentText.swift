import CompositionModel
import EditDocument
import Synchronization

/// A document as its author has written it. It is read when it is needed first, and once, whoever has a copy.
struct DocumentText: Sendable {
  final class Reading: Sendable {
    let result = Mutex<Result<ExaminedDocument, DocumentError>?>(nil)
  }

  let text: String
  /// The output's path, which selects the container; nil leaves it to the document.
  let output: String?
  let reading = Reading()

  /// - Parameter output: Empty leaves it to the document.
  init(_ text: String, output: String) {
    self.text = text
    self.output = output.isEmpty ? nil : output
  }

  /// Throws only if the text is not a JSON object; the document has its other problems. Takes some time for a long one.
  func read() throws(DocumentError) -> ExaminedDocument {
    let read = reading.result.withLock { result in
      if let result { return result }
      let new = Result { () throws(DocumentError) in try Document.examine([UInt8](text.utf8), output: output) }
      result = new
      return new
    }
    return try read.get()
  }
}

extension DocumentText: Hashable {
  static func == (left: Self, right: Self) -> Bool { left.text == right.text && left.output == right.output }

  func hash(into hasher: inout Hasher) {
    hasher.combine(text)
    hasher.combine(output)
  }
}
