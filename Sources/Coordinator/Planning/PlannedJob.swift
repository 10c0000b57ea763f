import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmAPI
import Jobs
import RenderTasks
import Segmenter

/// The plan and the tasks of a request, given the descriptions of its media: pure, but for the measurements that it
/// reads.
struct PlannedJob: Sendable {
  var plan: RenderPlan
  /// The video tasks by segment, the audio's by part, the stitch task; of a film that is copied the stitch task alone.
  /// Or, if the motion in clips or the segments have to be measured first, their measure tasks.
  var tasks: [NewTask]
  /// Also among `tasks`, unless they are measure tasks. Empty: the output has no audio.
  var audio: [NewTask] = []
  /// What is most likely not meant.
  var warnings: [Problem]
  /// Whether `tasks` are measure tasks, so that the job is planned again when they are done.
  var isMeasuring = false
  /// Nil: the document has one output.
  var outputs: [OutputReport]?
  /// Nil: the output has no video.
  var film: FilmReport?

  /// Throws `DocumentError` if the document does not match its media.
  /// - Parameters:
  ///   - fonts: Of the document's texts.
  ///   - segments: The numbers of the segments that are rendered. Nil: all of them.
  ///   - motion: Reads the motion in a stretch of a clip. Nil: it is lost, and has to be measured again.
  ///   - measurement: Reads the measurements of a segment, likewise.
  ///   - result: What a task with this fingerprint produced before, if that is still available.
  init(
    _ request: JobRequest, descriptions: [AssetID: AssetDescription], fonts: FoundFonts, build: String,
    segments: Set<Int>? = nil, motion: (Content) throws -> CameraMotion?,
    measurement: (Content) throws -> [Measurement]?, result: @escaping (SHA256Digest) -> KnownResult?
  ) throws {
    let maker = try TaskMaker(request, fonts: fonts, build: build, result: result)
    let missing: [NewTask]
    (plan, warnings, film, missing) = try Self.plan(request, descriptions, fonts, maker, motion: motion)
    let problems = request.problems(with: plan.damage)
    guard problems.isEmpty else { throw DocumentError(problems: problems) }
    tasks = []
    if let copy = plan.passthrough {
      tasks = [try maker.copy(copy)]
      return
    }
    outputs = OutputReport.list(of: plan.stitch)
    audio = try maker.audio(plan)
    guard missing.isEmpty else {
      tasks = missing
      isMeasuring = true
      return
    }
    tasks = try maker.measures(plan)
    let measurements = try tasks.map { try $0.cached.flatMap(measurement) }
    guard measurements.allSatisfy({ $0 != nil }) else {
      for index in tasks.indices where measurements[index] == nil { tasks[index].cached = nil }
      isMeasuring = true
      return
    }
    plan = try plan.sharingBits(measurements.compactMap(\.self))
    if let segments { plan = plan.keeping(segments) }
    tasks = try plan.segments.map { try maker.video($0, .video($0.task)) }
    tasks += audio
    tasks.append(try maker.stitch(plan, tasks))
  }

  /// - Returns: Also the tasks that have to measure motion first. Until then pictures stay where they are.
  private static func plan(
    _ request: JobRequest, _ descriptions: [AssetID: AssetDescription], _ fonts: FoundFonts, _ maker: TaskMaker,
    motion: (Content) throws -> CameraMotion?
  ) throws -> (RenderPlan, warnings: [Problem], film: FilmReport?, missing: [NewTask]) {
    let document = try request.document.read()
    let (edit, found, times) = try document.lowerWithTimes(assets: descriptions, output: request.document.output)
    let duration = try SegmentDuration.time(
      request.options.segmentDuration, frameDuration: edit.videoComposition.frameDuration)
    let ofFonts =
      document.fontWarnings(fonts.findings, assets: descriptions) + document.textWarnings(edit, fonts.findings)
      + document.captionWarnings(captionFindings(edit, descriptions, fonts))
    var warnings = found + ofFonts
    let assets = request.planned(descriptions)
    let motions = try MotionTasks(edit, assets: assets, maker: maker, result: motion)
    let measured = MotionPlanner.adding(motions.found, to: assets)
    if motions.missing.isEmpty { warnings += MotionTasks.warnings(edit, assets: measured) }
    let plan = try RenderPlanner.plan(edit, assets: measured, fonts: fonts.texts, segmentDuration: duration)
    return (plan, warnings, try FilmReport(plan, warnings, times), motions.missing.map(\.task))
  }

  /// What was found for the texts of each captions of an edit.
  private static func captionFindings(
    _ edit: Edit, _ descriptions: [AssetID: AssetDescription], _ fonts: FoundFonts
  ) -> [[FontRequest: FontFindings]] {
    (edit.captions ?? []).map { captions in
      guard case .drawn(let style) = captions.use,
        let format = (edit.drawn?[captions.asset] ?? descriptions[captions.asset])?.tracks.first(where: {
          $0.index == captions.sourceTrack
        })?.captions
      else { return [:] }
      let requests = CaptionScript(format, style: style, frame: edit.videoComposition.renderSize).requests
      return Dictionary(requests.compactMap { request in fonts.findings[request].map { (request, $0) } }) { first, _ in
        first
      }
    }
  }
}
