import CompositionModel
import Foundation
import TestMedia
import TestPrograms
import Testing

/// A media file of the tests: how it is made, and what must be known of it to compute which frame is shown when.
struct Source: Sendable, CustomTestStringConvertible {
  /// Its extension is the container's.
  var name: String
  var steps: [Step]
  /// The constant rate that the picture was made with, in frames a second. Nil: the rate varies, or the file was not
  /// made here.
  var rate: Rate? = Rate(25, 1)
  /// Whether its timestamps start anew at some places, after which each frame follows the one before at the rate.
  var isJoined = false
  /// Whether it is among the sources of `make test`.
  var isQuick = false
  /// Why its pictures or samples may differ from ffmpeg's, if the difference is one of the exact rules. Each must then
  /// be the same wherever the films show it.
  var remark: String?

  var testDescription: String { name }
  var fileExtension: String { String(name.split(separator: ".").last ?? "") }

  struct Rate: Sendable {
    var frames: Int64
    var seconds: Int64

    init(_ frames: Int64, _ seconds: Int64) {
      self.frames = frames
      self.seconds = seconds
    }

    var text: String { "\(frames)/\(seconds)" }
    var exact: Rational { get throws { try Rational(Int128(frames), Int128(seconds)) } }
  }
}

/// A step in the making of a file. Each but the first starts from the file of the one before.
enum Step: Sendable {
  /// A file that is there.
  case existing(String)
  /// ffmpeg with these arguments makes a file with this extension. `IN` is the path of the file of the step before.
  case ffmpeg([String], to: String)
  /// The bytes of the files that the lists of steps make, one after the other.
  case joined([[Step]])
  /// The file is cut off after this part of it.
  case truncated(Double)
  case withoutIndex
  case withoutSyncSamples
  case withAllTagsFlagged
  /// A transport stream without two of each `every` packets of 188 bytes, from packet 200 on.
  case withoutPackets(every: Int)
  /// An elementary stream without the headers that were in it before.
  case withHeadersOnce(codec: String)
  /// A movie of one track whose edit list has these edits: the duration in milliseconds, and the start in ticks of the
  /// track.
  case withEdits([(duration: Int, start: Int)])
  /// An elementary stream of MPEG-2 with 24000/1001 pictures a second, with soft pulldown.
  case withPulldown
  /// The first occurrence of a text is replaced by another of the same length.
  case replaced(String, by: String)
  /// One byte in each so many, in the part of the file from the first to the second share, is inverted.
  case inverted(every: Int, from: Double, to: Double)

  /// A moving picture with noise, in which no frame is like another.
  static func picture(
    _ size: String = "160x120", rate: String = "25", seconds: Double = 4, filter: String = ""
  ) -> [String] {
    ["-f", "lavfi", "-i", "testsrc2=s=\(size):r=\(rate):d=\(seconds),noise=alls=6:allf=t\(filter)"]
  }

  /// Noise in one to eight channels, with a tone in each.
  static func noise(rate: Int = 48000, channels: Int = 2, seconds: Double = 2) -> [String] {
    let channels = (0..<channels).map { "0.3*random(\($0))-0.15+0.3*sin(t*\(900 + 250 * $0))" }
    return ["-f", "lavfi", "-i", "aevalsrc='\(channels.joined(separator: "|"))':d=\(seconds):s=\(rate)"]
  }

  static func encode(
    _ options: [String], _ picture: [String] = picture(), to container: String
  ) -> Step {
    .ffmpeg(picture + options, to: container)
  }
}

extension Source {
  /// Makes the file in a folder and returns its path.
  func make(in folder: TemporaryFolder) throws -> String {
    var number = 0
    return try Self.run(steps, in: folder, &number)
  }

  private static func run(_ steps: [Step], in folder: TemporaryFolder, _ number: inout Int) throws -> String {
    var path = ""
    for step in steps {
      if case .existing(let file) = step {
        path = file
        continue
      }
      if case .ffmpeg(let arguments, let container) = step {
        number += 1
        let output = folder.path("\(number).\(container)")
        _ = try Tool.run(
          "ffmpeg",
          ["-v", "error", "-nostdin", "-y", "-threads", "2"] + arguments.map { $0 == "IN" ? path : $0 } + [output])
        path = output
        continue
      }
      if case .joined(let parts) = step {
        let files = try parts.map { try run($0, in: folder, &number) }
        let data = try files.reduce(into: Data()) { $0 += try Data(contentsOf: URL(fileURLWithPath: $1)) }
        number += 1
        path = folder.path("\(number).\(URL(fileURLWithPath: files[0]).pathExtension)")
        try data.write(to: URL(fileURLWithPath: path))
        continue
      }
      try change(path, step)
    }
    return path
  }

  private static func change(_ path: String, _ step: Step) throws {
    let url = URL(fileURLWithPath: path)
    var data = try Data(contentsOf: url)
    switch step {
    case .existing, .ffmpeg, .joined: return
    case .truncated(let part): data = data.prefix(Int(Double(data.count) * part))
    case .withoutIndex: return try FalseKeyframes.removeIndex(ofAVI: path)
    case .withoutSyncSamples: return try FalseKeyframes.removeSyncSamples(ofMovie: path)
    case .withAllTagsFlagged: return try FalseKeyframes.flagAllTags(ofFLV: path)
    case .withoutPackets(let every):
      for packet in stride(from: 200, to: data.count / 188, by: every).reversed() {
        data.removeSubrange((packet * 188)..<min(data.count, (packet + 2) * 188))
      }
    case .withHeadersOnce(let codec):
      data = JoinedStreams.withHeadersOnce(data) { JoinedStreams.header(of: codec, $0, $1) }
    case .withEdits(let edits): try replaceEdits(of: &data, with: edits)
    case .withPulldown: data = SoftPulldown.added(to: data)
    case .replaced(let old, let new):
      guard let range = data.range(of: Data(old.utf8)), old.utf8.count == new.utf8.count else {
        throw Tool.Failure(description: "\(path) has no \(old)")
      }
      data.replaceSubrange(range, with: Data(new.utf8))
    case .inverted(let every, let from, let to):
      for place in stride(from: Int(Double(data.count) * from), to: Int(Double(data.count) * to), by: every) {
        data[place] = ~data[place]
      }
    }
    try data.write(to: url)
  }

  /// The index must be the last box, so that no place of a sample moves.
  private static func replaceEdits(of data: inout Data, with edits: [(duration: Int, start: Int)]) throws {
    func bytes(_ value: Int) -> Data { Data((0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }) }
    func box(_ type: String, _ contents: Data) -> Data { bytes(8 + contents.count) + Data(type.utf8) + contents }
    func range(of type: String) throws -> Range<Int> {
      guard let place = data.range(of: Data(type.utf8), options: .backwards)?.lowerBound else {
        throw Tool.Failure(description: "the movie has no \(type)")
      }
      return (place - 4)..<(place - 4 + data[(place - 4)..<place].reduce(0) { $0 << 8 | Int($1) })
    }
    let list = edits.reduce(bytes(0) + bytes(edits.count)) {
      $0 + bytes($1.duration) + bytes($1.start) + bytes(1 << 16)
    }
    let new = box("edts", box("elst", list))
    let old = try range(of: "edts")
    data.replaceSubrange(old, with: new)
    for type in ["moov", "trak"] {
      let box = try range(of: type)
      data.replaceSubrange(box.lowerBound..<(box.lowerBound + 4), with: bytes(box.count + new.count - old.count))
    }
  }
}
