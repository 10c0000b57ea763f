import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

@Suite struct AudioReadingTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  /// All samples from a position on, channels side by side, and where they start.
  private func samples(
    _ path: String, _ track: TrackDescription, from position: Int64
  ) throws -> (start: Int64?, data: [Float], gaps: Int) {
    let reader = try AudioReader(
      source: openSource(path), name: path, track: track.index, timebase: track.timebase, origin: track.origin,
      format: try #require(track.audio), from: position)
    var (start, next, gaps): (Int64?, Int64?, Int) = (nil, nil, 0)
    var data: [Float] = []
    while let block = try reader.next() {
      if let next, next != block.position { gaps += 1 }
      #expect(block.position >= (next ?? position))
      start = start ?? block.position
      next = block.end
      let rows = (0..<block.samples.channels).map { block.samples.row($0) }
      for index in 0..<block.samples.capacity {
        for row in rows { data.append(row[index]) }
      }
    }
    return (start, data, gaps)
  }

  private func decoded(_ path: String, stream: Int) throws -> [Float] {
    let data = try Tool.ffmpeg("-i", path, "-map", "0:\(stream)", "-c:a", "pcm_f32le", "-f", "f32le", "-")
    return data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }

  private func audioTracks(_ path: String) throws -> [TrackDescription] {
    do {
      return try AssetProbe.probe(openSource(path), name: path).tracks.filter { $0.audio != nil }
    } catch let error as MediaError {
      #expect(!error.message.isEmpty)
      return []
    }
  }

  @Test(arguments: MediaFiles.all) func `samples are those that ffmpeg decodes`(path: String) throws {
    for track in try audioTracks(path) {
      let (_, data, _) = try samples(path, track, from: -1 << 40)
      #expect(data == (try decoded(path, stream: track.index)))
    }
  }

  @Test(
    arguments: [
      ("a.m4a", ["-c:a", "aac"]), ("a.mp3", ["-c:a", "libmp3lame"]), ("a.ogg", ["-c:a", "libvorbis"]),
      ("a.opus", ["-c:a", "libopus"]), ("a.flac", ["-c:a", "flac"]), ("a.wav", ["-c:a", "pcm_s24le"]),
      ("a.mov", ["-c:a", "pcm_s16be"]), ("a.mkv", ["-c:a", "aac"]), ("a.mkv", ["-c:a", "flac"]),
      ("a.ts", ["-c:a", "ac3"]),
    ].spread(5))
  func `starting in the middle gives the samples of a whole decode`(name: String, options: [String]) throws {
    let path = scratch.path(name)
    let source = ["-f", "lavfi", "-i", "aevalsrc=0.4*random(0)+0.3*sin(t*1500)|0.2*sin(t*t*900):d=5:s=48000"]
    _ = try Tool.run("ffmpeg", ["-v", "error", "-nostdin", "-y"] + source + options + [path])
    let track = try #require(try audioTracks(path).first)
    let whole = try samples(path, track, from: 0)
    #expect(whole.gaps == 0)
    let start = try #require(whole.start)
    for position in [start, 1, 4999, 96001, 200_003] where position >= start {
      let part = try samples(path, track, from: position)
      #expect(part.start == position)
      #expect(part.data == Array(whole.data[(Int(position - start) * 2)...]))
    }
    #expect(try samples(path, track, from: 1 << 40).data.isEmpty)
  }

  @Test func `a gap in the timestamps is a gap in the positions`() throws {
    let path = scratch.path("gap.mkv")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "sine=duration=4:sample_rate=48000", "-af", "aselect='lt(t,1)+gte(t,3)'", "-c:a", "flac",
      path)
    let track = try #require(try audioTracks(path).first)
    let whole = try samples(path, track, from: 0)
    #expect(whole.gaps == 1)
  }
}
