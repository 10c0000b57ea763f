import FarmAPI
import FarmModel

/// One picture of a farm, as lines. Pure: it follows from what is known, the size and the time.
struct TopFrame {
  struct Size: Hashable {
    /// In columns.
    var width: Int
    /// In lines. Nil: as many as there is to show.
    var height: Int?
  }

  enum Style {
    case plain, title, header, notice, faint
  }

  struct Line {
    var text: String
    var style = Style.plain
  }

  let lines: [Line]

  /// - Parameters:
  ///   - farm: The coordinator's address.
  ///   - keys: Whether the last line has the keys.
  init(_ state: TopState, farm: String, size: Size, time: Timestamp, keys: Bool) {
    let builder = Builder(state: state, farm: farm, width: size.width, time: time)
    var head = builder.head
    var foot = keys ? [builder.keys] : []
    guard let height = size.height else {
      lines = head + builder.workers(most: .max) + builder.jobs(most: .max) + builder.ended(most: .max)
      return
    }
    // What is least needed goes first where there is no room.
    if head.count + foot.count > height - 4 { head = Array(head.prefix(max(2, height - 4 - foot.count))) }
    if head.count + foot.count > height { (head, foot) = (Array(head.prefix(height)), []) }
    let room = height - head.count - foot.count
    let workers = builder.workers(most: max(0, min(max(room / 3, 3), room - 4)))
    let jobs = builder.jobs(most: room - workers.count)
    let ended = builder.ended(most: room - workers.count - jobs.count)
    let body = workers + jobs + ended
    let space = [Line](repeating: Line(text: ""), count: max(0, room - body.count))
    lines = head + body + space + foot
  }

  /// Without colors, and without spaces at the end of a line.
  var plain: [String] {
    lines.map { line in
      var text = line.text
      while text.last == " " { text.removeLast() }
      return text
    }
  }

  /// With the control sequences of colors.
  var colored: [String] { lines.map(Self.colored) }

  private static func colored(_ line: Line) -> String {
    switch line.style {
    case .title: "\u{1B}[7m\(line.text)\u{1B}[0m"
    case .header: "\u{1B}[1m\(line.text)\u{1B}[0m"
    case .notice: "\u{1B}[33m\(line.text)\u{1B}[0m"
    case .faint: "\u{1B}[2m\(line.text)\u{1B}[0m"
    case .plain: bars(line.text)
    }
  }

  /// The text with the full part of its bars in green.
  private static func bars(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let start = rest.firstIndex(of: "["), let end = rest[start...].firstIndex(of: "]") {
      let inside = rest[rest.index(after: start)..<end]
      let full = inside.prefix { $0 == "#" }
      if !full.isEmpty, inside.dropFirst(full.count).allSatisfy({ $0 == "." }) {
        result += rest[...start] + "\u{1B}[32m" + full + "\u{1B}[0m" + inside.dropFirst(full.count) + "]"
      } else {
        result += rest[...end]
      }
      rest = rest[rest.index(after: end)...]
    }
    return result + rest
  }
}

/// The parts of a frame.
private struct Builder {
  let state: TopState
  let farm: String
  let width: Int
  let time: Timestamp

  private typealias Line = TopFrame.Line

  /// What is true of the whole farm.
  var head: [TopFrame.Line] {
    let clock = String(time.description.dropLast(5)).replacing("T", with: " ") + " UTC"
    let name = "sheaf top  \(farm)"
    let space = width - name.displayWidth - clock.count
    let title = space >= 2 ? name + String(repeating: " ", count: space) + clock : filled(name)
    var lines = [Line(text: title.shortened(to: width), style: .title)]
    guard state.hasLooked else {
      return lines + [Line(text: (state.outage ?? "looking …").onOneLine.shortened(to: width), style: .notice)]
    }
    let (busy, slots) = (state.workers.reduce(0) { $0 + $1.busy }, state.workers.reduce(0) { $0 + $1.slots })
    var parts = [Measure.count(state.workers.count, "worker"), "\(busy)/\(slots) slots busy"]
    if let rate = state.framesPerSecond { parts.append("\(Measure.decimal(rate)) frames/s") }
    if let rate = state.segmentsPerMinute { parts.append("\(Measure.decimal(rate)) segments/min") }
    lines.append(Line(text: parts.joined(separator: "  ").shortened(to: width)))
    let waiting = state.jobs.count { $0.status.running == 0 }
    let more = state.jobs.count >= FarmLook.mostActive ? " or more" : ""
    let queue =
      "\(Measure.count(state.jobs.count, "job"))\(more): \(state.jobs.count - waiting) at work, \(waiting) waiting"
    lines.append(Line(text: queue.shortened(to: width)))
    let notices = (state.outage.map { ["the coordinator does not answer: \($0)"] } ?? []) + state.notices
    lines += notices.map { Line(text: $0.onOneLine.shortened(to: width), style: .notice) }
    return lines
  }

  var keys: TopFrame.Line {
    let orders = TopOrder.allCases.map { order in
      order == state.order ? "[\(order.rawValue) \(order.label)]" : "\(order.rawValue) \(order.label)"
    }
    let text = "q quit  sort: " + orders.joined(separator: "  ")
    return Line(text: filled(text.shortened(to: width)), style: .title)
  }

  private func filled(_ text: String) -> String {
    text + String(repeating: " ", count: max(0, width - text.displayWidth))
  }

  // MARK: Workers

