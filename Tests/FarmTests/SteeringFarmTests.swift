import Foundation
import TestPrograms
import Testing

/// Who goes first, and what holds jobs up, with programs.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct SteeringFarmTests {
  private struct Status: Decodable {
    struct Task: Decodable {
      struct Attempt: Decodable {
        var end: String
        var message: String
      }

      var kind: String
      var state: String
      var attempts: [Attempt]
    }

    var state: String
    var segmentsDone: Int
    var segmentsTotal: Int
    var isPaused: Bool
    var waitReason: String?
    var after: [String]?
    var tasks: [Task]
  }

  /// A film of drawn pictures, in segments of a second.
  private func document(_ seconds: Int, _ colour: String) -> String {
    """
    { "sheaf": 1, "assets": { "a": { "color": "\(colour)" } },
      "tracks": [ { "clips": [ { "asset": "a", "duration": \(seconds) } ] } ],
      "videoComposition": { "renderSize": [320, 180], "frameRate": 30,
        "overlays": [ { "text": { "timecode": "00:00:00:00" }, "size": 40 } ] },
      "export": { "to": "film.mp4", "video": { "codec": "h264", "quality": 30, "preset": "medium" } } }
    """
  }

  /// The jobs of the tasks that were granted since a job was planned, in order.
  private func grants(_ farm: Farm, in files: Workspace, after job: String) async throws -> [String] {
    struct State: Decodable {
      struct Event: Decodable {
        var event: String
        var job: String?
      }

      var history: [Event]
    }
    // The stream has no end: its first event has what happened before.
    let script = #"""
      set -o pipefail
      curl -sS -N -m 60 -H "Authorization: Bearer $SHEAF_TOKEN" "http://$SHEAF_HTTP/v1/events" 2> /dev/null \
        | grep --max-count 1 '^data: ' | cut -c 7-
      """#
    let found = try await farm.shell(script, in: files.url.path).output
    let events = try JSONDecoder().decode(State.self, from: Data(found.utf8)).history
    let planned = try #require(events.lastIndex { $0.event == "jobPlanned" && $0.job == job })
    return events[planned...].filter { $0.event == "taskGranted" }.compactMap(\.job)
  }

  @Test func `a short film behind a long one starts within two segments, and the long one is paused and goes on`()
    async throws
  {
    let farm = try await Farm(workers: 1, slots: 1)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    func submit(_ name: String, _ text: String, _ options: String...) async throws -> String {
      let edit = try files.write(text, to: "\(name).json")
      let result = try await farm.sheaf(["submit", edit, "--segment-duration", "1"] + options).run()
      try #require(result.status == 0, "\(result.errors)")
      return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
    let long = try await submit("long", document(60, "#204060"))
    try await eventually("the long film is under way") {
      try await farm.status(of: long, as: Status.self).segmentsDone >= 2
    }
    let short = try await submit("short", document(1, "#602040"))
    try await eventually("the short film is done") { try await farm.status(of: short, as: Status.self).state == "done" }
    #expect(try await farm.status(of: long, as: Status.self).state == "rendering")
    let grants = try await grants(farm, in: files, after: short)
    let first = try #require(grants.firstIndex(of: short))
    #expect(first <= 2 && grants[..<first].allSatisfy { $0 == long }, "\(grants)")
    // Paused at once: nothing of it runs, and what it has done stays.
    #expect(try await farm.sheaf("pause", long, "--now").run().status == 0)
    let paused = try await farm.status(of: long, as: Status.self)
    #expect(paused.isPaused && paused.waitReason == "pausedJob" && !paused.tasks.contains { $0.state == "running" })
    // The slot's segment, and on a loaded machine also the one before, whose result is on its way.
    let ends = paused.tasks.flatMap(\.attempts)
    #expect(
      ends.count <= 2 && ends.allSatisfy { $0.end == "released" && $0.message == "the job was paused" }, "\(ends)")
    // A job that comes after it waits for it, and one that does not overtakes it.
    let next = try await submit("next", document(1, "#206040"), "--after", long)
    let other = try await submit("other", document(1, "#404040"))
    try await eventually("the other film is done") { try await farm.status(of: other, as: Status.self).state == "done" }
    let waiting = try await farm.status(of: next, as: Status.self)
    #expect(waiting.after == [long] && waiting.waitReason == "after" && waiting.state != "done")
    let listed = try await farm.sheaf("status").run()
    #expect(listed.output.contains("sheaf resume \(long)") && listed.output.contains("it comes after job \(long)"))
    #expect(try await farm.status(of: long, as: Status.self).segmentsDone == paused.segmentsDone)
    // Its tasks are no demand, and it goes on where it was.
    #expect(try await farm.sheaf("cancel", next).run().status == 0)
    let demand = try await farm.shell(
      #"curl -sS -H "Authorization: Bearer $SHEAF_TOKEN" "http://$SHEAF_HTTP/v1/workers/desired""#, in: files.url.path)
    #expect(demand.output.contains(#""desiredWorkers":0"#), "\(demand.output)")
    #expect(try await farm.sheaf("resume", long).run().status == 0)
    #expect(try await farm.sheaf("priority", long, "-5").run().status == 0)
    try await eventually("it goes on") {
      try await farm.status(of: long, as: Status.self).segmentsDone > paused.segmentsDone
    }
    #expect(try await farm.sheaf("cancel", long).run().status == 0)
    let late = try await farm.sheaf("pause", long).run()
    #expect(late.status == 1 && late.errors.contains("has ended: it is cancelled"), "\(late.errors)")
    let owners = try await farm.sheaf("owners", "--set", "anna", "--weight", "2", "--max-jobs", "0").run()
    #expect(owners.status == 0 && owners.output.contains("anna") && owners.output.contains("2.0"), "\(owners)")
    let edit = files.path("short.json")
    let token = try files.write(try await farm.sheaf("token", "create", "submitter", "anna").run().output, to: "token")
    let refused = try await farm.sheaf(["submit", edit], tokenFile: token).run()
    #expect(refused.status != 0 && refused.errors.contains("may have no more"), "\(refused.errors)")
    // It has the films and pieces of its jobs, so no byte is too few for any.
    _ = try await farm.sheaf("owners", "--set", "anna", "--max-jobs", "any", "--max-bytes", "0").run()
    let media = try files.write(String(repeating: "1\n00:00:01,000 --> 00:00:02,000\na\n\n", count: 9), to: "a.srt")
    let captioned = try files.write(
      """
      { "sheaf": 1, "assets": { "red": { "color": "#d02030" }, "words": "\(media)" },
        "tracks": [ { "clips": [ { "asset": "red", "duration": 2 } ] } ], "captions": [ { "asset": "words" } ],
        "export": { "to": "captioned.mkv", "video": { "codec": "ffv1" } } }
      """, to: "captioned.json")
    let stored = try await farm.sheaf(["submit", captioned], tokenFile: token).run()
    #expect(stored.status == 1 && stored.errors.contains("in the content store, and they may have 0"), "\(stored)")
    let bytes = try await farm.sheaf("owners", "--set", "anna", "--max-bytes", "1500G").run()
    #expect(bytes.status == 0 && bytes.output.contains("MAX BYTES") && bytes.output.contains("1500 GiB"), "\(bytes)")
    let high = try await farm.sheaf(["submit", edit, "--priority", "101"], tokenFile: token).run()
    #expect(high.status == 1 && high.errors.contains("-100 to 100"), "\(high.status) \(high.errors)")
  }
}
