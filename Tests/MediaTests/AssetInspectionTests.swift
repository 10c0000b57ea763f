import CompositionModel
import Foundation
import TestMedia
import TestPrograms
import Testing

@testable import Media

/// What a description has besides what films need: ffprobe is the oracle, or what ffmpeg was given to write.
struct AssetInspectionTests {
  private func probe(_ name: String, _ arguments: [String], in folder: TemporaryFolder) throws -> AssetDescription {
    let path = folder.path(name)
    _ = try Tool.ffmpeg(arguments + [path])
    return try AssetProbe.probe(openSource(path), name: name)
  }

  @Test func `chapters, subtitles and metadata are described`() throws {
    let folder = try TemporaryFolder()
    _ = try folder.write(
      Data(
        """
        ;FFMETADATA1
        title=A day
        artist=Somebody
        [CHAPTER]
        TIMEBASE=1/1000
        START=0
        END=1500
        title=Morning
        [CHAPTER]
        TIMEBASE=1/1000
        START=1500
        END=3000
        title=Evening
        """.utf8), "chapters.txt")
    _ = try folder.write(
      Data("1\n00:00:00,500 --> 00:00:01,250\nOne\n\n2\n00:00:02,000 --> 00:00:02,500\nTwo\n".utf8), "a.srt")
    let description = try probe(
      "film.mkv",
      [
        "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=3", "-f", "lavfi", "-i", "sine=duration=3", "-i",
        folder.path("a.srt"), "-i", folder.path("chapters.txt"), "-map", "0", "-map", "1", "-map", "2", "-map_metadata",
        "3", "-map_chapters", "3", "-c:v", "libx264", "-profile:v", "high", "-level", "3.1", "-c:a", "flac", "-c:s",
        "srt",
        "-metadata:s:s:0", "language=deu", "-disposition:s:0", "forced",
      ], in: folder)
    #expect(description.chapters?.map(\.title) == ["Morning", "Evening"])
    #expect(description.chapters?.last?.range.end == MediaTime(seconds: 3))
    #expect(description.commonMetadata[.title] == "A day" && description.commonMetadata[.artist] == "Somebody")
    let subtitle = try #require(description.tracks.first { $0.type == .subtitle })
    #expect(subtitle.packetCount == 2 && subtitle.language == "deu" && subtitle.codec == "subrip")
    #expect(subtitle.characteristics == ["forced"])
    #expect(subtitle.range.start == MediaTime(value: 1, timescale: 2))
    #expect(subtitle.range.end == MediaTime(value: 5, timescale: 2))
    let video = try #require(description.defaultTrack(.video))
    #expect(video.profile == "High" && video.level == 31 && video.packetCount == nil)
    #expect(description.duration == MediaTime(seconds: 3) && description.failures == nil)
    #expect(description.defaultTrack(.audio)?.audio?.bitDepth == 16)
    let size = try Data(contentsOf: URL(fileURLWithPath: folder.path("film.mkv"))).count
    #expect(description.bitRate == Int((Double(size) * 8 / 3).rounded()))
  }

  @Test func `cover art is no track, and tracks have the container's numbers`() throws {
    let folder = try TemporaryFolder()
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=80x60:rate=1:duration=1", "-frames:v", "1", folder.path("c.png"),
    ])
    let description = try probe(
      "film.mp4",
      [
        "-f", "lavfi", "-i", "sine=duration=2", "-i", folder.path("c.png"), "-map", "0", "-map", "1", "-c:a", "aac",
        "-c:v",
        "copy", "-disposition:v", "attached_pic",
      ], in: folder)
    #expect(description.tracks.map(\.type) == [.audio])
    #expect(description.tracks.first?.id == 1 && description.tracks.first?.formatTag == "mp4a")
    #expect(description.attachedPictures?.map(\.codec) == ["png"])
    #expect(description.attachedPictures?.first?.size == PixelSize(width: 80, height: 60))
  }

  @Test func `a track that cannot be described has its reason`() throws {
    let folder = try TemporaryFolder()
    // The picture's codec is made one that no decoder has.
    _ = try probe(
      "film.mp4",
      [
        "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1", "-f", "lavfi", "-i", "sine=duration=1", "-c:v",
        "libx264", "-c:a", "aac",
      ], in: folder)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path("film.mp4")))
    let place = try #require(
      bytes.range(of: Data("avc1".utf8), in: bytes.range(of: Data("stsd".utf8))!.lowerBound..<bytes.count))
    bytes.replaceSubrange(place, with: Data("zzzz".utf8))
    let path = try folder.write(bytes, "broken.mp4")
    let description = try AssetProbe.probe(openSource(path), name: "broken.mp4")
    #expect(description.tracks.map(\.type) == [.audio])
    #expect(description.failures?.map(\.index) == [0] && description.failures?.first?.type == .video)
    #expect(description.failures?.first?.message.isEmpty == false)
  }

  @Test func `an older description can still be read`() throws {
    let json = """
      {"container": "mov", "duration": "1", "metadata": {"COM.apple.quicktime.make": "Apple", "date": "2020"},
       "tracks": []}
      """
    let description = try JSONDecoder().decode(AssetDescription.self, from: Data(json.utf8))
    #expect(description.chapters == nil && description.failures == nil)
    #expect(description.commonMetadata == [.make: "Apple", .creationDate: "2020"])
    // Keys that are absent are not written: equal files keep equal descriptions.
    let encoded = String(decoding: try JSONEncoder().encode(description), as: UTF8.self)
    #expect(!encoded.contains("chapters") && !encoded.contains("attachedPictures"))
  }
}
