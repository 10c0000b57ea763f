import CompositionModel
import Digest
import FarmAPI
import FoundationEssentials
import SystemSupport

/// What a client has submitted, as the job keeps it until it is planned.
struct JobRequest: Sendable, Hashable {
  struct Asset: Sendable, Hashable, Codable {
    var id: AssetID
    /// As in the document.
    var path: String
    /// Lower-case hexadecimal SHA-256: this type is stored as JSON.
    private(set) var digest: String
    @Ranged<SizeRange> private(set) var size: Int64

    init(id: AssetID, path: String, content: Content) {
      self.id = id
      self.path = path
      digest = content.digest.hex
      size = content.size
    }

    /// Throws if the stored digest is not a SHA-256.
    var content: Content {
      get throws(FarmError) {
        guard let digest = SHA256Digest(hex: digest) else {
          throw FarmError(.invalid, "the digest of asset \"\(id)\" is not a SHA-256")
        }
        return Content(digest: digest, size: size)
      }
    }
  }

  /// The document; of a request for descriptions only, an empty one.
  let document: DocumentText
  var assets: [Asset] = []
  var options: RenderOptions
  /// The names of the author's own compositors that the document uses, sorted; nil: none.
  var compositors: [String]?
  /// The names of the files of a document with several outputs; nil: it has one.
  var outputs: [String]?
  /// The job's place in a trace, for logs alone; nil: an earlier version has made the job.
  var traceparent: String?
  /// As they were submitted, to know a submission that is repeated; nil: the defaults.
  var priority: Int32?
  /// Nil: it has none.
  var pool: String?
  var schedule: JobSchedule?

  /// - Parameter output: The output's name, whose extension selects the container; empty leaves it to the document.
  init(document: String, assets: [Asset] = [], options: RenderOptions = RenderOptions(), output: String) {
    self.init(DocumentText(document, output: output), assets: assets, options: options)
  }

  init(_ document: DocumentText, assets: [Asset] = [], options: RenderOptions) {
    self.document = document
    self.assets = assets
    self.options = options
  }

  /// The files to probe: each once, in order of first appearance.
  func files() throws(FarmError) -> [Content] {
    var seen: Set<Content> = []
    var files: [Content] = []
    for asset in assets {
      let content = try asset.content
      if seen.insert(content).inserted { files.append(content) }
    }
    return files
  }

  /// The assets that are this file.
  func assets(of digest: SHA256Digest) -> [Asset] { assets.filter { $0.digest == digest.hex } }

  /// A message with the paths in the document in place of the digests by which workers name media.
  func named(_ message: String) -> String {
    assets.reduce(message) { $0.replacing($1.digest, with: $1.path) }
  }

  /// Whether another submission is the same, whatever trace it is part of: one that is repeated has another span.
  func isSame(as encoded: [UInt8]) -> Bool {
    guard var other = try? JobRequest(encoded: encoded) else { return false }
    other.traceparent = traceparent
    return other == self
  }

  func encoded() throws -> [UInt8] { try [UInt8](JSONCoding.encoder.encode(self)) }
}

extension JobRequest: Codable {
  private enum CodingKeys: String, CodingKey {
    case document, assets, output, compositors, outputs, traceparent, priority, pool, schedule
  }

  init(encoded: [UInt8]) throws {
    self = try JSONDecoder().decode(JobRequest.self, from: Data(encoded))
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      document: try values.decode(String.self, forKey: .document),
      assets: try values.decode([Asset].self, forKey: .assets),
      options: try RenderOptions(from: decoder),
      output: try values.decode(String.self, forKey: .output))
    compositors = try values.decodeIfPresent([String].self, forKey: .compositors)
    outputs = try values.decodeIfPresent([String].self, forKey: .outputs)
    traceparent = try values.decodeIfPresent(String.self, forKey: .traceparent)
    priority = try values.decodeIfPresent(Int32.self, forKey: .priority)
    pool = try values.decodeIfPresent(String.self, forKey: .pool)
    schedule = try values.decodeIfPresent(JobSchedule.self, forKey: .schedule)
  }

  func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(document.text, forKey: .document)
    try values.encode(assets, forKey: .assets)
    try options.encode(to: encoder)
    try values.encode(document.output ?? "", forKey: .output)
    try values.encodeIfPresent(compositors, forKey: .compositors)
    try values.encodeIfPresent(outputs, forKey: .outputs)
    try values.encodeIfPresent(traceparent, forKey: .traceparent)
    try values.encodeIfPresent(priority, forKey: .priority)
    try values.encodeIfPresent(pool, forKey: .pool)
    try values.encodeIfPresent(schedule, forKey: .schedule)
  }
}
