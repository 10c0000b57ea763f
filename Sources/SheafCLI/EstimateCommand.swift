import ArgumentParser
import Client
import CompositionModel
import FarmAPI
import LocalFarm
import SystemSupport

struct EstimateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "estimate", abstract: "Estimate the size and the rendering time of a film, without rendering it.",
    discussion: """
      The size of a film with a bit rate follows from that. With constant quality it is a guess for the codec, with the \
      range in which nearly every film is, until some of its segments are in the content store. The time follows from \
      what this store's last segments took on this machine; if there are too few, from an assumed speed. --workers \
      estimates for so many tasks at once, each with a processor core.

      --json prints an object: duration, frames, outputs (file, container, bytes, leastBytes, mostBytes, basis), work \
      and remainingWork (megapixels through x264's preset medium), segments, cachedSegments, time (slots, seconds, \
      leastSeconds, mostSeconds, speed in megapixels a second of a slot, measuredSegments).
      """)

  @OptionGroup var planned: PlannedEdit
  @OptionGroup var json: JSONOption

  func run() async throws {
    try await reporting(json: json.isOn ? .lines : .none, document: planned.edit) {
      guard let estimate = try await planned.plan().report.estimate else { throw CoordinatorClient.unexpected }
      if json.isOn {
        try Console.printJSON(estimate)
      } else {
        for line in EstimateText.lines(estimate) { try Console.print(line) }
      }
    }
  }
}

/// An estimate as text.
enum EstimateText {
  static func lines(_ estimate: EstimateReport) -> [String] {
    var lines = ["film: \(SecondsText.of(estimate.duration)), \(estimate.frames) frames"]
    for output in estimate.outputs {
      let name = output.file.map { "size of \($0)" } ?? "size"
      lines.append(
        "\(name): about \(Measure.bytes(output.bytes)), \(Measure.bytes(output.leastBytes)) to "
          + "\(Measure.bytes(output.mostBytes)): \(output.basis.map(reason).joined(separator: ", and "))")
    }
    if estimate.outputs.isEmpty { lines.append("size: not known, because the sizes of the files are not") }
    guard estimate.segments > 0 else {
      return lines + (estimate.time.map { ["time: about \(Measure.duration($0.seconds))"] } ?? [])
    }
    lines.append(
      "work: \(Measure.decimal(estimate.work)) megapixels in \(Measure.count(estimate.segments, "segment"))"
        + (estimate.cachedSegments == 0
          ? "" : ", \(estimate.cachedSegments) of them rendered; \(Measure.decimal(estimate.remainingWork)) are left"))
    if let time = estimate.time { lines.append(self.time(time)) }
    return lines
  }

  private static func time(_ time: EstimateReport.Time) -> String {
    let tasks = time.slots == 1 ? "one task at a time" : "\(time.slots) tasks at once"
    let speed = "\(Measure.decimal(time.speed)) megapixels a second"
    let basis =
      time.measuredSegments == 0
      ? "a guess: each does \(speed), which is not measured here yet"
      : "each does \(speed), as the last \(Measure.count(time.measuredSegments, "segment")) did here"
    return "time: about \(Measure.duration(time.seconds)), \(Measure.duration(time.leastSeconds)) to "
      + "\(Measure.duration(time.mostSeconds)), with \(tasks): \(basis)"
  }

  /// How a size was found.
  private static func reason(_ basis: String) -> String {
    switch basis {
    case "pieces": "from pieces that are rendered"
    case "bitRate": "the bit rate"
    case "samples": "the format of the samples"
    case "quality": "a guess, because what constant quality takes depends on the pictures"
    case "limitedQuality": "a guess for constant quality, within its limit of bits"
    case "profile": "a guess for the profile's data rate"
    case "lossless": "a guess for what is saved without loss"
    case "files": "the share of the files that is copied"
    default: basis
    }
  }
}
