import CompositionModel
import Digest
import EditDocument
import FarmAPI
import FoundationEssentials

/// The file of an asset, as a request names it: content that was uploaded, or a file under the media root.
struct AssetBody: Decodable, Sendable {
  var id: String
  /// Lower-case hexadecimal SHA-256; with `size`, in bytes.
  var digest: String?
  var size: Int64?
  var path: String?

  private enum CodingKeys: CodingKey {
    case id, digest, size, path
  }

  /// What is there is not null, and nothing else is there.
  init(from decoder: any Decoder) throws {
    let names = try MemberNames(from: decoder).names
    if let other = names.filter({ CodingKeys(stringValue: $0) == nil }).min() {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "an asset has no member '\(other)'"))
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(String.self, forKey: .id)
    if container.contains(.digest) { digest = try container.decode(String.self, forKey: .digest) }
    if container.contains(.size) { size = try container.decode(Int64.self, forKey: .size) }
    if container.contains(.path) { path = try container.decode(String.self, forKey: .path) }
  }

  /// - Parameter pointer: Its place in the request.
  fileprivate func source(at pointer: String) throws(ProblemDetails) -> AssetSource {
    if let path {
      guard digest == nil, size == nil else { throw Self.wrong(pointer, "an asset has a path, or a digest and a size") }
      guard !path.isEmpty else { throw Self.wrong(pointer + "/path", "a path is not empty") }
      return AssetSource(id: id, place: .path(path))
    }
    guard let digest, let size else { throw Self.wrong(pointer, "an asset needs a path, or a digest and a size") }
    guard let digest = SHA256Digest(hex: digest) else {
      throw Self.wrong(pointer + "/digest", "a digest is 64 lower-case hexadecimal digits")
    }
    guard size >= 0 else { throw Self.wrong(pointer + "/size", "a size is not below zero") }
    return AssetSource(id: id, place: .content(Content(digest: digest, size: size)))
  }

  fileprivate static func wrong(_ pointer: String, _ message: String) -> ProblemDetails {
    let problem = Problem(pointer: pointer, message: message)
    return ProblemDetails(.invalid, "\(problem)", problems: [problem])
  }
}

extension [AssetBody]? {
  var sources: [AssetSource] {
    get throws(ProblemDetails) {
      var sources: [AssetSource] = []
      for (index, asset) in (self ?? []).enumerated() { sources.append(try asset.source(at: "/assets/\(index)")) }
      return sources
    }
  }
}

/// The body of a submission.
struct SubmissionBody: RequestBody {
  static let keys =
    [
      "document", "parameters", "assets", "name", "priority", "pool", "isPaused", "holdUntil", "after", "output",
      "sound",
    ]
    + RenderOptions.keys

  /// The sound of the document alone.
  struct Sound: Decodable, Sendable {
    /// The audio track's name. Nil: the mix.
    var track: String?
  }

  var assets: [AssetBody]?
  var name: String?
  var priority: Int?
  var pool: String?
  var isPaused: Bool?
  var holdUntil: String?
  var after: [String]?
  var output: String?
  var sound: Sound?
  var options: RenderOptions

  private enum CodingKeys: String, CodingKey {
    case assets, name, priority, pool, isPaused, holdUntil, after, output, sound
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    assets = try members.decodeIfPresent([AssetBody].self, forKey: .assets)
    name = try members.decodeIfPresent(String.self, forKey: .name)
    priority = try members.decodeIfPresent(Int.self, forKey: .priority)
    pool = try members.decodeIfPresent(String.self, forKey: .pool)
    isPaused = try members.decodeIfPresent(Bool.self, forKey: .isPaused)
    holdUntil = try members.decodeIfPresent(String.self, forKey: .holdUntil)
    after = try members.decodeIfPresent([String].self, forKey: .after)
    output = try members.decodeIfPresent(String.self, forKey: .output)
    sound = try members.decodeIfPresent(Sound.self, forKey: .sound)
    options = try RenderOptions(membersOf: decoder)
  }
}

