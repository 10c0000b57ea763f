import CompositionModel
import ContentStorage
import Digest
import FoundationEssentials
import SystemSupport

// The warnings about a document are found when its job is planned, and shown for as long as the job is known. They
// follow from the job's request and the installed fonts, so they are a note by the request's digest, of the last plan.
extension ResultNotes {
  /// Keeps what is most likely not meant in a document.
  func record(_ warnings: [Problem], of request: [UInt8]) throws {
    let text = try JSONCoding.encoder.encode(warnings)
    try record(String(decoding: text, as: UTF8.self), of: SHA256Digest.of(request))
  }

  /// What is most likely not meant in the document of a request that was planned.
  func warnings(of request: [UInt8]) -> [Problem] {
    guard let note = note(of: SHA256Digest.of(request)) else { return [] }
    // A note that a crash has damaged is ignored, as every entry of the store is.
    return (try? JSONDecoder().decode([Problem].self, from: Data(note.utf8))) ?? []
  }
}
