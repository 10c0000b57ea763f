import Client
import FarmAPI
import FarmModel

/// The progress of a job in one line.
enum ProgressLine {
  /// Everything that is known, for a pipe or a file.
  /// - Parameters:
  ///   - rate: In frames a second.
  ///   - left: In seconds.
  ///   - film: The path of the film that was made; nil if none was fetched.
  static func plain(
    _ status: JobStatus, rate: Double? = nil, left: Double? = nil, film: String? = nil
  ) -> String {
    switch status.state {
    case .rendering:
      // Of sound alone, and of what is copied, only the task is known.
      var parts = status.segmentsTotal == 0 ? [] : ["\(status.framesDone)/\(status.framesTotal) frames"]
      if let rate { parts.append("\(Measure.decimal(rate)) frames/s") }
      if let left = clock(left) { parts.append("\(left) left") }
      if status.segmentsTotal > 0 {
        parts.append("\(status.segmentsDone)/\(status.segmentsTotal) segments" + cached(status))
      }
      if let step = step(status) { parts.append(step) }
      return "rendering" + (parts.isEmpty ? "" : ": ") + parts.joined(separator: ", ") + waits(status)
    case .done:
      let name = film.map { "\($0), " } ?? ""
      let isCopy = status.segmentsTotal == 0
      let made =
        isCopy
        ? status.framesTotal == 0 ? "" : "\(Measure.count(status.framesTotal, "frame")) copied, "
        : "\(Measure.count(status.framesTotal, "frame")), \(Measure.count(status.segmentsTotal, "segment"))"
          + "\(cached(status)), "
      return "done: \(name)\(made)\(Measure.duration(status.elapsedSeconds))"
    case .probing:
      let files = status.filesTotal == 0 ? "" : ": \(status.filesDone) of \(Measure.count(status.filesTotal, "file"))"
      // The numbers are there already.
      return "probing media" + files + (status.waitReason == .probing ? "" : waits(status))
    case .measuring: return "measuring: \(measured(status))" + waits(status)
    default: return status.state.nameOrUnknown
    }
  }

  /// How many segments, or stretches of stabilized clips, are measured, such as `measured 3 of 12 parts`.
  static func measured(_ status: JobStatus) -> String {
    "measured \(status.measuredDone) of \(Measure.count(status.measuredTotal, "part"))"
  }

  /// A bar and as much else as fits.
  /// - Parameter width: The width of the terminal, in columns.
  static func bar(_ status: JobStatus, rate: Double?, left: Double? = nil, width: Int) -> String {
    guard status.state == .rendering, status.framesTotal > 0, status.segmentsTotal > 0 else {
      return plain(status, rate: rate, left: left).shortened(to: width - 1)
    }
    let percent = Measure.percent(status.framesDone, of: status.framesTotal)
    var parts = [step(status), clock(left).map { "\($0) left" }]
    parts.append("\(status.framesDone)/\(status.framesTotal) frames")
    parts.append(rate.map { "\(Measure.decimal($0))/s" })
    parts.append("\(status.segmentsDone)/\(status.segmentsTotal) segments" + cached(status))
    return bar(status.framesDone, of: status.framesTotal, "\(percent) %", parts.compactMap(\.self), width: width)
  }

  /// - Parameter rate: In bytes a second.
  static func bar(_ transfer: TransferProgress, rate: Double?, width: Int) -> String {
    let percent = Measure.percent(transfer.done, of: transfer.total)
    var parts = ["\(verb(transfer)) \(transfer.name)", amount(transfer)]
    if let rate { parts.append("\(Measure.bytes(Int64(rate)))/s") }
    return bar(Int(max(0, transfer.done)), of: Int(max(0, transfer.total)), "\(percent) %", parts, width: width)
  }

  static func plain(_ transfer: TransferProgress, rate: Double?) -> String {
    "\(verb(transfer)) \(transfer.name): \(amount(transfer))"
      + (rate.map { ", \(Measure.bytes(Int64($0)))/s" } ?? "")
  }

  /// What a job of which every frame is rendered does next; nil before that.
  static func step(_ status: JobStatus) -> String? {
    guard status.state == .rendering, status.framesTotal > 0, status.framesDone >= status.framesTotal else {
      return nil
    }
    if status.segmentsDone < status.segmentsTotal { return "finishing the last segments" }
    return status.phase == .mixing ? "mixing the audio" : "stitching"
  }

  /// The bar takes at least ten columns and at most forty. The parts follow for as long as there is room, in their
  /// order.
  private static func bar(_ done: Int, of total: Int, _ percent: String, _ parts: [String], width: Int) -> String {
    let room = width - 1
    var text = percent
    for part in parts {
      guard (text + "  " + part).displayWidth + 13 <= room else { break }
      text += "  " + part
    }
    let columns = min(40, room - text.displayWidth - 3)
    guard columns >= 4 else { return text.shortened(to: max(1, room)) }
    let filled = total == 0 ? 0 : Int(Double(columns) * Double(min(done, total)) / Double(total))
    return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: columns - filled) + "] " + text
  }

  private static func verb(_ transfer: TransferProgress) -> String {
    transfer.direction == .upload ? "uploading" : "fetching"
  }

  private static func amount(_ transfer: TransferProgress) -> String {
    "\(Measure.bytes(transfer.done)) of \(Measure.bytes(transfer.total))"
  }

  private static func cached(_ status: JobStatus) -> String {
    status.segmentsCached == 0 ? "" : " (\(status.segmentsCached) from the cache)"
  }

  private static func waits(_ status: JobStatus) -> String {
    status.waitsFor.map { "; it waits: \($0)" } ?? ""
  }

  /// Nil if it is not known.
  private static func clock(_ seconds: Double?) -> String? {
    seconds.flatMap { Int64(exactly: $0.rounded(.up)) }.map(Measure.clock)
  }
}
