import Foundation
import TestPrograms
import Testing

/// The metrics as Prometheus reads them, and what stands on them: the alerts and the dashboard.
@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("monitoring")

  private static func file(_ name: String) throws -> String {
    try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
  }

  private static func guide() throws -> String {
    let page = folder.deletingLastPathComponent().appendingPathComponent("docs/operations/watch.md")
    return try String(contentsOf: page, encoding: .utf8)
  }

  /// The names of the series that a scrape has or would have.
  private static func names(in scrape: String) -> Set<String> {
    var names: Set<String> = []
    for line in scrape.split(separator: "\n") where line.hasPrefix("# TYPE ") {
      let words = line.split(separator: " ").map(String.init)
      names.formUnion(
        words[3] == "histogram" ? ["_bucket", "_sum", "_count"].map { words[2] + $0 } : [words[2]])
    }
    return names
  }

  private static func metrics(in text: String) -> Set<String> {
    Set(text.matches(of: /sheaf_[a-z_]+/).map { String($0.output) })
  }

  @Test func `promtool has nothing to say about the metrics`() async throws {
    try await TestFarm.run { farm in
      _ = try await farm.get("/v1/jobs")
      let scrape = try await farm.get("/metrics")
      let files = try TemporaryFolder()
      let path = try files.write(Data(scrape.body), "metrics")
      // It reads its standard input only.
      let result = try Tool.result(of: "sh", ["-c", "promtool check metrics < '\(path)'"])
      let said = String(decoding: result.output, as: UTF8.self) + result.log
      #expect(result.status == 0 && said.isEmpty, "\(said)")
    }
  }

  @Test func `each metric of the alerts and of the dashboard is one that a coordinator has`() async throws {
    let rules = try Self.file("sheaf.rules.yml")
    let dashboard = try Self.file("grafana.json")
    try await TestFarm.run { farm in
      let names = Self.names(in: try await farm.get("/metrics").text)
      try #require(names.count > 30)
      for (file, text) in [("rules", rules), ("dashboard", dashboard)] {
        let used = Self.metrics(in: text)
        try #require(used.count > 10)
        #expect(used.subtracting(names) == [], "the \(file) name metrics that there are not")
      }
    }
  }

  @Test func `the alerts are well formed, and are there when their causes are`() throws {
    for arguments in [["check", "rules", "sheaf.rules.yml"], ["test", "rules", "sheaf.rules.test.yml"]] {
      let path = Self.folder.appendingPathComponent(arguments[2]).path
      let result = try Tool.result(of: "promtool", [arguments[0], arguments[1], path])
      #expect(result.status == 0, "\(String(decoding: result.output, as: UTF8.self)) \(result.log)")
    }
    // Each alert has a test in which it fires, and a line in the guide to which it points.
    let tests = try Self.file("sheaf.rules.test.yml")
    let guide = try Self.guide()
    let alerts = try Self.file("sheaf.rules.yml").matches(of: /alert: (\w+)/).map { String($0.output.1) }
    try #require(alerts.count >= 10 && Set(alerts).count == alerts.count)
    for alert in alerts {
      #expect(tests.contains("alertname: \(alert)\n        exp_alerts:"), "\(alert) never fires")
      #expect(guide.contains("\n#### \(alert)\n"), "the guide has no \(alert)")
      #expect(try Self.file("sheaf.rules.yml").contains("docs/operations/watch.md#\(alert.lowercased())\n"), "\(alert)")
    }
  }

  @Test func `each query of the dashboard is one of Prometheus`() throws {
    struct Dashboard: Decodable {
      struct Panel: Decodable {
        struct Target: Decodable {
          var expr: String
        }

        var targets: [Target]?
      }

      var panels: [Panel]
    }
    let dashboard = try JSONDecoder().decode(Dashboard.self, from: Data(Self.file("grafana.json").utf8))
    let queries = dashboard.panels.flatMap { $0.targets ?? [] }
      .map { $0.expr.replacing("$__rate_interval", with: "5m").replacing("$job", with: "sheaf") }
    try #require(queries.count > 20 && queries.allSatisfy { !$0.contains("$") })
    // As rules, which promtool reads. JSON is YAML.
    let rules = queries.enumerated().map { ["record": "query:\($0)", "expr": $1] }
    let files = try TemporaryFolder()
    let path = try files.write(
      JSONSerialization.data(
        withJSONObject: ["groups": [["name": "dashboard", "rules": rules]]], options: .withoutEscapingSlashes),
      "rules.yml")
    let result = try Tool.result(of: "promtool", ["check", "rules", path])
    #expect(result.status == 0, "\(String(decoding: result.output, as: UTF8.self)) \(result.log)")
  }

  @Test func `the guide has each metric, and no other`() async throws {
    let guide = try Self.guide()
    let table = try #require(
      guide.components(separatedBy: "\n## Health and metrics\n").last?
        .components(separatedBy: "\n### ").first)
    try await TestFarm.run { farm in
      let scrape = try await farm.get("/metrics").text
      let names = Set(scrape.matches(of: /# TYPE (sheaf_\w+)/).map { String($0.output.1) })
      let described = Self.metrics(in: table.split(separator: "\n").filter { $0.hasPrefix("|") }.joined())
      #expect(names.subtracting(described) == [], "not described")
      #expect(described.subtracting(names) == [], "not there")
    }
  }

  @Test func `Grafana's own classes read the dashboard whole`() throws {
    let python = Self.folder.deletingLastPathComponent().appendingPathComponent(".build/http-tools/bin/python").path
    let check = Self.folder.appendingPathComponent("check-dashboard").path
    let result = try Tool.result(of: python, [check, Self.folder.appendingPathComponent("grafana.json").path])
    #expect(result.status == 0, "\(String(decoding: result.output, as: UTF8.self)) \(result.log)")
  }
}