extension RenderOptions {
  /// Reads the members of a body that are options. Throws if the segment duration is no time.
  init(membersOf decoder: any Decoder) throws {
    self = try RenderOptions(from: decoder)
    let members = try decoder.container(keyedBy: CodingKeys.self)
    guard members.contains(.segmentDuration), try !members.decodeNil(forKey: .segmentDuration) else { return }
    var message = "it is empty; leave it out for the default"
    do {
      if try SegmentDuration.time(segmentDuration, frameDuration: MediaTime(value: 1, timescale: 30)) != nil { return }
    } catch {
      message = error.problems.first?.message ?? error.description
    }
    throw DecodingError.dataCorruptedError(forKey: .segmentDuration, in: members, debugDescription: message)
  }
}

extension SubmissionBody {
  /// Throws `.invalid` if a time or a job is none.
  var schedule: JobSchedule {
    get throws(ProblemDetails) {
      var schedule = JobSchedule()
      schedule.isPaused = isPaused ?? false
      schedule.after = after ?? []
      guard let holdUntil else { return schedule }
      guard let time = Timestamp(holdUntil) else {
        throw AssetBody.wrong("/holdUntil", "\"\(holdUntil.prefix(64))\" is not \(Timestamp.form)")
      }
      schedule.holdUntil = time
      return schedule
    }
  }

  /// Throws `.invalid` if the body has one that no job has.
  var jobPriority: Int32 {
    get throws(ProblemDetails) { try Self.priority(priority ?? 0) }
  }

  static func priority(_ number: Int) throws(ProblemDetails) -> Int32 {
    guard let number = Int32(exactly: number) else {
      throw AssetBody.wrong("/priority", "a priority is a number from \(Int32.min) to \(Int32.max)")
    }
    return number
  }
}

/// The body of a request that examines a document and renders nothing.
struct InspectionBody: RequestBody {
  static let keys = ["document", "parameters", "assets", RenderOptions.CodingKeys.segmentDuration.rawValue, "output"]

  var assets: [AssetBody]?
  var output: String?
  var options: RenderOptions

  private enum CodingKeys: String, CodingKey { case assets, output }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    assets = try members.decodeIfPresent([AssetBody].self, forKey: .assets)
    output = try members.decodeIfPresent(String.self, forKey: .output)
    options = try RenderOptions(membersOf: decoder)
  }
}

/// The body of a request about presets: a document, or media alone.
struct PresetsBody: RequestBody {
  static let keys = ["document", "assets"]

  var assets: [AssetBody]?
}

/// The body of a request for a still picture: of a document, or of one media file.
struct StillBody: RequestBody {
  static let keys = [
    "document", "parameters", "assets", "output", "time", "times", "every", "count", "tolerance", "sheet", "format",
    "quality", "width", "height",
  ]

  /// The most pictures of a reply.
  static let mostPictures = 200

  struct Sheet: Decodable, Sendable {
    var columns: Int
    var rows: Int
    var hasTimes: Bool?
  }

  var assets: [AssetBody]?
  var output: String?
  var time: String?
  /// One of these three: several pictures, in a reply of JSON.
  var times: [String]?
  var every: String?
  var count: Int?
  /// How far a picture may be before and after its time.
  var tolerance: [String]?
  var sheet: Sheet?
  var format: ImageFormat?
  var quality: Int?
  var width: Int?
  var height: Int?

