import CompositionModel
import Foundation
import Media
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

/// Movies whose sample description states a clean aperture, against ffmpeg's `crop` of the same part.
@Suite struct CleanApertureTests {
  /// Width, height, and how far the middle lies to the right and down, each a fraction.
  private typealias Aperture = [(numerator: Int, denominator: Int)]

  private static func bigEndian(_ value: Int) -> Data {
    Data((0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
  }

  /// A movie of 74x48 pixels with an aperture.
  private func movie(
    _ fixture: inout VideoFixture, _ aperture: Aperture, pixels: String, more options: [String] = []
  ) throws -> Int {
    let plain = fixture.folder.path("plain.mov")
    try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=74x48:rate=30:duration=0.2", "-pix_fmt", pixels, "-c:v", "ffv1", plain,
    ])
    var stated = plain
    if !options.isEmpty {
      stated = fixture.folder.path("stated.mov")
      try Tool.ffmpeg(["-i", plain, "-c", "copy"] + options + [stated])
    }
    var data = try Data(contentsOf: URL(fileURLWithPath: stated))
    let fields = aperture.map { Self.bigEndian($0.numerator) + Self.bigEndian($0.denominator) }
    let box = Self.bigEndian(40) + Data("clap".utf8) + fields.reduce(Data(), +)
    // The index is the last box, so no place of a sample moves.
    var entry = 0..<0
    for type in ["moov", "trak", "mdia", "minf", "stbl", "stsd", "FFV1"] {
      let place = try #require(data.range(of: Data(type.utf8), options: .backwards)).lowerBound - 4
      let size = data[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) }
      data.replaceSubrange(place..<(place + 4), with: Self.bigEndian(size + box.count))
      entry = place..<(place + size)
    }
    data.insert(contentsOf: box, at: entry.upperBound)
    let path = fixture.folder.path("aperture.mov")
    try data.write(to: URL(fileURLWithPath: path))
    return try fixture.add(path)
  }

  /// 64x40 of 74x48: 5 columns and 4 rows are left at each side if the middle does not move.
  private static let seen: [(aperture: Aperture, crop: String)] = [
    ([(64, 1), (40, 1), (1, 1), (0, 1)], "64:40:6:4"), ([(64, 1), (40, 1), (-5, 1), (4, 1)], "64:40:0:8"),
    // An odd column, which only a format whose chroma is not subsampled can begin at.
    ([(64, 1), (40, 1), (0, 1), (-1, 1)], "64:40:5:3"),
    // Fractions of a pixel are rounded.
    ([(128, 2), (160, 4), (3, 2), (1, 3)], "64:40:7:4"),
  ]

  @Test(arguments: 0..<4, ["yuv420p", "yuv444p"])
  func `a movie is seen through its clean aperture`(number: Int, pixels: String) throws {
    let (aperture, crop) = Self.seen[number]
    var fixture = try VideoFixture()
    let index = try movie(&fixture, aperture, pixels: pixels)
    let size = PixelSize(width: 64, height: 40)
    #expect(fixture.sources[index].video.presentationSize == size)
    #expect(fixture.sources[index].video.size == PixelSize(width: 74, height: 48))
    let frames = try fixture.decoded(
      fixture.folder.path("aperture.mov"), format: pixels, size: size, ["-vf", "crop=\(crop)"])
    let task = fixture.task(
      [.clip(try fixture.clip(index))], size: size, format: pixels == "yuv420p" ? .yuv420p : .yuv444p,
      frameCount: frames.count)
    #expect(try fixture.frames(task) == frames)
  }

  @Test func `the aperture is taken before the picture is turned upright`() throws {
    var fixture = try VideoFixture()
    let index = try movie(
      &fixture, [(60, 1), (40, 1), (3, 1), (2, 1)], pixels: "yuv420p", more: ["-metadata:s:v:0", "rotate=90"])
    let size = PixelSize(width: 40, height: 60)
    #expect(fixture.sources[index].video.presentationSize == size)
    let frames = try fixture.decoded(
      fixture.folder.path("plain.mov"), format: "yuv420p", size: size, ["-vf", "crop=60:40:10:6,transpose=cclock"])
    let task = fixture.task([.clip(try fixture.clip(index))], size: size, frameCount: frames.count)
    #expect(try fixture.frames(task) == frames)
  }

  private static let withoutEffect: [Aperture] = [
    [(74, 1), (48, 1), (0, 1), (0, 1)], [(75, 1), (48, 1), (0, 1), (0, 1)], [(64, 1), (40, 1), (6, 1), (0, 1)],
    [(64, 0), (40, 1), (0, 1), (0, 1)], [(0, 1), (40, 1), (0, 1), (0, 1)], [(64, 1), (40, 1), (0, 1), (-9, 1)],
  ]

  @Test(arguments: 0..<6)
  func `an aperture that is all of the picture, or not within it, has no effect`(number: Int) throws {
    var fixture = try VideoFixture()
    let index = try movie(&fixture, Self.withoutEffect[number], pixels: "yuv420p")
    #expect(fixture.sources[index].video.cleanAperture == nil)
    #expect(fixture.sources[index].video.presentationSize == PixelSize(width: 74, height: 48))
  }
}
