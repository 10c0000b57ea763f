import CompositionModel
import FoundationEssentials
import Jobs
import SwiftProtobuf
import TestPrograms
import Testing
import Wire

@testable import Coordinator

@Suite(.timeLimit(.minutes(10))) struct InspectionTests {
  private func inspect(
    _ document: String, files: [String: String], at farm: TestFarm,
    worker: ScriptedWorker
  ) async throws -> Sheaf_InspectReply {
    let folder = try TemporaryFolder()
    for (name, text) in files { _ = try folder.write(text.utf8, to: name) }
    let path = try folder.write(document.utf8, to: "edit.json")
    return try await withThrowingTaskGroup(of: Sheaf_InspectReply?.self) { group in
      group.addTask {
        do { try await worker.run(at: farm.endpoint.address) } catch is CancellationError {}
        return nil
      }
      group.addTask {
        try await CoordinatorClient.run(farm.endpoint) { client in
          let edit = try EditFile(path)
          let (assets, _) = try await edit.assets(DigestCache())
          try await JobRun(client: client).provide(assets)
          let question = Sheaf_InspectDocument.with {
            $0.document = Data(edit.bytes)
            $0.assets = assets
            $0.output = "film.mkv"
            $0.segmentDuration = "2"
          }
          guard case .inspectReply(let reply) = try await client.ask(.inspectDocument(question)) else {
            throw CoordinatorClient.unexpected
          }
          return reply
        }
      }
      defer { group.cancelAll() }
      while let ended = try await group.next() { if let reply = ended { return reply } }
      throw CancellationError()
    }
  }

  private let document = """
    { "sheaf": 1, "assets": { "a": "a.mov", "b": "b.mov" },
      "tracks": [ { "id": "A", "type": "video", "clips": [ { "asset": "a", "use": "0..4" }, { "asset": "b", "use": "0..4" } ] } ],
      "export": { "video": { "codec": "ffv1" } } }
    """

  @Test func aPlanTellsSegmentsAndWhy() async throws {
    try await TestFarm.run { farm in
      let worker = ScriptedWorker(farm.hello(.worker))
      let reply = try await inspect(document, files: ["a.mov": "10", "b.mov": "11"], at: farm, worker: worker)
      #expect(reply.problems.isEmpty, "\(reply.problems)")
      let plan = try JSONDecoder().decode(PlanReport.self, from: reply.plan)
      #expect(plan.frames == 80 && plan.container == "mkv")
      #expect(plan.segments.map(\.firstFrame) == [0, 20, 40, 60])
      #expect(plan.segments.first?.boundary == "the film starts")
      #expect(plan.segments.allSatisfy { $0.action == "encoded" })
      #expect(plan.instructions.map(\.layers) == [["A"], ["A"]])
      #expect(Set(reply.descriptions.keys) == ["a", "b"])
      // It rendered nothing, and left no job that anybody sees.
      #expect(Set(worker.kinds) == [.describe])
      let status = try await CoordinatorClient.run(farm.endpoint) { try await $0.ask(.statusQuery(.init())) }
      #expect(status == .statusReply(.init()))
      #expect(!PlanText.lines(plan).isEmpty)
    }
  }

  @Test func everyFileThatIsNoMediaIsToldAtOnce() async throws {
    try await TestFarm.run { farm in
      let worker = ScriptedWorker(farm.hello(.worker)) { $0.kind == .describe ? .document : nil }
      let reply = try await inspect(document, files: ["a.mov": "10", "b.mov": "11"], at: farm, worker: worker)
      #expect(reply.problems.map(\.pointer).filter { $0.hasPrefix("/assets") } == ["/assets/a", "/assets/b"])
      #expect(reply.plan.isEmpty)
    }
  }

  @Test func problemsOfTheDocumentAndOfItsMediaComeTogether() async throws {
    try await TestFarm.run { farm in
      let wrong = document.replacing("\"use\": \"0..4\" }, {", with: "\"use\": \"0..40\" }, {").replacing(
        "\"export\": {", with: "\"exprot\": 1, \"export\": {")
      let worker = ScriptedWorker(farm.hello(.worker))
      let reply = try await inspect(wrong, files: ["a.mov": "10", "b.mov": "11"], at: farm, worker: worker)
      #expect(
        Set(reply.problems.map(\.pointer)).isSuperset(of: ["/exprot", "/tracks/0/clips/0/use"]), "\(reply.problems)")
    }
  }
}
