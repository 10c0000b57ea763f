import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmAPI
import FarmModel
import FarmWire
import Foundation
import Jobs
import RenderTasks
import SwiftProtobuf
import SystemSupport
import TestPrograms
import Wire

@testable import Coordinator

/// What comes from outside into a coordinator, changed at random.
enum MutantKind: String, CaseIterable, Sendable, Codable {
  /// The results of tasks.
  case description, measurement, fontList, pictures, findings, damage
  /// How a worker says that an attempt has ended.
  case attempt
  /// What clients send.
  case document, pictureRequest
  /// What is stored.
  case request, payload, note
  /// The messages of a worker and of a client.
  case worker, client

  /// Whether it is of messages, whose answers are not looked at.
  var isOfPeers: Bool { self == .worker || self == .client }

  /// How many of a hundred mutants are of this kind.
  var share: Int {
    switch self {
    case .description: 32
    case .document: 12
    case .measurement, .worker: 8
    case .client, .pictures, .pictureRequest, .request, .payload: 6
    case .fontList, .findings, .damage, .attempt, .note: 2
    }
  }
}

/// Makes mutants by kind and number, and hands them to the code that reads them. What it throws is as it should be.
struct MutantRun {
  let kind: MutantKind
  private let descriptions: [AssetID: JSONTree]
  private let store: ContentStore
  private let folder: TemporaryFolder

  init(_ kind: MutantKind) throws {
    self.kind = kind
    descriptions = try MutantFilm.descriptions()
    folder = try TemporaryFolder()
    store = try ContentStore(directory: folder.path("store"))
  }

  private func random(_ number: Int) -> SeededRandom {
    let place = MutantKind.allCases.firstIndex(of: kind) ?? 0
    return SeededRandom(seed: UInt64(number) &* 64 &+ UInt64(place))
  }

  /// - Parameters:
  ///   - began: Is called before each mutant.
  ///   - accepted: Is called after each that was no error.
  func run(_ numbers: Range<Int>, began: (Int) -> Void, accepted: () -> Void) async throws {
    switch kind {
    case .worker, .client: try await MutantPeer(kind).run(numbers, random: random, began: began)
    default:
      for number in numbers {
        began(number)
        var random = random(number)
        do {
          try run(&random)
          accepted()
        } catch {
          try check(error)
        }
      }
    }
  }

  /// A reason for a person, which is never that of the coordinator's own disk.
  private func check(_ error: any Error) throws {
    if let error = error as? ContentStoreError, error.code != .mismatch { throw error }
    if error is SystemError { throw error }
  }

  private func film(_ random: inout SeededRandom, of films: [MutantFilm] = MutantFilm.all) -> MutantFilm {
    films[Int.random(in: films.indices, using: &random)]
  }

  private func read(_ film: MutantFilm, changing changed: AssetID? = nil, _ random: inout SeededRandom) throws
    -> [AssetID: AssetDescription]
  {
    var read: [AssetID: AssetDescription] = [:]
    for id in film.assets {
      guard var tree = descriptions[id] else { continue }
      if id == changed { tree = tree.mutated(&random) }
      read[id] = try ProbeTasks.decode(Data(tree.text.utf8))
    }
    return read
  }

