import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Stitcher

@Suite struct HostilePieceTests {
  /// The error that the stitcher throws for these pieces.
  private func refusal(_ film: Film, _ pieces: [String], _ task: StitchedFile? = nil) -> StitchError? {
    do {
      _ = try film.stitch(task ?? film.task(), pieces)
      return nil
    } catch {
      return error as? StitchError
    }
  }

  private func expect(_ error: StitchError?, aboutPiece piece: Int, containing words: String) {
    guard let error else {
      Issue.record("nothing was refused; an error with '\(words)' was expected")
      return
    }
    #expect(error.piece == piece)
    #expect(error.description.contains(words), "\(error)")
    if case .piece = error.code { return }
    Issue.record("\(error) should have the code .piece")
  }

  @Test func `a truncated piece is refused, wherever it ends`() throws {
    let film = try Film([12, 12], audio: nil)
    let pieces = try film.pieces()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: pieces[1]))
    let cut = film.folder.path("cut")
    for length in [0, 1, 10, bytes.count / 3, bytes.count / 2, bytes.count - 8, bytes.count - 1] {
      try bytes.prefix(length).write(to: URL(fileURLWithPath: cut))
      let error = try #require(refusal(film, [pieces[0], cut]))
      #expect(error.piece == 1)
      guard case .piece = error.code else {
        Issue.record("\(error) should have the code .piece")
        continue
      }
    }
  }

  @Test func `pieces in the wrong order are refused`() throws {
    let film = try Film([12, 20], audio: nil)
    let pieces = try film.pieces()
    expect(refusal(film, pieces.reversed()), aboutPiece: 0, containing: "12")
  }

  @Test func `audio and video in each other's place are refused`() throws {
    let film = try Film([12])
    let pieces = try film.pieces()
    expect(refusal(film, pieces.reversed()), aboutPiece: 0, containing: "audio where video belongs")
    expect(refusal(film, [pieces[0], pieces[0]]), aboutPiece: 1, containing: "video where the audio belongs")
  }

  @Test func `other parameter sets are refused`() throws {
    let film = try Film([12, 12], audio: nil)
    var other = film.video
    other.profile = "main"
    let stranger = try film.videoPiece("stranger", first: 12, count: 12, settings: other)
    expect(refusal(film, [try film.pieces()[0], stranger]), aboutPiece: 1, containing: "parameter sets")
  }

  @Test func `other sizes, codecs, colours and cadences are refused`() throws {
    let film = try Film([12, 12], audio: nil)
    let first = try film.pieces()[0]
    let large = try film.videoPiece("large", first: 0, count: 12, size: PixelSize(width: 320, height: 96))
    expect(refusal(film, [first, large]), aboutPiece: 1, containing: "320x96")
    let lossless = try Film([12], codec: .ffv1, audio: nil)
    expect(refusal(film, [first, try lossless.pieces()[0]]), aboutPiece: 1, containing: "ffv1")
    var other = film.video
    other.colour = ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc")
    let strange = try film.videoPiece("strange", first: 0, count: 12, settings: other)
    expect(refusal(film, [first, strange]), aboutPiece: 1, containing: "bt2020")
    var task = film.task()
    task.video?.format.frameDuration = MediaTime(value: 1, timescale: 25)
    expect(refusal(film, [first, first], task), aboutPiece: 0, containing: "1001/30000")
  }

  /// A piece of the packets of another, each changed by `change`.
  private func altered(
    _ film: Film, _ path: String, _ name: String, _ change: (Int, Packet) -> [Packet]
  ) throws -> String {
    let (header, packets) = try Pieces.read(path)
    return try film.write(name, header) { piece in
      for (index, packet) in packets.enumerated() {
        for packet in change(index, packet) { try piece.write(packet) }
      }
    }
  }

  @Test func `frames too many, too few and twice are refused`() throws {
    let film = try Film([12, 12], audio: nil)
    let pieces = try film.pieces()
    func with(_ name: String, _ change: (Int, Packet) -> [Packet]) throws -> StitchError? {
      refusal(film, [pieces[0], try altered(film, pieces[1], name, change)])
    }
    expect(try with("few") { $0 == 11 ? [] : [$1] }, aboutPiece: 1, containing: "11 frames where its segment has 12")
    expect(try with("headless") { $0 == 0 ? [] : [$1] }, aboutPiece: 1, containing: "keyframe")
    let long = try film.videoPiece("long", first: 0, count: 13)
    expect(refusal(film, [pieces[0], long]), aboutPiece: 1, containing: "12")
    let twice = try with("twice") { index, packet in
      if index == 5 { packet.pts = 0 }
      return [packet]
    }
    expect(twice, aboutPiece: 1, containing: "frame 0 twice")
    let late = try with("late") { index, packet in
      packet.pts += 1
      return [packet]
    }
    expect(late, aboutPiece: 1, containing: "not frame 0")
    let backwards = try with("backwards") { index, packet in
      if index == 5 { packet.dts -= 3 }
      return [packet]
    }
    expect(backwards, aboutPiece: 1, containing: "decoding time")
  }

  @Test(arguments: [
    ("{,}", "cannot be decoded"),
    (#"{"tracks":[{"digest":"aa","track":-1,"type":"video","count":1,"places":[]}]}"#, "impossible"),
    // Two of them overflow a sum.
    (
      #"{"tracks":[{"digest":"aa","track":0,"type":"video","count":9223372036854775807,"places":[]}]}"#, "impossible"
    ),
  ])
  func `a record of damage that cannot be is refused`(record: String, words: String) throws {
    let film = try Film([6, 6])
    let pieces = try film.pieces()
    func with(_ name: String, _ path: String) throws -> String {
      let (header, packets) = try Pieces.read(path)
      let file = try film.folder.create(name)
      let piece = try PieceWriter(descriptor: file.fileDescriptor, header: header)
      for packet in packets { try piece.write(packet) }
      try piece.finish(damage: Array(record.utf8))
      return film.folder.path(name)
    }
    let (video, audio) = (try with("damaged video", pieces[1]), try with("damaged audio", pieces[2]))
    expect(refusal(film, [pieces[0], video, pieces[2]]), aboutPiece: 1, containing: words)
    expect(refusal(film, [pieces[0], pieces[1], audio]), aboutPiece: 2, containing: words)
  }

  @Test func `audio with a gap or of another length is refused`() throws {
    let film = try Film([30])
    let pieces = try film.pieces()
    let gap = try altered(film, pieces[1], "gap") { $0 == 3 ? [] : [$1] }
    expect(refusal(film, [pieces[0], gap]), aboutPiece: 1, containing: "ended at")
    let settings = try #require(film.audio)
    let short = try film.audioPiece("short", settings, sampleCount: film.sampleCount - 5000)
    expect(refusal(film, [pieces[0], short]), aboutPiece: 1, containing: "before the output's")
    let long = try film.audioPiece("long", settings, sampleCount: film.sampleCount + 5000)
    expect(refusal(film, [pieces[0], long]), aboutPiece: 1, containing: "after the last")
    var mono = settings
    mono.channels = 1
    expect(refusal(film, [pieces[0], try film.audioPiece("mono", mono)]), aboutPiece: 1, containing: "1 channels")
  }

  @Test func `a task that does not fit its inputs is refused`() throws {
    let film = try Film([12])
    let pieces = try film.pieces()
    for wrong in [[], [pieces[0]], pieces + pieces] {
      guard case .task = try #require(refusal(film, wrong)).code else {
        Issue.record("\(wrong.count) pieces should give the code .task")
        continue
      }
    }
  }

  @Test func `a file that is not a piece is refused`() throws {
    let film = try Film([12], audio: nil)
    let noise = film.folder.path("noise")
    try Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }).write(
      to: URL(fileURLWithPath: noise))
    expect(refusal(film, [noise]), aboutPiece: 0, containing: "not a piece")
  }
}
