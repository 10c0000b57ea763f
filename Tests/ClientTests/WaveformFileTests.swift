import Client
import FarmAPI
import Foundation
import SystemSupport
import TestPrograms
import Testing

/// Which files a waveform is made of, and how many points it may have.
@Suite struct WaveformFileTests {
  /// A WAVE file. A chunk that is nil is left out.
  private func wave(
    channels: Int = 1, rate: Int = 8000, bits: Int = 24, type: String = "WAVE", hasFormat: Bool = true,
    samples: Int? = 8000
  ) -> Data {
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    var bytes = Array("RIFF".utf8) + number(0, 4) + Array(type.utf8)
    if hasFormat {
      bytes += Array("fmt ".utf8) + number(16, 4) + number(1, 2) + number(channels, 2) + number(rate, 4)
      bytes += number(rate * channels * bits / 8, 4) + number(channels * bits / 8, 2) + number(bits, 2)
    }
    if let samples {
      let size = samples * channels * bits / 8
      bytes += Array("data".utf8) + number(size, 4) + [UInt8](repeating: 0, count: size)
    }
    return Data(bytes)
  }

  private func waveform(_ data: Data, _ resolution: WaveformData.Resolution = .points(10)) throws -> WaveformData {
    let folder = try TemporaryFolder()
    try data.write(to: folder.url.appendingPathComponent("a.wav"))
    return try WaveformData(OpenFile.open(folder.path("a.wav")), resolution)
  }

  @Test func `a file that is no sound of 24 bits is refused`() throws {
    #expect(try waveform(wave()).rms.count == 10)
    let wrong: [(Data, String)] = [
      (Data(), "no WAVE file"), (Data("RIFF".utf8), "no WAVE file"), (wave(type: "AVI "), "no WAVE file"),
      (wave(hasFormat: false), "no format"), (wave(samples: nil), "no samples"),
      (wave(channels: 0, samples: 0), "0 channels"), (wave(rate: 0), "0 Hz"), (wave(bits: 16), "16 bits"),
      (Data(wave(samples: nil).prefix(30)), "no samples"),
    ]
    for (data, words) in wrong {
      let error = #expect(throws: CommandFailure.self) { try waveform(data, .rate(10)) }
      #expect(error?.message.contains(words) == true, "\(error?.message ?? "nothing") should say \(words)")
    }
  }

  @Test func `more than a million points are refused and not left out`() throws {
    let sound = wave(samples: 20 * 8000)
    #expect(try waveform(sound, .rate(10)).max.count == 200)
    let error = #expect(throws: CommandFailure.self) { try waveform(sound, .rate(100_000)) }
    #expect(error?.code == .document)
    #expect(error?.message.contains("2000000 points") == true && error?.message.contains("50000.0 a second") == true)
  }
}
