import CompositionModel
import Digest
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Stitcher

/// A finished film is read by a process that has not made it. Faults are put into the task or into the film.
@Suite struct FilmInspectionTests {
  private static func message(_ task: StitchTask, _ film: any ByteSource) -> String {
    do {
      try FilmInspection.check(task, film: film)
      return "agrees"
    } catch {
      return "\(error)"
    }
  }

  private static func task(_ file: StitchedFile) -> StitchTask {
    StitchTask(
      outputs: [.init(name: nil, rendition: 0, sound: 0, file: file)],
      segmentCount: file.video?.frameCounts.count ?? 0, hasAudio: file.audio != nil)
  }

  @Test(
    arguments: [
      (VideoCodec.h264, AudioCodec?.some(.aac), [Container.mp4, .mov, .mkv]), (.hevc, .aac, [.mp4, .mov]),
      (.prores422, .pcm, [.mov]), (.vp9, .opus, [.webm]), (.av1, .opus, [.mp4, .webm]), (.ffv1, .flac, [.mkv]),
      (.h264, nil, [.mp4, .mkv]), (.h264, .mp3, [.mp4, .mkv]), (.h264, .alac, [.mov]), (.gif, nil, [.gif]),
      (.apng, nil, [.apng]), (.webp, nil, [.webp]),
    ].spread(6))
  func `a film as it was planned agrees`(
    codec: VideoCodec, audio: AudioCodec?, containers: [Container]
  ) throws {
    let film = try Film([12, 20, 9], codec: codec, audio: audio)
    let pieces = try film.pieces()
    for container in containers {
      let path = try film.stitch(film.task(container), pieces)
      #expect(Self.message(Self.task(film.task(container)), try openSource(path)) == "agrees", "\(container)")
    }
  }

  @Test(arguments: [
    (AudioCodec.aac, Container.m4a), (.mp3, .mp3), (.flac, .flac), (.pcm, .wav), (.opus, .ogg),
  ])
  func `sound alone agrees`(codec: AudioCodec, container: Container) throws {
    let film = try Film([], audio: codec, seconds: 1.7)
    let path = try film.stitch(film.task(container), film.pieces())
    #expect(Self.message(Self.task(film.task(container)), try openSource(path)) == "agrees")
  }

  @Test func `every difference from the task is found`() throws {
    let film = try Film([12, 20])
    let task = film.task()
    let source = try openSource(try film.stitch(task, film.pieces()))
    let faults: [(end: String, change: (inout StitchedFile) -> Void)] = [
      ("track 0 (h264) has 32 packets, and not 33", { $0.video?.frameCounts = [12, 21] }),
      ("track 0 (h264) has no keyframe at picture 13, where segment 1 begins", { $0.video?.frameCounts = [13, 19] }),
      (
        "track 0 (h264) has pictures of 160x96, and not 160x98",
        { $0.video?.format.size = PixelSize(width: 160, height: 98) }
      ),
      ("it has the tracks h264, aac, and not hevc, aac", { $0.video?.encoder.codec = .hevc }),
      ("it has the tracks h264, aac, and not h264, opus", { $0.audio?.encoder.codec = .opus }),
      ("it has the tracks h264, aac, and not h264", { $0.audio = nil }),
      (
        "the sound (aac) has 2 channels at 44100 Hz, and not 1 at 44100 Hz", { $0.audio?.encoder.channels = 1 }
      ),
    ]
    for (end, change) in faults {
      var changed = task
      change(&changed)
      let message = Self.message(Self.task(changed), source)
      #expect(message.hasPrefix("the output that was written is not the one that was planned: "), "\(message)")
      #expect(message.contains(end), "\(message)")
    }
    var longer = task
    longer.audio?.sampleCount += 44100
    let message = Self.message(Self.task(longer), source)
    #expect(message.contains("track 1 (aac) ends at"), "\(message)")
  }

  @Test(arguments: [Container.mp4, .mkv]) func `a film that was damaged since is found`(container: Container) throws {
    let film = try Film([12, 20])
    let path = try film.stitch(film.task(container), film.pieces())
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let task = Self.task(film.task(container))
    #expect(Self.message(task, MemorySource(bytes)) == "agrees")
    // Cut off anywhere.
    for part in [0, 1, 200, bytes.count / 3, bytes.count / 2, bytes.count * 9 / 10, bytes.count - 400] {
      #expect(Self.message(task, MemorySource(Array(bytes.prefix(part)))) != "agrees", "\(part)")
    }
    // The head is gone.
    #expect(Self.message(task, MemorySource(Array(repeating: 0, count: 4096) + bytes.dropFirst(4096))) != "agrees")
    #expect(Self.message(task, MemorySource(Array(repeating: 0, count: bytes.count))) != "agrees")
  }

