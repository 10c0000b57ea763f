import CompositionModel
import TestEdits
import Testing

@Suite struct RampTests {
  private func ramp(_ start: String, _ end: String, _ from: Double, _ to: Double) throws -> Ramp {
    Ramp(over: try spanning(start, end), from: from, to: to)
  }

  @Test func `a value is one before the first ramp and held after each`() throws {
    let ramps = RampList([try ramp("2", "4", 0, 0.5), try ramp("6", "6", 0.25, 0.25), try ramp("8", "10", 1, 0)])
    let expected: [(String, Double)] = [
      ("-100", 1), ("0", 1), ("2", 0), ("3", 0.25), ("4", 0.5), ("5", 0.5), ("6", 0.25), ("7", 0.25), ("8", 1),
      ("17/2", 0.75), ("10", 0), ("1000", 0),
    ]
    for (time, value) in expected { #expect(try ramps.value(at: try at(time)) == value) }
    #expect(try RampList.one.value(at: .zero) == 1)
  }

  @Test func `shifting a ramp list shifts its values`() throws {
    let ramps = RampList([try ramp("2", "4", 0, 0.5), try ramp("5", "6", 1, 0)])
    let offset = try at("1001/30000")
    let shifted = try ramps.shifted(by: offset)
    for tenth in Int64(0)...80 {
      let time = MediaTime(value: tenth, timescale: 10)
      #expect(try shifted.value(at: time + offset) == ramps.value(at: time))
    }
  }

  @Test func `a constant holds everywhere and can be moved by any time`() throws {
    var ramps = try RampList.constant(0.25)
    for offset in ["1001/30000", "7/2147483647", "-100000"] {
      ramps = try RampList.constant(0.25).shifted(by: try at(offset))
      #expect(try ramps.value(at: try at("-86400")) == 0.25)
      #expect(try ramps.value(at: try at("86400")) == 0.25)
    }
  }
}
