import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Many kinds of files, each cut at six hard places: each frame and each sample of the film is that which `ffmpeg`'s
/// decode of the whole file has there, at any segmentation. `make exactness` compares all sources, and the program's
/// own films. SHEAF_EXACTNESS_ONLY takes other sources: parts of their names, separated by commas.
@Suite struct ExactnessTests {
  private static let sources =
    if let isNamed = Sources.isNamed { Sources.all.filter(isNamed) } else { Sources.all.filter(\.isQuick).spread(34) }

  @Test(arguments: sources)
  func `frames and samples of a cut film are those of a whole decode, at two segmentations`(source: Source) throws {
    var comparison = Comparison()
    var random = SeededRandom(seed: 8)
    let folder = try TemporaryFolder()
    let attack = try Attack(source, in: folder, clipCount: 6, random: &random)
    for segmentDuration in [nil, "5f"] {
      let film = try InProcessFilm(
        attack.document, of: attack.path, attack.asset, segmentDuration: segmentDuration, random: &random)
      try attack.compare(film.frames, film.samples, into: &comparison)
    }
    #expect(comparison.wrongFrames == 0 && comparison.wrongSamples == 0, "\(comparison)")
    #expect(comparison.frames + comparison.samples > 0)
  }

  @Test func `each source has a name of its own, and enough of them are compared here`() {
    let names = Dictionary(grouping: Sources.all.map(\.name)) { $0 }
    #expect(names.allSatisfy { $1.count == 1 }, "\(names.filter { $1.count > 1 }.keys.sorted())")
    #expect(Sources.all.count { $0.isQuick && $0.remark == nil && !$0.name.hasPrefix("sound-") } >= 60)
  }
}

/// A source, a film that is cut from it, and what the film must be.
struct Attack {
  let path: String
  let asset: AssetDescription
  let document: String
  private let reference: Reference
  private let film: CutFilm
  /// Whether ffmpeg's pictures and samples are what the film must have.
  private let isReference: Bool
  /// The hashes of the source's frames as the film shows them.
  private let hashes: [String]

  init(_ source: Source, in folder: TemporaryFolder, clipCount: Int, random: inout SeededRandom) throws {
    isReference = source.remark == nil
    path = try source.make(in: folder)
    let probed = try AssetProbe.probe(openSource(path), name: path)
    asset = try JSONDecoder().decode(AssetDescription.self, from: JSONEncoder().encode(probed))
    let picture = asset.defaultTrack(.video)?.video
    let copy = picture.flatMap { Self.isShownAsStored($0) ? nil : folder.path("copy.\(Self.container($0))") }
    reference = try Reference(path, source, asset, copy: copy)
    film = try CutFilm(asset, reference, clipCount: clipCount, random: &random)
    document = try film.document(of: path)
    let decoded = reference.video?.frames.map(\.hash) ?? []
    if let copy {
      let description = try AssetProbe.probe(openSource(copy), name: copy)
      hashes = try InProcessFilm(
        CutFilm.document(ofCopy: copy), of: copy, description, segmentDuration: nil,
        random: &random
      ).frames
      guard hashes.count >= decoded.count else {
        throw Tool.Failure(description: "\(path): of \(decoded.count) frames the copy has \(hashes.count)")
      }
    } else {
      hashes = decoded
    }
  }

  /// Whether a film has the pictures of a source as they are stored.
  private static func isShownAsStored(_ video: VideoFormat) -> Bool {
    let formats = ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le", "yuv444p10le"]
    let (across, down) = (video.pixelFormat.contains("444") ? 1 : 2, video.pixelFormat.contains("420") ? 2 : 1)
    return formats.contains(video.pixelFormat) && video.pixelAspect == .square && video.size.width % across == 0
      && video.size.height % down == 0
  }

  /// The container in which ffmpeg stores the pictures without a change.
  private static func container(_ video: VideoFormat) -> String {
    video.pixelFormat.hasPrefix("yuv") && !video.pixelFormat.hasPrefix("yuvj") ? "mkv" : "nut"
  }

  func compare(_ frames: [String], _ samples: [Int32], into comparison: inout Comparison) throws {
    if let video = reference.video {
      comparison.compare(frames, with: try film.frames(video), of: isReference ? hashes : nil)
    }
    if let audio = reference.audio {
      comparison.compare(samples, with: try film.samples(audio), of: audio, isReference: isReference)
    }
  }
}
