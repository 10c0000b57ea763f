import CompositionModel
import EditDocument
import FarmModel
import Jobs
import RenderTasks

/// The builds of the connected workers, and the compositors of the author's own that each has.
struct ConnectedBuilds: Sendable {
  private struct Build: Sendable {
    var slots = 0
    /// The most that one of its workers gives a task.
    var memory: Int64 = 0
    var compositors: Set<String>
  }

  private var builds: [String: Build] = [:]

  init(_ workers: [WorkerRecord]) {
    for worker in workers {
      var build = builds[worker.build] ?? Build(compositors: LinkedCompositors(build: worker.build).names)
      build.slots += Int(worker.slots)
      build.memory = max(build.memory, worker.memory)
      builds[worker.build] = build
    }
  }

  /// Those of the workers that take the jobs of a pool. Without a pool workers whose pools are closed count if all are.
  init(_ store: any JobStore, pool: String? = nil) async throws(JobStoreError) {
    let able = try await store.workers().filter { PoolName.takes($0.pools, jobsOf: pool) }
    let open = able.filter { !$0.isClosed }
    self.init(pool != nil || open.isEmpty ? able : open)
  }

  /// Whether no worker is connected.
  var isEmpty: Bool { builds.isEmpty }

  /// Whether every worker has this build.
  func areAll(_ build: String) -> Bool { builds.keys.allSatisfy { $0 == build } }

  /// How many tasks its workers run at once.
  func slots(of build: String) -> Int { builds[build]?.slots ?? 0 }

  /// The build with the most slots among those that have some compositors.
  func best(with compositors: [String]) -> String? {
    builds.filter { $0.value.compositors.isSuperset(of: compositors) }
      .max { ($0.value.slots, $1.key) < ($1.value.slots, $0.key) }?.key
  }

  /// The problem of a film whose tasks need more memory than any worker of a build gives one. Nil if there is none, or
  /// nothing of it has to be rendered.
  func problem(of tasks: [NewTask], build: String) -> Problem? {
    let needs = tasks.filter { $0.cached == nil }.map(\.memory)
    guard let most = builds[build]?.memory, let need = needs.max(), need > most else { return nil }
    return Problem(
      pointer: "/videoComposition/renderSize",
      message: "rendering its frames needs about \(need >> 20) MiB of memory for each task, and a task may use "
        + "\(most >> 20) MiB; make the frames smaller, or give a task more memory: --task-memory or fewer --slots of "
        + "sheaf-worker, fewer --workers on one machine")
  }

  /// What is missing, for a person who waits; nil if a build has all of some compositors.
  func lacking(_ compositors: [String]) -> String? {
    if best(with: compositors) != nil { return nil }
    let known = known
    let missing = compositors.filter { !known.contains($0) }
    switch missing.count {
    case 0: return "no worker that is connected has all of the compositors \(Self.list(compositors))"
    case 1: return "no worker that is connected has the compositor \(Self.list(missing))"
    default: return "no worker that is connected has the compositors \(Self.list(missing))"
    }
  }

  /// The places of a document that name compositors that no build has together with the others.
  func problems(of request: JobRequest) -> [Problem] {
    guard let reason = lacking(request.compositors ?? []) else { return [] }
    let known = known
    let uses = request.compositorUses.filter { !known.contains($0.compositor.name) }
    let found = known.isEmpty ? "it has none" : "it has \(Self.list(known.sorted()))"
    let hint = "use a worker program that has it"
    if uses.isEmpty { return [Problem(pointer: "", message: reason)] }
    return uses.map {
      Problem(
        pointer: $0.pointer,
        message: "the worker's program has no compositor '\($0.compositor.name)'; \(found); \(hint)")
    }
  }

  /// The compositors that any build has.
  private var known: Set<String> { builds.values.reduce(into: []) { $0.formUnion($1.compositors) } }

  private static func list(_ names: [String]) -> String { names.map { "'\($0)'" }.joined(separator: ", ") }
}

extension JobRequest {
  /// The compositors that the document names; none if it cannot be read, which is found when the job is planned.
  var compositorUses: [CompositorUse] {
    guard compositors != nil, let document = try? document.read() else { return [] }
    return document.compositors
  }

  /// The place of the compositor that a message of a task begins with.
  func place(ofCompositorIn message: String) -> String? {
    compositorUses.first { message.hasPrefix("\($0.compositor.title) ") }?.pointer
  }
}
