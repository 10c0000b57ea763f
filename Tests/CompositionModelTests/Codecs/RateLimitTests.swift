import TestEdits
import Testing

@testable import CompositionModel

@Suite struct RateLimitTests {
  private let limit = RateLimit(bitRate: 1_000_000, bufferSize: 1_000_000)

  /// The most that an encoder with a buffer that is full at first can take: its whole buffer at once, and then all that
  /// the rate gives. It may come at any frame.
  private func greediest(_ limit: RateLimit, frames: Int, burst: Int, frameDuration: Double) -> [Int] {
    var fullness = Double(limit.bufferSize)
    return (0..<frames).map { frame in
      let taken = frame < burst ? 0 : fullness.rounded(.down)
      fullness = min(Double(limit.bufferSize), fullness - taken + Double(limit.bitRate) * frameDuration)
      return Int(taken)
    }
  }

  @Test func `segments whose encoders take all that they may keep the film's limit together`() {
    let frameDuration = 1.0 / 25
    // Segments of many lengths after one another, each with its burst at another place.
    for lengths in [[125, 125, 125], [5, 5, 5, 5, 5, 5, 5, 5], [31, 125, 7, 62, 5, 125], [1000], [3, 250, 4]] {
      for place in [0.0, 0.3, 0.9, 1] {
        var film: [Int] = []
        for count in lengths {
          let own = limit.ofSegment(duration: Double(count) * frameDuration)
          let burst = min(count - 1, Int(Double(count) * place))
          let packets = greediest(own, frames: count, burst: burst, frameDuration: frameDuration)
          #expect(limit.isKept(bits: packets, frameDuration: frameDuration), "\(count) frames, burst at \(burst)")
          film += packets
        }
        #expect(limit.isKept(bits: film, frameDuration: frameDuration), "\(lengths), bursts at \(place)")
      }
    }
  }

  @Test func `a segment that takes more than it may is found`() {
    #expect(!limit.isKept(bits: [500_001], frameDuration: 1))
    #expect(limit.isKept(bits: [500_000], frameDuration: 1))
    // The buffer does not run empty, but is left less than half full.
    #expect(!limit.isKept(bits: [100_000, 100_000], frameDuration: 0.04))
  }

  @Test func `the least level is stated, and a level limits the bits`() throws {
    func video(_ keys: String) throws -> VideoSettings {
      let text = documentText(
        tracks: #"[{"clips": [{"asset": "v", "use": "0..2"}]}]"#, export: #"{"to": "a.mp4", "video": {\#(keys)}}"#)
      return try #require(try lowered(text).export.video)
    }
    let plain = try video(#""quality": 20"#)
    #expect(plain.level == nil && plain.rateLimit == nil)
    let limited = try video(#""maxBitRate": 2000000, "bufferDuration": "3/2""#)
    #expect(limited.level == "3.1" && limited.rateLimit == RateLimit(bitRate: 2_000_000, bufferSize: 3_000_000))
    let leveled = try video(#""level": 4"#)
    #expect(leveled.level == "4" && leveled.rateLimit == RateLimit(bitRate: 25_000_000, bufferSize: 31_250_000))
    let main = try video(#""level": "4.0", "profile": "main""#)
    #expect(main.level == "4" && main.rateLimit == RateLimit(bitRate: 20_000_000, bufferSize: 25_000_000))
    let hevc = try video(#""codec": "hevc", "maxBitRate": 11000000"#)
    #expect(hevc.level == "4")
    // Of 1280x720 at 30 frames a second, from the standard's own examples.
    #expect(try video(#""level": 3.1, "maxBitRate": 14000000"#).level == "3.1")
    let high = try video(#""maxBitRate": 200000000, "pixelFormat": "yuv422p10""#)
    #expect(high.level == "4.1")
  }
}
