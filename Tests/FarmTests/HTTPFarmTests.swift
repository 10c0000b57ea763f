import Digest
import Foundation
import TestPrograms
import Testing

/// The HTTP API of a whole farm: as a user with `curl` has it, and as its description says.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(15))) struct HTTPFarmTests {
  private static let media = Place.repository.appendingPathComponent("Examples/media")

  /// A media file, and a longer one.
  private static func addMedia(to files: Workspace) throws {
    try FileManager.default.copyItem(
      at: media.appendingPathComponent("flower.mp4"), to: files.url.appendingPathComponent("flower.mp4"))
    // Two parts of an upload need more than a mebibyte.
    let song = try Data(contentsOf: media.appendingPathComponent("belly-button.ogg"))
    try (song + song + song).write(to: files.url.appendingPathComponent("song.ogg"))
  }

  @Test func `a film that curl submits, watches and fetches is that of sheaf render`() async throws {
    let farm = try await Farm(workers: 1, slots: 2)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    try Self.addMedia(to: files)
    let document = """
      { "sheaf": 1, "assets": { "clip": "flower.mp4" },
        "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ { "asset": "clip", "use": "0..3" } ] } ],
        "videoComposition": { "renderSize": [160, 90] },
        "export": { "to": "film.mp4", "video": { "codec": "h264", "quality": 30, "preset": "veryfast" } } }
      """
    let edit = try files.write(document, to: "edit.json")
    let script = #"""
      set -euo pipefail
      farm() { curl -sS --fail-with-body -H "Authorization: Bearer $SHEAF_TOKEN" "$@"; }
      api="http://$SHEAF_HTTP/v1"
      digest=$(sha256sum flower.mp4 | cut -d ' ' -f 1)
      farm -T flower.mp4 "$api/content/$digest" >&2
      jq --rawfile document edit.json --arg digest "$digest" --argjson size "$(stat -c %s flower.mp4)" \
        -n '{$document, segmentDuration: "1", assets: [{id: "clip", $digest, $size}]}' > request.json
      trace=4bf92f3577b34da6a3ce929d0e0e4736
      job=$(farm "$api/jobs" -H "traceparent: 00-$trace-00f067aa0ba902b7-01" --json @request.json | jq -r .job)
      farm -N "$api/jobs/$job/events" > events
      farm -o film.mp4 "$api/jobs/$job/film"
      """#
    let result = try await farm.shell(script, in: files.url.path)
    let logs = try farm.logs()
    try #require(result.status == 0, "\(result.output) \(result.errors)\n\(logs)")
    let rendered = try await TestFilm.render(edit, files.path("rendered.mp4"), segmentDuration: "1")
    try #require(rendered.status == 0, "\(rendered.errors)")
    let film = try Data(contentsOf: URL(fileURLWithPath: files.path("film.mp4")))
    #expect(film == (try Data(contentsOf: URL(fileURLWithPath: files.path("rendered.mp4")))))
    // Its trace leads to the logs of the coordinator and of the worker.
    let traced = logs.split(separator: "\n").filter { $0.contains("trace=4bf92f3577b34da6a3ce929d0e0e4736") }
    for words in ["job submitted", "job planned", "job done", " kind=stitch", " label=\"stitch of"] {
      #expect(traced.contains { $0.contains(words) }, "\(words): \(logs)")
    }
    // Each change of the job, from its submission to its end.
    let events = try String(contentsOfFile: files.path("events"), encoding: .utf8)
    let states = events.split(separator: "\n").filter { $0.hasPrefix("data: ") }.compactMap { line in
      (try? JSONSerialization.jsonObject(with: Data(line.dropFirst(6).utf8)) as? [String: Any])?["state"] as? String
    }
    // It may be rendered before it is watched.
    #expect(["probing", "rendering"].contains(states.first) && states.last == "done", "\(states)")
  }

  @Test func `the lines of curl in the guide work`() async throws {
    let farm = try await Farm(workers: 1, slots: 2)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    try Self.addMedia(to: files)
    let page = try String(contentsOf: Place.repository.appendingPathComponent("docs/http.md"), encoding: .utf8)
    let blocks = page.components(separatedBy: "```sh\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    try #require(blocks.count >= 7)
    let result = try await farm.shell("set -euo pipefail\n" + blocks.joined(separator: "\n"), in: files.url.path)
    let logs = try farm.logs()
    #expect(result.status == 0, "\(result.output) \(result.errors)\n\(logs)")
    for words in [#""missing":[""#, "Upload-Complete: ?1", "event: job", "event: reset", #""segments":["#, "304\n"] {
      #expect(
        result.output.replacingOccurrences(of: "upload-complete", with: "Upload-Complete").contains(words), "\(words)")
    }
    let film = try Data(contentsOf: URL(fileURLWithPath: files.path("flower-film.mp4")))
    #expect(try Data(contentsOf: URL(fileURLWithPath: files.path("output.mp4"))) == film)
    #expect(try Data(contentsOf: URL(fileURLWithPath: files.path("part"))) == film.prefix(1024))
    #expect(try Data(contentsOf: URL(fileURLWithPath: files.path("still.jpg"))).starts(with: [0xFF, 0xD8]))
    let sizes = try ["flower.png", "sheet.jpg"].map { name in
      try Tool.ffprobe("-show_entries", "stream=codec_name,width,height", files.path(name)).first ?? []
    }
    #expect(sizes.first?.first == "png" && sizes.last == ["mjpeg", "332", "192"], "\(sizes)")
    #expect(try Tool.ffprobe("-show_entries", "stream=width,height", files.path("second.jpg")) == [["80", "45"]])
    try checkWaveform(files)
    // The presets are those that the command finds.
    let request = try JSONSerialization.jsonObject(
      with: Data(contentsOf: URL(fileURLWithPath: files.path("request.json"))))
    let document = try #require((request as? [String: Any])?["document"])
    try JSONSerialization.data(withJSONObject: document).write(to: URL(fileURLWithPath: files.path("edit.json")))
    let presets = try await Command.sheaf(
      "presets", files.path("edit.json"), "--json", "--store", files.path("store")
    ).run()
    let answered = try JSONSerialization.jsonObject(
      with: Data(contentsOf: URL(fileURLWithPath: files.path("presets.json"))))
    let printed = try JSONSerialization.jsonObject(with: Data(presets.output.utf8)) as? [NSDictionary]
    #expect(printed?.count ?? 0 > 10 && (answered as? [String: [NSDictionary]])?["presets"] == printed)
    // Each path of the description has its line.
    let described = try String(
      contentsOf: Place.repository.appendingPathComponent("docs/openapi.yaml"), encoding: .utf8)
    let paths = described.split(separator: "\n").filter { $0.hasPrefix("  /") && $0.hasSuffix(":") }
    try #require(paths.count > 20)
    for path in paths {
      // With variables of the shell and names of files in place of the parameters.
      let shown = String(path.dropFirst(2).dropLast()).replacing("/v1/", with: "$api/")
      let pattern = NSRegularExpression.escapedPattern(for: shown)
      let parameter = try NSRegularExpression(pattern: #"\\\{[a-z]+\\\}"#)
      let line = parameter.stringByReplacingMatches(
        in: pattern, range: NSRange(pattern.startIndex..., in: pattern), withTemplate: #"[^/" ]+"#)
      #expect(
        blocks.joined().range(of: line + "[\" ?]", options: .regularExpression) != nil,
        "the guide has no line for \(path)")
    }
  }

  /// The waveform has the samples that ffmpeg reads in the sound.
  private func checkWaveform(_ files: Workspace) throws {
    struct Found: Decodable {
      var sampleRate: Int
      var channels: Int
      var samples: Int
      var min: [Double]
      var max: [Double]
      var rms: [Double]
    }
    let found = try JSONDecoder().decode(
      Found.self, from: Data(contentsOf: URL(fileURLWithPath: files.path("waveform.json"))))
    _ = try Tool.ffmpeg("-i", files.path("sound.wav"), "-f", "f64le", files.path("samples"))
    let data = try Data(contentsOf: URL(fileURLWithPath: files.path("samples")))
    let samples = data.withUnsafeBytes { Array($0.bindMemory(to: Double.self)) }
    #expect(found.samples == 2 * found.sampleRate && samples.count == found.samples * found.channels)
    try #require(found.max.count == 50 && found.min.count == 50 && found.rms.count == 50)
    for point in 0..<50 {
      let part = samples[
        (found.samples * point / 50 * found.channels)..<(found.samples * (point + 1) / 50 * found.channels)]
      #expect(part.max() == found.max[point] && part.min() == found.min[point])
      let mean = part.reduce(0) { $0 + $1 * $1 } / Double(part.count)
      #expect(abs(mean.squareRoot() - found.rms[point]) < 1e-6)
    }
    #expect(found.max.contains { $0 > 0.01 }, "the sound is not silent")
  }

  /// The programs of PyPI that `scripts/http-tools` installs.
  private static func tool(_ name: String) throws -> String {
    let path = Place.repository.appendingPathComponent(".build/http-tools/bin/\(name)").path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw Command.Failure(description: "there is no \(path): run scripts/http-tools, which installs it from PyPI")
    }
    return path
  }

  /// With so many examples of each operation as `SHEAF_API_EXAMPLES` says, as in `make exactness`.
  @Test func `the API is as its description says`() async throws {
    let farm = try await Farm(workers: 1, slots: 2, mediaRoot: Self.media.path)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    let schemathesis = try Self.tool("schemathesis")
    let configuration = Place.repository.appendingPathComponent("Tests/FarmHTTPTests/schemathesis.toml").path
    let description = Place.repository.appendingPathComponent("docs/openapi.yaml").path
    let examples = ProcessInfo.processInfo.environment["SHEAF_API_EXAMPLES"] ?? TestExtent.of("1", whole: "3")
    let result = try await farm.shell(
      """
      '\(schemathesis)' --config-file '\(configuration)' run '\(description)' -u "http://$SHEAF_HTTP" \
        -H "Authorization: Bearer $SHEAF_TOKEN" --checks all --seed 1 --max-examples '\(examples)' --no-color
      """, in: files.url.path, seconds: 900)
    let logs = try farm.logs()
    #expect(result.status == 0, "\(result.output) \(result.errors)\n\(logs)")
  }

  @Test func `a client that is made from the description submits and fetches a film`() async throws {
    let farm = try await Farm(workers: 1, slots: 2, mediaRoot: Self.media.path)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    let (generator, python) = (try Self.tool("openapi-python-client"), try Self.tool("python"))
    let description = Place.repository.appendingPathComponent("docs/openapi.yaml").path
    _ = try files.write(
      """
      import os, time
      from sheaf_client import AuthenticatedClient
      from sheaf_client.api.jobs import submit_job, get_job
      from sheaf_client.api.films import get_film
      from sheaf_client.models import Submission

      client = AuthenticatedClient(base_url="http://" + os.environ["SHEAF_HTTP"], token=os.environ["SHEAF_TOKEN"])
      submission = Submission.from_dict({
          "name": "made",
          "document": {
              "sheaf": 1, "assets": {"clip": "flower.mp4"},
              "tracks": [{"id": "A", "type": "video", "clips": [{"asset": "clip", "use": "0..1"}]}],
              "videoComposition": {"renderSize": [160, 90]}, "export": {"to": "film.mp4"}}})
      job = submit_job.sync(client=client, body=submission)
      while True:
          status = get_job.sync(job.job, client=client)
          if status.state in ("done", "failed", "cancelled"):
              break
          time.sleep(0.1)
      assert status.state == "done", status
      reply = get_film.sync_detailed(job.job, client=client)
      assert reply.status_code == 200, reply
      open("film.mp4", "wb").write(reply.content)
      print(status.output.digest)

      """, to: "film.py")
    let result = try await farm.shell(
      """
      printf 'package_name_override: sheaf_client\\npost_hooks: []\\n' > generator.yaml
      '\(generator)' generate --path '\(description)' --config generator.yaml --meta none \
        --output-path sheaf_client >&2 && '\(python)' film.py
      """, in: files.url.path)
    let logs = try farm.logs()
    try #require(result.status == 0, "\(result.output) \(result.errors)\n\(logs)")
    let film = try Data(contentsOf: URL(fileURLWithPath: files.path("film.mp4")))
    #expect(SHA256Digest.of(film).hex + "\n" == result.output)
  }
}
