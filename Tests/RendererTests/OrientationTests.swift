import CompositionModel
import Foundation
import Media
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

@Suite struct OrientationTests {
  /// ffmpeg applies a display matrix by default.
  @Test(arguments: [90, 180, 270], ["yuv420p", "yuvj420p", "yuv420p10le"])
  func `a rotated file is upright as ffmpeg makes it`(degrees: Int, format: String) throws {
    var fixture = try VideoFixture()
    let plain = fixture.folder.path("plain.mp4")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=98x54:rate=30:duration=0.3", "-pix_fmt", format, "-c:v", "libx264", plain,
    ])
    let source = try fixture.make(
      "turned.mp4", ["-i", plain, "-c", "copy", "-metadata:s:v:0", "rotate=\(degrees)"])
    let orientation = fixture.sources[source].video.orientation
    #expect(orientation != .upright && orientation.swapsAxes == (degrees != 180))
    let size = degrees == 180 ? PixelSize(width: 98, height: 54) : PixelSize(width: 54, height: 98)
    let frames = try fixture.decoded(fixture.folder.path("turned.mp4"), format: format, size: size)
    let task = fixture.task(
      [.clip(try fixture.clip(source))], size: size, format: format == "yuv420p10le" ? .yuv420p10 : .yuv420p,
      colour: ColourTags(isFullRange: format == "yuvj420p"), frameCount: frames.count)
    #expect(try fixture.frames(task) == frames)
  }

  /// The eight orientations of one small picture, each against ffmpeg's own filters for it.
  @Test(arguments: [
    (Orientation(clockwise: 0), "null"), (Orientation(clockwise: 90), "transpose=clock"),
    (Orientation(clockwise: 180), "hflip,vflip"), (Orientation(clockwise: 270), "transpose=cclock"),
    (Orientation(clockwise: 0, isMirrored: true), "hflip"),
    (Orientation(clockwise: 90, isMirrored: true), "hflip,transpose=clock"),
    (Orientation(clockwise: 180, isMirrored: true), "vflip"),
    (Orientation(clockwise: 270, isMirrored: true), "hflip,transpose=cclock"),
  ])
  func `every orientation is that of the filter`(orientation: Orientation, filter: String) throws {
    for (name, pixelFormat) in [("yuv420p", PixelFormat.yuv420p), ("yuv444p10le", .yuv444p10)] {
      var fixture = try VideoFixture()
      let index = try fixture.make(
        "source.mov",
        ["-f", "lavfi", "-i", "testsrc2=size=74x38:rate=30:duration=0.1", "-pix_fmt", name, "-c:v", "ffv1"])
      var size = PixelSize(width: 74, height: 38)
      if orientation.swapsAxes { size = PixelSize(width: 38, height: 74) }
      let frames = try fixture.decoded(
        fixture.folder.path("source.mov"), format: name, size: size, ["-vf", filter])
      var task = fixture.task(
        [.clip(try fixture.clip(index))], size: size, format: pixelFormat, frameCount: frames.count)
      task.sources[index].video.orientation = orientation
      #expect(try fixture.frames(task) == frames)
    }
  }
}
