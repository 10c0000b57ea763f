import TestEdits
import Testing

@testable import CompositionModel
@testable import EditDocument

/// Times that programs have computed.
@Suite struct ComputedTimeTests {
  private func meaning(_ text: String) -> String? { ComputedTime.meaning(of: text).map(\.description) }

  private static let computed: [(Double, String)] = [
    (0.30000000000000004, "3/10"), (3.3000000000000003, "33/10"), (33.333333333333336, "100/3"),
    (0.6666666666666666, "2/3"), (434.99999999999994, "435"), (1e-17, "0"), (-0.30000000000000004, "-3/10"),
    (1 / 24, "1/24"), (1001 / 24000, "1001/24000"), (31031 / 30000, "31031/30000"), (12347 / 48000, "12347/48000"),
    (44101 / 44100, "44101/44100"), (10801 / 3, "10801/3"), (2_592_001 / 30, "2592001/30"),
  ]

  @Test(arguments: computed)
  func `a computed number is the fraction that it stands for`(_ number: Double, _ expected: String) {
    #expect(meaning("\(number)") == expected)
  }

  @Test func `sums of a frame's duration stay on the frames`() throws {
    for rate in [24, 25, 30, 50, 60] {
      var sum = 0.0
      for frame in 1...3000 {
        sum += 1 / Double(rate)
        guard let time = ComputedTime.meaning(of: "\(sum)") else { continue }
        #expect(time == (try Rational(Int128(frame), Int128(rate))), "\(sum)")
      }
    }
  }

  @Test func `a quotient of the usual rates is exact`() throws {
    var generator = SystemRandomNumberGenerator()
    for rate in [24000, 30000, 60000, 44100, 48000, 90000] as [Int128] {
      for _ in 0..<200 {
        let count = Int128.random(in: 1...rate * 3600, using: &generator)
        let text = "\(Double(count) / Double(rate))"
        // One with 15 digits is exact.
        guard let read = ComputedTime.meaning(of: text) else { continue }
        #expect(read == (try Rational(count, rate)), "\(count)/\(rate) as \(text)")
      }
    }
  }

  @Test(arguments: [
    "0", "5", "0.04", "1.001", "0.1", "0.033366666", "100000000.123456789", "1.50000000000000000000",
    "0.123456789012345", "0.0000152587890625", "1e3", "25E-2", "0e999", "1e30", "1e400", "1234567890.0009765625",
  ])
  func `exact decimals stay as they are`(_ text: String) { #expect(meaning(text) == nil) }

  @Test func `a binary fraction with all its decimals`() {
    #expect(meaning("0.1000000000000000055511151231257827021181583404541015625") == "1/10")
  }

  @Test func `the simplest fraction is the one of a search`() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      let low = try Rational(Int128.random(in: 0...4000, using: &generator), 997)
      let high = try low + Rational(Int128.random(in: 0...300, using: &generator), 9973)
      var denominator: Int128 = 1
      while try (high * Rational(denominator)).floor < (low * Rational(denominator)).ceiling { denominator += 1 }
      let found = try Rational.simplest(from: low, to: high)
      #expect(found.denominator == denominator && low <= found && found <= high)
    }
  }

  @Test(arguments: [
    ("0.30000000000000004", "0.3"), ("0..0.30000000000000004", "0..0.3"),
    ("0.30000000000000004..33.333333333333336", "0.3..100/3"), ("4+0.30000000000000004", "4+0.3"),
    ("end-0.30000000000000004", "end-0.3"), ("clip:intro2.end+0.30000000000000004", "clip:intro2.end+0.3"),
  ])
  func `texts are rewritten where they have such a number`(_ text: String, _ expected: String) {
    #expect(ComputedTime.rewritten(text)?.text == expected)
  }

  @Test(arguments: [
    "0..5", "clip:a-very-long-name.end", "1:02.30000000000000004", "1/30000000000000001", "0.5..1234567.125",
  ])
  func `other texts are not`(_ text: String) { #expect(ComputedTime.rewritten(text) == nil) }

  @Test func `a document with such times has their meaning and a warning of each`() throws {
    let text = documentText(
      tracks:
        #"[{"clips": [{"asset": "v", "use": "0..2.3000000000000003", "at": 0.30000000000000004}]}]"#)
    let (edit, warnings) = try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: standardAssets(), output: nil)
    let clip = try #require(edit.composition.tracks.first?.clips.first)
    #expect(clip.target == (try spanning("3/10", "13/5")))
    #expect(clip.source == (try spanning("0", "23/10")))
    #expect(
      warnings.map(\.description).filter { $0.contains("computed") } == [
        "/tracks/0/clips/0/use: 2.3000000000000003 was most likely computed with binary fractions, and is read as 2.3",
        "/tracks/0/clips/0/at: 0.30000000000000004 was most likely computed with binary fractions, and is read as 0.3",
      ])
  }

  @Test(arguments: ["-1e-17", "-0.30000000000000004", #""-0.00000000000000000001""#])
  func `a time before 0 is refused where none may be`(_ at: String) throws {
    let text = documentText(tracks: #"[{"clips": [{"asset": "v", "at": \#(at)}]}]"#)
    let found = #expect(throws: DocumentError.self) { try Document.parse(Array(text.utf8)) }
    #expect(try #require(found).problems.contains { $0.pointer == "/tracks/0/clips/0/at" })
  }
}
