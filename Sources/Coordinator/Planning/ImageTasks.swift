import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks
import Segmenter
import SystemSupport

/// The tasks that make a request's pictures, and their results. They are probe tasks with another payload. Their
/// results are never taken from the result cache.
struct ImageTasks: Sendable {
  /// The longest list of pictures, in bytes.
  private static let maximumBytes = 64 << 20

  private let request: ImageRequest
  private let times: [Rational]
  private let plan: ImagePlan
  /// By digest.
  private let files: [String: Content]
  private let title: String
  /// Of what is shown. Nil: a still.
  private let duration: MediaTime?

  /// Plans the pictures of a film, or, if the request has no document, of its one asset. Throws `DocumentError` with
  /// everything that is wrong, or `PlanError`.
  /// - Parameter motion: The motion of the camera in all stabilized clips.
  init(
    _ images: ImageRequest, _ request: JobRequest, descriptions: [AssetID: AssetDescription], fonts: FoundFonts,
    motion: [MotionTask: CameraMotion]
  ) throws {
    self.request = images
    let contents = try request.files() + fonts.files
    files = Dictionary(contents.map { ($0.digest.hex, $0) }) { first, _ in first }
    let (isWhole, isLabelled) = (images.sheet != nil, images.sheet?.hasTimes == true)
    var problems: [Problem] = []
    let size: PixelSize
    if request.document.text.isEmpty {
      guard let asset = request.assets.first, let description = descriptions[asset.id] else {
        throw DocumentError(problems: [])
      }
      guard let track = description.defaultTrack(.video), let video = track.video else {
        throw DocumentError(problems: [Problem(pointer: "", message: "\(asset.path): it has no pictures")])
      }
      title = "pictures of \(asset.path)"
      size = video.presentationSize
      let frame = try mapErrors(to: Self.invalidTime) { () throws(TimeError) -> MediaTime? in
        let rate = try video.nominalFrameRate.exact
        return video.isStill || rate == .zero ? nil : try MediaTime(Rational.one / rate)
      }
      duration = video.isStill ? nil : track.range.end
      times = try images.times(duration: duration, frameDuration: frame, &problems)
      let tolerance = images.tolerance(frameDuration: frame, &problems)
      images.check(size, count: times.count, &problems)
      guard problems.isEmpty else { throw DocumentError(problems: problems) }
      plan = try ImagePlanner.plan(
        PlannedAsset(description: description, digest: asset.content.digest.hex), track, video, times: times,
        tolerance: tolerance, isWhole: isWhole, isLabelled: isLabelled)
    } else {
      let edit = try request.document.read().lower(assets: descriptions, output: request.document.output)
      title = "pictures of the film"
      size = edit.videoComposition.renderSize
      let frame = edit.videoComposition.frameDuration
      duration = edit.composition.duration
      times = try images.times(duration: duration, frameDuration: frame, &problems)
      let tolerance = images.tolerance(frameDuration: frame, &problems)
      images.check(size, count: times.count, &problems)
      guard problems.isEmpty else { throw DocumentError(problems: problems) }
      let planned = MotionPlanner.adding(motion, to: request.planned(descriptions))
      plan = try ImagePlanner.plan(
        edit, assets: planned, fonts: fonts.texts, times: times, tolerance: tolerance, isWhole: isWhole,
        isLabelled: isLabelled)
    }
  }

  static func invalidTime(_ error: TimeError) -> PlanError { PlanError(.time(error), "a picture's time") }

  /// The tasks, each of which has some of the parts. A contact sheet is one task.
  func tasks() throws -> [NewTask] {
    let parts = plan.parts.map(\.part)
    if parts.isEmpty { return [] }
    let output = ImageOutput(format: request.format, quality: request.quality, box: request.box)
    let sheet = request.sheet.map { ImageSheet(columns: $0.columns, rows: $0.rows, gap: $0.gap) }
    let groups = sheet == nil ? parts.map { [$0] } : [parts]
    return try groups.map { parts in
      let task = ImageTask(parts: parts, output: output, sheet: sheet)
      let payload = try TaskMaker.encoded(.images(task))
      var seen: Set<String> = []
      let inputs = task.digests.filter { seen.insert($0).inserted }.compactMap { files[$0] }
      let count = parts.reduce(0) { $0 + $1.pictures.count }
      return NewTask(
        kind: .probe, label: title, payload: payload, inputs: inputs,
        fingerprint: TaskFingerprint.of(build: "", kind: .probe, payload: payload, inputs: inputs.map(\.digest)),
        cost: Double(count), work: Int64(count))
    }
  }

