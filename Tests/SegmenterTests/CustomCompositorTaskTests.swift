import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// The tasks of segments that a compositor of the author's own makes.
struct CustomCompositorTaskTests {
  private let blinds = CustomCompositor(name: "blinds", parameters: #"{"stripes":3}"#)

  /// Two clips that overlap from `start` + 2 to `start` + 4, with the layers of an instruction from `start` to `start`
  /// + 6.
  private func tasks(
    start: Int64, metadata: [MetadataTrack]? = nil, _ layers: (MediaTimeRange) -> [Layer]
  ) throws -> [VideoTask] {
    let length = try Synthetic.range(0, 4)
    let tracks = [
      CompositionTrack(
        id: "A", type: .video,
        clips: [
          Synthetic.clip("before", use: try Synthetic.range(0, start), at: try Synthetic.range(0, start)),
          Synthetic.clip("a", use: length, at: try Synthetic.range(start, start + 4)),
        ].filter { !$0.target.isEmpty }),
      CompositionTrack(
        id: "B", type: .video, clips: [Synthetic.clip("b", use: length, at: try Synthetic.range(start + 2, start + 6))]),
    ]
    var edit = try Synthetic.edit(tracks: tracks, layers: [.track(TrackLayer(track: "A"))])
    func instruction(_ from: Int64, _ length: Int64, _ layers: [Layer]) throws -> Instruction {
      Instruction(over: try Synthetic.range(from, from + length), background: .black, layers: layers)
    }
    edit.metadata = metadata
    let over = try Synthetic.range(start + 2, start + 4)
    edit.videoComposition.instructions = [
      try instruction(0, start + 2, [.track(TrackLayer(track: "A"))]), try instruction(start + 2, 2, layers(over)),
      try instruction(start + 4, 2, [.track(TrackLayer(track: "B"))]),
    ]
    return try RenderPlanner.plan(
      edit,
      assets: Synthetic.assets([
        "a": Synthetic.film(frames: 200), "b": Synthetic.film(frames: 200),
        "before": Synthetic.film(frames: 2000),
      ])
    ).segments.map(\.task)
  }

  private func transition(_ over: MediaTimeRange) -> [Layer] {
    [
      .transition(
        TransitionLayer(
          from: TrackLayer(track: "A"), to: TrackLayer(track: "B"), progress: Ramp(over: over, from: 0, to: 1),
          style: TransitionStyle(.custom(blinds))))
    ]
  }

  private func instruction(_ over: MediaTimeRange) -> [Layer] {
    [
      .compositor(
        CompositorLayer(
          sources: [TrackLayer(track: "A"), TrackLayer(track: "B")], progress: Ramp(over: over, from: 0, to: 1),
          compositor: blinds))
    ]
  }

  @Test func `a transition has the same task wherever it is in the film`() throws {
    let first = try #require(tasks(start: 0, transition).first { !$0.compositors.isEmpty })
    let later = try #require(tasks(start: 20, transition).first { !$0.compositors.isEmpty })
    #expect(first == later)
    #expect(first.compositors == [blinds])
  }

  @Test func `an instruction has the time of the film`() throws {
    for start in [Int64(0), 20] {
      let task = try #require(tasks(start: start, instruction).first { !$0.compositors.isEmpty })
      let layer = try #require(task.spans.flatMap(\.layers).first { $0.customCompositor != nil })
      guard case .compositor(let planned) = layer else {
        Issue.record("\(layer)")
        continue
      }
      #expect(planned.sources.map(\.track) == ["A", "B"])
      #expect(try planned.filmStart + planned.progress.over.start == MediaTime(seconds: start + 2))
    }
  }

  /// A compositor's task has the values of its tracks that are shown, on its own clock, and is the same whatever they
  /// are elsewhere.
  @Test func `a task has the values of metadata within its segment alone`() throws {
    func track(_ start: Int64, _ id: TrackID = "speed", before: Double, after: Double) throws -> MetadataTrack {
      MetadataTrack(
        id: id,
        items: [
          TimedMetadata(over: try Synthetic.range(0, start + 1), .number(from: before, to: before)),
          TimedMetadata(over: try Synthetic.range(start + 1, start + 3), .text("now")),
          TimedMetadata(over: try Synthetic.range(start + 3, start + 9), .number(from: 0, to: 6)),
          TimedMetadata(over: try Synthetic.range(start + 9, start + 20), .number(from: after, to: after)),
        ])
    }
    for start in [Int64(0), 20] {
      var own = blinds
      own.metadata = ["speed"]
      func layers(_ over: MediaTimeRange) -> [Layer] {
        [
          .transition(
            TransitionLayer(
              from: TrackLayer(track: "A"), to: TrackLayer(track: "B"), progress: Ramp(over: over, from: 0, to: 1),
              style: TransitionStyle(.custom(own))))
        ]
      }
      let one = try tasks(
        start: start,
        metadata: [try track(start, before: 1, after: 2), try track(start, "other", before: 1, after: 2)], layers)
      let task = try #require(one.first { !$0.compositors.isEmpty })
      #expect(
        task.metadata == [
          MetadataTrack(
            id: "speed",
            items: [
              TimedMetadata(over: try Synthetic.range(0, 1), .text("now")),
              // All of its range, because each of its values depends on that.
              TimedMetadata(over: try Synthetic.range(1, 7), .number(from: 0, to: 6)),
            ])
        ])
      #expect(one.allSatisfy { ($0.metadata == nil) == $0.compositors.isEmpty })
      let two = try tasks(start: start, metadata: [try track(start, before: 8, after: 9)], layers)
      #expect(one == two)
    }
  }

  @Test func `what lies below a compositor is in the task`() throws {
    for layers in [transition, instruction] {
      let alone = try tasks(start: 0, layers)
      let over = try tasks(start: 0) { layers($0) + [.track(TrackLayer(track: "B"))] }
      #expect(alone != over)
    }
  }

  @Test func `the compositors of a build are read as they were written`() {
    let linked = LinkedCompositors([.init(name: "ripple", revision: 12), .init(name: "a.b-c", revision: 1)])
    #expect(linked.buildPart == ", compositors a.b-c:1 ripple:12")
    #expect(LinkedCompositors(build: "media 6, libraries-67" + linked.buildPart) == linked)
    #expect(LinkedCompositors(build: "media 6, libraries-67").list.isEmpty)
    #expect(LinkedCompositors([]).buildPart.isEmpty)
  }
}
