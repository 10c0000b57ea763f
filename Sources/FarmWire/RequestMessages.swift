import CompositionModel
import Digest
package import FarmAPI
import FarmModel
import FoundationEssentials
import SwiftProtobuf
import SystemSupport
package import Wire

// What clients ask of a farm as messages of the protocol, and back. Plans, descriptions of assets and pictures are in
// them as the JSON that `--json` prints.

extension Sheaf_SubmittedAsset {
  package init(_ asset: SubmittedAsset) {
    self.init()
    id = asset.id
    path = asset.path
    content = Sheaf_Content(asset.content, path: asset.file)
  }
}

extension SubmittedAsset {
  package init(_ message: Sheaf_SubmittedAsset) throws(WireError) {
    guard let content = message.content.content else {
      throw WireError(.violation, "the content of asset \"\(message.id)\" has no SHA-256")
    }
    self.init(id: message.id, path: message.path, content: content, file: message.content.path)
  }
}

extension Sheaf_Submit {
  fileprivate var options: RenderOptions {
    get { RenderOptions(segmentDuration: segmentDuration, strictMedia: strictMedia, strict: strict) }
    set {
      segmentDuration = newValue.segmentDuration
      strictMedia = newValue.strictMedia
      strict = newValue.strict
    }
  }

  package init(_ submission: Submission) {
    self.init()
    document = submission.document
    assets = submission.assets.map { Sheaf_SubmittedAsset($0) }
    name = submission.name
    priority = submission.priority
    pool = submission.pool ?? ""
    options = submission.options
    schedule = submission.schedule
    output = submission.output
    self.submission = submission.id
  }
}

extension Submission {
  package init(_ message: Sheaf_Submit) throws(WireError) {
    self.init(document: message.document, assets: try message.assets.map(SubmittedAsset.init))
    name = message.name
    priority = message.priority
    pool = message.pool.isEmpty ? nil : message.pool
    options = message.options
    schedule = message.schedule
    output = message.output
    id = message.submission
  }
}

extension Sheaf_SubmitReply {
  package init(_ reply: SubmissionReply) {
    self.init()
    job = reply.job ?? ""
    problems = reply.problems.map { Sheaf_Problem($0) }
  }
}

extension SubmissionReply {
  package init(_ message: Sheaf_SubmitReply) {
    self.init(job: message.job.isEmpty ? nil : message.job, problems: message.problems.map { Problem($0) })
  }
}

extension Sheaf_StatusQuery {
  package init(_ query: JobQuery) {
    self.init()
    limit = UInt32(clamping: query.limit)
    after = query.after ?? ""
    states = query.states.map(\.message)
    name = query.name
    if let time = query.since { sinceMilliseconds = time.milliseconds }
    if let time = query.before { beforeMilliseconds = time.milliseconds }
    if let name = query.pool { pool = name }
  }
}

extension JobQuery {
  package init(_ message: Sheaf_StatusQuery) {
    self.init()
    if message.limit > 0 { limit = Int(message.limit) }
    after = message.after.isEmpty ? nil : message.after
    states = message.states.compactMap { JobState($0) }
    name = message.name
    since = message.hasSinceMilliseconds ? Timestamp(milliseconds: message.sinceMilliseconds) : nil
    before = message.hasBeforeMilliseconds ? Timestamp(milliseconds: message.beforeMilliseconds) : nil
    pool = message.hasPool ? message.pool : nil
  }
}

extension Sheaf_StatusReply {
  package init(_ list: JobList) {
    self.init()
    jobs = list.jobs.map { Sheaf_JobStatus($0) }
    notices = list.notices
  }

  /// A reply about one job. Nil: there is no such job.
  package init(_ status: JobStatus?, notices: [String]) {
    self.init()
    jobs = status.map { [Sheaf_JobStatus($0)] } ?? []
    self.notices = notices
  }
}

extension JobList {
  package init(_ message: Sheaf_StatusReply) {
    self.init()
    jobs = message.jobs.map { JobStatus($0, notices: message.notices) }
    notices = message.notices
  }
}

extension Sheaf_RetryReply {
  package init(_ reply: RetryReply, job: String) {
    self.init()
    self.job = job
    state = reply.state?.message ?? .unspecified
    error = reply.refusal ?? ""
  }
}

extension RetryReply {
  package init(_ message: Sheaf_RetryReply) {
    self.init(state: JobState(message.state), refusal: message.error.isEmpty ? nil : message.error)
  }
}

extension Sheaf_DeleteReply {
  package init(_ reply: DeleteReply, job: String) {
    self.init()
    self.job = job
    deleted = reply.isDeleted
    state = reply.state?.message ?? .unspecified
  }
}

extension DeleteReply {
  package init(_ message: Sheaf_DeleteReply) {
    self.init(isDeleted: message.deleted, state: JobState(message.state))
  }
}

extension Sheaf_InspectDocument {
  package init(_ request: InspectionRequest) throws {
    self.init()
    document = request.document
    assets = request.assets.map { Sheaf_SubmittedAsset($0) }
    segmentDuration = request.options.segmentDuration
    output = request.output
    if let images = request.images { self.images = try JSONCoding.encoder.encode(images) }
  }
}

extension InspectionRequest {
  package init(_ message: Sheaf_InspectDocument) throws {
    self.init(document: message.document, assets: try message.assets.map(SubmittedAsset.init))
    options.segmentDuration = message.segmentDuration
    output = message.output
    guard !message.images.isEmpty else { return }
    do {
      images = try JSONDecoder().decode(ImageRequest.self, from: message.images)
    } catch {
      throw WireError(.violation, "the request for pictures is that of another version: \(error)")
    }
  }
}

extension Sheaf_InspectReply {
  package init(_ reply: InspectionReply) throws {
    self.init()
    let encoder = JSONCoding.encoder
    problems = reply.problems.map { Sheaf_Problem($0) }
    if let plan = reply.plan { self.plan = try encoder.encode(plan) }
    descriptions = try reply.descriptions.mapValues { try encoder.encode($0) }
    if let images = reply.images { self.images = try encoder.encode(images) }
  }
}

extension InspectionReply {
  package init(_ message: Sheaf_InspectReply) throws {
    self.init()
    let decoder = JSONDecoder()
    problems = message.problems.map { Problem($0) }
    do {
      if !message.plan.isEmpty { plan = try decoder.decode(PlanReport.self, from: message.plan) }
      descriptions = try message.descriptions.mapValues { try decoder.decode(AssetDescription.self, from: $0) }
      if !message.images.isEmpty { images = try decoder.decode(ImageReply.self, from: message.images) }
    } catch {
      throw WireError(.violation, "the answer to an inspection is that of another version: \(error)")
    }
  }
}
