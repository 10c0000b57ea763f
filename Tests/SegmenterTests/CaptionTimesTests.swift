import TestPrograms
import Testing

@testable import RenderTasks

/// Which captions decide the places of those that are shown.
@Suite struct CaptionTimesTests {
  private typealias Caption = CaptionTimes.Caption

  @Test func `captions that overlap the shown ones, and those that overlap these, are connected`() {
    let captions = [(0, 4), (3, 7), (5, 6), (8, 12), (11, 14), (20, 25)].map {
      Caption(start: $0.0, end: $0.1, isPlacedFreely: true)
    }
    let times = CaptionTimes(captions)
    #expect(times.connected(from: 13, through: 13) == [3, 4])
    #expect(times.connected(from: 6, through: 6) == [0, 1])
    #expect(times.connected(from: 5, through: 5) == [0, 1, 2])
    #expect(times.connected(from: 4, through: 8) == [0, 1, 2, 3])
    #expect(times.connected(from: 7, through: 7) == [] && times.connected(from: 14, through: 19) == [])
  }

  @Test func `a caption with a place of its own connects nothing`() {
    let times = CaptionTimes([
      Caption(start: 0, end: 4, isPlacedFreely: true), Caption(start: 2, end: 9, isPlacedFreely: false),
      Caption(start: 8, end: 10, isPlacedFreely: true),
    ])
    #expect(times.connected(from: 8, through: 8) == [1, 2])
    #expect(times.connected(from: 9, through: 9) == [2])
    #expect(times.connected(from: 3, through: 3) == [0, 1])
  }

  /// Each caption on its own, without an order to stop at.
  private func plain(_ captions: [Caption], _ first: Int64, _ last: Int64) -> [Int] {
    let started = captions.indices.filter { captions[$0].start <= last }
    guard started.contains(where: { captions[$0].end > first }) else { return [] }
    var from = first
    var found: [Int] = []
    for index in started.reversed() where captions[index].end > from {
      guard captions[index].end > first || captions[index].isPlacedFreely else { continue }
      found.insert(index, at: 0)
      if captions[index].isPlacedFreely { from = min(from, captions[index].start) }
    }
    return found
  }

  @Test func `random captions are connected as a plain search finds`() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<300 {
      let starts = (0..<Int.random(in: 0...12, using: &random)).map { _ in Int64.random(in: 0...40, using: &random) }
      let captions = starts.sorted().map {
        Caption(
          start: $0, end: $0 + Int64.random(in: 1...9, using: &random), isPlacedFreely: Bool.random(using: &random))
      }
      let times = CaptionTimes(captions)
      for first in Int64(0)...50 {
        let last = first + Int64.random(in: 0...5, using: &random)
        #expect(times.connected(from: first, through: last) == plain(captions, first, last))
      }
    }
  }
}
