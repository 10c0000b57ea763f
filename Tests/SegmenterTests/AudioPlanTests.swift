import CompositionModel
import Foundation
import Testing

@testable import RenderTasks
@testable import Segmenter

struct AudioPlanTests {
  @Test
  func `the audio task has every audio clip, each source once, and the film's length in samples`() throws {
    func clip(_ asset: AssetID, _ start: Int64, _ end: Int64) throws -> Clip {
      Clip(
        asset: asset, sourceTrack: 1, source: try Synthetic.range(0, end - start),
        target: try Synthetic.range(start, end))
    }
    var edit = try Synthetic.edit(tracks: [
      CompositionTrack(id: "A.sound", type: .audio, clips: [try clip("a", 0, 2), try clip("b", 2, 5)]),
      CompositionTrack(id: "music", type: .audio, clips: [try clip("a", 0, 7)]),
    ])
    let ramp = Ramp(over: try Synthetic.range(0, 2), from: 0, to: 0.8)
    edit.audioMix.volumes["music"] = RampList([ramp])
    let film = try Synthetic.film(frames: 300)
    let assets = Synthetic.assets(["a": film, "b": film])
    let audio = try #require(try RenderPlanner.plan(edit, assets: assets).audio?.mixes.first)
    #expect(audio.sampleCount == 7 * 44100)
    #expect(audio.sources.map(\.digest) == ["digest of a", "digest of b"])
    #expect(audio.tracks.map { $0.clips.map(\.source) } == [[0, 1], [0]])
    #expect(audio.tracks.map(\.volume) == [.one, RampList([ramp])])
  }

  @Test
  func `an export without audio or without video has no task for it`() throws {
    let whole = try Synthetic.range(0, 4)
    var edit = try Synthetic.edit(tracks: [
      CompositionTrack(id: "A", type: .video, clips: [Synthetic.clip("a", use: whole, at: whole)])
    ])
    let assets = Synthetic.assets(["a": try Synthetic.film(frames: 120)])
    edit.export.audio = nil
    #expect(try RenderPlanner.plan(edit, assets: assets).audio == nil)
    #expect(try RenderPlanner.plan(edit, assets: assets).stitch.main.file.audio == nil)
    edit.export.video = nil
    let plan = try RenderPlanner.plan(edit, assets: assets)
    #expect(plan.segments.isEmpty && plan.stitch.main.file.video == nil && plan.format == nil)
  }

  @Test
  func `a task without effects is the JSON that it was before there were any`() throws {
    let whole = try Synthetic.range(0, 4)
    var edit = try Synthetic.edit(tracks: [
      CompositionTrack(
        id: "m", type: .audio, clips: [Clip(asset: "a", sourceTrack: 1, source: whole, target: whole)])
    ])
    let assets = Synthetic.assets(["a": try Synthetic.film(frames: 120)])
    func keys() throws -> String {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return String(decoding: try encoder.encode(RenderPlanner.plan(edit, assets: assets).audio), as: UTF8.self)
    }
    let plain = try keys()
    for key in ["pitch", "pan", "filters", "ducking", "lanes", "loudness"] { #expect(!plain.contains("\"\(key)\"")) }
    // The pitch of a clip at its own speed is heard nowhere.
    edit.composition.tracks[0].clips[0].pitch = .varispeed
    #expect(try keys() == plain)
    edit.audioMix.loudness = LoudnessTarget(target: -16)
    #expect(try keys() != plain)
  }

  @Test
  func `the lanes of a track with filters are one track, and ducking names the track it listens to`() throws {
    func track(_ id: TrackID, _ start: Int64) throws -> CompositionTrack {
      let range = try Synthetic.range(start, start + 4)
      return CompositionTrack(
        id: id, type: .audio, clips: [Clip(asset: "a", sourceTrack: 1, source: range, target: range)])
    }
    var edit = try Synthetic.edit(tracks: [try track("m", 0), try track("m.B", 3), try track("v", 0)])
    edit.audioMix.lanes = ["m.B": "m"]
    let assets = Synthetic.assets(["a": try Synthetic.film(frames: 600)])
    #expect(try RenderPlanner.plan(edit, assets: assets).audio?.mixes[0].tracks.count == 3)
    edit.audioMix.filters["m"] = [.highPass(frequency: 100, q: 0.7)]
    edit.audioMix.ducking["m"] = Ducking(under: "v", levels: DuckingLevels())
    let tracks = try #require(try RenderPlanner.plan(edit, assets: assets).audio?.mixes.first).tracks
    #expect(tracks.count == 2)
    #expect(tracks[0].lanes?.count == 1)
    #expect(tracks[0].filters?.count == 1)
    #expect(tracks[0].ducking?.under == 1)
  }

  @Test
  func `a part has the clips before it if what is heard depends on them, and no others`() throws {
    func clip(_ asset: AssetID, _ start: Int64, _ end: Int64) throws -> Clip {
      let range = try Synthetic.range(start, end)
      return Clip(asset: asset, sourceTrack: 1, source: range, target: range)
    }
    var edit = try Synthetic.edit(tracks: [
      CompositionTrack(id: "m", type: .audio, clips: [try clip("a", 0, 2), try clip("b", 2, 5), try clip("c", 5, 7)])
    ])
    edit.export.timeRange = try Synthetic.range(3, 4)
    let film = try Synthetic.film(frames: 300)
    let assets = Synthetic.assets(["a": film, "b": film, "c": film])
    func sources() throws -> [String] {
      let task = try #require(try RenderPlanner.plan(edit, assets: assets).audio?.mixes.first)
      #expect(task.firstSample == 3 * 44100 && task.sampleCount == 44100)
      return task.sources.map(\.digest)
    }
    #expect(try sources() == ["digest of b"])
    // Filters of clips begin with each clip; that of the one before and of the one after are not heard.
    let filters = [AudioFilter.highPass(frequency: 100, q: 0.7)]
    for index in 0..<3 { edit.composition.tracks[0].clips[index].audioFilters = filters }
    #expect(try sources() == ["digest of b"])
    // Those of a track without a clip, and ducking under it, change nothing.
    edit.composition.tracks.append(CompositionTrack(id: "none", type: .audio, clips: []))
    edit.audioMix.filters["none"] = filters
    #expect(try sources() == ["digest of b"])
    edit.audioMix.filters["m"] = filters
    #expect(try sources() == ["digest of a", "digest of b"])
  }
}