  /// The pictures of the tasks that are done.
  /// - Parameters:
  ///   - results: By task: its result, or why it has none.
  func reply(_ results: [Result<Content, ImageFailure>], store: ContentStore) throws -> ImageReply {
    var reply = ImageReply(pictures: times.map { ImageReply.Picture(requested: .init($0)) })
    reply.duration = try duration.map { ImageReply.Time(try $0.exact) }
    for (number, error) in plan.errors { reply.pictures[number].error = error }
    let clocks = Dictionary(
      plan.parts.flatMap { part in part.part.pictures.map { ($0.number, part) } },
      uniquingKeysWith: { first, _ in first })
    for (index, result) in results.enumerated() {
      let parts = request.sheet == nil ? [plan.parts[index]] : plan.parts
      switch result {
      case .failure(let failure):
        for picture in parts.flatMap(\.part.pictures) { reply.pictures[picture.number].error = failure.message }
      case .success(let content):
        let list = try Self.list(content, store: store)
        for made in list.pictures {
          guard let clock = clocks[made.number] else { throw Self.invalid(content) }
          var picture = ImageReply.Picture(requested: .init(times[made.number]))
          try picture.take(made, of: content)
          picture.actual = try made.place.map { .init(try clock.time(of: $0)) }
          reply.pictures[made.number] = picture
        }
        if let sheet = list.sheet {
          var picture = ImageReply.Picture(requested: .init(.zero))
          try picture.take(sheet, of: content)
          reply.sheet = picture
        }
      }
    }
    for index in reply.pictures.indices where reply.pictures[index].actual == nil && reply.pictures[index].error == nil
    {
      reply.pictures[index].error = "the picture was not made"
    }
    return reply
  }

  private static func list(_ content: Content, store: ContentStore) throws -> ImageList {
    let file = try mapErrors { () throws(SystemError) in try OpenFile.open(store.path(of: content.digest)) }
    guard try mapErrors({ () throws(SystemError) in try file.content() }) == content else {
      throw ContentStoreError(.mismatch, "the content \(content.digest) is damaged on the coordinator's disk")
    }
    func read(_ count: Int, at offset: Int64) throws -> [UInt8] {
      guard offset >= 0 else { throw invalid(content) }
      let bytes = try mapErrors { () throws(SystemError) in try file.read(at: offset, length: count) }
      guard bytes.count == count else { throw invalid(content) }
      return bytes
    }
    let end = content.size - Int64(ImageList.tailSize)
    guard let length = ImageList.length(inTail: try read(ImageList.tailSize, at: end)), length <= maximumBytes else {
      throw invalid(content)
    }
    return try ImageList(json: read(length, at: end - Int64(length)))
  }

  private static func invalid(_ content: Content) -> ContentStoreError {
    ContentStoreError(.mismatch, "the content \(content.digest) does not have the pictures that were asked for")
  }
}

/// Why the pictures of a task could not be made.
struct ImageFailure: Error, Sendable {
  var message: String
}

extension ImageReply.Picture {
  fileprivate mutating func take(_ made: ImageList.Picture, of content: Content) throws {
    size = made.size
    isDamaged = made.isDamaged == true
    error = made.error
    guard let offset = made.offset, let byteCount = made.byteCount else { return }
    guard offset >= 0, byteCount >= 0, offset <= content.size, byteCount <= content.size - offset else {
      throw ContentStoreError(.mismatch, "the content \(content.digest) ends before its pictures")
    }
    place = ImageReply.Place(digest: content.digest.hex, offset: offset, byteCount: byteCount)
  }
}

extension ImageRequest {
  /// The times of the pictures in seconds, by number.
  /// - Parameters:
  ///   - duration: The duration of what is shown. Nil: a still, whose picture is the same at any time.
  ///   - frameDuration: For times in frames. Nil: there are none.
  fileprivate func times(
    duration: MediaTime?, frameDuration: MediaTime?, _ problems: inout [Problem]
  ) throws(PlanError) -> [Rational] {
    do throws(TimeError) {
      return try exactTimes(duration: duration, frameDuration: frameDuration, &problems)
    } catch {
      throw ImageTasks.invalidTime(error)
    }
  }