  /// Throws `.invalid` if it asks for no picture, or for one that there cannot be.
  var images: ImageRequest {
    get throws(ProblemDetails) {
      var chosen: [ImageRequest.Times] = []
      if let time { chosen.append(.list([time])) }
      if let times { chosen.append(.list(times)) }
      if let every { chosen.append(.every(every)) }
      if let count { chosen.append(.count(count)) }
      if let sheet {
        let most = ImageRequest.Sheet.most
        guard (1...most).contains(sheet.columns), (1...most).contains(sheet.rows) else {
          throw AssetBody.wrong("/sheet", "a contact sheet has 1 to \(most) columns and rows")
        }
        if chosen.isEmpty { chosen = [.count(sheet.columns * sheet.rows)] }
      }
      guard chosen.count == 1, time == nil || sheet == nil else {
        throw ProblemDetails(.invalid, "give one of time, times, every, count, or the columns and rows of a sheet")
      }
      if let times, !(1...Self.mostPictures).contains(times.count) {
        throw AssetBody.wrong("/times", "a reply has 1 to \(Self.mostPictures) pictures")
      }
      if let count, !(1...Self.mostPictures).contains(count) {
        throw AssetBody.wrong("/count", "a reply has 1 to \(Self.mostPictures) pictures")
      }
      if let tolerance, tolerance.count != 2 {
        throw AssetBody.wrong("/tolerance", "a tolerance is two times, before and after")
      }
      let quality = quality ?? ImageFormat.defaultQuality
      guard ImageFormat.qualities.contains(quality) else {
        throw AssetBody.wrong("/quality", "a quality is a number from 1 to 100")
      }
      return ImageRequest(
        times: chosen[0], tolerance: tolerance, format: format ?? .jpeg, quality: quality,
        box: try Self.box(width, height),
        sheet: sheet.map { ImageRequest.Sheet(columns: $0.columns, rows: $0.rows, hasTimes: $0.hasTimes ?? false) })
    }
  }

  /// Whether the reply has several pictures.
  var isList: Bool { sheet == nil && time == nil }

  /// The longest side that may be asked for, in pixels.
  static let longestSide = 16_384

  private static func box(_ width: Int?, _ height: Int?) throws(ProblemDetails) -> PixelSize? {
    for (name, side) in [("width", width), ("height", height)] {
      if let side, !(1...longestSide).contains(side) {
        throw AssetBody.wrong("/\(name)", "a side is a number from 1 to \(longestSide)")
      }
    }
    if width == nil, height == nil { return nil }
    return PixelSize(width: width ?? longestSide, height: height ?? longestSide)
  }
}

/// The body of a request that describes media.
struct ProbeBody: RequestBody {
  static let keys = ["assets"]

  var assets: [AssetBody]
}

extension DecodedBody {
  /// The member `document`. Nil: there is none.
  var documentIfAny: [UInt8]? {
    get throws(ProblemDetails) { JSONMember.text("document", in: bytes) == nil ? nil : try document }
  }

  /// The member `document` as it was written: an object, or the text of one; with the values of `parameters`.
  var document: [UInt8] {
    get throws(ProblemDetails) {
      let document = try writtenDocument
      guard let text = JSONMember.text("parameters", in: bytes) else { return document }
      let values: [String: ParameterBody]
      do {
        values = try JSONDecoder().decode([String: ParameterBody].self, from: Data(text))
      } catch {
        throw AssetBody.wrong("/parameters", "the values of parameters are texts, numbers, true or false, by name")
      }
      do throws(DocumentError) {
        return try Template.setting(
          values.sorted { $0.key < $1.key }.map { (name: $0.key, text: $0.value.text) }, in: document)
      } catch {
        throw ProblemDetails(problems: error.problems.located(in: document))
      }
    }
  }

  private var writtenDocument: [UInt8] {
    get throws(ProblemDetails) {
      let text = JSONMember.text("document", in: bytes) ?? []
      switch text.first {
      case UInt8(ascii: "{"): return Array(text)
      case UInt8(ascii: "\""):
        // It was decoded with the rest of the body, so it is valid.
        guard let document = try? JSONDecoder().decode(String.self, from: Data(text)) else { break }
        return Array(document.utf8)
      case nil: throw AssetBody.wrong("/document", "the member 'document' is missing")
      default: break
      }
      throw AssetBody.wrong("/document", "a document is an object, or its text")
    }
  }
}

/// The value of a parameter.
private struct ParameterBody: Decodable {
  var text: String

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let flag = try? value.decode(Bool.self) {
      text = flag ? "true" : "false"
    } else if let number = try? value.decode(Decimal.self) {
      text = "\(number)"
    } else {
      text = try value.decode(String.self)
    }
  }
}

extension [Problem] {
  /// With their lines and columns in the document's text.
  func located(in document: [UInt8]) -> [Problem] { DocumentPlaces(document).located(self) }
}
