import CompositionModel
import Digest
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Stitcher

/// Several outputs from packages of pieces, which come from workers.
@Suite struct TaskOutputsTests {
  private let film: Film
  private let pieces: [String]
  private let task: StitchTask

  init() throws {
    film = try Film([12, 20])
    pieces = try film.pieces()
    var silent = film.task(.mkv)
    silent.audio = nil
    var sound = film.task(.m4a)
    sound.video = nil
    task = StitchTask(
      outputs: [
        .init(name: "a.mp4", rendition: 1, sound: 0, file: film.task(.mp4)),
        .init(name: "b.mkv", rendition: 1, sound: nil, file: silent),
        .init(name: "c.m4a", rendition: nil, sound: 0, file: sound),
      ], segmentCount: 2, hasAudio: true)
  }

  private func data(_ path: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(fileURLWithPath: path))) }

  private func package(_ files: [(name: String, bytes: [UInt8])]) throws -> [UInt8] {
    let end = try ContentPackage(
      files.map { ($0.name, Content(digest: .of($0.bytes), size: Int64($0.bytes.count))) }
    ).encodedEnd
    return files.flatMap(\.bytes) + end
  }

  /// The pieces as the second of two renditions, and the sound.
  private func inputs() throws -> [[UInt8]] {
    try [
      package([("0", [1, 2, 3]), ("1", data(pieces[0]))]), package([("0", [4]), ("1", data(pieces[1]))]),
      package([("0", data(pieces[2]))]),
    ]
  }

  private func stitch(_ inputs: [[UInt8]], _ task: StitchTask? = nil) throws -> [UInt8] {
    let name = "out-\(UUID().uuidString)"
    let file = try film.folder.create(name)
    try OutputStitcher.stitch(
      task ?? self.task, inputs: inputs.map { MemorySource($0) }, to: file.fileDescriptor, progress: { _ in })
    return try data(film.folder.path(name))
  }

  @Test func `each output has the bytes that it has alone`() throws {
    let bytes = try stitch(try inputs())
    let source = MemorySource(bytes)
    let package = try ContentPackage.read(source, name: "the outputs")
    #expect(package.files.map(\.name) == ["a.mp4", "b.mkv", "c.m4a"])
    let alone = [
      try film.stitch(task.outputs[0].file, pieces), try film.stitch(task.outputs[1].file, Array(pieces.prefix(2))),
      try film.stitch(task.outputs[2].file, [pieces[2]]),
    ]
    for (file, path) in zip(package.files, alone) {
      let own = try PartByteSource(source, file).bytes(count: Int(file.content.size))
      #expect(own == (try data(path)), "\(file.name)")
      #expect(file.content.digest == .of(own))
    }
  }

  @Test func `an output without a name is the result, and is refused beside others`() throws {
    var alone = task
    alone.outputs = [task.outputs[0]]
    alone.outputs[0].name = nil
    #expect(try stitch(inputs(), alone) == data(film.stitch(task.outputs[0].file, pieces)))
    var beside = task
    beside.outputs[1].name = nil
    var none = task
    none.outputs = []
    for wrong in [beside, none] {
      let error = #expect(throws: StitchError.self) { try stitch(inputs(), wrong) }
      #expect(error?.description.contains("there must be one, or several with names") == true)
    }
  }

  @Test func `the damage that any output shows is reported, each track once`() throws {
    func damaged(_ path: String, _ record: String) throws -> [UInt8] {
      let (header, packets) = try Pieces.read(path)
      let name = "damaged-\(UUID().uuidString)"
      let file = try film.folder.create(name)
      let piece = try PieceWriter(descriptor: file.fileDescriptor, header: header)
      for packet in packets { try piece.write(packet) }
      try piece.finish(damage: Array(record.utf8))
      return try data(film.folder.path(name))
    }
    func record(_ digest: String, _ type: String) -> String {
      #"{"tracks":[{"digest":"\#(digest)","track":0,"type":"\#(type)","count":1,"places":[{"source":0.1,"output":0.1}]}]}"#
    }
    var inputs = try inputs()
    inputs[0] = try package([("1", damaged(pieces[0], record("aa", "video")))])
    inputs[2] = try package([("0", damaged(pieces[2], record("bb", "audio")))])
    // Neither output has both tracks.
    var apart = task
    apart.outputs.removeFirst()
    for task in [task, apart] {
      let file = try film.folder.create("out-\(UUID().uuidString)")
      let shown = try OutputStitcher.stitch(
        task, inputs: inputs.map { MemorySource($0) }, to: file.fileDescriptor, progress: { _ in })
      #expect(shown.tracks.map { "\($0.digest) \($0.type) \($0.count)" } == ["aa video 1", "bb audio 1"])
    }
  }

  /// The error for inputs of which one is replaced.
  private func refusal(_ input: Int, _ bytes: [UInt8]) throws -> StitchError? {
    var inputs = try inputs()
    inputs[input] = bytes
    do {
      _ = try stitch(inputs)
      return nil
    } catch {
      return error as? StitchError
    }
  }

  @Test func `a package that is damaged, or lacks a piece, is refused with its number`() throws {
    let whole = try inputs()
    for (input, bytes, words) in [
      (1, Array(whole[1].dropLast()), "not a package"), (0, [], "not a package"),
      (2, try data(pieces[2]), "not a package"),
      (1, Array(whole[1].dropFirst()), "bytes together"),
      (1, try package([("0", data(pieces[1]))]), "no piece 1"),
      (2, try package([("0", data(pieces[0]))]), "in the output a.mp4: holds h264 video where the audio belongs"),
      (0, try package([("1", Array(data(pieces[0]).dropLast(40)))]), "in the output a.mp4"),
      (1, try package([("1", data(pieces[0]))]), "12"),
    ] as [(Int, [UInt8], String)] {
      let error = try #require(try refusal(input, bytes))
      #expect(error.piece == input, "\(error)")
      #expect(error.description.contains(words), "\(error)")
      guard case .piece = error.code else {
        Issue.record("\(error) should have the code .piece")
        continue
      }
    }
  }
}
