import CompositionModel
import ContentStorage
import FarmAPI
import FarmModel
import Testing
import Wire

@testable import Client

struct CommandFailureTests {
  @Test(arguments: [
    (CommandFailure(.document, "x") as any Error, 65), (WireError(.unreachable, "x"), 69),
    (WireError(.untrusted, "x"), 69),
    (WireError(.refused(.token), "x"), 69), (WireError(.content, "x"), 1), (ContentStoreError(.outOfSpace, "x"), 1),
    (CancellationError(), 1),
  ])
  func everyFailureHasItsExitCode(error: any Error, code: Int) {
    #expect(CommandFailure(error).code.rawValue == Int32(code))
  }

  @Test func `a job that is not done has a reason`() throws {
    var status = JobStatus(job: "j", state: nil)
    let expected: [(JobState?, CommandFailure.Code?)] = [
      (.done, nil), (.cancelled, .work), (.failed, .work), (.rendering, .work), (.probing, .work),
      (nil, .work),
    ]
    for (state, code) in expected {
      status.state = state
      #expect(failure(of: status)?.code == code)
    }
    status.state = .failed
    status.problems = [Problem(pointer: "", message: "the file a.mov has no video")]
    #expect(failure(of: status)?.code == .document)
  }

  private func failure(of status: JobStatus) -> CommandFailure? {
    do throws(CommandFailure) {
      try status.requireDone()
      return nil
    } catch {
      return error
    }
  }
}