  private func exactTimes(
    duration: MediaTime?, frameDuration: MediaTime?, _ problems: inout [Problem]
  ) throws(TimeError) -> [Rational] {
    switch times {
    case .list(let texts):
      if texts.count > Self.mostPictures { problems.append(tooMany(texts.count)) }
      let times = texts.prefix(Self.mostPictures).compactMap { time($0, frameDuration, "the time", &problems) }
      return try times.map { time throws(TimeError) in try time.exact }
    case .every(let text):
      guard let step = time(text, frameDuration, "the step", &problems) else { return [] }
      guard step > .zero else {
        problems.append(Problem(pointer: "", message: "the step \"\(text)\" must be above zero"))
        return []
      }
      guard let duration else { return [.zero] }
      let count = try (duration / step).ceiling
      guard count <= Self.mostPictures else {
        problems.append(tooMany(count))
        return []
      }
      return try (0..<max(0, count)).map { number throws(TimeError) in try step.exact * Rational(number) }
    case .count(let count):
      guard (1...Self.mostPictures).contains(count) else {
        problems.append(tooMany(count))
        return []
      }
      guard let duration else { return [.zero] }
      return try (0..<count).map { number throws(TimeError) in
        try duration.exact * Rational(Int128(2 * number + 1), Int128(2 * count))
      }
    }
  }

  private func tooMany(_ count: some FixedWidthInteger) -> Problem {
    Problem(pointer: "", message: "\(count) pictures; there must be 1 to \(Self.mostPictures)")
  }

  private func time(
    _ text: String, _ frameDuration: MediaTime?, _ what: String, _ problems: inout [Problem]
  ) -> MediaTime? {
    if let time = MediaTime(notation: text, frameDuration: frameDuration) { return time }
    problems.append(
      Problem(
        pointer: "",
        message: "\(what) \"\(text)\" is no time; write 5, 1.5, 7/30, 90f (frames), 1:02.5 or 1:00:02.5"))
    return nil
  }

  fileprivate func tolerance(frameDuration: MediaTime?, _ problems: inout [Problem]) -> ImageTolerance {
    guard let tolerance else { return .exact }
    guard let before = tolerance.first, let after = tolerance.last, tolerance.count <= 2 else {
      problems.append(Problem(pointer: "", message: "a tolerance is one time, or two: before and after"))
      return .exact
    }
    func time(_ text: String) -> MediaTime? {
      if text == "inf" { return .positiveInfinity }
      guard let time = self.time(text, frameDuration, "the tolerance", &problems) else { return nil }
      if time < .zero { problems.append(Problem(pointer: "", message: "the tolerance \"\(text)\" is below zero")) }
      return time
    }
    let first = time(before) ?? .zero
    return ImageTolerance(before: first, after: tolerance.count == 1 ? first : time(after) ?? .zero)
  }

  /// Reports what cannot be written.
  /// - Parameters:
  ///   - picture: The size of a picture in square pixels.
  ///   - count: The number of pictures.
  fileprivate func check(_ picture: PixelSize, count: Int, _ problems: inout [Problem]) {
    if !ImageFormat.qualities.contains(quality) {
      let (least, most) = (ImageFormat.qualities.lowerBound, ImageFormat.qualities.upperBound)
      problems.append(Problem(pointer: "", message: "the quality \(quality) must be \(least) to \(most)"))
    }
    let sides = 1...PixelSize.largestSide
    if let box, !sides.contains(box.width) || !sides.contains(box.height) {
      problems.append(
        Problem(
          pointer: "",
          message: "the greatest size \(box.width)x\(box.height) has a side that is not 1 to \(sides.upperBound) "
            + "pixels"))
      return
    }
    var size = ImageOutput(format: format, quality: quality, box: box).size(of: picture)
    var what = "a picture"
    if let sheet {
      guard (1...Sheet.most).contains(sheet.columns), (1...Sheet.most).contains(sheet.rows) else {
        problems.append(
          Problem(pointer: "", message: "a contact sheet has 1 to \(Sheet.most) columns and 1 to \(Sheet.most) rows"))
        return
      }
      let gaps = ImageGrid.gaps
      guard gaps.contains(sheet.grid.gap) else {
        problems.append(
          Problem(
            pointer: "",
            message: "the pictures of a contact sheet are \(gaps.lowerBound) to \(gaps.upperBound) pixels apart"))
        return
      }
      if count > sheet.columns * sheet.rows {
        problems.append(
          Problem(
            pointer: "",
            message: "\(count) pictures do not fit a contact sheet of \(sheet.columns)x\(sheet.rows): choose fewer "
              + "pictures, or a larger sheet"))
      }
      what = "a contact sheet"
      size = sheet.grid.size(cell: size)
    }
    let most = format.largestSide
    if size.width > most || size.height > most || size.width * size.height > PixelSize.largestArea {
      problems.append(
        Problem(
          pointer: "",
          message:
            "\(what) of \(size.width)x\(size.height) pixels; \(format.rawValue) has at most \(most) on a side and "
            + "\(PixelSize.largestArea) in all: choose a smaller size"))
    }
  }
}
