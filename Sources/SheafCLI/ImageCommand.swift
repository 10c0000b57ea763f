import ArgumentParser
import Client
import CompositionModel
import EditDocument
import FarmAPI
import FoundationEssentials
import Glibc
import LocalFarm
import Runtime
import SwiftProtobuf
import SystemSupport

struct ImageCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "image", abstract: "Write still pictures of a media file, or of the film of a document.",
    discussion: """
      A picture is the one that is shown at its time: of a media file, its own, upright and in square pixels; of a \
      document, the frame of the film. Pictures of high dynamic range are converted to standard range. Each picture \
      succeeds or fails by itself; if one fails, the exit code is 1 and the others are written.

      A time is written as in documents: 5, 1.5, 7/30, 90f (frames), 1:02.5 or 1:00:02.5.

      --json prints an object: pictures, an array of requested and actual (exact, a fraction of seconds as text, and \
      seconds; no actual: there is no picture), file, width, height, isDamaged and error; and sheet, the contact sheet's \
      file, width and height, and cues, the file of its cues.
      """)

  @Argument(
    help: ArgumentHelp("A media file, or a document; - reads a document from standard input.", valueName: "file"))
  var file: String

  // A time below zero is a value, of which the problem is reported, and no option.
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The times of the pictures, separated by commas. [SHEAF_AT]", valueName: "times"))
  var at: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("A picture at 0 and after each of this time. [SHEAF_EVERY]", valueName: "time"))
  var every: String?

  @Option(
    help: ArgumentHelp("So many pictures, each in the middle of an equal part. [SHEAF_COUNT]", valueName: "n"))
  var count: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      """
      The picture's file; its extension selects the format: png, jpg or webp. Several pictures need a name with %d or \
      such as %03d for their number from 1, or a folder. [SHEAF_OUTPUT]
      """, valueName: "file"))
  var output: String?

  @Option(
    help: ArgumentHelp("The format of pictures in a folder; the default is png. [SHEAF_FORMAT]", valueName: "format"))
  var format: String?

  @Option(
    help: ArgumentHelp(
      """
      How far a picture may be from its time, before and after: 1,0.5, or one time for both; inf allows any. Within it \
      the nearest keyframe of a file, or start of a segment, is taken, which is faster. The default is exact. \
      [SHEAF_TOLERANCE]
      """, valueName: "times"))
  var tolerance: String?

  @Option(
    help: ArgumentHelp(
      """
      The greatest size; larger pictures are made smaller, with their aspect kept. On a contact sheet the default is \
      320x320. [SHEAF_SIZE]
      """, valueName: "WxH"))
  var size: String?

  @Option(
    help: ArgumentHelp(
      "The quality of JPEG and WebP, 1 to 100; the default is 90. WebP at 100 has no loss. [SHEAF_QUALITY]",
      valueName: "n"))
  var quality: String?

  @Option(
    help: ArgumentHelp(
      "One picture of so many columns and rows; without times, so many pictures. [SHEAF_SHEET]", valueName: "CxR"))
  var sheet: String?

  @Flag(help: "Write its time into each picture of the contact sheet. [SHEAF_TIMES]")
  var times = false

  @Option(
    help: ArgumentHelp(
      "Pixels around and between the pictures of the contact sheet, 0 to 256; the default is 4. [SHEAF_GAP]",
      valueName: "n"))
  var gap: String?

  @Flag(
    help: """
      Write a WebVTT file beside the contact sheet, with the sheet's name and the extension vtt: when each picture is \
      shown, and its rectangle of the sheet. Players show it above their time line. [SHEAF_VTT]
      """)
  var vtt = false

  @OptionGroup var parameters: ParameterOptions
  @OptionGroup var farm: LocalFarmOptions
  @OptionGroup var json: JSONOption

  private struct Report: Encodable {
    struct Picture: Encodable {
      var requested: ImageReply.Time
      var actual: ImageReply.Time?
      var file: String?
      var width: Int?
      var height: Int?
      var isDamaged: Bool
      var error: String?
    }

    struct Sheet: Encodable {
      var file: String?
      var width: Int?
      var height: Int?
      var cues: String?
    }

    var pictures: [Picture]
    var sheet: Sheet?

    init(_ result: LocalImages.Result) {
      pictures = result.pictures.map { written in
        let picture = written.picture
        return Picture(
          requested: picture.requested, actual: picture.actual, file: written.path, width: picture.size?.width,
          height: picture.size?.height, isDamaged: picture.isDamaged, error: picture.error)
      }
      sheet = result.sheet.map {
        Sheet(
          file: $0.path, width: $0.picture.size?.width, height: $0.picture.size?.height, cues: result.cues?.path)
      }
    }
  }

  func run() async throws {
    try await reporting(document: file) {
      let configuration = try farm.configuration()
      let (request, output, folder) = try options()
      let writesCues = Setting.flag(vtt, "SHEAF_VTT")
      if writesCues, request.sheet == nil {
        throw ValidationError("--vtt is for a contact sheet: give --sheet too")
      }
      // One that is made here is empty until the first picture is written, and goes if none is.
      let isNew = folder.map { access($0, F_OK) != 0 } ?? false
      defer { if isNew, let folder { rmdir(folder) } }
      if let folder {
        do {
          try await BlockingWork.run { try Directories.make(folder) }
        } catch {
          throw CommandFailure(.document, "the folder \(folder) cannot be made: \(error)")
        }
      }
      let images: LocalImages
      var document: EditFile?
      var found: [Problem] = []
      if try EditFile.isDocument(file) {
        let edit = try EditFile(file, values: parameters.values)
        let (assets, missing) = try await edit.assets(configuration.contents)
        found = missing
        document = edit
        images = LocalImages(edit: edit, assets: assets, request: request, output: output, writesCues: writesCues)
      } else {
        let asset = try await mapErrors(
          to: { CommandFailure(.document, "\($0)") }, AssetFile.asset(file, configuration.contents).get)
        images = LocalImages(edit: nil, assets: [asset], request: request, output: output, writesCues: writesCues)
      }
      let problems = found
      let run = { @Sendable in try await images.run(configuration, found: problems) }
      let result =
        if let document { try await document.locating { try await Interruption.cancelling(run) } } else {
          try await Interruption.cancelling(run)
        }
      if json.isOn { try Console.printJSON(Report(result)) } else { try print(result) }
      guard result.pictures.allSatisfy({ $0.picture.error == nil }) else {
        throw ExitCode(CommandFailure.Code.work.rawValue)
      }
    }
  }

  private func print(_ result: LocalImages.Result) throws {
    for written in result.pictures {
      let picture = written.picture
      let requested = Self.text(picture.requested)
      guard let actual = picture.actual else {
        Console.printError("sheaf: at \(requested) s: \(picture.error ?? "there is no picture")")
        continue
      }
      let name = written.path.map { "\($0): " } ?? ""
      let size = picture.size.map { ", \($0.width)x\($0.height)" } ?? ""
      let damage = picture.isDamaged ? ", damaged" : ""
      try Console.print(
        "\(name)\(Self.text(actual)) s\(actual == picture.requested ? "" : " for \(requested) s")\(size)\(damage)")
    }
    if let sheet = result.sheet, let path = sheet.path, let size = sheet.picture.size {
      try Console.print("\(path): \(size.width)x\(size.height)")
      if let cues = result.cues { try Console.print("\(cues.path): \(cues.count) \(cues.count == 1 ? "cue" : "cues")") }
    }
  }

  /// Seconds as a decimal if few digits are exact, else with the fraction.
  private static func text(_ time: ImageReply.Time) -> String {
    let milliseconds = (time.seconds * 1000).rounded() / 1000
    let rounded = milliseconds == milliseconds.rounded() ? "\(Int(milliseconds))" : "\(milliseconds)"
    return milliseconds == time.seconds ? rounded : "\(rounded) (\(time.exact))"
  }

  // MARK: Options

  /// The folder is nil where the pictures' names have one that must be there.
  private func options() throws -> (ImageRequest, LocalImages.Output, folder: String?) {
    guard let path = try OutputPath.value(output) else {
      throw ValidationError("the pictures need a name: give -o a file, a name with %d, or a folder")
    }
    let sheet = try self.sheetOption()
    let times = try self.timesOption(sheet)
    let isSeries = sheet == nil && times.isSeries
    let (output, format, folder) = try self.output(path, isSeries: isSeries)
    let qualityText = Setting.text(quality, "SHEAF_QUALITY")
    if qualityText != nil, !format.hasQuality {
      throw ValidationError("PNG has no quality: leave --quality out, or choose jpg or webp")
    }
    let range = Int64(ImageFormat.qualities.lowerBound)...Int64(ImageFormat.qualities.upperBound)
    let quality = try Setting.number(quality, "--quality", "SHEAF_QUALITY", in: range)
    var box = try Setting.text(size, "SHEAF_SIZE").map { text in
      guard let box = Self.pair(text), box.0 <= PixelSize.largestSide, box.1 <= PixelSize.largestSide else {
        throw ValidationError("--size \(text) is no size; write width and height in pixels, such as 640x360")
      }
      return PixelSize(width: box.0, height: box.1)
    }
    if sheet != nil, box == nil { box = PixelSize(width: 320, height: 320) }
    let tolerance = try Setting.text(tolerance, "SHEAF_TOLERANCE").map(Self.tolerances)
    return (
      ImageRequest(
        times: times, tolerance: tolerance, format: format,
        quality: quality.map { Int($0) } ?? ImageFormat.defaultQuality, box: box, sheet: sheet),
      output, folder
    )
  }

  /// One tolerance, or that before and that after.
  private static func tolerances(_ text: String) throws -> [String] {
    let texts = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    guard texts.count <= 2 else { throw ValidationError("--tolerance is one time, or two: before and after") }
    for text in texts where text != "inf" {
      guard try time(text, of: "--tolerance") >= .zero else {
        throw ValidationError("--tolerance \(text) is below zero")
      }
    }
    return texts
  }

  /// A time in the notation of documents. How long a frame is, is known when the media are.
  private static func time(_ text: String, of option: String) throws -> MediaTime {
    if let time = MediaTime(notation: text, frameDuration: MediaTime(value: 1, timescale: 30)) { return time }
    throw ValidationError("\(option) \(text) is no time; write 5, 1.5, 7/30, 90f (frames), 1:02.5 or 1:00:02.5")
  }

  private func sheetOption() throws -> ImageRequest.Sheet? {
    let hasTimes = Setting.flag(times, "SHEAF_TIMES")
    guard let text = Setting.text(sheet, "SHEAF_SHEET") else {
      if hasTimes { throw ValidationError("--times is for a contact sheet: give --sheet too") }
      if Setting.text(gap, "SHEAF_GAP") != nil {
        throw ValidationError("--gap is for a contact sheet: give --sheet too")
      }
      return nil
    }
    let most = ImageRequest.Sheet.most
    guard let (columns, rows) = Self.pair(text), columns <= most, rows <= most else {
      throw ValidationError("--sheet \(text) is no contact sheet; write columns and rows, 1 to \(most), such as 4x3")
    }
    let gaps = Int64(ImageGrid.gaps.lowerBound)...Int64(ImageGrid.gaps.upperBound)
    let gap = try Setting.number(gap, "--gap", "SHEAF_GAP", in: gaps)
    return ImageRequest.Sheet(columns: columns, rows: rows, hasTimes: hasTimes, gap: gap.map { Int($0) })
  }

  private func timesOption(_ sheet: ImageRequest.Sheet?) throws -> ImageRequest.Times {
    let at = Setting.text(at, "SHEAF_AT")
    let every = Setting.text(every, "SHEAF_EVERY")
    let count = try Setting.number(count, "--count", "SHEAF_COUNT", in: 1...Int64(ImageRequest.mostPictures))
    guard [at != nil, every != nil, count != nil].count(where: { $0 }) <= 1 else {
      throw ValidationError("give one of --at, --every and --count")
    }
    if let at {
      let texts = at.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
      for text in texts { _ = try Self.time(text, of: "--at") }
      return .list(texts)
    }
    if let every {
      guard .zero < (try Self.time(every, of: "--every")) else {
        throw ValidationError("--every \(every) must be above zero")
      }
      return .every(every)
    }
    if let count { return .count(Int(count)) }
    if let sheet { return .count(sheet.columns * sheet.rows) }
    throw ValidationError("which pictures? Give --at, --every or --count")
  }

  private func output(
    _ path: String, isSeries: Bool
  ) throws -> (LocalImages.Output, ImageFormat, folder: String?) {
    let named = try Setting.text(format, "SHEAF_FORMAT").map { text in
      guard let format = ImageFormat(fileExtension: text) else {
        throw ValidationError("--format \(text) is no format of pictures; choose png, jpg or webp")
      }
      return format
    }
    var status = stat()
    if path.hasSuffix("/") || stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR {
      let format = named ?? .png
      let name =
        file == "-" ? "picture" : String(file.split(separator: "/").last?.split(separator: ".").first ?? "picture")
      let folder = path.hasSuffix("/") ? path : path + "/"
      return (.numbered(prefix: "\(folder)\(name)-", digits: 3, suffix: ".\(format.fileExtension)"), format, folder)
    }
    guard let output = LocalImages.Output(pattern: path) else {
      throw ValidationError("the name \(path) has a % that is no number; write %d or such as %03d once, and %% for %")
    }
    if isSeries, case .file = output {
      throw ValidationError("several pictures need several names: write %d or %03d in \(path), or name a folder")
    }
    let dot = path.lastIndex(of: ".").map { path[path.index(after: $0)...] } ?? ""
    let ofName = ImageFormat(fileExtension: dot)
    guard let format = named ?? ofName else {
      throw ValidationError("the extension of \(path) selects no format of pictures; choose png, jpg or webp")
    }
    if let ofName, ofName != format {
      throw ValidationError(
        "the extension of \(path) selects \(ofName.rawValue), and --format \(format.rawValue): give one of them")
    }
    return (output, format, nil)
  }

  /// Two whole numbers above zero around an x.
  private static func pair(_ text: String) -> (Int, Int)? {
    let parts = text.split(separator: "x", omittingEmptySubsequences: false)
    guard parts.count == 2, let first = Int(parts[0]), let second = Int(parts[1]), first > 0, second > 0 else {
      return nil
    }
    return (first, second)
  }
}

extension ImageRequest.Times {
  /// Whether it asks for several pictures.
  fileprivate var isSeries: Bool {
    switch self {
    case .list(let times): times.count > 1
    case .every: true
    case .count(let count): count > 1
    }
  }
}
