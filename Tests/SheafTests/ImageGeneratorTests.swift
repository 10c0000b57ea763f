import Foundation
import Sheaf
import TestPrograms
import Testing

@Suite(.ownThreads, .serialized) struct ImageGeneratorTests {
  /// The pixels of an encoded picture, as `ffmpeg` decodes it.
  private func pixels(_ data: Data, _ folder: TemporaryFolder) throws -> Data {
    let path = folder.path("\(UUID().uuidString).\(data.starts(with: [0xFF, 0xD8]) ? "jpg" : "png")")
    try data.write(to: URL(fileURLWithPath: path))
    return try Tool.ffmpeg("-i", path, "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
  }

  private func time(_ value: Int64, _ timescale: Int32) -> MediaTime { MediaTime(value: value, timescale: timescale) }

  @Test func `each picture succeeds or fails by itself`() async throws {
    let media = try SmallMedia()
    let generator = ImageGenerator(media.asset("one.mp4"))
    let times = [time(101, 100), time(-1, 1), time(9, 1), .zero, .invalid, time(1, 1)]
    var actual: [MediaTime?] = []
    var shown: [Data] = []
    for try await result in generator.images(for: times) {
      #expect(result.requestedTime.description == times[actual.count].description)
      switch result {
      case .success(_, let image, let time):
        #expect(image.size == PixelSize(width: 160, height: 90))
        #expect(image.format == .png && !image.isDamaged)
        actual.append(time)
        shown.append(try pixels(image.data, media.folder))
      case .failure(_, let error):
        #expect(error.code == .invalidMedia && !error.message.isEmpty)
        actual.append(nil)
      }
    }
    #expect(actual == [time(1, 1), nil, nil, .zero, nil, time(1, 1)])
    #expect(shown.count == 3 && shown[0] == shown[2] && shown[0] != shown[1])
    var nothing = generator.images(for: []).makeAsyncIterator()
    #expect(try await nothing.next() == nil)
  }

  @Test func `a tolerance and a greatest size are kept`() async throws {
    let media = try SmallMedia()
    var generator = ImageGenerator(media.asset("two.mp4"), format: .jpeg)
    (generator.requestedTimeToleranceBefore, generator.requestedTimeToleranceAfter) = (.positiveInfinity, .zero)
    generator.maximumSize = PixelSize(width: 80, height: 80)
    // Its one keyframe is the first picture.
    let found = try await generator.image(at: time(3, 2))
    #expect(found.actualTime == .zero)
    #expect(found.image.size == PixelSize(width: 80, height: 45))
    #expect(found.image.data.starts(with: [0xFF, 0xD8]))
    generator.requestedTimeToleranceAfter = time(-1, 1)
    await #expect(throws: SheafError.self) { try await generator.image(at: .zero) }
    let none = ImageGenerator(media.asset("nothing.mp4"))
    await #expect(throws: SheafError.self) { try await none.image(at: .zero) }
  }

  /// A still of an edit is the frame of its film.
  @Test func `the pictures of an edit are its frames`() async throws {
    let media = try SmallMedia()
    var edit = try await media.edit()
    edit.export.timeRange = try MediaTimeRange(start: .zero, end: time(1, 1))
    let generator = ImageGenerator(edit, renderer: media.renderer)
    var shown: [Data] = []
    for try await result in generator.images(for: [time(5, 4), time(2, 1)]) {
      shown.append(try pixels(result.image.data, media.folder))
    }
    edit.export = ExportSettings(video: .settings(.init(codec: .ffv1)), audio: .none)
    _ = try await ExportSession(edit, to: media.url("film.mkv"), on: .local(media.renderer)).export()
    let film = try Tool.ffmpeg("-i", media.folder.path("film.mkv"), "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
    let size = 160 * 90 * 3
    func difference(_ still: Data, _ frame: Int) -> Int {
      let expected = film[(film.startIndex + frame * size)..<(film.startIndex + (frame + 1) * size)]
      return zip(still, expected).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
    }
    for (still, frame) in zip(shown, [31, 50]) {
      // ffmpeg takes the untagged colours by another matrix.
      let (own, others) = (difference(still, frame), [frame - 1, frame + 1, 5].map { difference(still, $0) })
      #expect(still.count == size && own < 8 * size, "frame \(frame) differs by \(own)")
      #expect(others.allSatisfy { own < $0 }, "frame \(frame) differs by \(own), others by \(others)")
    }
    edit.videoComposition.overlays = [.init(.image("nowhere"))]
    await #expect(throws: SheafError.self) {
      try await ImageGenerator(edit, renderer: media.renderer).image(at: .zero)
    }
  }
}
