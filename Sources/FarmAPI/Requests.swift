package import CompositionModel
package import Digest
package import FarmModel
package import FoundationEssentials

/// A file of a document that a client submits.
package struct SubmittedAsset: Sendable, Hashable, Codable {
  /// In the document.
  package var id: AssetID
  /// The file's name in the document, for messages.
  package var path: String
  package var content: Content
  /// Where the client has the file: an absolute path, which the farm may have under its media root.
  package var file: String

  package init(id: AssetID, path: String, content: Content, file: String) {
    self.id = id
    self.path = path
    self.content = content
    self.file = file
  }
}

/// Where the file of one of a document's assets is, for a client that has no files of its own.
package struct AssetSource: Sendable, Hashable {
  package enum Place: Sendable, Hashable {
    /// Content that was uploaded.
    case content(Content)
    /// A file under the farm's media root.
    case path(String)
  }

  /// In the document.
  package var id: AssetID
  package var place: Place

  package init(id: AssetID, place: Place) {
    self.id = id
    self.place = place
  }
}

/// What holds a job up that could go on.
package struct JobSchedule: Sendable, Hashable, Codable {
  /// Whether it waits until it is resumed.
  package var isPaused = false
  /// Until when it waits. Nil: it does not wait for a time.
  package var holdUntil: Timestamp?
  /// The ids of jobs that are to be done before. One that does not exist, or not any more, holds nothing up.
  package var after: [String] = []

  package init() {}
}

/// A document that is submitted, and how.
package struct Submission: Sendable, Hashable, Codable {
  /// The longest document, in bytes.
  package static let longestDocument = 4 << 20

  /// The document's bytes.
  package var document: Data
  package var assets: [SubmittedAsset]
  /// For people: the document's file name.
  package var name = ""
  /// Jobs of a higher priority go first.
  package var priority: Int32 = 0
  /// The pool of the workers that take its tasks. Nil: all workers do, or the submitter's token has a pool.
  package var pool: String?
  package var schedule = JobSchedule()
  package var options = RenderOptions()
  /// The output's path, whose extension selects the container; empty if the document's `export.to` does.
  package var output = ""
  /// Chosen by the client, unique to this submission: 1 to 64 visible ASCII characters, or empty. A submission that is
  /// sent again is answered with the job that it made; another one with the same id is a conflict.
  package var id = ""
  /// The trace that the job is part of, for logs. Nil: the coordinator begins one. A `traceparent`.
  package var traceparent: String?

  package init(document: Data, assets: [SubmittedAsset]) {
    self.document = document
    self.assets = assets
  }
}

package struct SubmissionReply: Sendable, Hashable, Codable {
  /// Nil: the document has problems.
  package var job: String?
  package var problems: [Problem]
  /// Whether the job was made before, by the same submission.
  package var isRepeated: Bool

  package init(job: String? = nil, problems: [Problem] = [], isRepeated: Bool = false) {
    self.job = job
    self.problems = problems
    self.isRepeated = isRepeated
  }
}

/// Which jobs are listed, newest first.
package struct JobQuery: Sendable, Hashable, Codable {
  /// How many a list has if the query does not say.
  package static let defaultLimit = 200
  package static let mostLimit = 1000

  /// At most `mostLimit`.
  package var limit = defaultLimit
  /// Only jobs that were submitted before this one. Nil: from the newest on.
  package var after: String?
  /// Only jobs in these states. Empty: in any.
  package var states: [JobState] = []
  /// Only jobs whose name has this as a part, whatever the case of the letters. Empty: any name.
  package var name = ""
  /// Only jobs that were submitted at this time or later.
  package var since: Timestamp?
  /// Only jobs that were submitted before this time.
  package var before: Timestamp?
  /// Only jobs of this pool; empty: only those without one. Nil: of any.
  package var pool: String?

  package init() {}
}

/// What the farm answers to a `JobQuery`.
package struct JobList: Sendable, Hashable, Codable {
  /// Newest first, without tasks.
  package var jobs: [JobStatus] = []
  /// What holds up the whole farm, for a person.
  package var notices: [String] = []

  package init() {}
}

package struct RetryReply: Sendable, Hashable, Codable {
  /// The state that the job is in now. Nil: there is no such job.
  package var state: JobState?
  /// Why the job was not taken up. Nil: it was.
  package var refusal: String?

  package init(state: JobState? = nil, refusal: String? = nil) {
    self.state = state
    self.refusal = refusal
  }
}

package struct DeleteReply: Sendable, Hashable, Codable {
  package var isDeleted: Bool
  /// The state of a job that was not deleted. Nil: there is no such job.
  package var state: JobState?

  package init(isDeleted: Bool, state: JobState? = nil) {
    self.isDeleted = isDeleted
    self.state = state
  }
}

/// For `check`, `plan`, `probe` and `image`: the assets are probed and the document is planned; nothing is rendered but
/// still pictures.
package struct InspectionRequest: Sendable, Hashable, Codable {
  /// Empty: the assets are only described.
  package var document: Data
  package var assets: [SubmittedAsset]
  /// As in a `Submission`.
  package var options = RenderOptions()
  /// As in a `Submission`.
  package var output = ""
  /// The still pictures that are asked for: of the film, or, with an empty document, of the one asset.
  package var images: ImageRequest?

  package init(document: Data = Data(), assets: [SubmittedAsset]) {
    self.document = document
    self.assets = assets
  }
}

package struct InspectionReply: Sendable, Hashable, Codable {
  package var problems: [Problem] = []
  /// Nil if there are problems, or no document.
  package var plan: PlanReport?
  /// The descriptions of the assets that could be probed.
  package var descriptions: [AssetID: AssetDescription] = [:]
  /// Nil: none were asked for, or there are problems.
  package var images: ImageReply?

  package init() {}
}

/// Why the farm does not carry out a request.
package struct FarmError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: String, Sendable, Hashable, Codable, CaseIterable {
    /// The request has no meaning, or breaks a limit.
    case invalid
    /// It has no token that is valid.
    case unauthorized
    /// Its token does not allow it.
    case forbidden
    /// Its owner has as many jobs as it may have.
    case tooMany
    /// It names a job that does not exist, or that is another owner's.
    case notFound
    /// It does not fit the state that its job is in, or what was sent before under the same id.
    case conflict
    /// Content that it needs is not in the content store any more.
    case lost
    /// Bytes do not have the announced size or digest.
    case wrongContent
    /// The content store's disk has no room.
    case full
    /// The job store or the content store does not answer now.
    case unavailable
  }

  package var code: Code
  /// For a person: what was wrong, and what would be right.
  package var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
