/// How a document is rendered, beyond what it says itself.
///
/// As JSON its members stand beside those of the value that has it: of a request's body, and of a stored job.
package struct RenderOptions: Sendable, Hashable, Codable {
  package enum CodingKeys: String, CodingKey, CaseIterable { case segmentDuration, strictMedia, strict }

  /// As a document writes a time, such as `5` or `90f`; empty is the default.
  package var segmentDuration: String
  /// Whether damaged media fail the job.
  package var strictMedia: Bool
  /// Whether a warning about the document fails the job, before anything is rendered.
  package var strict: Bool

  package init(segmentDuration: String = "", strictMedia: Bool = false, strict: Bool = false) {
    self.segmentDuration = segmentDuration
    self.strictMedia = strictMedia
    self.strict = strict
  }

  /// The names of its members in JSON.
  package static var keys: [String] { CodingKeys.allCases.map(\.rawValue) }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    segmentDuration = try values.decodeIfPresent(String.self, forKey: .segmentDuration) ?? ""
    strictMedia = try values.decodeIfPresent(Bool.self, forKey: .strictMedia) ?? false
    strict = try values.decodeIfPresent(Bool.self, forKey: .strict) ?? false
  }
}