  @Test func `pictures at other times, and others without a keyframe, are found`() throws {
    let film = try Film([12, 20], audio: nil)
    let path = try film.stitch(film.task(.mkv), film.pieces())
    let late = film.folder.path("late.mkv")
    // ffmpeg keeps the packets and moves one of them.
    try Tool.ffmpeg("-i", path, "-c", "copy", "-bsf:v", "setts=pts=if(eq(N\\,20)\\,PTS+7\\,PTS)", late)
    let message = Self.message(Self.task(film.task(.mkv)), try openSource(late))
    #expect(message.contains("at another time than"), "\(message)")
    let dropped = film.folder.path("dropped.mkv")
    try Tool.ffmpeg("-i", path, "-c", "copy", "-bsf:v", "noise=drop=eq(n\\,20)", dropped)
    let lost = Self.message(Self.task(film.task(.mkv)), try openSource(dropped))
    #expect(lost.contains("has 31 pictures, and not 32"), "\(lost)")
  }

  @Test func `each of several outputs is checked`() throws {
    let film = try Film([12, 20])
    let pieces = try film.pieces()
    var sound = film.task(.m4a)
    sound.video = nil
    let task = StitchTask(
      outputs: [
        .init(name: "a.mp4", rendition: 0, sound: 0, file: film.task(.mp4)),
        .init(name: "b.m4a", rendition: nil, sound: 0, file: sound),
      ], segmentCount: 2, hasAudio: true)
    let files = [
      ("a.mp4", [UInt8](try Data(contentsOf: URL(filePath: try film.stitch(film.task(.mp4), pieces))))),
      ("b.m4a", [UInt8](try Data(contentsOf: URL(filePath: try film.stitch(sound, [pieces[2]]))))),
    ]
    func package(_ files: [(String, [UInt8])]) throws -> MemorySource {
      let end = try ContentPackage(files.map { ($0.0, Content(digest: .of($0.1), size: Int64($0.1.count))) })
      return MemorySource(files.flatMap(\.1) + end.encodedEnd)
    }
    #expect(Self.message(task, try package(files)) == "agrees")
    #expect(Self.message(task, try package(files.reversed())).contains("it has the files b.m4a, a.mp4, and not"))
    #expect(Self.message(task, try package([files[0]])).contains("it has the files a.mp4, and not a.mp4, b.m4a"))
    let cut = Array(files[1].1.prefix(files[1].1.count / 2))
    #expect(Self.message(task, try package([files[0], ("b.m4a", cut)])).contains("b.m4a: "))
    #expect(Self.message(task, MemorySource(files[0].1)).contains("it cannot be read"))
  }

  @Test func `a film that is copied has the tracks of its task`() throws {
    let film = try Film([12, 20])
    let source = try openSource(try film.stitch(film.task(), film.pieces()))
    func clip(_ codec: String) -> PassthroughTask.Clip {
      PassthroughTask.Clip(
        digest: "", track: 0, codec: codec, timebase: MediaTime(value: 1, timescale: 30000), discontinuities: nil,
        from: nil, start: 0, end: 1, target: 0)
    }
    func message(_ codecs: [(MediaType, String)]) -> String {
      let tracks = codecs.map {
        PassthroughTask.Track(type: $0.0, clips: [clip($0.1)], duration: MediaTime(seconds: 1))
      }
      do {
        let task = PassthroughTask(container: .mp4, tracks: tracks, optimizeForNetworkUse: true, metadata: [:])
        try FilmInspection.check(task, film: source)
        return "agrees"
      } catch {
        return "\(error)"
      }
    }
    #expect(message([(.video, "h264"), (.audio, "aac")]) == "agrees")
    #expect(message([(.video, "h264")]).hasSuffix("it has the tracks h264, aac, and not h264"))
    #expect(message([(.video, "hevc"), (.audio, "aac")]).hasSuffix("it has the tracks h264, aac, and not hevc, aac"))
  }
}
