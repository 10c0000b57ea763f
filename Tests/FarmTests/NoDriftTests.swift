import Foundation
import TestPrograms
import Testing

/// *Nothing drifts*: 300 s of 30000/1001 video with 44.1 kHz sound from many short clips of a click track.
@Suite(.ownThreads) struct NoDriftTests {
  @Test
  func `after 300 s of short clips the last click is within a sample of its place`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    // A click on each of the source's seconds: one sample at full level.
    let rate = 44100
    var samples = [Int16](repeating: 0, count: rate * 10)
    for second in 0..<10 { samples[second * rate + rate / 2] = 32000 }
    let raw = files.path("clicks.raw")
    try samples.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: raw)) }
    let source = files.path("clicks.mkv")
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=30000/1001:d=10", "-f", "s16le", "-ar", "44100",
      "-ac", "1", "-i", raw, "-c:v", "ffv1", "-c:a", "pcm_s16le", source)

    // Each clip is 31 frames long, so no edit point but the first is a whole number of samples.
    // ceil(300 s · 30000/1001), or that of 100 s.
    let frames = TestExtent.of(2998, whole: 8992)
    var clips: [String] = []
    var start = 0
    var expected: [Double] = []
    while start < frames {
      let length = min(31, frames - start)
      let from = (start * 7) % 200
      clips.append("{ \"asset\": \"clicks\", \"use\": \"\(from)f+\(length)f\" }")
      let (sourceStart, sourceEnd) = (Double(from) * 1.001 / 30, Double(from + length) * 1.001 / 30)
      for second in 0..<10 where sourceStart <= Double(second) + 0.5 && Double(second) + 0.5 < sourceEnd {
        expected.append(Double(start) * 1.001 / 30 + Double(second) + 0.5 - sourceStart)
      }
      start += length
    }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "clicks": "clicks.mkv" },
        "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ \(clips.joined(separator: ",")) ] } ],
        "videoComposition": { "frameDuration": "1001/30000" },
        "export": { "video": { "codec": "ffv1" }, "audio": { "codec": "pcm", "sampleRate": 44100, "channels": 1 } } }
      """, to: "edit.json")
    let film = files.path("film.mkv")
    let render = try await TestFilm.render(edit, film)
    try #require(render.status == 0, "\(render.errors)")

    let count = try await Command.output(
      "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames",
      "-of",
      "csv=p=0", film)
    #expect(count.trimmingCharacters(in: .whitespacesAndNewlines) == "\(frames)")
    let mixed = files.path("mixed.raw")
    _ = try await Command.output("ffmpeg", "-v", "error", "-i", film, "-f", "s16le", mixed)
    let heard = try Data(contentsOf: URL(fileURLWithPath: mixed)).withUnsafeBytes { buffer in
      buffer.bindMemory(to: Int16.self).enumerated().filter { $0.element > 16000 }.map { Double($0.offset) / 44100 }
    }
    #expect(heard.count == expected.count)
    for (heard, expected) in zip(heard, expected) {
      #expect(abs(heard - expected) * 44100 <= 1, "a click at \(heard) s, not \(expected)")
    }
  }
}
