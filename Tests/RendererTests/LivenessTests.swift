import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// While progress stands still, movement shows that a task works.
@Suite struct LivenessTests {
  private static let size = PixelSize(width: 160, height: 96)

  /// The count at each report of progress, and at the end.
  private func counts(_ task: VideoTask, _ fixture: VideoFixture) throws -> (atProgress: [UInt64], atEnd: UInt64) {
    let liveness = Liveness()
    var counts: [UInt64] = []
    let file = try fixture.folder.create("piece")
    try VideoRenderer.render(task, inputs: fixture.inputs, to: file.fileDescriptor, liveness: liveness) { _ in
      counts.append(liveness.count)
    }
    return (counts, liveness.count)
  }

  @Test func `every packet of an encoder that is emptied moves`() throws {
    var fixture = try VideoFixture()
    let source = try fixture.make("pattern.mp4", ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=30:d=1"])
    var task = fixture.task([.clip(try fixture.clip(source))], size: Self.size)
    // It looks 40 frames ahead, so all 30 packets come after the last frame went in.
    task.encoder = VideoSettings(
      codec: .h264, rateControl: .quality(23), preset: "medium", profile: nil, keyframeInterval: 30,
      pixelFormat: .yuv420p, colour: ColourTags())
    let (atProgress, atEnd) = try counts(task, fixture)
    #expect(atProgress.count == 30)
    #expect(atEnd - (atProgress.last ?? 0) >= 30)
  }

  @Test func `every picture on the way to the first frame moves`() throws {
    var fixture = try VideoFixture()
    let source = try fixture.make(
      "pattern.mp4", ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=30:d=5", "-g", "250", "-c:v", "libx264", "-bf", "0"])
    let clip = try fixture.clip(source, from: MediaTime(seconds: 4), frames: 0..<10)
    let task = fixture.task([.clip(clip)], size: Self.size, frameCount: 10)
    // Without B-frames 120 pictures are decoded before the first one that is shown, and so are their packets read.
    #expect(try #require(try counts(task, fixture).atProgress.first) >= 240)
  }

  @Test func `samples that are decoded before the first one that is heard move`() throws {
    let fixture = try AudioFixture()
    let path = fixture.folder.path("tone.m4a")
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "sine=d=30:r=44100", "-c:a", "aac", path])
    let source = try AudioFixture.planned(path)
    // AAC is decoded from the head of the file: about 1,250 packets of 1,024 samples.
    let range = try AudioFixture.range(MediaTime(seconds: 29), MediaTime(seconds: 30))
    let clip = PlannedAudioClip(
      source: 0, sourceRange: range, targetRange: try MediaTimeRange(start: .zero, duration: range.duration))
    let task = AudioMixdown(
      encoder: AudioSettings(codec: .pcm, bitRate: nil, sampleRate: 44100, channels: 1), sampleCount: 44100,
      tracks: [PlannedAudioTrack(volume: .one, clips: [clip])], sources: [source])
    let liveness = Liveness()
    var first: UInt64?
    let file = try fixture.folder.create("piece")
    try AudioRenderer.render(
      AudioTask(mixes: [task]), inputs: [source.digest: openSource(path)], to: file.fileDescriptor, liveness: liveness
    ) { _ in first = first ?? liveness.count }
    #expect(try #require(first) >= 2400)
  }
}
