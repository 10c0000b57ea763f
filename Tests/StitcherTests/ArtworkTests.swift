import CompositionModel
import Foundation
import RenderTasks
import Stitcher
import TestMedia
import TestPrograms
import Testing

/// The picture that players show for a film: `ffprobe` finds it, and its bytes are those of the file that it comes
/// from.
@Suite struct ArtworkTests {
  private static func picture(_ format: Artwork.Format, in folder: TemporaryFolder) throws -> String {
    let path = folder.path("cover.\(format.rawValue)")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "mandelbrot=s=200x120", "-frames:v", "1", "-c:v", format == .png ? "png" : "mjpeg", "-f",
      "image2", path)
    return path
  }

  /// The index of the stream that is an attached picture.
  private static func attached(_ path: String) throws -> Int? {
    try Tool.ffprobe("-show_entries", "stream=index:stream_disposition=attached_pic", path)
      .first { $0.last == "1" }?.first.flatMap { Int($0) }
  }

  /// The bytes of a stream.
  private static func copy(_ path: String, _ stream: Int) throws -> Data {
    try Tool.run("ffmpeg", ["-v", "error", "-i", path, "-map", "0:\(stream)", "-c", "copy", "-f", "data", "-"]).output
  }

  private struct Kind: Sendable {
    var container: Container
    var video: VideoCodec?
    var audio: AudioCodec
    var format: Artwork.Format
    var indexFirst = true
    var metadata: [String: String] = [:]
  }

  /// In movies the index is first or last, and the metadata are of each kind that libavformat writes.
  private static let kinds = [
    Kind(container: .mp4, video: .h264, audio: .aac, format: .png),
    Kind(container: .mp4, video: .h264, audio: .aac, format: .jpeg, indexFirst: false, metadata: ["title": "T"]),
    Kind(container: .m4v, video: .h264, audio: .aac, format: .png, metadata: ["title": "T", "mood": "good"]),
    Kind(container: .mov, video: .h264, audio: .aac, format: .jpeg),
    Kind(container: .mov, video: .h264, audio: .aac, format: .png, indexFirst: false, metadata: ["title": "T"]),
    Kind(container: .mov, video: .h264, audio: .aac, format: .jpeg, metadata: ["title": "T", "mood": "good"]),
    Kind(container: .m4a, audio: .aac, format: .png, metadata: ["title": "T"]),
    Kind(container: .mkv, video: .h264, audio: .aac, format: .jpeg, metadata: ["title": "T"]),
    Kind(container: .flac, audio: .flac, format: .png, metadata: ["title": "T"]),
    Kind(container: .mp3, audio: .mp3, format: .jpeg, metadata: ["title": "T"]),
    Kind(container: .ogg, audio: .opus, format: .png, metadata: ["title": "T"]),
  ]

  @Test(arguments: kinds.spread(5)) private func `a film has its artwork byte for byte`(_ kind: Kind) throws {
    // The second is longer than libavformat holds sound back for.
    let film = try Film(kind.video == nil ? [] : [12], audio: kind.audio, seconds: kind.video == nil ? 13 : nil)
    let pieces = try film.pieces()
    let picture = try Self.picture(kind.format, in: film.folder)
    let bytes = try Data(contentsOf: URL(filePath: picture))
    var task = film.task(kind.container, indexFirst: kind.indexFirst, metadata: kind.metadata)
    let plain = try film.stitch(task, pieces)
    task.artwork = PlannedArtwork(digest: "", track: nil, format: kind.format)
    let path = try film.stitch(task, pieces + [picture])
    let index = try #require(try Self.attached(path))
    #expect(try Self.copy(path, index) == bytes)
    let again = try film.stitch(task, pieces + [picture])
    #expect(try Data(contentsOf: URL(filePath: path)) == Data(contentsOf: URL(filePath: again)))
    // Nothing else has changed.
    let decoded = ["-map", "0:a", "-map", "0:V?", "-f", "framemd5", "-"]
    #expect(
      try Tool.run("ffmpeg", ["-v", "error", "-i", plain] + decoded).output
        == Tool.run("ffmpeg", ["-v", "error", "-i", path] + decoded).output)
    let tags = try Tool.run("ffprobe", ["-v", "error", "-show_entries", "format_tags:stream_tags", path]).output
    let hasTitle = String(decoding: tags, as: UTF8.self).lowercased().contains("title=t\n")
    #expect(hasTitle == (kind.metadata["title"] != nil))

    // As the artwork of another file it is the same.
    var other = film.task(kind.container)
    other.artwork = PlannedArtwork(digest: "", track: index, format: kind.format)
    let carried = try film.stitch(other, pieces + [path])
    #expect(try Self.copy(carried, try #require(try Self.attached(carried))) == bytes)
  }

  @Test(arguments: Artwork.Format.allCases, [MediaPlace.file, .attached])
  func `artwork for sharing is the same picture without what is said about it`(
    format: Artwork.Format, place: MediaPlace
  ) throws {
    let film = try Film([5], audio: nil)
    let pieces = try film.pieces()
    let picture = try Self.picture(format, in: film.folder)
    let plain = try Data(contentsOf: URL(filePath: picture))
    let secret = Data("HOME 48.8577".utf8)
    var bytes = plain
    switch format {
    case .jpeg:
      for marker: UInt8 in [0xE1, 0xED, 0xFE, 0xE5] {
        bytes.insert(contentsOf: [0xFF, marker, 0, UInt8(secret.count + 2)] + secret, at: 2)
      }
    case .png:
      for type in ["tEXt", "eXIf", "iTXt", "tIME"] {
        let chunk = Data([0, 0, 0, UInt8(secret.count)]) + Data(type.utf8) + secret
        bytes.insert(contentsOf: chunk + [0, 0, 0, 0], at: 33)
      }
    }
    bytes += secret
    let described = film.folder.path("described.\(format.rawValue)")
    try bytes.write(to: URL(filePath: described))
    var task = film.task(.mp4)
    task.artwork = PlannedArtwork(digest: "", track: nil, format: format)
    var source = described
    if place == .attached {
      source = try film.stitch(task, pieces + [described])
      #expect(try Data(contentsOf: URL(filePath: source)).range(of: secret) != nil)
      task.artwork?.track = try Self.attached(source)
    }
    task.artwork?.isForSharing = true
    let path = try film.stitch(task, pieces + [source])
    #expect(try Data(contentsOf: URL(filePath: path)).range(of: secret) == nil)
    let shared = film.folder.path("shared.\(format.rawValue)")
    try Self.copy(path, try #require(try Self.attached(path))).write(to: URL(filePath: shared))
    func pixels(_ path: String) throws -> Data {
      try Tool.run("ffmpeg", ["-v", "error", "-i", path, "-pix_fmt", "rgb24", "-f", "rawvideo", "-"]).output
    }
    #expect(try pixels(shared) == pixels(picture))
    #expect(try Data(contentsOf: URL(filePath: shared)).count > plain.count * 9 / 10)
  }

  enum MediaPlace: Sendable {
    case file, attached
  }

  @Test(arguments: Artwork.Format.allCases, [false, true])
  func `artwork for sharing stays the way up that its Exif states`(
    format: Artwork.Format, isLittleEndian: Bool
  ) throws {
    let film = try Film([5], audio: nil)
    let pieces = try film.pieces()
    let secret = Data("HOME".utf8)
    func number(_ value: UInt32, _ count: Int) -> Data {
      let digits = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
      return Data(isLittleEndian ? digits : digits.reversed())
    }
    // A directory of two entries: the make, and that the first row is the right hand side.
    let directory = number(2, 2) + number(0x010F, 2) + number(2, 2) + number(4, 4) + secret
    let exif =
      Data((isLittleEndian ? "II" : "MM").utf8) + number(42, 2) + number(8, 4) + directory + number(0x0112, 2)
      + number(3, 2) + number(1, 4) + number(6, 2) + number(0, 2) + number(0, 4)
    func described(_ picture: String, _ exif: Data) throws -> Data {
      var bytes = try Data(contentsOf: URL(filePath: picture))
      switch format {
      case .jpeg:
        bytes.insert(contentsOf: [0xFF, 0xE1, 0, UInt8(exif.count + 8)] + Data("Exif\0\0".utf8) + exif, at: 2)
      case .png:
        bytes.insert(contentsOf: [0, 0, 0, UInt8(exif.count)] + Data("eXIf".utf8) + exif + [0, 0, 0, 0], at: 33)
      }
      return bytes
    }
    let source = film.folder.path("photograph.\(format.rawValue)")
    try described(try Self.picture(format, in: film.folder), exif).write(to: URL(filePath: source))
    var task = film.task(.mp4)
    task.artwork = PlannedArtwork(digest: "", track: nil, format: format, isForSharing: true)
    let path = try film.stitch(task, pieces + [source])
    let shared = try Self.copy(path, try #require(try Self.attached(path)))
    #expect(shared.range(of: secret) == nil)
    let stored = film.folder.path("shared.\(format.rawValue)")
    try shared.write(to: URL(filePath: stored))
    // The checksum of each chunk is looked at.
    let decoded = try Tool.run(
      "ffmpeg", ["-v", "warning", "-err_detect", "crccheck+explode", "-i", stored, "-f", "null", "-"])
    #expect(decoded.log.isEmpty, "\(decoded.log)")
    switch format {
    case .jpeg: #expect(try Self.rotation(stored) == "-90")
    case .png:
      // ffprobe does not read the Exif of PNG, so it gets it in a JPEG picture.
      let chunk = try #require(shared.range(of: Data("eXIf".utf8)))
      let length = shared[(chunk.lowerBound - 4)..<chunk.lowerBound].reduce(0) { $0 << 8 | Int($1) }
      let kept = Data(shared[chunk.upperBound..<(chunk.upperBound + length)])
      var bytes = try Data(contentsOf: URL(filePath: Self.picture(.jpeg, in: film.folder)))
      bytes.insert(contentsOf: [0xFF, 0xE1, 0, UInt8(kept.count + 8)] + Data("Exif\0\0".utf8) + kept, at: 2)
      let other = film.folder.path("other.jpg")
      try bytes.write(to: URL(filePath: other))
      #expect(try Self.rotation(other) == "-90")
    }
  }

  /// In degrees anticlockwise, as the picture is to be shown.
  private static func rotation(_ path: String) throws -> String? {
    try Tool.ffprobe("-show_entries", "frame_side_data=rotation", path).compactMap(\.first).first { !$0.isEmpty }
  }

  @Test func `a file that is not the described picture is refused`() throws {
    let film = try Film([5], audio: nil)
    let pieces = try film.pieces()
    var task = film.task(.mp4)
    task.artwork = PlannedArtwork(digest: "", track: nil, format: .png)
    for file in [try Self.picture(.jpeg, in: film.folder), pieces[0]] {
      #expect(throws: StitchError.self) { try film.stitch(task, pieces + [file]) }
    }
    #expect(throws: StitchError.self) { try film.stitch(task, pieces) }
    let long = film.folder.path("long.png")
    var bytes = try Data(contentsOf: URL(filePath: Self.picture(.png, in: film.folder)))
    bytes.append(Data(count: 16_000_001 - bytes.count))
    try bytes.write(to: URL(filePath: long))
    #expect(throws: StitchError.self) { try film.stitch(task, pieces + [long]) }
    #expect(throws: Never.self) {
      try bytes.dropLast().write(to: URL(filePath: long))
      let path = try film.stitch(task, pieces + [long])
      #expect(try Self.copy(path, try #require(try Self.attached(path))) == bytes.dropLast())
    }
  }
}
