import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import SystemSupport
import Wire

/// What a client has submitted, as the job keeps it until it is planned.
struct JobRequest: Sendable, Hashable, Codable {
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

  /// The document's text.
  var document: String
  var assets: [Asset] = []
  /// In the document's notation of times; empty selects the default.
  var segmentDuration: String
  /// The output's name, whose extension selects the container; empty leaves it to the document.
  var output: String
  /// Whether damaged media fail the job; nil: they do not.
  var strictMedia: Bool?
  /// Whether a warning about the document fails the job; nil: it does not.
  var strict: Bool?
  /// The names of the author's own compositors that the document uses, sorted; nil: none.
  var compositors: [String]?
  /// The names of the files of a document with several outputs; nil: it has one.
  var outputs: [String]?

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

  func encoded() throws -> [UInt8] { try [UInt8](JSONCoding.encoder.encode(self)) }
}

extension JobRequest {
  init(encoded: [UInt8]) throws {
    self = try JSONDecoder().decode(JobRequest.self, from: Data(encoded))
  }
}

/// Turns what a client submits into a job.
struct JobSubmission: Sendable {
  private static let maximumName = 256

  private let service: CoordinatorService

  init(_ service: CoordinatorService) {
    self.service = service
  }

  /// Answers with the job, or with every problem of the document that can be found without its media. A submission that
  /// is repeated is answered with the job that it made.
  func submit(_ submission: Submission) async throws -> SubmissionReply {
    guard submission.id.utf8.count <= 64, submission.id.utf8.allSatisfy({ (33...126).contains($0) }) else {
      throw FarmError(.invalid, "a submission must be named by 1 to 64 visible ASCII characters, or not at all")
    }
    var (request, problems) = try await read(
      submission.document, submission.assets, segmentDuration: submission.segmentDuration, output: submission.output)
    guard problems.isEmpty else { return SubmissionReply(problems: problems) }
    if submission.strictMedia { request.strictMedia = true }
    if submission.strict { request.strict = true }
    let (tasks, encoded) = try await BlockingWork.run { [results = service.results, request] in
      (try ProbeTasks.make(request, results: results), try request.encoded())
    }
    let name = String(submission.name.prefix(Self.maximumName))
    let new = JobID(Self.freshName())
    let id = try await service.store.submit(
      NewJob(
        id: new, submission: submission.id.isEmpty ? nil : submission.id, name: name, purpose: .render,
        priority: submission.priority, request: encoded, tasks: tasks))
    await service.usedMemory()
    if id == new {
      service.events.emit(
        .jobSubmitted(job: id.description, name: name, files: tasks.count, priority: submission.priority))
    } else if let known = try await service.store.job(id) {
      guard known.request == encoded, known.name == name, known.priority == submission.priority else {
        throw FarmError(
          .conflict, "the id \"\(submission.id)\" was used before, for another submission: it made job \(id)")
      }
    }
    return SubmissionReply(job: id.description, isRepeated: id != new)
  }

  /// The request, and the document's problems. An empty document has none: it requests descriptions only. Throws
  /// `.invalid` if the document is too long or an asset is not available.
  func read(
    _ document: Data, _ assets: [SubmittedAsset], segmentDuration: String, output: String
  ) async throws -> (request: JobRequest, problems: [Problem]) {
    // It may read files under the media root for their digests, unless `FindMissing` was asked for them before.
    let read = try await BlockingWork.run(.hashing) { [self] in
      Result { try examine(document, assets, segmentDuration: segmentDuration, output: output) }
    }
    await service.usedMemory()
    return try read.get()
  }

  private func examine(
    _ document: Data, _ assets: [SubmittedAsset], segmentDuration: String, output: String
  ) throws -> (request: JobRequest, problems: [Problem]) {
    guard document.count <= Submission.longestDocument else {
      throw FarmError(
        .invalid, "a document of \(document.count) bytes is longer than the limit of \(Submission.longestDocument)")
    }
    var request = JobRequest(
      document: String(decoding: document, as: UTF8.self), segmentDuration: segmentDuration, output: output)
    for asset in assets {
      guard service.content.has(asset.content, hint: asset.file) else {
        throw FarmError(.invalid, "asset \"\(asset.id)\" (\(asset.content.digest)) was not uploaded")
      }
      request.assets.append(.init(id: asset.id, path: asset.path, content: asset.content))
    }
    if document.isEmpty { return (request, []) }
    do {
      let parsed = try Document.examine([UInt8](document), output: output.isEmpty ? nil : output)
      let names = Set(parsed.compositors.map(\.compositor.name)).sorted()
      if !names.isEmpty { request.compositors = names }
      if parsed.hasOutputs { request.outputs = parsed.outputFiles }
      let submitted = Set(assets.map(\.id))
      let absent = parsed.assetPaths.filter { !submitted.contains($0.id) }.map {
        Problem(pointer: $0.pointer, message: "the file \($0.path) was not submitted")
      }
      return (request, parsed.problems + absent)
    } catch {
      return (request, error.problems)
    }
  }

  /// Twelve random letters and digits: hard to guess and easy to type.
  static func freshName() -> String {
    let letters = Array("0123456789abcdefghijklmnopqrstuvwxyz")
    return String((0..<12).map { _ in letters[Int.random(in: letters.indices)] })
  }
}
