import CompositionModel
import Foundation
import Media
import Segmenter
import TestPrograms
import Testing

@testable import Stitcher

@Suite struct HostilePieceTests {
  /// Whom the stitcher blames for these pieces, and with what words.
  private func refusal(_ film: Film, _ pieces: [String], _ task: StitchTask? = nil) -> StitchError? {
    do {
      _ = try film.stitch(task ?? film.task(), pieces)
      return nil
    } catch {
      return error as? StitchError
    }
  }

  private func expect(_ error: StitchError?, blames piece: Int, saying words: String) {
    guard let error else {
      Issue.record("nothing was refused, where \(words) was expected")
      return
    }
    #expect(error.piece == piece)
    #expect(error.description.contains(words), "\(error)")
    if case .piece = error.code { return }
    Issue.record("\(error) is no fault of a piece")
  }

  @Test func aTruncatedPieceIsRefusedWhereverItEnds() throws {
    let film = try Film([12, 12], audio: nil)
    let pieces = try film.pieces()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: pieces[1]))
    let cut = film.folder.path("cut")
    for length in [0, 1, 10, bytes.count / 3, bytes.count / 2, bytes.count - 8, bytes.count - 1] {
      try bytes.prefix(length).write(to: URL(fileURLWithPath: cut))
      let error = try #require(refusal(film, [pieces[0], cut]))
      #expect(error.piece == 1)
      guard case .piece = error.code else {
        Issue.record("\(error) is no fault of a piece")
        continue
      }
    }
  }

  @Test func piecesInTheWrongOrderAreRefused() throws {
    let film = try Film([12, 20], audio: nil)
    let pieces = try film.pieces()
    expect(refusal(film, pieces.reversed()), blames: 0, saying: "12")
  }

  @Test func soundAndPicturesThatChangePlacesAreRefused() throws {
    let film = try Film([12])
    let pieces = try film.pieces()
    expect(refusal(film, pieces.reversed()), blames: 0, saying: "sound where pictures belong")
    expect(refusal(film, [pieces[0], pieces[0]]), blames: 1, saying: "pictures where the sound belongs")
  }

  @Test func otherParameterSetsAreRefused() throws {
    let film = try Film([12, 12], audio: nil)
    var other = film.video
    other.profile = "main"
    let stranger = try film.picturePiece("stranger", first: 12, count: 12, settings: other)
    expect(refusal(film, [try film.pieces()[0], stranger]), blames: 1, saying: "parameter sets")
  }

  @Test func otherSizesCodecsColoursAndCadencesAreRefused() throws {
    let film = try Film([12, 12], audio: nil)
    let first = try film.pieces()[0]
    let large = try film.picturePiece("large", first: 0, count: 12, size: PixelSize(width: 320, height: 96))
    expect(refusal(film, [first, large]), blames: 1, saying: "320x96")
    let lossless = try Film([12], codec: .ffv1, audio: nil)
    expect(refusal(film, [first, try lossless.pieces()[0]]), blames: 1, saying: "ffv1")
    var other = film.video
    other.colour = ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc")
    let strange = try film.picturePiece("strange", first: 0, count: 12, settings: other)
    expect(refusal(film, [first, strange]), blames: 1, saying: "bt2020")
    var task = film.task()
    task.pictures?.format.frameDuration = MediaTime(value: 1, timescale: 25)
    expect(refusal(film, [first, first], task), blames: 0, saying: "1001/30000")
  }

  /// A piece of the packets of another, after `change` has had its way with each.
  private func altered(
    _ film: Film, _ path: String, _ name: String, _ change: (Int, Packet) -> [Packet]
  ) throws -> String {
    let reader = try PieceReader(source: Film.source(path), name: path)
    return try film.write(name, reader.header) { piece in
      var index = 0
      while let packet = try reader.next() {
        for packet in change(index, packet) { try piece.write(packet) }
        index += 1
      }
    }
  }

  @Test func framesTooManyTooFewAndTwiceAreRefused() throws {
    let film = try Film([12, 12], audio: nil)
    let pieces = try film.pieces()
    func with(_ name: String, _ change: (Int, Packet) -> [Packet]) throws -> StitchError? {
      refusal(film, [pieces[0], try altered(film, pieces[1], name, change)])
    }
    expect(try with("few") { $0 == 11 ? [] : [$1] }, blames: 1, saying: "11 frames where its segment has 12")
    expect(try with("headless") { $0 == 0 ? [] : [$1] }, blames: 1, saying: "keyframe")
    expect(refusal(film, [pieces[0], try film.picturePiece("long", first: 0, count: 13)]), blames: 1, saying: "12")
    let twice = try with("twice") { index, packet in
      if index == 5 { packet.pts = 0 }
      return [packet]
    }
    expect(twice, blames: 1, saying: "frame 0 twice")
    let late = try with("late") { index, packet in
      packet.pts += 1
      return [packet]
    }
    expect(late, blames: 1, saying: "not frame 0")
    let backwards = try with("backwards") { index, packet in
      if index == 5 { packet.dts -= 3 }
      return [packet]
    }
    expect(backwards, blames: 1, saying: "decoding time")
  }

  @Test func soundWithAGapOrOfAnotherLengthIsRefused() throws {
    let film = try Film([30])
    let pieces = try film.pieces()
    let gap = try altered(film, pieces[1], "gap") { $0 == 3 ? [] : [$1] }
    expect(refusal(film, [pieces[0], gap]), blames: 1, saying: "ended at")
    let settings = try #require(film.audio)
    let short = try film.soundPiece("short", settings, sampleCount: film.sampleCount - 5000)
    expect(refusal(film, [pieces[0], short]), blames: 1, saying: "before the film's")
    let long = try film.soundPiece("long", settings, sampleCount: film.sampleCount + 5000)
    expect(refusal(film, [pieces[0], long]), blames: 1, saying: "after the last")
    var mono = settings
    mono.channels = 1
    expect(refusal(film, [pieces[0], try film.soundPiece("mono", mono)]), blames: 1, saying: "1 channels")
  }

  @Test func aTaskThatDoesNotFitItsInputsIsRefused() throws {
    let film = try Film([12])
    let pieces = try film.pieces()
    for wrong in [[], [pieces[0]], pieces + pieces] {
      guard case .task = try #require(refusal(film, wrong)).code else {
        Issue.record("\(wrong.count) pieces were no fault of the task")
        continue
      }
    }
  }

  @Test func anythingElseThanAPieceIsRefused() throws {
    let film = try Film([12], audio: nil)
    let noise = film.folder.path("noise")
    try Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }).write(
      to: URL(fileURLWithPath: noise))
    expect(refusal(film, [noise]), blames: 0, saying: "no piece")
  }
}
