import CompositionModel
import RenderTasks
import Testing

@Suite struct DamageCounterTests {
  @Test func `a picture that two pieces show is counted once`() {
    func piece(_ sources: [Double], _ count: Int) -> ShownDamage {
      ShownDamage(tracks: [
        .init(
          digest: "aa", track: 1, type: .video, count: count,
          places: sources.enumerated().map { .init(source: $0.element, output: Double($0.offset)) })
      ])
    }
    var counter = DamageCounter(limit: 2)
    counter.add(piece([0.5, 0.75], 2), at: 10)
    counter.add(piece([0.75, 1, 2], 3), at: 20)
    // A piece that lists fewer than it counts.
    counter.add(piece([3], 8), at: 30)
    let track = counter.damage.tracks[0]
    #expect(counter.damage.tracks.count == 1)
    #expect(track.count == 12)
    #expect(track.places == [.init(source: 0.5, output: 10), .init(source: 0.75, output: 11)])
  }
}
