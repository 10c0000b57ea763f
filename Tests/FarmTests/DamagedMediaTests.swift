import Foundation
import TestPrograms
import Testing

/// Damage inside a file's packets, which only decoding finds: it is reported, and it is the same however the film is
/// cut.
@Suite(.ownThreads) struct DamagedMediaTests {
  private struct Summary: Decodable {
    struct Damage: Decodable {
      struct Place: Decodable {
        var sourceSeconds: Double
        var filmSeconds: Double
      }

      var path: String
      var type: String
      var count: Int
      var places: [Place]
    }

    var cached: Int
    var damage: [Damage]
  }

  /// A movie of 6 s with changed bytes in the packets of some of its seconds, and an edit that shows it from 1 s on.
  private static func edit(in files: Workspace) async throws -> String {
    let movie = files.path("beach.mp4")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=6,noise=alls=8:allf=t", "-pix_fmt", "yuv420p",
      "-c:v", "libx264", "-preset", "veryfast", "-g", "25", "-bf", "2", movie)
    var data = try Data(contentsOf: URL(fileURLWithPath: movie))
    let packets = try Tool.ffprobe("-select_streams", "v:0", "-show_entries", "packet=size,pos", movie)
      .compactMap { fields in fields.count == 2 ? (size: Int(fields[0])!, position: Int(fields[1])!) : nil }
    for index in [3, 60, 64, 110] {
      let packet = packets[index]
      for place in stride(from: packet.size / 3, to: packet.size - 1, by: 7) { data[packet.position + place] ^= 0x55 }
    }
    try data.write(to: URL(fileURLWithPath: movie))
    return try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(movie)" },
        "tracks": [ { "id": "A", "type": "video", "clips": [ { "asset": "a", "use": "1..6" } ] } ],
        "export": { "video": { "codec": "ffv1", "pixelFormat": "yuv420p" }, "audio": false } }
      """, to: "edit.json")
  }

  @Test func `damaged frames are counted, and are the same at any cut and from the cache`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try await Self.edit(in: files)
    var films: [[String]] = []
    for (number, duration) in ["1", "2", "1", "60"].enumerated() {
      let film = files.path("film\(number).mkv")
      let render = try await TestFilm.render(edit, film, segmentDuration: duration)
      try #require(render.status == 0, "\(render.errors)")
      let summary = try JSONDecoder().decode(Summary.self, from: Data(render.output.utf8))
      let damage = try #require(summary.damage.first)
      #expect(damage.type == "video" && (2...12).contains(damage.count) && damage.path.hasSuffix("beach.mp4"))
      let first = try #require(damage.places.first)
      #expect((first.filmSeconds * 1e6).rounded() / 1e6 == first.filmSeconds)
      #expect(abs(first.sourceSeconds - 60 / 25) < 0.2 && abs(first.sourceSeconds - 1 - first.filmSeconds) < 0.001)
      #expect(render.errors.contains("warning: \(damage.count) frames of '"), "\(render.errors)")
      if number == 2 { #expect(summary.cached > 0) }
      films.append(try await FrameHashes.video(film).frames.map { "\($0)" })
    }
    #expect(films[0].count == 125)
    #expect(films.dropFirst().allSatisfy { $0 == films[0] })
  }

  @Test func `strict media make damage an error`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try await Self.edit(in: files)
    // Once rendered, and once more with every piece in the cache.
    for isCached in [false, true] {
      let film = files.path("film.mkv")
      let render = try await Command.sheaf(
        "render", edit, "-o", film, "--store", files.path("store"), "--strict-media"
      ).run()
      #expect(render.status == 65)
      #expect(render.errors.contains("damaged") && render.errors.contains("/assets/a"), "\(render.errors)")
      #expect(!FileManager.default.fileExists(atPath: film))
      if isCached { break }
      _ = try await Command.sheaf("render", edit, "-o", film, "--store", files.path("store")).run()
      try FileManager.default.removeItem(atPath: film)
    }
  }
}
