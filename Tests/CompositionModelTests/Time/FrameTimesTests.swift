import Foundation
import Testing

@testable import CompositionModel

@Suite struct FrameTimesTests {
  @Test func `the next time is that of a plain search`() {
    let times: [Int64] = [0, 10, 20, 35, 50, 65, 66, 100]
    let frames = FrameTimes(times)
    for time in Int64(-2)...102 {
      #expect(frames.first(after: time) == times.first { $0 > time }, "after \(time)")
    }
  }

  @Test(arguments: [
    "[0,0,2]", "[0,-1,3]", "[0,1,0]", "[9223372036854775807,1,2]", "[0,9223372036854775807,3]", "[0,1]",
  ])
  func `a run that is impossible is not read`(_ run: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(FrameTimes.self, from: Data(#"{"runs":[\#(run)]}"#.utf8))
    }
  }

  @Test func `what a run may be is read`() throws {
    let frames = try JSONDecoder().decode(FrameTimes.self, from: Data(#"{"runs":[[5,0,1],[7,2,3]]}"#.utf8))
    #expect(frames.times == [5, 7, 9, 11])
  }
}