  func workers(most: Int) -> [TopFrame.Line] {
    guard state.hasLooked, most >= 3 else { return [] }
    guard !state.workers.isEmpty else {
      return [Line(text: ""), Line(text: "no worker is connected", style: .notice)]
    }
    var table = Table(columns: [
      .init(header: "WORKER", shortest: 8), .init(header: "SLOTS"), .init(header: "BUSY", isNumber: true),
      .init(header: "", shortest: 0),
    ])
    // The slots of every worker at one scale.
    let scale = max(1, state.workers.map(\.slots).max() ?? 1)
    let columns = min(scale, width < 80 ? 16 : 32)
    for worker in state.workers {
      let length = max(1, worker.slots * columns / scale)
      table.rows.append([
        worker.name, bar(worker.busy, of: worker.slots, columns: length), "\(worker.busy)/\(worker.slots)",
        worker.paused.map { "paused: \($0)" } ?? "",
      ])
    }
    return lines(of: table, most: most, noun: "worker")
  }

  // MARK: Jobs

  func jobs(most: Int) -> [TopFrame.Line] {
    guard state.hasLooked, most >= 2 else { return [] }
    guard !state.jobs.isEmpty else { return [Line(text: ""), Line(text: "no job goes on", style: .faint)] }
    let isNarrow = width < 80
    var table = Table(columns: [
      .init(header: "JOB", dispensable: isNarrow ? 4 : 0), .init(header: "NAME", shortest: isNarrow ? 10 : 16),
      .init(header: "STATE"), .init(header: "PROGRESS"), .init(header: "FRAMES/S", isNumber: true, dispensable: 2),
      .init(header: "LEFT", isNumber: true, dispensable: 1), .init(header: "TASKS", isNumber: true, dispensable: 3),
      .init(header: "AGE", isNumber: true, dispensable: 4),
    ])
    for (index, job) in state.jobs.enumerated() {
      let status = job.status
      table.rows.append([
        status.job, status.name, status.state.nameOrUnknown,
        progress(status, columns: isNarrow ? 10 : width < 100 ? 12 : 20),
        job.rate.map(Measure.decimal) ?? "", clock(job.left), "\(status.running)",
        Measure.age(status.submittedSecondsAgo),
      ])
      if let wait = status.waitsFor { table.notes[index] = ["  waits: \(wait.onOneLine)".shortened(to: width)] }
    }
    return lines(of: table, most: most, noun: "job")
  }

  /// What has ended, for as long as there is room.
  func ended(most: Int) -> [TopFrame.Line] {
    guard state.hasLooked, most >= 3, !state.ended.isEmpty else { return [] }
    var table = Table(columns: [
      .init(header: "ENDED"), .init(header: "NAME", shortest: 8), .init(header: "STATE"),
      .init(header: "", shortest: 0), .init(header: "AGO", isNumber: true, dispensable: 1),
    ])
    for status in state.ended.prefix(min(most, 7) - 2) {
      table.rows.append([
        status.job, status.name, status.state.nameOrUnknown, end(status),
        Measure.age(status.submittedSecondsAgo - status.elapsedSeconds),
      ])
    }
    return lines(of: table, most: most, noun: "job")
  }

  private func end(_ status: JobStatus) -> String {
    if status.state == .done {
      return "\(Measure.count(status.framesTotal, "frame")) in \(Measure.duration(status.elapsedSeconds))"
    }
    return status.error ?? status.problems.first.map { "\($0)" } ?? ""
  }

  private func progress(_ status: JobStatus, columns: Int) -> String {
    switch status.state {
    case .probing:
      return status.filesTotal == 0 ? "" : "\(status.filesDone) of \(Measure.count(status.filesTotal, "file"))"
    case .measuring: return ProgressLine.measured(status)
    default:
      guard status.framesTotal > 0 else { return "" }
      let percent = "\(Measure.percent(status.framesDone, of: status.framesTotal)) %"
      let space = String(repeating: " ", count: max(0, 5 - percent.count))
      return bar(status.framesDone, of: status.framesTotal, columns: columns) + " " + space + percent
    }
  }

  private func bar(_ done: Int, of total: Int, columns: Int) -> String {
    let full = total <= 0 ? 0 : Int(Double(columns) * min(1, Double(max(0, done)) / Double(total)))
    // What has begun is seen to have.
    let shown = done > 0 ? max(1, full) : 0
    return "[" + String(repeating: "#", count: shown) + String(repeating: ".", count: columns - shown) + "]"
  }

  private func clock(_ seconds: Double?) -> String {
    seconds.flatMap { Int64(exactly: $0.rounded(.up)) }.map(Measure.clock) ?? ""
  }

  // MARK: Tables

  /// An empty line and a table, of which whole rows are left out where there is no room.
  private func lines(of table: Table, most: Int, noun: String) -> [TopFrame.Line] {
    var lines = [Line(text: "")]
    var rest = table.lines(width: width)[...]
    lines.append(Line(text: (rest.popFirst() ?? "").shortened(to: width), style: .header))
    let notes = table.notes.values.reduce(0) { $0 + $1.count }
    var fits = table.rows.count
    if rest.count > most - lines.count {
      // The notes are left out first; then rows, for which the last line stands.
      let shown = notes > 0 ? withoutNotes(table).lines(width: width).dropFirst() : rest
      rest = shown
      if rest.count > most - lines.count {
        fits = max(0, most - lines.count - 1)
        rest = rest.prefix(fits)
      }
    }
    lines += rest.map { line in
      let isNote = line.hasPrefix("  waits: ")
      return Line(text: line.shortened(to: width), style: isNote ? .notice : .plain)
    }
    if fits < table.rows.count, most > lines.count {
      lines.append(Line(text: "… \(Measure.count(table.rows.count - fits, noun)) more", style: .faint))
    }
    return lines
  }

  private func withoutNotes(_ table: Table) -> Table {
    var table = table
    table.notes = [:]
    return table
  }
}
