import CompositionModel
import Foundation
import TestPrograms
import Testing

@testable import Timelines

/// What opentimelineio of PyPI says of a timeline: `otio-items` prints it.
struct OTIOOracle: Decodable {
  struct Span: Decodable {
    var start: [Double]
    var duration: [Double]
  }

  struct Item: Decodable {
    var type: String
    var name: String
    var used: Span?
    var place: Span?
    var visible: Span?
    var warp: Double?
    var media: Span?
    var isBlack: Bool?
    var before: [Double]?
    var after: [Double]?
  }

  struct Track: Decodable {
    var name: String
    var kind: String
    var items: [Item]
  }

  var duration: [Double]
  var tracks: [Track]

  static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// By file. A start of Python takes longer than all of them.
  static func of(_ files: [String], rate: String = "0") throws -> [String: OTIOOracle] {
    let python = Self.repository.appending(path: ".build/http-tools/bin/python").path
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "otio-items").path
    let result = try Tool.result(of: python, [script, rate] + files)
    try #require(result.status == 0, "scripts/http-tools installs it: \(result.log)")
    return try JSONDecoder().decode([String: OTIOOracle].self, from: result.output)
  }

  init(of file: String, rate: String = "0") throws { self = try #require(Self.of([file], rate: rate)[file]) }

  /// Of all timelines of other projects.
  static let ofTimelines = Result { try of(timelines) }

  /// Timelines of other projects, where they are.
  static let timelines: [String] = {
    let named = ProcessInfo.processInfo.environment["SHEAF_SHARED_MEDIA"].map { URL(filePath: $0) }
    let folder = named ?? repository.deletingLastPathComponent().appending(path: "shared/media")
    let folders = ["timelines-otio", "timelines-tlRender/etc/SampleData"].map { folder.appending(path: $0).path }
    return folders.flatMap { folder in
      ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
        .filter { $0.hasSuffix(".otio") }.sorted().map { "\(folder)/\($0)" }
    }
  }()
}

/// Seconds of a value and a rate.
func seconds(_ time: [Double]) -> Double { time[0] / time[1] }

/// Whether an exact time is that of the oracle to the last digit. A count that is not whole is a sum at several rates,
/// which it computes with rates as they are written.
func isExactly(_ time: Rational, _ other: [Double]) throws -> Bool {
  let (count, rate) = (try #require(TimelineRates.exact(other[0])), try #require(TimelineRates.exact(other[1])))
  if count.denominator == 1 { return try time == TimelineRates.time(count, rate: rate) }
  return isNear(time.approximate, other[0] / other[1], rate: 0.5)
}

/// Whether an exact time is that of the oracle, whose rates, such as 23.98 for 24000/1001, are as they are written.
func isNear(_ time: Double, _ other: Double, rate: Double) -> Bool {
  abs(time - other) <= (rate == rate.rounded() ? 1e-9 : 2e-4) * max(1, abs(other))
}
