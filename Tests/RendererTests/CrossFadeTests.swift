import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

/// Cross-fades between two lanes of a track.
@Suite struct CrossFadeTests {
  private func ramp(_ start: Int64, _ end: Int64, _ from: Double, _ to: Double) throws -> Ramp {
    Ramp(
      over: try MediaTimeRange(start: MediaTime(start, 2), end: MediaTime(end, 2)), from: from, to: to)
  }

  /// The same samples on both lanes: the volumes add up to 1, so that the mix is the samples themselves, and the volume
  /// of the track applies to both.
  @Test(arguments: [1.0, 0.71, 0.3125])
  func `both volumes add up to one`(volume: Double) throws {
    let fixture = try AudioFixture()
    let path = fixture.folder.path("noise.wav")
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "anoisesrc=r=44100:d=3:a=0.4:seed=3", "-c:a", "pcm_s16le", path])
    let source = try AudioFixture.planned(path)
    func track(_ start: Int64, _ end: Int64, _ fades: [Ramp]) throws -> PlannedAudioTrack {
      let range = try MediaTimeRange(start: MediaTime(start, 2), end: MediaTime(end, 2))
      return PlannedAudioTrack(
        volume: try .constant(volume), fades: RampList(fades),
        clips: [PlannedAudioClip(source: 0, sourceRange: range, targetRange: range)])
    }
    let task = AudioMixdown(
      encoder: AudioFixture.pcm(44100, 1), sampleCount: 3 * 44100,
      tracks: [
        try track(0, 4, [ramp(1, 4, 1, 0)]), try track(1, 6, [ramp(1, 4, 0, 1)]),
      ], sources: [source])
    let mixed = try fixture.render(task)
    let samples = try Tool.ffmpeg(["-i", path, "-f", "s16le", "-"]).samples(Int16.self)
    #expect(mixed.count == samples.count)
    let worst = zip(mixed, samples).map { abs(Double($0) - Double($1) * volume) }.max() ?? .infinity
    #expect(worst <= 0.51)
    // One lane alone has the ramp's volume.
    var alone = task
    alone.tracks.removeLast()
    let faded = try fixture.render(alone)
    for index in stride(from: 22050, to: 88200, by: 997) {
      let gain = 1 - Double(index - 22050) / 66150
      #expect(abs(Double(faded[index]) - Double(samples[index]) * gain * volume) <= 0.51)
    }
    #expect(faded[88200...].allSatisfy { $0 == 0 })
  }

  /// The volume of a clip, of the fades and of the track are multiplied.
  @Test func `a clip has a volume of its own`() throws {
    let fixture = try AudioFixture()
    let path = fixture.folder.path("noise.wav")
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "anoisesrc=r=44100:d=3:a=0.4:seed=5", "-c:a", "pcm_s16le", path])
    func clip(_ start: Int64, _ end: Int64, _ volume: RampList?) throws -> PlannedAudioClip {
      let range = try MediaTimeRange(start: MediaTime(start, 2), end: MediaTime(end, 2))
      var clip = PlannedAudioClip(source: 0, sourceRange: range, targetRange: range)
      clip.volume = volume
      return clip
    }
    let task = AudioMixdown(
      encoder: AudioFixture.pcm(44100, 1), sampleCount: 3 * 44100,
      tracks: [
        PlannedAudioTrack(
          volume: try .constant(0.75), fades: RampList([try ramp(0, 6, 1, 0.5)]),
          clips: [
            try clip(0, 2, nil), try clip(2, 3, try .constant(0.3)), try clip(3, 6, RampList([try ramp(4, 5, 1, 2)])),
          ])
      ], sources: [try AudioFixture.planned(path)])
    let mixed = try fixture.render(task)
    let samples = try Tool.ffmpeg(["-i", path, "-f", "s16le", "-"]).samples(Int16.self)
    #expect(mixed.count == samples.count)
    var worst = 0.0
    for index in samples.indices {
      let time = Double(index) / 22050
      let own = time < 2 ? 1 : time < 3 ? 0.3 : time < 4 ? 1 : time < 5 ? time - 3 : 2
      let right = min(32767, max(-32768, Double(samples[index]) * 0.75 * (1 - time / 12) * own))
      worst = max(worst, abs(Double(mixed[index]) - right))
    }
    #expect(worst <= 0.52)
  }
}
