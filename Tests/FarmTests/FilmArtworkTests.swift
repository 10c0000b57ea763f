import Foundation
import TestPrograms
import Testing

/// The picture that players show for a film, from a document to the file. `ffmpeg` copies it out.
@Suite(.ownThreads) struct FilmArtworkTests {
  private let files: Workspace

  init() throws {
    files = try Workspace()
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "mandelbrot=s=120x80", "-frames:v", "1", "-c:v", "mjpeg", "-f", "image2",
      files.path("cover.jpg"),
    ])
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=3", "-f", "lavfi", "-i", "sine=d=3:r=44100", "-c:v", "libx264",
      "-g", "25", "-c:a", "aac", files.path("film.mp4"),
    ])
    _ = try Tool.ffmpeg([
      "-i", files.path("film.mp4"), "-i", files.path("cover.jpg"), "-map", "0:a", "-map", "1:v", "-c:a", "libmp3lame",
      "-c:v", "copy", "-disposition:v", "attached_pic", "-metadata:s:v", "comment=Cover (front)",
      files.path("song.mp3"),
    ])
  }

  /// - Parameter workers: Nil: those of other tests.
  private func render(_ export: String, _ workers: Int? = nil) async throws -> String {
    let output = files.path("out-\(UUID().uuidString)")
    let edit = try files.write(
      """
      { "sheaf": 1,
        "assets": { "film": "film.mp4", "song": "song.mp3", "cover": "cover.jpg" },
        "tracks": [ { "type": "video", "sound": true, "clips": [ { "asset": "film" } ] } ],
        "export": { "to": "\(output)\(export) } }
      """, to: "edit.json")
    if let workers {
      let result = try await Command.sheaf(
        "render", edit, "--store", files.path("store-\(workers)"), "--workers", "\(workers)", "--segment-duration", "1"
      ).run()
      try #require(result.status == 0, "\(result.errors)")
    } else {
      let film = try await TestFilm.render(edit, segmentDuration: "1")
      try #require(film.status == 0, "\(film.errors)")
    }
    return output + export.prefix { $0 != "\"" }
  }

  private func picture(_ path: String) throws -> Data? {
    let streams = try Tool.ffprobe("-show_entries", "stream=index:stream_disposition=attached_pic", path)
    guard let index = streams.first(where: { $0.last == "1" })?.first else { return nil }
    return try Tool.run(
      "ffmpeg", ["-v", "error", "-i", path, "-map", "0:\(index)", "-c", "copy", "-f", "data", "-"]
    ).output
  }

  @Test func `a film has the artwork of its document, or that of the song whose metadata it carries`() async throws {
    defer { files.remove() }
    let cover = try Data(contentsOf: URL(filePath: files.path("cover.jpg")))
    let named = try await render(#".mp4", "artwork": "cover""#, 1)
    #expect(try picture(named) == cover)
    let again = try await render(#".mp4", "artwork": "cover""#, 3)
    #expect(FileManager.default.contentsEqual(atPath: named, andPath: again))
    #expect(try await picture(render(#".mov", "carryMetadata": "song""#)) == cover)
    #expect(try await picture(render(#".mp3", "video": false, "carryMetadata": "song""#)) == cover)
    #expect(try await picture(render(#".mp4", "carryMetadata": "song", "artwork": false"#)) == nil)
  }

  @Test(arguments: ["mp4", "mov", "mkv"]) func `a copied film has artwork`(container: String) async throws {
    defer { files.remove() }
    let cover = try Data(contentsOf: URL(filePath: files.path("cover.jpg")))
    let copied = try await render(#".\#(container)", "preset": "passthrough", "artwork": "song""#)
    #expect(try picture(copied) == cover)
    let decoded = ["-map", "0:V", "-map", "0:a", "-f", "framemd5", "-"]
    let plain = try await render(#".\#(container)", "preset": "passthrough""#)
    #expect(
      try Tool.run("ffmpeg", ["-v", "error", "-i", copied] + decoded).output
        == Tool.run("ffmpeg", ["-v", "error", "-i", plain] + decoded).output)
  }
}
