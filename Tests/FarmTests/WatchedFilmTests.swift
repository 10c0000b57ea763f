import Digest
import Foundation
import TestPrograms
import Testing

/// Films that are watched while they are rendered, as `ffmpeg` and a browser play them.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct WatchedFilmTests {
  private static func source(_ files: Workspace) async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=192x108:r=30000/1001:d=21", "-f", "lavfi", "-i",
      "sine=330:sample_rate=48000:duration=21", "-map", "0:v", "-map", "1:a", "-c:v", "libx264", "-preset", "ultrafast",
      "-g", "47", "-c:a", "aac", files.path("source.mp4"))
  }

  private static func document(_ export: String) -> String {
    """
    { "sheaf": 1, "assets": { "a": "source.mp4" },
      "tracks": [ { "sound": true, "clips": [ { "asset": "a", "use": "0.7..20.4" } ] } ], "export": \(export) }
    """
  }

  /// What each script begins with: a job `$job` of `edit.json`, by which it is rendered in segments of two seconds.
  private static let submission = #"""
    set -euo pipefail
    farm() { curl -sS --fail-with-body -H "Authorization: Bearer $SHEAF_TOKEN" "$@"; }
    api="http://$SHEAF_HTTP/v1"
    digest=$(sha256sum source.mp4 | cut -d ' ' -f 1)
    farm -T source.mp4 "$api/content/$digest" >&2
    jq --rawfile document edit.json --arg digest "$digest" --argjson size "$(stat -c %s source.mp4)" \
      -n '{$document, segmentDuration: "2", assets: [{id: "a", $digest, $size}]}' > request.json
    job=$(farm "$api/jobs" --json @request.json | jq -r .job)
    watch="$api/jobs/$job/watch"

    """#

  @Test(arguments: [
    #"{ "to": "film.mp4", "video": { "preset": "medium" } }"#,
    #"{ "to": "film.mov", "video": { "codec": "hevc", "preset": "ultrafast" } }"#,
  ])
  func `a film is played from its first segment on, and in the end it is the film`(export: String) async throws {
    let farm = try await Farm(workers: 1, slots: 1)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    _ = try files.write(Self.document(export), to: "edit.json")
    let name = export.contains("mov") ? "film.mov" : "film.mp4"
    // Paused after the first segment, there is a part of the film and no end.
    let script =
      Self.submission + #"""
        until farm "$watch/video.m3u8" > part.m3u8 2> refusal; do sleep 0.02; done
        farm -X POST "$api/jobs/$job/pause?now=true" > /dev/null
        farm "$watch/film.m3u8" > film-part.m3u8
        farm "$watch/video.m3u8" > part.m3u8
        first=$(grep -m 1 m4s part.m3u8)
        farm "$watch/video-init.mp4" > part.mp4
        for segment in $(grep m4s part.m3u8); do farm "$watch/$segment" >> part.mp4; done
        tag=$(farm -o first -D - "$watch/$first" | tr -d '\r' | sed -n 's/^[Ee][Tt][Aa][Gg]: //p')
        farm -o again -w '%{http_code}\n' -H "If-None-Match: $tag" "$watch/$first" > again-status
        next=video-$(grep -c m4s part.m3u8).m4s
        for name in video-99.m4s video-01.m4s film.mpd "$next"; do
          curl -s -o /dev/null -w '%{http_code} ' -H "Authorization: Bearer $SHEAF_TOKEN" "$watch/$name"
        done > statuses
        farm -X POST "$api/jobs/$job/resume" > /dev/null
        farm -N "$api/jobs/$job/events" > events
        farm "$watch/film.m3u8" > film.m3u8
        farm "$watch/video.m3u8" > video.m3u8
        farm "$watch/audio.m3u8" > audio.m3u8
        for file in video-init.mp4 audio-init.mp4 $(grep -h m4s video.m3u8 audio.m3u8); do
          farm -o "$file" "$watch/$file"
        done
        farm -OJ "$api/jobs/$job/film"
        """#
    let result = try await farm.shell(script, in: files.url.path)
    let logs = try farm.logs()
    try #require(result.status == 0, "\(result.output) \(result.errors)\n\(logs)")
    func text(_ name: String) throws -> String { try String(contentsOfFile: files.path(name), encoding: .utf8) }
    func segments(_ playlist: String) -> [String] {
      playlist.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
    }
    let (part, whole) = (try text("part.m3u8"), try text("video.m3u8"))
    #expect(!part.contains("#EXT-X-ENDLIST") && part.contains("#EXT-X-PLAYLIST-TYPE:EVENT"), "\(part)")
    #expect(segments(part).count < segments(whole).count && whole.hasPrefix(part), "\(part)\n\(whole)")
    #expect(whole.hasSuffix("#EXT-X-ENDLIST\n"), "\(whole)")
    #expect(try text("statuses").split(separator: " ") == ["404", "404", "404", "503"])
    #expect(try text("again-status") == "304\n")

    let film = try await FrameHashes.video(files.path(name)).frames.map(\.hash)
    let beginning = try await FrameHashes.video(files.path("part.mp4")).frames.map(\.hash)
    #expect(!beginning.isEmpty && beginning == Array(film.prefix(beginning.count)))
    let watched = try await FrameHashes.video(files.path("film.m3u8"))
    #expect(watched.frames.map(\.hash) == film)
    // The durations add up to the film's, and no segment is longer than what is stated.
    let durations = whole.split(separator: "\n").filter { $0.hasPrefix("#EXTINF:") }
      .compactMap { Double($0.dropFirst(8).dropLast()) }
    let lasts = durations.reduce(0, +)
    #expect(abs(lasts - Double(film.count) * 1001 / 30000) < 2e-6, "\(durations)")
    let target = try #require(whole.firstMatch(of: /TARGETDURATION:([0-9]+)/).flatMap { Double($0.1) })
    #expect(durations.allSatisfy { $0.rounded() <= target } && durations.contains { $0.rounded() == target })
    // The sound is that of the film.
    func sound(_ path: String) async throws -> String {
      try await Command.output("ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "md5", "-")
    }
    #expect(try await sound(files.path("film.m3u8")) == sound(files.path(name)))
    let ends = try [whole, text("audio.m3u8")].map { playlist in
      playlist.split(separator: "\n").filter { $0.hasPrefix("#EXTINF:") }.compactMap {
        Double($0.dropFirst(8).dropLast())
      }
      .reduce(0, +)
    }
    #expect(abs(ends[0] - ends[1]) < 0.05, "\(ends)")
  }

  @Test func `the sound of a long film is played part by part, and in the end it is the film's`() async throws {
    let farm = try await Farm(workers: 1, slots: 1)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    // The sound has two parts, or three. A segment has about 17 s.
    let (seconds, last) = TestExtent.of((190, 11), whole: (310, 18))
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x36:r=5:d=\(seconds)", "-f", "lavfi", "-i",
      "anoisesrc=r=48000:d=\(seconds):a=0.3:seed=3", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a",
      "pcm_s16le", files.path("source.mkv"))
    _ = try files.write(
      #"""
      { "sheaf": 1, "assets": { "a": "source.mkv" }, "tracks": [ { "sound": true, "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "film.mp4", "video": { "preset": "ultrafast" }, "audio": { "sampleRate": 48000 } } }
      """#, to: "edit.json")
    let script =
      Self.submission.replacing("source.mp4", with: "source.mkv").replacing(#""2""#, with: #""17""#) + #"""
        number=0
        until [ "$(farm "$api/jobs/$job" | jq -r .state)" = done ]; do
          number=$((number + 1))
          farm "$watch/audio.m3u8" > "part-$number.m3u8" 2> /dev/null || rm "part-$number.m3u8"
          sleep 0.02
        done
        farm "$watch/film.m3u8" > film.m3u8
        farm "$watch/video.m3u8" > video.m3u8
        farm "$watch/audio.m3u8" > audio.m3u8
        for file in video-init.mp4 audio-init.mp4 $(grep -h m4s video.m3u8 audio.m3u8); do
          farm -o "$file" "$watch/$file"
        done
        farm -OJ "$api/jobs/$job/film"
        """#
    let result = try await farm.shell(script, in: files.url.path)
    let logs = try farm.logs()
    try #require(result.status == 0, "\(result.output) \(result.errors)\n\(logs)")
    let whole = try String(contentsOfFile: files.path("audio.m3u8"), encoding: .utf8)
    // What was listed stays, and the sound was there before all of it was mixed.
    let parts = try files.contents().filter { $0.hasPrefix("part-") }.map {
      try String(contentsOfFile: files.path($0), encoding: .utf8)
    }
    #expect(parts.allSatisfy { whole.hasPrefix($0) })
    #expect(parts.contains { $0.contains("audio-0.m4s") && !$0.contains("audio-\(last - 1).m4s") })
    #expect(
      whole.hasSuffix("#EXT-X-ENDLIST\n") && whole.contains("audio-\(last).m4s")
        && !whole.contains("audio-\(last + 1).m4s"))
    func packets(_ path: String) async throws -> String {
      try await Command.output("ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "md5", "-")
    }
    #expect(try await packets(files.path("film.m3u8")) == packets(files.path("film.mp4")))
    let video = try await FrameHashes.video(files.path("film.mp4")).frames.count
    #expect(video == 5 * seconds)
  }

  @Test func `what cannot be watched is refused with its reason`() async throws {
    let farm = try await Farm(workers: 1, slots: 1)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    for (export, reason) in [
      (#"{ "to": "film.mkv", "video": { "codec": "ffv1" }, "timeRange": "0..1" }"#, "the pictures of job"),
      (#"{ "to": "film.wav" }"#, "sound alone"),
      (#"{ "to": "film.mov", "preset": "passthrough" }"#, "its film is copied"),
    ] {
      _ = try files.write(Self.document(export), to: "edit.json")
      let script =
        Self.submission + #"""
          farm -N "$api/jobs/$job/events" > events
          farm "$api/jobs/$job" | jq -r .state
          curl -s -w '%{http_code}\n' -H "Authorization: Bearer $SHEAF_TOKEN" "$watch/film.m3u8"
          """#
      let result = try await farm.shell(script, in: files.url.path)
      let logs = try farm.logs()
      try #require(result.status == 0, "\(result.output) \(result.errors)\n\(logs)")
      #expect(
        result.output.contains("done") && result.output.contains("409") && result.output.contains(reason),
        "\(result.output)")
    }
  }
}
