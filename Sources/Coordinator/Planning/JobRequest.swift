import CompositionModel
import Digest
import FoundationEssentials
import Jobs

/// What a client asked for, as a job keeps it until it is planned.
struct JobRequest: Sendable, Hashable, Codable {
  struct Asset: Sendable, Hashable, Codable {
    var id: AssetID
    /// As the document names it.
    var path: String
    /// Lower-case hexadecimal SHA-256.
    var digest: String
    var size: Int64

    var content: Content { Content(digest: digest, size: size) }
  }

  /// The document's text.
  var document: String
  var assets: [Asset]
  /// In the document's notation of a time; empty is the default.
  var segmentDuration: String
  /// The output's name, for its container; empty where the document's own counts.
  var output: String

  /// Files to describe: each once, in order of first appearance.
  var files: [Content] {
    var seen: Set<String> = []
    return assets.map(\.content).filter { seen.insert($0.digest).inserted }
  }

  /// The assets that are this file.
  func assets(of digest: String) -> [Asset] { assets.filter { $0.digest == digest } }

  func encoded() throws -> [UInt8] { try [UInt8](JSONCoding.encoder.encode(self)) }

  init(document: String, assets: [Asset], segmentDuration: String, output: String) {
    self.document = document
    self.assets = assets
    self.segmentDuration = segmentDuration
    self.output = output
  }

  init(encoded: [UInt8]) throws {
    self = try JSONDecoder().decode(JobRequest.self, from: Data(encoded))
  }
}

/// One way of writing JSON, so that equal values are equal bytes.
enum JSONCoding {
  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  /// For people and programs that read line by line.
  static var prettyEncoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    return encoder
  }
}
