import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmAPI
import FarmModel
import Foundation
import Jobs
import RenderTasks
import SystemSupport

@testable import Coordinator

/// Films and their media, of which mutants are made: each description is that of a real file.
struct MutantFilm: Sendable {
  /// An asset's id is the name of its description.
  var assets: [AssetID]
  var document: String

  private init(_ assets: [AssetID], _ document: String) {
    self.assets = assets
    let names = assets.map { "\"\($0)\": \"\($0)\"" }.joined(separator: ", ")
    self.document = "{ \"sheaf\": 1, \"assets\": { \(names) }, \(document) }"
  }

  static let all = [
    // Cuts, transitions, speeds, filters and texts of media of every kind of clock.
    MutantFilm(
      ["pair.mp4", "rounded.mkv", "joined.ts", "vfr.mp4", "still.png", "table.cube"],
      #"""
      "tracks": [
        { "id": "B", "sound": true, "clips": [
          { "asset": "rounded.mkv", "use": "0..1", "at": 1, "opacity": 0.5,
            "filters": [ { "kind": "lut", "asset": "table.cube" }, { "kind": "blur", "radius": 4 } ] },
          { "asset": "still.png", "at": "5/2", "duration": "1001/1000", "frame": [3, 4, "50%", 30] } ] },
        { "id": "A", "sound": true, "clips": [
          { "asset": "pair.mp4", "use": "1/3..2", "speed": "3/2", "fit": "blur",
            "ramps": [ { "over": "0..1/2", "opacity": [0, 1] } ] },
          { "asset": "joined.ts", "use": "1/2..3/2", "transition": { "kind": "wipe", "duration": "1/4" } },
          { "asset": "vfr.mp4", "use": "0..1", "reverse": true },
          { "asset": "pair.mp4", "freeze": "1/2", "duration": 1 } ] } ],
      "videoComposition": { "renderSize": [320, 180], "frameDuration": "1001/30000",
        "overlays": [ { "text": "Maroubra", "over": "0..2", "size": 20 },
          { "image": "still.png", "anchor": "top-right", "width": 30, "inset": 5 } ] },
      "audioMix": { "A.sound": [ { "over": "0..1", "volume": [0, 1] } ] },
      "export": { "to": "film.mp4", "metadata": { "title": "t" }, "chapters": [ { "at": 1, "title": "c" } ] }
      """#),
    // Nothing is stated: sizes, rates and colours follow from the media.
    MutantFilm(
      ["hdr.mp4", "edits.mp4", "damaged.mp4"],
      #"""
      "tracks": [ { "id": "A", "clips": [
        { "asset": "hdr.mp4" }, { "asset": "edits.mp4", "use": "0..1" }, { "asset": "damaged.mp4" } ] } ],
      "export": { "to": "film.mkv", "video": { "codec": "hevc" } }
      """#),
    MutantFilm(
      ["vfr.mp4"],
      #""tracks": [ { "id": "A", "sound": true, "clips": [ { "asset": "vfr.mp4" } ] } ], "export": { "to": "f.mov" }"#),
    MutantFilm(
      ["joined.ts"],
      #"""
      "tracks": [ { "id": "A", "sound": true, "clips": [ { "asset": "joined.ts" }, { "asset": "joined.ts", "speed": 2 } ] } ],
      "export": { "to": "f.webm" }
      """#),
    // Copies.
    MutantFilm(
      ["chapters.mp4"],
      #"""
      "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ { "asset": "chapters.mp4", "use": "1/2..2" } ] } ],
      "export": { "to": "film.mp4", "preset": "passthrough", "artwork": "chapters.mp4", "carryMetadata": "chapters.mp4" }
      """#),
    MutantFilm(
      ["rounded.mkv"],
      #"""
      "tracks": [ { "id": "A", "sound": true, "clips": [ { "asset": "rounded.mkv" }, { "asset": "rounded.mkv" } ] } ],
      "export": { "to": "film.mkv", "preset": "passthrough" }
      """#),
    // Captions, drawn and kept, and a font of a file.
    MutantFilm(
      ["pair.mp4", "words.srt", "chapters.mp4", "font.ttf"],
      #"""
      "tracks": [ { "id": "A", "clips": [ { "asset": "pair.mp4", "use": "0..2" } ] },
        { "id": "N", "type": "metadata", "interpolation": "linear", "values": [ { "at": 0, "value": 1 }, { "at": 1, "value": 9.5 } ] } ],
      "captions": [ { "asset": "words.srt", "size": 20 }, { "asset": "chapters.mp4", "as": "track", "language": "eng" } ],
      "videoComposition": { "overlays": [ { "text": "own", "font": "font.ttf" } ] },
      "export": { "to": "film.mkv" }
      """#),
    // Sound alone, over several files.
    MutantFilm(
      ["tone.wav", "joined.ts", "chapters.mp4"],
      #"""
      "tracks": [ { "id": "M", "type": "audio", "clips": [ { "asset": "tone.wav", "use": "0..2/3" },
          { "asset": "joined.ts", "use": "0..3/2", "speed": "5/4", "pitch": "varispeed" },
          { "asset": "chapters.mp4", "use": "1..2" } ] } ],
      "audioMix": { "M": [ { "over": "0..1/3", "volume": [0, 1] } ] },
      "export": { "to": "film.m4a" }
      """#),
    // Measured first.
    MutantFilm(
      ["pair.mp4", "vfr.mp4"],
      #"""
      "tracks": [ { "id": "A", "clips": [ { "asset": "pair.mp4", "use": "0..2" }, { "asset": "vfr.mp4", "use": "0..1" } ] } ],
      "export": { "to": "film.mp4", "video": { "bitRate": 300000 } }
      """#),
    MutantFilm(
      ["pair.mp4", "tone.wav"],
      #"""
      "tracks": [ { "id": "A", "clips": [ { "asset": "pair.mp4", "use": "0..2" } ] },
        { "id": "M", "type": "audio", "clips": [ { "asset": "tone.wav" } ] } ],
      "export": { "to": "film", "outputs": [ { "name": "a", "container": "mp4", "video": { "bitRate": 300000 } },
        { "name": "b", "container": "mp4", "height": 48 }, { "name": "c", "container": "m4a", "video": false } ] }
      """#),
  ]

  static let measured = all.suffix(2)

  /// By name, as JSON.
  static func descriptions() throws -> [AssetID: JSONTree] {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "descriptions.json")
    guard case .object(let members) = try JSONTree(String(contentsOf: file, encoding: .utf8)) else { return [:] }
    return Dictionary(members.map { ($0.key, $0.value) }) { first, _ in first }
  }

  func request(document: String? = nil, segmentDuration: String = "1") -> JobRequest {
    var request = JobRequest(
      document: document ?? self.document, options: RenderOptions(segmentDuration: segmentDuration), output: "")
    request.assets = assets.map { id in
      .init(id: id, path: id, content: Content(digest: SHA256Digest.of(id.utf8), size: 1000))
    }
    return request
  }
}

/// What a coordinator does with a job whose tasks are done.
struct MutantPlanning {
  /// The results of measure tasks: those that a worker returns, changed by `change`.
  var change: (String) throws -> String = { $0 }

  private static let font = Array("the glyphs of a font".utf8)

  /// The fonts that a worker finds for texts.
  static func list(of texts: [FontRequest]) -> FontList {
    let digest = SHA256Digest.of(font).hex
    let planned = PlannedFont(
      digest: digest, index: 0, format: "TrueType", weight: 80, slant: 0, variations: "", isColor: false,
      pictureSize: nil)
    return FontList(
      files: [.init(name: "font.ttf", digest: digest, size: Int64(font.count))],
      texts: texts.map { TextFonts(fonts: [planned], runs: [FontRun(length: $0.text.utf8.count, font: 0)]) },
      findings: texts.map { _ in FontFindings(substitute: nil, missing: []) })
  }

  static func fonts(of request: JobRequest, _ descriptions: [AssetID: AssetDescription]) -> FoundFonts {
    guard let document = try? request.document.read() else { return FoundFonts() }
    var texts = document.fontRequests
    for drawn in document.drawnCaptions {
      for track in descriptions[drawn.asset]?.tracks ?? [] {
        guard let captions = track.captions else { continue }
        texts += CaptionScript(captions, style: drawn.style, frame: PixelSize(width: 128, height: 96)).requests
      }
    }
    let list = list(of: texts)
    var fonts = FoundFonts(texts: Dictionary(zip(texts, list.texts)) { first, _ in first })
    fonts.findings = Dictionary(zip(texts, list.findings)) { first, _ in first }
    fonts.files = [Content(digest: SHA256Digest.of(font), size: Int64(font.count))]
    return fonts
  }

  /// Plans the job, twice if it is measured, and puts the plan into a job store.
  func run(_ request: JobRequest, _ descriptions: [AssetID: AssetDescription]) throws {
    let fonts = Self.fonts(of: request, descriptions)
    var measured: [SHA256Digest: NewTask] = [:]
    func plan() throws -> PlannedJob {
      try PlannedJob(
        request, descriptions: descriptions, fonts: fonts, build: "build 1",
        motion: { measured[$0.digest] == nil ? nil : CameraMotion(steps: []) },
        measurement: { content in
          guard let task = measured[content.digest] else { return nil }
          let text = try change(Self.measurement(of: task))
          return try Measurements.decode(Data(text.utf8))
        },
        result: { measured[$0] == nil ? nil : KnownResult(Content(digest: $0, size: 1)) })
    }
    var planned = try plan()
    if planned.isMeasuring {
      for task in planned.tasks { measured[task.fingerprint] = task }
      planned = try plan()
    }
    _ = try JSONCoding.encoder.encode(PlanReport(planned, request))
    var farm = FarmState(policy: LeasePolicy())
    let id = try farm.submit(
      NewJob(id: JobID("job"), name: "", priority: 0, request: request.encoded(), tasks: []), now: .zero)
    _ = try farm.plan(id, build: "build 1", tasks: planned.tasks, now: .zero)
    _ = planned.warnings.map(\.description)
  }

  private static func measurement(of task: NewTask) throws -> String {
    func one(_ encoder: VideoSettings, _ count: Int) -> RenderTasks.Measurement {
      let factors = encoder.bitRateModel?.measuringFactors ?? []
      return RenderTasks.Measurement(
        rateFactors: factors, frameBits: factors.indices.map { [Int](repeating: 5000 / ($0 + 1), count: count) })
    }
    switch try JSONDecoder().decode(TaskPayload.self, from: Data(task.payload)) {
    case .measure(let task):
      let all = task.renditions.map { one($0.encoder, task.frameCount) }
      return String(decoding: try JSONCoding.encoder.encode(all), as: UTF8.self)
    default: return ""
    }
  }
}
