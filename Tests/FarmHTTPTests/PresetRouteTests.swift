import Testing

/// What is refused of questions about presets before any media is looked at. `HTTPFarmTests` has the answers.
@Suite(.timeLimit(.minutes(5))) struct PresetRouteTests {
  @Test func `a preset that there is not, a body without media and a document with problems are refused`() async throws
  {
    try await TestFarm.run { farm in
      let unknown = try await farm.post("/v1/presets/none", #"{"document": \#(TestFarm.document)}"#)
      #expect(unknown.status == 404 && unknown.text.contains("1280x720"), "\(unknown.text)")
      for (body, words) in [
        ("{}", "1 to 100 assets"), (#"{"assets": []}"#, "1 to 100 assets"),
        (#"{"document": {"sheaf": 1, "assets": {"a": "a.mp4"}, "tracks": []}}"#, "/assets/a"),
        (#"{"document": {"sheaf": 1, "tracks": 7}}"#, "/tracks"), (#"{"document": "[]"}"#, "object"),
        (#"{"assets": [{"id": "a", "path": "absent.mp4"}]}"#, "absent.mp4"), (#"{"preset": "1280x720"}"#, "/preset"),
      ] {
        for path in ["/v1/presets", "/v1/presets/1280x720"] {
          let reply = try await farm.post(path, body)
          #expect(
            reply.status == 422 && reply.text.replacing("\\/", with: "/").contains(words), "\(body) \(reply.text)")
        }
      }
    }
  }

  @Test func `a still that there cannot be is refused`() async throws {
    try await TestFarm.run { farm in
      let asset = #"{"id": "a", "path": "absent.mp4"}"#
      for (body, words) in [
        (#"{"assets": [\#(asset)]}"#, "give one of time"),
        (#"{"assets": [\#(asset)], "time": "1", "sheet": {"columns": 1, "rows": 1}}"#, "give one of time"),
        (#"{"assets": [\#(asset)], "times": ["1"], "count": 2}"#, "give one of time"),
        (#"{"assets": [\#(asset)], "times": []}"#, "/times"), (#"{"assets": [\#(asset)], "count": 201}"#, "/count"),
        (#"{"assets": [\#(asset)], "time": "1", "tolerance": ["1"]}"#, "/tolerance"),
        (#"{"assets": [\#(asset)], "sheet": {"columns": 0, "rows": 1}}"#, "/sheet"),
        (#"{"assets": [\#(asset)], "time": "1", "quality": 101}"#, "/quality"),
        (#"{"assets": [\#(asset)], "time": "1", "width": 0}"#, "/width"),
        (#"{"assets": [\#(asset)], "time": "1", "format": "gif"}"#, "/format"),
        (#"{"assets": [\#(asset)], "time": "1"}"#, "absent.mp4"), (#"{"assets": [], "time": "1"}"#, "one asset"),
        (#"{"document": {"sheaf": 1, "assets": {"a": "a.mp4"}, "tracks": []}, "time": "1"}"#, "/assets/a"),
      ] {
        let reply = try await farm.post("/v1/stills", body)
        #expect(reply.status == 422 && reply.text.replacing("\\/", with: "/").contains(words), "\(body) \(reply.text)")
      }
    }
  }
}