  private func run(_ random: inout SeededRandom) throws {
    switch kind {
    case .description: try description(&random)
    case .measurement:
      let film = film(&random, of: Array(MutantFilm.measured))
      var changes = random
      var hasChanged = false
      let planning = MutantPlanning { text in
        if hasChanged, Bool.random(using: &changes) { return text }
        hasChanged = true
        return try JSONTree(text).mutated(&changes).text
      }
      try planning.run(film.request(), read(film, &random))
    case .fontList: try fontList(&random)
    case .pictures: try pictures(&random, changesRequest: false)
    case .pictureRequest: try pictures(&random, changesRequest: true)
    case .findings:
      let tree = try JSONTree(#"{"problems":[null,"a problem","another"]}"#).mutated(&random)
      _ = try CompositorTasks.decode(Data(tree.text.utf8)).problems.count
    case .damage: try damage(&random)
    case .attempt: try attempt(&random)
    case .document:
      let film = film(&random)
      let tree = try JSONTree(film.document).mutated(&random)
      try MutantPlanning().run(film.request(document: tree.text), read(film, &random))
    case .request:
      let film = film(&random)
      let encoded = String(decoding: try film.request().encoded(), as: UTF8.self)
      let request = try JobRequest(encoded: [UInt8](JSONTree(encoded).mutated(&random).text.utf8))
      _ = try ProbeTasks.make(request, results: ResultCache(store))
      try MutantPlanning().run(request, read(film, &random))
    case .payload: try payload(&random)
    case .note: try note(&random)
    case .worker, .client: break
    }
  }

  private func description(_ random: inout SeededRandom) throws {
    let film = film(&random)
    let changed = film.assets[Int.random(in: film.assets.indices, using: &random)]
    let read = try read(film, changing: changed, &random)
    guard let description = read[changed] else { return }
    _ = (description.warnings, description.timeJumps, description.commonMetadata)
    _ = description.tracks.compactMap(\.video?.presentationSize)
    _ = try JSONCoding.encoder.encode(description)
    try MutantPlanning().run(film.request(), read)
  }

  private func keep(_ bytes: [UInt8]) throws -> Content {
    let content = Content(digest: SHA256Digest.of(bytes), size: Int64(bytes.count))
    let path = URL(filePath: store.path(of: content.digest))
    try FileManager.default.createDirectory(at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: path)
    return content
  }

  private func fontList(_ random: inout SeededRandom) throws {
    let film = MutantFilm.all[0]
    let request = film.request()
    let document = try request.document.read()
    let encoded = try MutantPlanning.list(of: document.fontRequests).encoded()
    let json = String(decoding: encoded.dropFirst(FontList.headSize), as: UTF8.self)
    let changed = [UInt8](try JSONTree(json).mutated(&random).text.utf8)
    var head = Array(encoded.prefix(12)) + (0..<4).map { UInt8(truncatingIfNeeded: changed.count >> (8 * $0)) }
    if Int.random(in: 0..<8, using: &random) == 0 { head[Int.random(in: 8..<16, using: &random)] ^= 0x80 }
    let result = try keep(head + changed + Array("the glyphs of a font".utf8))
    var task = RenderTask(
      id: TaskID(job: JobID("job"), ordinal: 0), kind: .probe, label: "", state: .done, payload: [], inputs: [],
      fingerprint: result.digest, cost: 0, work: 0)
    task.result = result
    let fonts = try FontTasks.read([task], request, store: store)
    let plan = try PlannedJob(
      request, descriptions: read(film, &random), fonts: fonts, build: "build 1", motion: { _ in nil },
      measurement: { _ in nil },
      result: { _ in nil })
    _ = try PlanReport(plan, request)
  }

  /// Still pictures: the request of a client, the description of the asset, and what a worker has made.
  private func pictures(_ random: inout SeededRandom, changesRequest: Bool) throws {
    let requests = [
      #"{"times":{"list":{"_0":["0","1/2","30f","0:01"]}},"format":"png","quality":90,"box":{"width":64,"height":48}}"#,
      #"{"times":{"every":{"_0":"1/3"}},"tolerance":["1/10","inf"],"format":"jpeg","quality":80}"#,
      #"{"times":{"count":{"_0":7}},"format":"png","quality":90,"sheet":{"columns":3,"rows":3,"hasTimes":true}}"#,
    ]
    var text = requests[Int.random(in: requests.indices, using: &random)]
    if changesRequest { text = try JSONTree(text).mutated(&random).text }
    let images = try JSONDecoder().decode(ImageRequest.self, from: Data(text.utf8))
    let film = film(&random)
    let isFilm = Bool.random(using: &random)
    var request = film.request(document: isFilm ? nil : "")
    if !isFilm { request.assets = Array(request.assets.prefix(1)) }
    let changed = !changesRequest && Bool.random(using: &random) ? request.assets[0].id : nil
    let read = try read(film, changing: changed, &random)
    let planned = try ImageTasks(
      images, request, descriptions: read, fonts: MutantPlanning.fonts(of: request, read), motion: [:])
    let tasks = try planned.tasks()
    for task in tasks { _ = try farm(task) }
    let results = try tasks.map { task -> Result<Content, ImageFailure> in
      guard case .images(let task) = try JSONDecoder().decode(TaskPayload.self, from: Data(task.payload)) else {
        return .failure(ImageFailure(message: "other"))
      }
      let made = task.parts.flatMap(\.pictures).map { picture in
        var made = ImageList.Picture(number: picture.number)
        (made.place, made.offset, made.byteCount) = (picture.place, 0, 2)
        made.size = PixelSize(width: 64, height: 48)
        return made
      }
      let json = String(decoding: try JSONCoding.encoder.encode(ImageList(pictures: made)), as: UTF8.self)
      let list = [UInt8](try JSONTree(json).mutated(&random).text.utf8)
      return .success(
        try keep([1, 2] + list + (0..<8).map { UInt8(truncatingIfNeeded: list.count >> (8 * $0)) }))
    }
    _ = try JSONCoding.encoder.encode(planned.reply(results, store: store))
  }

  private func farm(_ task: NewTask) throws -> JobID {
    var farm = FarmState(policy: LeasePolicy())
    return try farm.submit(
      NewJob(id: JobID("job"), name: "", purpose: .inspection, priority: 0, request: [], tasks: [task]), now: .zero)
  }

  /// Numbers that a status shows, after the store and on the way to a client.
  private func attempt(_ random: inout SeededRandom) throws {
    let numbers: [Int64] = [0, 1, 7, -1, 1 << 31, 1 << 53, .max - 1, .max, .min]
    func number() -> Int64 { numbers[Int.random(in: numbers.indices, using: &random)] }
    let message = Sheaf_Failure.with {
      $0.end = AttemptEnd.allCases.randomElement(using: &random)?.message ?? .unspecified
      $0.process = .with {
        $0.exitCode = Int32(truncatingIfNeeded: number())
        $0.signal = Int32(truncatingIfNeeded: number())
        $0.cpuMilliseconds = UInt64(bitPattern: number())
        $0.peakBytes = UInt64(bitPattern: number())
      }
      $0.usage = .with {
        ($0.waitMilliseconds, $0.cpuMilliseconds) = (UInt64(bitPattern: number()), UInt64(bitPattern: number()))
        ($0.peakBytes, $0.fetchedBytes) = (UInt64(bitPattern: number()), UInt64(bitPattern: number()))
      }
    }
    let failure = TaskFailure(message, limit: 4096)
    var task = RenderTask(
      id: TaskID(job: JobID("job"), ordinal: Int32(truncatingIfNeeded: number())), kind: .video, label: "",
      state: .running, payload: [], inputs: [], fingerprint: .of([]), cost: 1, work: number(), epoch: number())
    task.attempts = [
      Attempt(
        epoch: number(), worker: WorkerID("w"), workerName: "", end: failure.end, message: "", process: failure.process,
        ran: .microseconds(number()), endedAt: .microseconds(number()), usage: failure.usage)
    ]
    task.leases = [
      HeldLease(
        epoch: number(), worker: WorkerID("w"), workerName: "", session: SessionID(number()), progress: number(),
        grantedAt: .microseconds(number()), ran: .microseconds(number()))
    ]
    task.publisher = Publisher(
      worker: WorkerID("w"), workerName: "", took: .microseconds(number()), publishedAt: .microseconds(number()),
      usage: failure.usage)
    let status = TaskStatus(Sheaf_TaskStatus(TaskStatus(task)))
    _ = try JSONCoding.encoder.encode(status)
    _ = Sheaf_TaskStatus(status)
  }

  private func damage(_ random: inout SeededRandom) throws {
    let one =
      #"{"digest":"\#(SHA256Digest.of([1]).hex)","track":0,"type":"video","count":3,"places":[{"source":1.5,"output":2}]}"#
    let tree = try JSONTree(#"{"tracks":[\#(one),\#(one)]}"#).mutated(&random)
    let damage = try ShownDamage(report: Data(tree.text.utf8))
    let request = MutantFilm.all[0].request()
    for report in DamageReport.list(damage, request) { _ = (report.text, Sheaf_MediaDamage(report)) }
    _ = request.problems(with: damage)
    var counter = DamageCounter(limit: 10)
    for start in 0..<3 { counter.add(damage, at: Double(start)) }
    _ = DamageReport.list(counter.damage, nil).map(\.text)
  }

  /// A coordinator hands payloads on. A worker's process reads them.
  private func payload(_ random: inout SeededRandom) throws {
    let film = film(&random)
    let request = film.request()
    let read = try read(film, &random)
    let planned = try PlannedJob(
      request, descriptions: read, fonts: MutantPlanning.fonts(of: request, read), build: "build 1",
      motion: { _ in nil }, measurement: { _ in nil }, result: { _ in nil })
    let task = planned.tasks[Int.random(in: planned.tasks.indices, using: &random)]
    let tree = try JSONTree(String(decoding: task.payload, as: UTF8.self)).mutated(&random)
    let changed = try JSONDecoder().decode(TaskPayload.self, from: Data(tree.text.utf8))
    _ = try JSONCoding.encoder.encode(changed)
  }

  private func note(_ random: inout SeededRandom) throws {
    let notes = [
      #"[{"pointer":"/tracks/0","message":"m"}]"#,
      #"[{"file":"a.mp4","container":"mp4","video":{"codec":"h264","width":64,"height":48,"bitRate":1,"quality":20.5},"audio":{"codec":"aac","sampleRate":48000,"channels":2}}]"#,
      #"{"frameSeconds":0.04,"places":[{"pointer":"/tracks/0","firstFrame":1,"endFrame":2}]}"#,
    ]
    let text = try JSONTree(notes[Int.random(in: notes.indices, using: &random)]).mutated(&random).text
    let cache = ResultNotes(store)
    let request = MutantFilm.all[0].request(document: "\(UInt64.random(in: 0...999, using: &random))")
    let encoded = try request.encoded()
    try cache.record(text, of: SHA256Digest.of(encoded))
    try cache.record(text, of: SHA256Digest.of(Array("outputs".utf8) + encoded))
    try cache.record(text, of: SHA256Digest.of(Array("film".utf8) + encoded))
    _ = (cache.warnings(of: encoded).map(\.description), cache.outputs(of: encoded)?.map(\.text))
    _ = try cache.film(of: encoded).map { try JSONCoding.encoder.encode($0) }
    _ = cache.damage(of: SHA256Digest.of(encoded))
  }
}
