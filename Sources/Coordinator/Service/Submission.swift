import CompositionModel
import Digest
import FoundationEssentials
import Jobs
import SwiftProtobuf
import Wire

/// A client's document on its way to becoming a job.
struct Submission: Sendable {
  static let maximumDocument = 4 << 20

  let store: any JobStore
  let library: Library

  /// Every problem of the document that shows without its media, or the job.
  func submit(_ message: Sheaf_Submit) async throws -> Sheaf_SubmitReply {
    let (request, problems) = try await BlockingWork.run {
      try read(
        message.document, message.assets, segmentDuration: message.segmentDuration, output: message.output)
    }
    guard problems.isEmpty else { return .with { $0.problems = problems.map(Sheaf_Problem.init) } }
    let build = try await Planner.commonBuild(store)
    let (tasks, encoded) = try await BlockingWork.run { [library] in
      (try ProbeTasks.make(request.files, build: build, vault: library.vault), try request.encoded())
    }
    let id = JobID(Self.freshName())
    try await store.submit(
      NewJob(
        id: id, name: String(message.name.prefix(256)), priority: message.priority, request: encoded, tasks: tasks))
    return .with { $0.job = id.description }
  }

  /// The request, and what is wrong with it. Blocks: it may look for files.
  func read(
    _ document: Data, _ assets: [Sheaf_SubmittedAsset], segmentDuration: String, output: String
  ) throws -> (request: JobRequest, problems: [Problem]) {
    guard document.count <= Self.maximumDocument else {
      throw WireError(.violation, "a document of \(document.count) bytes is longer than \(Self.maximumDocument)")
    }
    var request = JobRequest(
      document: String(decoding: document, as: UTF8.self), assets: [], segmentDuration: segmentDuration,
      output: output)
    for asset in assets {
      guard let digest = asset.content.sha256, let size = Int64(exactly: asset.content.size) else {
        throw WireError(.violation, "asset \"\(asset.id)\" is named by no SHA-256")
      }
      guard library.has(digest, size: size, hint: asset.content.path) else {
        throw WireError(.violation, "asset \"\(asset.id)\" (\(digest)) was not uploaded")
      }
      request.assets.append(.init(id: asset.id, path: asset.path, digest: digest.hex, size: size))
    }
    // A document of nothing asks for descriptions alone.
    if document.isEmpty { return (request, []) }
    do {
      let parsed = try Document.examine([UInt8](document))
      let given = Set(assets.map(\.id))
      let absent = parsed.assetPaths.filter { !given.contains($0.id) }
      return (
        request,
        parsed.problems
          + absent.map { Problem(pointer: $0.pointer, message: "the file \($0.path) was not submitted") }
      )
    } catch {
      return (request, error.problems)
    }
  }

  /// Twelve letters and digits: hard to guess, easy to type.
  static func freshName() -> String {
    let letters = Array("0123456789abcdefghijklmnopqrstuvwxyz")
    return String((0..<12).map { _ in letters[Int.random(in: letters.indices)] })
  }
}
