import FarmModel

/// Metrics in the text format of Prometheus, version 0.0.4: pure.
struct MetricsText {
  enum Kind: String {
    case counter, gauge, histogram
  }

  private(set) var text = ""

  /// One metric.
  /// - Parameters:
  ///   - name: Without `sheaf_`.
  ///   - samples: With the names and values of their labels.
  mutating func add(
    _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [(String, String)], value: Double)]
  ) {
    begin(name, kind, help)
    for sample in samples { line("sheaf_\(name)", sample.labels, sample.value) }
  }

  mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
    add(name, kind, help, [([], value)])
  }

  /// A histogram without labels.
  mutating func add(_ name: String, _ help: String, _ histogram: DurationHistogram) {
    begin(name, .histogram, help)
    samples(name, [], histogram)
  }

  /// The samples of a histogram that has begun.
  mutating func samples(_ name: String, _ labels: [(String, String)], _ histogram: DurationHistogram) {
    var total: Int64 = 0
    for (bound, count) in zip(histogram.bounds.map { Self.number($0) } + ["+Inf"], histogram.counts) {
      total += count
      line("sheaf_\(name)_bucket", labels + [("le", bound)], Double(total))
    }
    line("sheaf_\(name)_sum", labels, histogram.sum)
    line("sheaf_\(name)_count", labels, Double(total))
  }

  /// Begins a metric whose samples follow.
  mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
    text += "# HELP sheaf_\(name) \(help)\n# TYPE sheaf_\(name) \(kind.rawValue)\n"
  }

  private mutating func line(_ name: String, _ labels: [(String, String)], _ value: Double) {
    let list = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
    text += name + (list.isEmpty ? "" : "{\(list)}") + " \(Self.number(value))\n"
  }

  static func escaped(_ value: String) -> String {
    value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }

  /// Whole numbers without a fraction.
  static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
  }
}
