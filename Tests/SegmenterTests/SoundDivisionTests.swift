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
      var film = try Synthetic.film(frames: 90)
      for track in film.tracks.indices { film.tracks[track].audio?.bitDepth = bitDepth }
      assets[asset] = film
      start += length
    }
    var edit = try Synthetic.edit(tracks: [CompositionTrack(id: "m", type: .audio, clips: clips)])
    edit.export.video = nil
    try change(&edit)
    let plan = try RenderPlanner.plan(edit, assets: Synthetic.assets(assets))
    #expect(plan.stitch.audioPackageCount == plan.audioTasks.count)
    return (try #require(plan.audio?.mixes.first), plan.audioTasks.flatMap(\.mixes))
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

  @Test func `no part begins far inside a clip that is made from its first sample on`() throws {
    func starts(_ lengths: [Int64], _ change: (inout Clip) throws -> Void) throws -> [Int64] {
      try parts(lengths, bitDepth: 24) { edit in try change(&edit.composition.tracks[0].clips[0]) }.parts.compactMap {
        $0.part.map { $0.samples.lowerBound / Self.unit }
      }
    }
    let half = try Synthetic.range(0, 300)
    #expect(try starts([600]) { _ in } == [0, 1, 2, 3, 4])
    #expect(try starts([600]) { $0.audioFilters = [.lowPass(frequency: 900, q: 0.7)] } == [])
    #expect(try starts([600]) { $0.source = half } == [])
    #expect(
      try starts([600]) {
        $0.source = half
        $0.pitch = .varispeed
      } == [0, 1, 2, 3, 4])
    // After it, and where it ends in what the encoder hears before the part.
    for (length, due) in [(340, [0, 3, 4]), (358, [0, 4])] as [(Int64, [Int64])] {
      let found = try starts([length, 600 - length]) { $0.source = try Synthetic.range(0, length / 2) }
      #expect(found == due, "\(length)")
    }
  }

  @Test func `outputs have the parts that they have alone, whatever there is beside them`() throws {
    func output(_ name: String, _ codec: AudioCodec, _ rate: Int, _ bitRate: Int) throws -> EditOutput {
      var export = try Synthetic.edit(tracks: []).export
      export.video = nil
      export.audio = AudioSettings(codec: codec, bitRate: bitRate, sampleRate: rate, channels: 2)
      export.container = codec == .opus ? .mkv : .m4a
      return EditOutput(name: name, export: export, captions: nil)
    }
    func plan(_ outputs: [EditOutput]) throws -> RenderPlan {
      let range = try Synthetic.range(0, 25_200)
      var edit = try Synthetic.edit(tracks: [
        CompositionTrack(
          id: "m", type: .audio, clips: [Clip(asset: "a", sourceTrack: 1, source: range, target: range)])
      ])
      edit.export = outputs[0].export
      edit.outputs = outputs
      var film = try Synthetic.film(frames: 90)
      for track in film.tracks.indices { film.tracks[track].audio?.bitDepth = 16 }
      return try RenderPlanner.plan(edit, assets: Synthetic.assets(["a": film]))
    }
    // Parts of 119.63 and of 120.15 s.
    let outputs = try [
      output("a", .aac, 11025, 32000), output("b", .opus, 48000, 64000), output("c", .aac, 12000, 32000),
      output("d", .aac, 11025, 24000), output("e", .aac, 48000, 64000),
    ]
    let together = try plan(outputs)
    for (number, output) in outputs.enumerated() {
      let alone = try plan([output])
      let (found, own) = (together.stitch.outputs[number], alone.stitch.outputs[0])
      let packages = found.soundPackages ?? 0..<1
      #expect(packages.count == alone.audioTasks.count && found.file.audio == own.file.audio)
      for (package, task) in zip(packages, alone.audioTasks) {
        let encoders = together.audioTasks[package].encoders
        #expect(encoders[found.sound ?? -1] == task.encoders[0])
        let mix = try #require(together.audioTasks[package].mixes.first { $0.isMix(of: task.encoders[0]) })
        #expect(mix.part == task.mixes[0].part && mix.tracks == task.mixes[0].tracks)
      }
    }
    #expect(together.audioTasks.count == 211 + 210 + 210 + 1)
  }

  @Test func `a film of any length has no more than 500 parts`() throws {
    let parts = try parts([500_000], bitDepth: 16).parts
    #expect(parts.count == 463)
    #expect(parts.allSatisfy { ($0.part?.samples.lowerBound ?? 1) % Self.unit == 0 })
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
