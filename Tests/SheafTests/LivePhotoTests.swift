import Foundation
import Sheaf
import TestPrograms
import Testing

@Suite(.ownThreads, .serialized) struct LivePhotoTests {
  private let folder: TemporaryFolder
  private let renderer: LocalRenderer
  private static let identifier = "0A7F3C52-6B1E-4D0B-9C57-3F2D1A8E6B44"

  init() throws {
    folder = try TemporaryFolder()
    renderer = LocalRenderer(store: folder.url.appendingPathComponent("store"), slots: 1)
  }

  private func url(_ name: String) -> URL { folder.url.appendingPathComponent(name) }

  /// A movie as a camera stores it beside a photo.
  private func movie(_ name: String, identifier: String?) throws {
    let stated = identifier.map { ["-metadata", "com.apple.quicktime.content.identifier=\($0)"] } ?? []
    try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1", "-movflags", "use_metadata_tags"] + stated
        + [folder.path(name)])
  }

  /// A picture that cannot be decoded, with an identifier in it.
  private func photo(_ name: String, identifier: String) throws -> URL {
    let head: [UInt8] = [0, 0, 0, 24] + Array("ftypheic".utf8) + [0, 0, 0, 0] + Array("mif1heic".utf8)
    try Data(head + Array("...Apple iOS\0...\(identifier)\0...".utf8)).write(to: url(name))
    return url(name)
  }

  @Test(arguments: ["IMG_0001.MOV", "IMG_0001.mov"].spread(1))
  func `the movie of a live photo is the one beside it`(name: String) async throws {
    try movie(name, identifier: Self.identifier)
    let photo = try photo("IMG_0001.HEIC", identifier: Self.identifier)
    let movie = try await Asset.pairedVideo(ofLivePhoto: photo, renderer: renderer)
    #expect(movie.path == folder.path(name))
    let film = try await ExportSession(movie, preset: .lowQuality, to: url("film.mp4")).export()
    #expect(film.frames == 25)
  }

  @Test func `the movie of another photo is refused, and one that states nothing is taken`() async throws {
    try movie("IMG_0002.mov", identifier: "11111111-6B1E-4D0B-9C57-3F2D1A8E6B44")
    try movie("IMG_0003.mov", identifier: nil)
    let other = try photo("IMG_0002.HEIC", identifier: Self.identifier)
    let error = await #expect(throws: SheafError.self) {
      try await Asset.pairedVideo(ofLivePhoto: other, renderer: renderer)
    }
    #expect(error?.code == .invalidMedia && error?.message.contains("of another live photo") == true)
    let silent = try photo("IMG_0003.HEIC", identifier: Self.identifier)
    let movie = try await Asset.pairedVideo(ofLivePhoto: silent, renderer: renderer)
    #expect(movie.path == folder.path("IMG_0003.mov"))
    let alone = try photo("IMG_0004.HEIC", identifier: Self.identifier)
    let missing = await #expect(throws: SheafError.self) {
      try await Asset.pairedVideo(ofLivePhoto: alone, renderer: renderer)
    }
    #expect(missing?.message.contains("there is no movie IMG_0004.mov beside") == true)
  }

  @Test func `a picture that cannot be decoded says what can be used`() async throws {
    let photo = try photo("IMG_0005.HEIC", identifier: Self.identifier)
    let error = await #expect(throws: SheafError.self) { _ = try await Asset(photo, renderer: renderer).contents }
    #expect(error?.message.contains("it is a picture in HEIF, such as HEIC, of a kind that cannot be decoded") == true)
  }

  @Test func `a still picture in AVIF is one that can be shown`() async throws {
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=64x48", "-frames:v", "1", "-c:v", "libaom-av1", "-still-picture", "1",
      "-cpu-used", "8", folder.path("still.avif"))
    let contents = try await Asset(url("still.avif"), renderer: renderer).contents
    #expect(contents.defaultTrack(.video)?.video?.size == PixelSize(width: 64, height: 48))
  }
}
