import CompositionModel
import Testing

@testable import RenderTasks
@testable import Segmenter

/// Where the sound of a long film is divided. A part is about 120 s long: 5,292,032 samples at 44.1 kHz.
@Suite struct SoundDivisionTests {
  private static let unit: Int64 = 5_292_032

  /// The parts of a film of clips, one after another, each of an asset of its own from its start on.
  /// - Parameter lengths: Of the clips, in seconds.
  private func parts(
    _ lengths: [Int64], bitDepth: Int? = nil, change: (inout Edit) throws -> Void = { _ in }
  ) throws -> (whole: AudioMixdown, parts: [AudioMixdown]) {
    var (clips, assets, start): ([Clip], [AssetID: AssetDescription], Int64) = ([], [:], 0)
    for (number, length) in lengths.enumerated() {
      let asset = AssetID("a\(number)")
      clips.append(
        Clip(
          asset: asset, sourceTrack: 1, source: try Synthetic.range(0, length),
          target: try Synthetic.range(start, start + length)))
      var film = try Synthetic.film(frames: Int(length) * 30)
      for track in film.tracks.indices { film.tracks[track].audio?.bitDepth = bitDepth }
      assets[asset] = film
      start += length
    }
    var edit = try Synthetic.edit(tracks: [CompositionTrack(id: "m", type: .audio, clips: clips)])
    edit.export.video = nil
    try change(&edit)
    let plan = try RenderPlanner.plan(edit, assets: Synthetic.assets(assets))
    #expect(plan.stitch.audioPartCount == plan.audioParts.count)
    return (try #require(plan.audio?.mixes.first), plan.audioParts.flatMap(\.mixes))
  }

  @Test func `parts follow one another on a grid, each with a run-up and what its encoder looks ahead at`() throws {
    // 600 s are 26,460,000 samples.
    let (whole, parts) = try parts(Array(repeating: 7, count: 85) + [5])
    #expect(parts.count == 5)
    #expect(parts.compactMap(\.part?.samples.lowerBound) == (0..<5).map { $0 * Self.unit })
    #expect(parts.compactMap(\.part?.samples.upperBound) == (1..<5).map { $0 * Self.unit } + [26_460_000])
    for (number, part) in parts.enumerated() {
      let own = try #require(part.part)
      #expect(own.origin == max(0, own.samples.lowerBound - 192 * 1024) && part.firstSample == own.origin)
      #expect(own.origin + part.sampleCount == min(whole.sampleCount, own.samples.upperBound + 8 * 1024))
      // The clips that are heard in it, and no others; each with its own source.
      let clips = part.tracks.flatMap(\.clips)
      let heard = Double(own.origin) / 44100..<Double(own.origin + part.sampleCount) / 44100
      let due = whole.tracks.flatMap(\.clips).filter {
        $0.targetRange.start.approximateSeconds < heard.upperBound
          && heard.lowerBound < $0.targetRange.end.approximateSeconds
      }
      #expect(clips.map(\.targetRange) == due.map(\.targetRange), "part \(number)")
      #expect(clips.map { part.sources[$0.source] } == due.map { whole.sources[$0.source] }, "part \(number)")
      #expect(part.sources.count == clips.count)
    }
  }

  @Test func `what follows leaves the parts before it as they are`() throws {
    let lengths: [Int64] = Array(repeating: 11, count: 40)
    let before = try parts(lengths).parts
    let after = try parts(lengths + [13, 90]).parts
    #expect(before.count == 4 && after.count == 5)
    #expect(Array(after.prefix(3)) == Array(before.prefix(3)))
    #expect(after[3] != before[3])
  }

  @Test func `parts of a long file that cannot be sought in exactly become longer, and of another they do not`() throws
  {
    func starts(_ bitDepth: Int?) throws -> [Int64] {
      try parts([3600], bitDepth: bitDepth).parts.compactMap { $0.part.map { $0.samples.lowerBound / Self.unit } }
    }
    #expect(try starts(16) == Array(0..<30))
    #expect(try starts(nil) == [0, 1, 2, 4, 7, 12, 20])
    // Clips of it as well, by where they are in the file.
    let later = try parts([900]) { edit in
      let clip = edit.composition.tracks[0].clips[0]
      edit.composition.tracks[0].clips[0].source = try Synthetic.range(3000, 3900)
      #expect(clip.target == edit.composition.tracks[0].clips[0].target)
    }.parts
    #expect(later.count == 1)
  }

  @Test func `a clip that is made from its first sample on is taken into account`() throws {
    func count(_ change: (inout Clip) throws -> Void) throws -> Int {
      try parts([1200], bitDepth: 24) { edit in try change(&edit.composition.tracks[0].clips[0]) }.parts.count
    }
    #expect(try count { _ in } == 10)
    #expect(try count { $0.audioFilters = [.lowPass(frequency: 900, q: 0.7)] } == 5)
    #expect(try count { $0.source = try Synthetic.range(0, 600) } == 5)
    #expect(
      try count {
        $0.source = try Synthetic.range(0, 600)
        $0.pitch = .varispeed
      } == 10)
  }

  @Test func `a sound that one encoder has to hear as a whole is not divided`() throws {
    let lengths: [Int64] = Array(repeating: 10, count: 60)
    #expect(try parts(lengths).parts.count == 5)
    for change: (inout Edit) -> Void in [
      { $0.export.audio?.codec = .opus }, { $0.export.audio?.codec = .flac },
      { $0.audioMix.loudness = LoudnessTarget(target: -16) },
      { $0.audioMix.filters["m"] = [.lowPass(frequency: 900, q: 0.7)] },
    ] {
      let (whole, parts) = try parts(lengths, change: change)
      #expect(parts == [whole] && whole.part == nil)
    }
    // Nor is a short one.
    #expect(try parts([89, 90]).parts.count == 1 && parts([90, 91]).parts.count == 2)
  }

  @Test func `a part of the composition is divided from its own start on`() throws {
    let (whole, parts) = try parts(Array(repeating: 10, count: 60)) {
      $0.export.timeRange = try Synthetic.range(100, 500)
    }
    #expect(whole.firstSample == 4_410_000 && parts.count == 3)
    #expect(parts.compactMap(\.part?.origin) == [0, Self.unit - 196_608, 2 * Self.unit - 196_608])
    #expect(parts.compactMap(\.firstSample) == parts.compactMap { $0.part.map { 4_410_000 + $0.origin } })
  }
}
