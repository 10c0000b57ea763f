import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Two seconds of noise in many codecs and containers, alone and with a picture track. The reference is ffmpeg's decode
/// of the whole file from its head, and its time of the first samples.
@Suite struct SoundExactnessTests {
  /// A file to be made: its name, and ffmpeg's options for it.
  struct Kind: Sendable, CustomTestStringConvertible {
    var name: String
    var rate = 48000
    /// The options for the picture track; nil if there is none.
    var video: [String]?
    var audio: [String]
    /// Whether the track has exactly the source's length.
    var isWhole = false

    var testDescription: String { "\(audio.joined(separator: " ")) in \(video == nil ? "" : "video ")\(name)" }
  }

  private static let fragmented = ["-movflags", "frag_keyframe+empty_moov", "-frag_duration", "300000"]
  private static let mpeg2 = ["-c:v", "mpeg2video"]
  private static let h264 = ["-c:v", "libx264", "-preset", "ultrafast"]

  private static let kinds = [
    Kind(name: "a.wav", audio: ["-c:a", "pcm_s24le"], isWhole: true),
    Kind(name: "a.wav", audio: ["-c:a", "adpcm_ms"]),
    Kind(name: "a.aiff", audio: ["-c:a", "pcm_s16be"], isWhole: true),
    Kind(name: "a.mov", rate: 44100, video: ["-c:v", "mpeg4"], audio: ["-c:a", "pcm_f32le"], isWhole: true),
    Kind(name: "a.m4a", rate: 44100, audio: ["-c:a", "alac"], isWhole: true),
    Kind(name: "a.mp4", audio: ["-c:a", "aac"] + fragmented),
    Kind(name: "a.mp4", audio: ["-c:a", "libopus"] + fragmented),
    Kind(name: "a.mp4", rate: 44100, audio: ["-c:a", "flac", "-strict", "-2"] + fragmented, isWhole: true),
    Kind(name: "a.mp4", video: h264, audio: ["-c:a", "aac"] + fragmented),
    Kind(name: "a.mkv", audio: ["-c:a", "aac"]),
    Kind(name: "a.mkv", rate: 44100, video: h264, audio: ["-c:a", "aac"]),
    Kind(name: "a.mkv", rate: 44100, audio: ["-c:a", "alac"], isWhole: true),
    Kind(name: "a.mkv", rate: 44100, video: h264, audio: ["-c:a", "flac"], isWhole: true),
    Kind(name: "a.mkv", rate: 44100, audio: ["-c:a", "pcm_s16le"], isWhole: true),
    Kind(name: "a.mkv", rate: 44100, audio: ["-c:a", "libvorbis"]),
    Kind(name: "a.mkv", video: h264, audio: ["-c:a", "wmav2"]),
    Kind(name: "a.mkv", audio: ["-c:a", "libmp3lame"]),
    Kind(name: "a.webm", audio: ["-c:a", "libopus"], isWhole: true),
    Kind(name: "a.ogg", rate: 44100, audio: ["-c:a", "libvorbis"], isWhole: true),
    Kind(name: "a.ogg", video: ["-c:v", "libtheora"], audio: ["-c:a", "libvorbis"], isWhole: true),
    Kind(name: "a.ogg", video: ["-c:v", "libtheora"], audio: ["-c:a", "libopus"], isWhole: true),
    Kind(name: "a.opus", audio: ["-c:a", "libopus"], isWhole: true),
    Kind(name: "a.oga", audio: ["-c:a", "flac"], isWhole: true),
    Kind(name: "a.caf", rate: 44100, audio: ["-c:a", "alac"], isWhole: true),
    Kind(name: "a.mp3", rate: 44100, audio: ["-c:a", "libmp3lame"], isWhole: true),
    Kind(name: "a.aac", audio: ["-c:a", "aac"]),
    Kind(name: "a.ts", video: mpeg2, audio: ["-c:a", "ac3"]),
    Kind(name: "a.ts", audio: ["-c:a", "s302m", "-strict", "-2"], isWhole: true),
    Kind(name: "a.mpg", rate: 44100, video: ["-c:v", "mpeg1video"], audio: ["-c:a", "mp2"]),
    Kind(name: "a.vob", audio: ["-c:a", "pcm_dvd"], isWhole: true),
    Kind(name: "a.vob", video: mpeg2, audio: ["-c:a", "pcm_dvd", "-sample_fmt", "s32"], isWhole: true),
    Kind(name: "a.vob", rate: 96000, video: mpeg2, audio: ["-c:a", "pcm_dvd", "-sample_fmt", "s16"], isWhole: true),
    Kind(name: "a.avi", video: ["-c:v", "mpeg4"], audio: ["-c:a", "aac"]),
    Kind(name: "a.avi", rate: 44100, video: ["-c:v", "mpeg4"], audio: ["-c:a", "pcm_s16le"], isWhole: true),
    Kind(name: "a.flv", rate: 44100, video: ["-c:v", "flv"], audio: ["-c:a", "pcm_s16le"], isWhole: true),
    Kind(name: "a.flv", rate: 44100, audio: ["-c:a", "adpcm_swf"]),
    Kind(name: "a.asf", rate: 44100, audio: ["-c:a", "wmav2"]),
  ]

  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func make(_ kind: Kind) throws -> String {
    let path = scratch.path(kind.name)
    let sound = "aevalsrc='0.4*random(0)-0.2+0.3*sin(t*1500)|0.2*sin(t*t*900)+0.2*random(1)':d=2:s=\(kind.rate)"
    var options = ["-f", "lavfi", "-i", sound]
    if let video = kind.video { options += ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2"] + video }
    try Tool.ffmpeg(options + kind.audio + [path])
    return path
  }

  /// The samples from a position on, channels side by side.
  private func read(
    _ path: String, _ track: TrackDescription, from position: Int64
  ) throws -> (start: Int64?, samples: [Float]) {
    let reader = try AudioReader(
      source: openSource(path), name: path, track: track.index, timebase: track.timebase, origin: track.origin,
      format: try #require(track.audio), from: position)
    var (start, end): (Int64?, Int64?) = (nil, nil)
    var samples: [Float] = []
    while let block = try reader.next() {
      #expect(block.position == end ?? block.position, "there is a gap")
      (start, end) = (start ?? block.position, block.end)
      let rows = (0..<block.samples.channels).map { block.samples.row($0) }
      for index in 0..<block.samples.capacity { for row in rows { samples.append(row[index]) } }
    }
    return (start, samples)
  }

  /// ffmpeg's time, in seconds, of the first frame of a stream.
  private func firstTime(_ path: String, stream: Int) throws -> Double {
    let frames = try Tool.ffprobe(
      "-select_streams", "\(stream)", "-show_entries", "frame=best_effort_timestamp_time", "-read_intervals", "%+#5",
      path)
    return try #require(frames.first?.first.flatMap { Double($0) })
  }

  @Test(arguments: kinds.spread(12)) func `sound is where and what ffmpeg's decode of the whole file is`(kind: Kind)
    throws
  {
    let path = try make(kind)
    let asset = try AssetProbe.probe(openSource(path), name: path)
    let track = try #require(asset.tracks.first { $0.type == .audio })
    let audio = try #require(track.audio)
    let reference = ["-i", path, "-map", "0:\(track.index)", "-c:a", "pcm_f32le", "-f", "f32le", "-"]
    let decoded = try Tool.ffmpeg(reference).floats
    let whole = try read(path, track, from: -1 << 40)
    #expect(whole.samples == decoded)

    // In files without edit lists, what is presented first is at time zero.
    let first = try firstTime(path, stream: track.index)
    let others = try asset.tracks.map { try firstTime(path, stream: $0.index) }
    let isMovie = asset.container == "mov" && !kind.audio.contains("-movflags")
    let start = try #require(whole.start)
    let expected = (first - (isMovie ? 0 : others.min() ?? 0)) * Double(audio.sampleRate)
    #expect(abs(Double(start) - expected) <= 1, "the first sample is at \(start), for ffmpeg at \(expected)")

    let samples = { (time: MediaTime) in try (time.exact * Rational(audio.sampleRate)).approximate }
    let count = decoded.count / audio.channels
    #expect(abs(try samples(track.range.start) - Double(start)) <= 1)
    #expect(try samples(track.range.duration) == Double(count))
    if kind.isWhole { #expect(track.range.duration == MediaTime(seconds: 2)) }

    for cut in [1, 777, 48_001, 80_043] as [Int64] where cut > start {
      let part = try read(path, track, from: cut)
      #expect(part.start == cut)
      #expect(part.samples == Array(decoded[(Int(cut - start) * audio.channels)...]), "cut at sample \(cut)")
    }
  }

  @Test func `an edit list ends the sound inside the last packet`() throws {
    let path = try make(Kind(name: "a.mp4", audio: ["-c:a", "aac"]))
    let track = try #require(try AssetProbe.probe(openSource(path), name: path).tracks.first)
    #expect(track.range == (try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 2))))
  }
}
