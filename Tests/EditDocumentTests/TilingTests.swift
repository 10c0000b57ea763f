import CompositionModel
import EditDocument
import TestEdits
import TestPrograms
import Testing

/// Random documents, whose instructions are compared with the documents at many single times.
@Suite struct TilingTests {
  private struct WrittenClip {
    var start: Int
    var length: Int
  }

  /// Times are in sevenths of a second.
  private func someDocument(_ random: inout SeededRandom) -> (text: String, tracks: [[WrittenClip]]) {
    var tracks: [[WrittenClip]] = []
    var texts: [String] = []
    for number in 0..<Int.random(in: 1...4, using: &random) {
      var clips: [WrittenClip] = []
      var end = 0
      for _ in 0..<Int.random(in: number == 0 ? 1...6 : 0...6, using: &random) {
        let start = end + max(0, Int.random(in: -2...5, using: &random))
        clips.append(WrittenClip(start: start, length: Int.random(in: 1...9, using: &random)))
        end = start + clips[clips.count - 1].length
      }
      tracks.append(clips)
      let written = clips.map {
        "{\"asset\": \"v\", \"use\": \"0+\($0.length)/7\", \"at\": \"\($0.start)/7\", \"opacity\": 0.5}"
      }
      texts.append("{\"id\": \"\(number)\", \"clips\": [\(written.joined(separator: ", "))]}")
    }
    return (documentText(tracks: "[\(texts.joined(separator: ", "))]"), tracks)
  }

  @Test func `instructions tile the film and show the document's clips`() throws {
    var random = SeededRandom(seed: 8)
    for _ in 0..<150 {
      let (text, tracks) = someDocument(&random)
      let edit = try lowered(text)
      let instructions = edit.videoComposition.instructions
      #expect(instructions.first?.over.start == .zero && instructions.last?.over.end == edit.composition.duration)
      for (before, after) in zip(instructions, instructions.dropFirst()) {
        #expect(before.over.end == after.over.start)
      }
      #expect(instructions.allSatisfy { !$0.over.isEmpty })
      let end = tracks.flatMap { $0 }.map { $0.start + $0.length }.max() ?? 0
      #expect(edit.composition.duration == MediaTime(value: Int64(end), timescale: 7))
      for moment in 0..<end * 2 {
        let time = MediaTime(value: Int64(moment), timescale: 14)
        let showing = instructions.filter { $0.over.contains(time) }
        let expected = tracks.indices.filter { track in
          tracks[track].contains { $0.start * 2 <= moment && moment < ($0.start + $0.length) * 2 }
        }
        #expect(showing.count == 1)
        let layers = showing.flatMap(\.layers).map { layer in
          if case .track(let layer) = layer { layer.track } else { "?" }
        }
        #expect(layers == expected.map(String.init), "\(text) at \(time)")
      }
      // No instruction spans two clips of a track that it shows.
      for instruction in instructions {
        for track in edit.composition.tracks {
          let clips = track.clips.filter {
            $0.target.start < instruction.over.end && instruction.over.start < $0.target.end
          }
          #expect(clips.count <= 1 && clips.allSatisfy { $0.target.contains(instruction.over) })
        }
      }
    }
  }

  @Test func `transitions show both tracks for all of their range`() throws {
    var random = SeededRandom(seed: 9)
    for _ in 0..<100 {
      let overlap = Int.random(in: 1...6, using: &random)
      let start = Int.random(in: 0..<overlap, using: &random)
      let end = Int.random(in: start + 1...overlap, using: &random)
      let text = documentText(
        tracks: """
          [{"id": "A", "clips": [{"asset": "v", "use": "0..\(10 + overlap)/7"}]},
           {"id": "B", "clips": [{"asset": "w", "use": "0..3", "at": "10/7"}]}]
          """,
        "\"videoComposition\": {\"transitions\": [{\"from\": \"A\", \"to\": \"B\", \"over\": \"\(10 + start)/7..\(10 + end)/7\"}]}"
      )
      let edit = try lowered(text)
      let over = try MediaTimeRange(
        start: MediaTime(value: Int64(10 + start), timescale: 7), end: MediaTime(value: Int64(10 + end), timescale: 7))
      let instructions = edit.videoComposition.instructions
      for instruction in instructions {
        let isMixed = instruction.layers.contains { if case .transition = $0 { true } else { false } }
        #expect(isMixed == over.contains(instruction.over))
        if !isMixed { #expect(try over.intersection(instruction.over) == nil) }
      }
      #expect(instructions.first?.over.start == .zero && instructions.last?.over.end == edit.composition.duration)
      for (before, after) in zip(instructions, instructions.dropFirst()) {
        #expect(before.over.end == after.over.start)
      }
    }
  }
}
