import CompositionModel
import Digest
import FarmAPI
import FarmModel
import Foundation
import SwiftProtobuf
import Testing
import Wire

@testable import FarmWire

/// What clients ask is the same on the other side of the wire.
struct RequestMessageTests {
  private let assets = [
    SubmittedAsset(id: "a", path: "a.mov", content: Content(digest: .of([1]), size: 7), file: "/media/a.mov"),
    SubmittedAsset(id: "b", path: "../b.mov", content: Content(digest: .of([2]), size: 1 << 40), file: ""),
  ]

  @Test func `a submission and its answer`() throws {
    var submission = Submission(document: Data("{}".utf8), assets: assets)
    (submission.name, submission.priority) = ("film.json", -7)
    submission.options = RenderOptions(segmentDuration: "90f", strictMedia: true, strict: true)
    (submission.output, submission.id) = ("film.mov", "x-1")
    #expect(try Submission(Sheaf_Submit(submission)) == submission)
    for reply in [SubmissionReply(job: "j"), SubmissionReply(problems: [Problem(pointer: "/a", message: "b")])] {
      #expect(SubmissionReply(Sheaf_SubmitReply(reply)) == reply)
    }
  }

  @Test func `an asset without a digest is refused`() {
    let message = Sheaf_Submit.with { $0.assets = [.with { $0.id = "a" }] }
    let error = #expect(throws: WireError.self) { try Submission(message) }
    #expect(error?.code == .violation && error?.message.contains("\"a\"") == true)
  }

  @Test func `a list of jobs, and which are asked for`() {
    var query = JobQuery()
    #expect(JobQuery(Sheaf_StatusQuery(query)) == query)
    (query.limit, query.after, query.states) = (17, "j", [.done, .failed])
    (query.name, query.since, query.before) = ("film", Timestamp(milliseconds: 0), Timestamp(milliseconds: 1_234_567))
    #expect(JobQuery(Sheaf_StatusQuery(query)) == query)
    #expect(JobQuery(Sheaf_StatusQuery()).limit == JobQuery.defaultLimit)
    var list = JobList()
    list.jobs = [JobStatus(job: "a", state: .done), JobStatus(job: "b", state: .probing)]
    #expect(JobList(Sheaf_StatusReply(list)) == list)
  }

  @Test func `what becomes of a job that is taken up again or deleted`() {
    for reply in [RetryReply(state: .probing), RetryReply(state: .done, refusal: "it is done"), RetryReply()] {
      #expect(RetryReply(Sheaf_RetryReply(reply, job: "j")) == reply)
    }
    for reply in [DeleteReply(isDeleted: true), DeleteReply(isDeleted: false, state: .rendering)] {
      #expect(DeleteReply(Sheaf_DeleteReply(reply, job: "j")) == reply)
    }
  }

  @Test func `an inspection and its answer`() throws {
    var request = InspectionRequest(document: Data("{}".utf8), assets: assets)
    (request.options.segmentDuration, request.output) = ("2", "film.mkv")
    request.images = ImageRequest(times: .every("1/3"), tolerance: ["inf"], format: .webp, quality: 37)
    #expect(try InspectionRequest(Sheaf_InspectDocument(request)) == request)
    var reply = InspectionReply()
    reply.problems = [Problem(pointer: "/assets/a", message: "no media")]
    reply.images = ImageReply(pictures: [.init(requested: .init(.zero))])
    #expect(try InspectionReply(Sheaf_InspectReply(reply)) == reply)
    let wrong = Sheaf_InspectReply.with { $0.plan = Data("[]".utf8) }
    #expect(throws: WireError.self) { try InspectionReply(wrong) }
  }
}
