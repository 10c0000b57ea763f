import Foundation
import Testing

@testable import CompositionModel
@testable import Renderer

/// Encoders in small, whose bits are a function of the rate factor alone.
struct BitShareSearchTests {
  private func model(stepsPerUnit: Int = 10) -> BitRateModel {
    BitRateModel(
      rateFactors: 0...51, measuringFactors: [22, 34], corrections: [], stepsPerUnit: stepsPerUnit,
      control: .again(fall: 0.11, range: 3))
  }

  /// What is left in the end, and how often the segment was encoded.
  private func encode(
    planned: Double = 25, stepsPerUnit: Int = 10, _ bits: (Double) -> Double
  ) throws -> (factor: Double, taken: Double, count: Int) {
    let share = 100_000
    var search = try #require(BitShareSearch(planned: planned, share: share, model: model(stepsPerUnit: stepsPerUnit)))
    var (factor, count) = (planned, 1)
    while let next = search.next(after: factor, bits: Int(bits(factor) * Double(share))) {
      #expect(next != factor)
      factor = next
      count += 1
    }
    return (factor, bits(factor), count)
  }

  @Test(arguments: [0.8, 0.9, 0.98, 1, 1.007, 1.05, 1.2, 1.25], [0.08, 0.11, 0.15])
  func `a segment comes near to its share in a few encodings`(first: Double, fall: Double) throws {
    let found = try encode { first * exp(-fall * ($0 - 25)) }
    #expect(abs(found.taken - 1) < 0.02 && found.count <= 4, "\(found)")
    if abs(first - 1) < 0.01 { #expect(found.count == 1) }
  }

  @Test func `the rate factor stays near that of the film, and in the encoder's range`() throws {
    #expect(try encode { 3 * exp(-0.1 * ($0 - 25)) }.factor == 28)
    #expect(try encode(planned: 50) { 3 * exp(-0.1 * ($0 - 50)) }.factor == 51)
    #expect(try encode { 0.2 * exp(-0.1 * ($0 - 25)) }.factor == 22)
  }

  @Test func `the nearest to the share is the result, whatever was encoded last`() throws {
    // Bits that do not fall as they should.
    let bits = [25.0: 1.1, 25.9: 0.8, 25.3: 1.4]
    let found = try encode { bits[$0] ?? 1.6 }
    #expect(found.factor == 25 && found.count <= 5, "\(found)")
  }

  @Test func `whole numbers are tried where no other is possible`() throws {
    let found = try encode(stepsPerUnit: 1) { 1.3 * exp(-0.07 * ($0 - 25)) }
    #expect(found.factor == 28 || found.factor == 29)
    #expect(try encode(stepsPerUnit: 1) { 1.03 * exp(-0.07 * ($0 - 25)) }.count == 1)
  }
}
