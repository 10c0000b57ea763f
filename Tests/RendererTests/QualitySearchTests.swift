import CompositionModel
import Foundation
import Testing

@testable import Renderer

/// Encoders in small, whose loss is a function of the quality alone.
struct QualitySearchTests {
  private func settings(_ codec: VideoCodec, _ value: Double) -> VideoSettings {
    var settings = VideoSettings(
      codec: codec, rateControl: .lossless, preset: nil, profile: nil, keyframeInterval: 50, pixelFormat: .yuv420p,
      colour: ColourTags())
    settings.targetQuality = QualityTarget(.ssim, value)
    return settings
  }

  /// The result, and how often the segment was encoded.
  private func encode(
    _ codec: VideoCodec, to value: Double, _ likeness: (Double) -> Double
  ) throws -> (quality: Double, likeness: Double, count: Int) {
    let settings = settings(codec, value)
    let model = try #require(codec.definition.qualityModel)
    var search = try #require(QualitySearch(settings))
    var quality = model.first(for: QualityTarget(.ssim, value))
    var count = 1
    while let next = search.next(after: quality, likeness: likeness(quality)) {
      #expect(next != quality && model.qualities.contains(next))
      #expect((next * model.stepsPerUnit).rounded() == next * model.stepsPerUnit)
      quality = next
      count += 1
      try #require(count < 10)
    }
    return (quality, likeness(quality), count)
  }

  /// As measured of films: the logarithm of the loss at the codec's usual quality, its rise, and how that changes.
  @Test(arguments: [VideoCodec.h264, .hevc], [0.93, 0.971, 0.985, 0.9947])
  func `segments of all kinds come to the target in a few encodings`(codec: VideoCodec, value: Double) throws {
    let usual = try #require(codec.definition.qualityModel).usual
    for (level, rise, bend) in [
      (-3.9, 0.1, 0.0), (-4.6, 0.12, 0.001), (-3.3, 0.06, 0.0012), (-4.2, 0.055, 0), (-5.5, 0.13, -0.001),
      (-2.9, 0.14, 0.0007),
    ] {
      let found = try encode(codec, to: value) { quality in
        1 - exp(level + rise * (quality - usual) + bend * (quality - usual) * (quality - usual))
      }
      let bounds = try #require(codec.definition.qualityModel).qualities
      let isAtBound = found.quality == bounds.lowerBound || found.quality == bounds.upperBound
      #expect(abs(found.likeness - value) < 0.001 || isAtBound, "\(level), \(rise), \(bend): \(found)")
      #expect(found.count <= 8)
    }
  }

  /// Noise of x264: hardly more is lost above a quality, and very much more with each step below it.
  @Test(arguments: [0.8, 0.85, 0.9, 0.95, 0.968, 0.99])
  func `where the loss rises steeply and then no more, the target is met too`(value: Double) throws {
    let points = [
      (5.0, 0.996999), (10, 0.991268), (15, 0.972763), (20, 0.917569), (23, 0.846829), (26, 0.740087), (29, 0.628516),
      (32, 0.596607), (38, 0.552071), (46, 0.477152), (51, 0.443666),
    ]
    let found = try encode(.h264, to: value) { quality in
      let next = points.firstIndex { $0.0 >= quality } ?? points.count - 1
      guard next > 0 else { return points[0].1 }
      let (a, b) = (points[next - 1], points[next])
      return a.1 + (b.1 - a.1) * (quality - a.0) / (b.0 - a.0)
    }
    #expect(abs(found.likeness - value) < 0.003 && found.count <= 8, "\(found)")
  }

  @Test(arguments: [VideoCodec.vp9, .av1])
  func `where qualities are whole numbers, the nearest one is found`(codec: VideoCodec) throws {
    let model = try #require(codec.definition.qualityModel)
    for (level, rise) in [(-3.9, 0.045), (-4.3, 0.03), (-3.6, 0.07), (-4.1, 0.021)] {
      func likeness(_ quality: Double) -> Double { 1 - exp(level + rise * (quality - model.usual)) }
      let found = try encode(codec, to: 0.979, likeness)
      let nearest = (Int(model.qualities.lowerBound)...Int(model.qualities.upperBound)).map { Double($0) }
        .min { abs(likeness($0) - 0.979) < abs(likeness($1) - 0.979) }
      #expect(found.quality == nearest || abs(found.likeness - 0.979) < QualitySearch.tolerance, "\(found)")
    }
  }

  @Test func `a target that is met at once is encoded once, and one out of reach ends at a bound`() throws {
    #expect(try encode(.h264, to: 0.98) { _ in 0.9803 }.count == 1)
    // Nothing is lost, whatever the quality is.
    let black = try encode(.h264, to: 0.95) { _ in 1 }
    #expect(black.likeness == 1 && black.count <= 5 && black.quality == 51)
    let noise = try encode(.h264, to: 0.999) { 0.9 - 0.001 * $0 }
    #expect(noise.quality == 5)
  }

  @Test func `the nearest to the target is the result, whatever was encoded last`() throws {
    var first: Double?
    let found = try encode(.h264, to: 0.98) { quality in
      first = first ?? quality
      return quality == first ? 0.983 : 0.94
    }
    #expect(found.quality == first)
  }

  @Test func `settings without a target are not searched`() {
    var none = settings(.h264, 0.98)
    none.targetQuality = nil
    #expect(QualitySearch(none) == nil)
    #expect(QualitySearch(settings(.ffv1, 0.98)) == nil)
  }
}
