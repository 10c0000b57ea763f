import Foundation
import TestPrograms
import Testing

/// *Waveform*: what `sheaf waveform` writes is what `ffmpeg` decodes.
@Suite(.ownThreads) struct WaveformTests {
  private struct Waveform: Decodable {
    var sampleRate: Int
    var channels: Int
    var samples: Int
    var min: [Double]
    var max: [Double]
    var rms: [Double]
  }

  private func waveform(_ arguments: String...) async throws -> Waveform {
    let result = try await Command(
      executable: Place.products.appendingPathComponent("sheaf").path, arguments: ["waveform"] + arguments
    ).run()
    #expect(result.status == 0, "\(result.errors)")
    return try JSONDecoder().decode(Waveform.self, from: Data(result.output.utf8))
  }

  @Test
  func `the waveform of a file, of a track and of the mix have the peaks of their samples`() async throws {
    let work = try Workspace()
    defer { work.remove() }
    let (music, voice) = (work.path("music.wav"), work.path("voice.wav"))
    for (path, sound) in [
      (music, "aevalsrc='0.4*t*sin(2*PI*50*t)|0.1*sin(2*PI*60*t)':s=44100:d=2"),
      (voice, "aevalsrc='if(gte(t,1)*lt(t,1.5),0.25,0)|0':s=44100:d=2"),
    ] {
      let made = try await Command(
        executable: "ffmpeg", arguments: ["-v", "error", "-y", "-f", "lavfi", "-i", sound, "-c:a", "pcm_s16le", path]
      ).run()
      #expect(made.status == 0)
    }
    let store = work.path("store")
    let file = try await waveform(music, "--points", "8", "--store", store)
    #expect(file.sampleRate == 44100 && file.channels == 2 && file.samples == 88200)
    #expect(file.min.count == 8 && file.max.count == 8 && file.rms.count == 8)
    for point in 0..<8 {
      // A period of 50 Hz is much shorter than a point: the highest sample is near the point's end.
      let highest = 0.4 * Double(point + 1) / 4
      #expect(abs(file.max[point] - Swift.max(highest, 0.1)) < 0.01, "point \(point): \(file.max[point])")
      #expect(abs(file.min[point] + file.max[point]) < 0.012)
    }
    let edit = try work.write(
      """
      { "sheaf": 1, "assets": { "m": "\(music)", "v": "\(voice)" },
        "tracks": [ { "id": "music", "type": "audio", "clips": [ { "asset": "m" } ] },
                    { "id": "voice", "type": "audio", "clips": [ { "asset": "v" } ] } ],
        "audioMix": { "music": 0, "voice": 2 } }
      """, to: "edit.json")
    let mix = try await waveform(edit, "--rate", "2", "--store", store)
    #expect(mix.max == [0, 0, 0.5, 0])
    #expect(abs(mix.rms[2] - 0.5 / 2.0.squareRoot()) < 1e-6)
    let track = try await waveform(edit, "--track", "voice", "--points", "4", "--store", store)
    #expect(track.max == mix.max && track.rms == mix.rms)
    // A file that is there is replaced as a whole: its other name keeps what it was.
    let output = try work.write("before", to: "out.json")
    try FileManager.default.linkItem(atPath: output, toPath: work.path("other.json"))
    let replaced = try await Command.sheaf("waveform", music, "--points", "8", "-o", output, "--store", store).run()
    #expect(replaced.status == 0)
    #expect(try String(contentsOfFile: work.path("other.json"), encoding: .utf8) == "before")
    let written = try JSONDecoder().decode(Waveform.self, from: Data(contentsOf: URL(fileURLWithPath: output)))
    #expect(written.max == file.max)
    let wrong = try await Command.sheaf("waveform", edit, "--track", "choir", "--store", store).run()
    #expect(wrong.status == 65 && wrong.errors.contains("no audio track 'choir'; declared are 'music', 'voice'"))
  }

  private static let layouts: [(Int, String)] = [
    (1, "mono"), (2, "stereo"), (3, "2.1"), (4, "4.0"), (5, "5.0(side)"), (6, "hexagonal"), (7, "6.1"),
    (8, "octagonal"),
  ]

  /// The oracle is arithmetic: each channel is one value, above zero, so that a silent or mixed channel changes a peak.
  @Test(arguments: layouts.spread(3))
  func `the waveform of a file has its own channels, whatever speakers they are for`(
    channels: Int, layout: String
  ) async throws {
    let work = try Workspace()
    defer { work.remove() }
    let values = (1...channels).map { Double($0 % 3 + 1) / 8 }
    let sounds = values.map { "\($0)" }.joined(separator: "|")
    let (file, store) = (work.path("sound.wav"), work.path("store"))
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "aevalsrc='\(sounds)':c=\(layout):s=48000:d=0.1", "-c:a",
      "pcm_s24le", file)
    let waveform = try await waveform(file, "--points", "3", "--store", store)
    #expect(waveform.channels == channels && waveform.samples == 4800)
    #expect(waveform.min == Array(repeating: values.min() ?? 0, count: 3))
    #expect(waveform.max == Array(repeating: values.max() ?? 0, count: 3))
    let rms = (values.reduce(0) { $0 + $1 * $1 } / Double(channels)).squareRoot()
    #expect(waveform.rms.allSatisfy { abs($0 - rms) < 1e-6 }, "\(waveform.rms) should be \(rms)")
  }
}
