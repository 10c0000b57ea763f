import Client
import CompositionModel
import EditDocument
import FarmAPI

/// The pictures of a contact sheet as WebVTT, which players show above their time line: each cue has a part of the film
/// and its rectangle of the sheet, as a media fragment (`sheet.png#xywh=4,4,160,90`). The cues follow each other from 0
/// to the end.
struct SpriteCues {
  private struct Cue {
    /// In milliseconds, which is what WebVTT has.
    var start: Int128
    var end: Int128
    var corner: (x: Int, y: Int)
  }

  private var cues: [Cue] = []
  private var cell = PixelSize(width: 0, height: 0)

  var count: Int { cues.count }

  /// Of equal parts each has its picture, which is from its middle. Other pictures stay until the time of the next one,
  /// and the first is shown from 0 on. One that could not be made has no cue.
  init(_ reply: ImageReply, _ request: ImageRequest) throws(CommandFailure) {
    guard let grid = request.sheet?.grid, let size = reply.sheet?.size else { return }
    guard let duration = reply.duration else {
      throw CommandFailure(.document, "a still picture has no times for the cues of --vtt")
    }
    cell = grid.cell(ofSheet: size)
    let end = try Self.exact(duration)
    for (number, span) in try Self.spans(reply, request.times, until: end)
    where reply.pictures[number].error == nil {
      let (start, end) = (try Self.milliseconds(span.start), try Self.milliseconds(span.end))
      if start < end { cues.append(Cue(start: start, end: end, corner: grid.corner(of: number, cell: cell))) }
    }
  }

  /// The part of the film of each picture, in order of time.
  private static func spans(
    _ reply: ImageReply, _ times: ImageRequest.Times, until end: Rational
  ) throws(CommandFailure) -> [(number: Int, span: (start: Rational, end: Rational))] {
    let count = reply.pictures.count
    if case .count = times {
      do {
        let edges = try (0...count).map { number throws(TimeError) in
          try end * Rational(Int128(number), Int128(count))
        }
        return (0..<count).map { ($0, (edges[$0], edges[$0 + 1])) }
      } catch {
        throw Self.failure(error)
      }
    }
    var starts: [(number: Int, time: Rational)] = []
    for (number, picture) in reply.pictures.enumerated() where picture.error == nil {
      starts.append((number, try exact(picture.requested)))
    }
    starts.sort { $0.time == $1.time ? $0.number < $1.number : $0.time < $1.time }
    return starts.indices.map { index in
      let start = index == 0 ? .zero : starts[index].time
      return (starts[index].number, (start, index + 1 < starts.count ? min(starts[index + 1].time, end) : end))
    }
  }

  private static func exact(_ time: ImageReply.Time) throws(CommandFailure) -> Rational {
    guard let read = MediaTime(notation: time.exact) else { throw failure(.overflow) }
    do { return try read.exact } catch { throw failure(error) }
  }

  private static func milliseconds(_ time: Rational) throws(CommandFailure) -> Int128 {
    do { return try (time * Rational(1000)).rounded } catch { throw failure(error) }
  }

  private static func failure(_ error: TimeError) -> CommandFailure {
    CommandFailure(.document, "the times of the pictures cannot be written as cues: \(error)")
  }

  // MARK: Writing

  /// The name of the sheet with the extension `vtt`.
  static func path(beside sheet: String) -> String {
    let name = sheet.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return sheet + ".vtt" }
    return sheet[..<dot] + ".vtt"
  }

  /// - Parameter path: That of the sheet, in the folder of the file of cues.
  func text(sheet path: String) -> String {
    let name = Self.reference(path.split(separator: "/").last ?? "")
    return cues.reduce(into: "WEBVTT\n") { text, cue in
      text += "\n\(Self.clock(cue.start)) --> \(Self.clock(cue.end))\n"
      text += "\(name)#xywh=\(cue.corner.x),\(cue.corner.y),\(cell.width),\(cell.height)\n"
    }
  }

  /// `00:01:02.500`, with more digits of hours if there must be.
  private static func clock(_ milliseconds: Int128) -> String {
    func padded(_ value: Int128, _ count: Int) -> String {
      let digits = "\(value)"
      return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
    let seconds = milliseconds / 1000
    return "\(padded(seconds / 3600, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))."
      + padded(milliseconds % 1000, 3)
  }

  /// A file's name as a relative URL.
  private static func reference(_ name: Substring) -> String {
    name.utf8.map { byte in
      let scalar = Unicode.Scalar(byte)
      let isPlain = byte < 0x80 && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
      if isPlain || "-._~".unicodeScalars.contains(scalar) { return String(scalar) }
      return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined()
  }
}
