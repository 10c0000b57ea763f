import CompositionModel
import Foundation
import RenderTasks
import TestPrograms
import Testing

/// What the file has beside its packets: chapters, metadata, how its pictures are turned, and what its tracks state.
@Suite struct ChapterTests {
  private struct Answer: Decodable {
    struct Chapter: Decodable {
      var startTime: String
      var endTime: String
      var tags: [String: String]?
    }
    struct Stream: Decodable {
      struct SideData: Decodable { var rotation: Int? }
      var sideDataList: [SideData]?
      var tags: [String: String]?
    }
    struct Format: Decodable { var tags: [String: String]? }

    var chapters: [Chapter]
    var streams: [Stream]
    var format: Format

    init(_ path: String) throws {
      let json = try Tool.run(
        "ffprobe", ["-v", "error", "-show_chapters", "-show_streams", "-show_format", "-of", "json", path]
      ).output
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      self = try decoder.decode(Answer.self, from: json)
    }
  }

  private func range(_ start: Int64, _ end: Int64) throws -> MediaTimeRange {
    try MediaTimeRange(
      start: MediaTime(value: start, timescale: 1000), end: MediaTime(value: end, timescale: 1000))
  }

  @Test(arguments: [Container.mp4, .mov, .m4v, .mkv, .webm, .m4a], [true, false])
  func `chapters are in the file, and it is the same each time`(container: Container, indexFirst: Bool) throws {
    let isWebM = container == .webm
    let film = try Film(
      container == .m4a ? [] : [40, 35], codec: isWebM ? .vp9 : .h264, audio: isWebM ? .opus : .aac, seconds: 2.5)
    var task = film.task(container, indexFirst: indexFirst)
    task.chapters = [
      Chapter(range: try range(0, 700), title: "Ankunft & Ärger"), Chapter(range: try range(700, 1234), title: "B"),
      Chapter(range: try range(1234, 2500), title: String(repeating: "ü", count: 127)),
    ]
    let pieces = try film.pieces()
    let path = try film.stitch(task, pieces)
    let answer = try Answer(path)
    #expect(answer.chapters.map { $0.tags?["title"] } == task.chapters?.map { $0.title as String? })
    for (found, written) in zip(answer.chapters, task.chapters ?? []) {
      let (start, end) = (try #require(Double(found.startTime)), try #require(Double(found.endTime)))
      #expect(abs(start - written.range.start.approximateSeconds) < 0.001, "\(found)")
      #expect(abs(end - written.range.end.approximateSeconds) < 0.002, "\(found)")
    }
    let again = try film.stitch(task, pieces)
    #expect(try Data(contentsOf: URL(filePath: path)) == Data(contentsOf: URL(filePath: again)))
    let decoded = try Tool.run("ffmpeg", ["-v", "warning", "-i", path, "-map", "0:a", "-f", "null", "-"])
    #expect(decoded.log.isEmpty, "\(decoded.log)")
  }

  @Test(arguments: [90, 180, 270]) func `the file states how its pictures are turned`(degrees: Int) throws {
    let film = try Film([10], audio: nil)
    let pieces = try film.pieces()
    for container in [Container.mp4, .mov, .m4v] {
      var task = film.task(container)
      task.rotation = degrees
      let stream = try #require(try Answer(film.stitch(task, pieces)).streams.first)
      // ffprobe counts the other way.
      let rotation = try #require(stream.sideDataList?.compactMap(\.rotation).first)
      #expect((360 - rotation) % 360 == degrees, "\(container)")
    }
  }

  @Test(arguments: [Container.mp4, .mov, .m4v, .mkv], [true, false])
  func `tracks state their languages and titles`(container: Container, indexFirst: Bool) throws {
    let film = try Film([30])
    let pieces = try film.pieces()
    var task = film.task(container, indexFirst: indexFirst)
    let long = String(repeating: "ü", count: 200)
    // QuickTime's older list has neither Hawaiian nor Maori.
    for (languages, titles) in [
      (("eng", "haw"), ("Director's cut", "Kommentar & Ärger")), (("deu", "ger"), (nil, long)),
      (("zho", "mri"), (long, nil)), ((nil, "und"), ("映画", nil)),
    ] as [((String?, String?), (String?, String?))] {
      task.videoLabel = TrackLabel(language: languages.0, title: titles.0)
      task.audioLabel = TrackLabel(language: languages.1, title: titles.1)
      let path = try film.stitch(task, pieces)
      let tags = try Answer(path).streams.map { $0.tags ?? [:] }
      #expect(tags.map { $0["language"] ?? "und" } == [languages.0 ?? "und", languages.1 ?? "und"], "\(tags)")
      let key = container == .mkv ? "title" : "handler_name"
      for (tags, title) in zip(tags, [titles.0, titles.1]) {
        guard let title else { continue }
        #expect(tags[key] == (container == .mov && title == long ? String(title.prefix(63)) : title))
      }
      let decoded = try Tool.run("ffmpeg", ["-v", "warning", "-i", path, "-f", "null", "-"])
      #expect(decoded.log.isEmpty, "\(decoded.log)")
    }
  }

  @Test func `metadata beyond the usual fields have QuickTime's names`() throws {
    let film = try Film([10], audio: nil)
    let pieces = try film.pieces()
    let metadata = ["title": "T", "location": "+48.8577+002.295/", "make": "M", "scene": "12b"]
    for container in [Container.mp4, .mov] {
      let tags = try #require(try Answer(film.stitch(film.task(container, metadata: metadata), pieces)).format.tags)
      #expect(tags["com.apple.quicktime.location.ISO6709"] == "+48.8577+002.295/")
      #expect(tags["com.apple.quicktime.make"] == "M" && tags["com.apple.quicktime.title"] == "T")
      #expect(tags["scene"] == "12b")
      let plain = try Answer(film.stitch(film.task(container, metadata: ["title": "T"]), pieces)).format.tags
      #expect(plain?["title"] == "T")
    }
    let mkv = try #require(try Answer(film.stitch(film.task(.mkv, metadata: metadata), pieces)).format.tags)
    #expect(mkv["title"] == "T" && mkv["LOCATION"] == "+48.8577+002.295/" && mkv["SCENE"] == "12b", "\(mkv)")
  }
}
