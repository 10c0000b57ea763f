import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Stitcher

/// The index of a film that was copied.
@Suite struct MovieIndexTests {
  /// A movie whose index is after its data.
  private func movie(in folder: TemporaryFolder) throws -> String {
    let path = folder.path("movie.mp4")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=2", "-f", "lavfi", "-i", "sine=d=2", "-c:v", "libx264",
      "-c:a", "aac", path)
    return path
  }

  private func packets(_ path: String) throws -> String {
    String(decoding: try Tool.ffmpeg("-i", path, "-map", "0", "-c", "copy", "-f", "framemd5", "-"), as: UTF8.self)
  }

  private func boxes(_ path: String) throws -> [MovieBoxes.Box] {
    var reader = MovieBoxes(try openSource(path))
    var boxes: [MovieBoxes.Box] = []
    while let box = try reader.next() { boxes.append(box) }
    return boxes
  }

  @Test func `the index of a film of any size can be at its start`() throws {
    let folder = try TemporaryFolder()
    let path = try movie(in: folder)
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    func bytes(_ type: String) throws -> [UInt8] {
      let box = try #require(try boxes(path).first { $0.type == type })
      return Array(data[Int(box.offset)..<Int(box.offset + (box.size ?? 0))])
    }
    let (head, moov) = (try bytes("ftyp"), try bytes("moov"))
    var index = IndexBox(moov)
    index.widenChunkOffsets()
    #expect(Data(moov).range(of: Data("stco".utf8)) != nil)
    #expect(Data(index.bytes).range(of: Data("stco".utf8)) == nil)
    #expect(index.bytes.count > moov.count)
    var widened = index
    widened.widenChunkOffsets()
    #expect(widened.bytes == index.bytes)
    // ffmpeg finds all packets where the index says that they are.
    index.moveChunks(by: Int64(index.bytes.count))
    let moved = folder.path("moved.mp4")
    let rest = data[head.count...]
    try (Data(head) + index.bytes + rest.dropLast(moov.count)).write(to: URL(fileURLWithPath: moved))
    #expect(try boxes(moved).map(\.type).prefix(2) == ["ftyp", "moov"])
    #expect(try packets(moved) == packets(path))
  }

  @Test func `a film that is cut off is refused`() throws {
    let folder = try TemporaryFolder()
    let data = try Data(contentsOf: URL(fileURLWithPath: movie(in: folder)))
    let tracks = [MovieIndex.Track(duration: MediaTime(seconds: 2)), MovieIndex.Track(duration: MediaTime(seconds: 2))]
    for length in [data.count - 1, 5] {
      let path = try folder.write(data.prefix(length), "cut.mp4")
      let output = try #require(FileHandle(forUpdatingAtPath: path))
      let error = #expect(throws: StitchError.self) {
        try MovieIndex.finish(
          output.fileDescriptor, size: Int64(length), tracks: tracks, container: .mp4, indexFirst: true)
      }
      #expect(error?.description.contains("goes on after the end of the film") == true, "\(String(describing: error))")
    }
  }

  /// The index grows by a box, and the data move behind it.
  @Test(arguments: [true, false]) func `a clean aperture is in the index, wherever that is`(isFirst: Bool) throws {
    let folder = try TemporaryFolder()
    let path = try movie(in: folder)
    let before = try packets(path)
    let output = try #require(FileHandle(forUpdatingAtPath: path))
    let aperture = PixelRect(x: 3, y: 5, size: PixelSize(width: 50, height: 40))
    let size = try MovieIndex.finish(
      output.fileDescriptor, size: 0,
      tracks: [
        MovieIndex.Track(
          duration: MediaTime(seconds: 2), cleanAperture: aperture, size: PixelSize(width: 64, height: 48)),
        MovieIndex.Track(duration: MediaTime(seconds: 2)),
      ], container: .mp4, indexFirst: isFirst)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == Int(size))
    #expect(try boxes(path).map(\.type).firstIndex(of: "moov") == (isFirst ? 1 : boxes(path).count - 1))
    #expect(try packets(path) == before)
    let found = try AssetProbe.probe(openSource(path), name: "movie.mp4")
    #expect(found.defaultTrack(.video)?.video?.cleanAperture == aperture)
  }
}
