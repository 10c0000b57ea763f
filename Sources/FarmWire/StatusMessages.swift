package import CompositionModel
import Digest
package import FarmAPI
import FarmModel
import FoundationEssentials
import SwiftProtobuf
import SystemSupport
package import Wire

// What the farm reports of jobs, tasks and workers as messages of the protocol, and back.

extension Sheaf_JobStatus {
  package init(_ status: JobStatus) {
    self.init()
    job = status.job
    name = status.name
    owner = status.owner ?? ""
    state = status.state?.message ?? .unspecified
    priority = status.priority
    pool = status.pool ?? ""
    paused = status.isPaused
    doubt = status.doubt ?? ""
    if let time = status.holdUntil { holdUntil = time.milliseconds }
    after = status.after ?? []
    framesDone = UInt64(clamping: status.framesDone)
    framesTotal = UInt64(clamping: status.framesTotal)
    segmentsDone = UInt32(clamping: status.segmentsDone)
    segmentsTotal = UInt32(clamping: status.segmentsTotal)
    segmentsCached = UInt32(clamping: status.segmentsCached)
    filesDone = UInt32(clamping: status.filesDone)
    filesTotal = UInt32(clamping: status.filesTotal)
    measuredDone = UInt32(clamping: status.measuredDone)
    measuredTotal = UInt32(clamping: status.measuredTotal)
    running = UInt32(clamping: status.running)
    hasAudio_p = status.hasAudio
    audioDone = status.audioDone
    build = status.build ?? ""
    if let time = status.submittedAt { submittedAt = time.milliseconds }
    if let time = status.endedAt { endedAt = time.milliseconds }
    if let time = status.renderingSince { renderingSince = time.milliseconds }
    submittedMillisecondsAgo = Milliseconds.of(status.submittedSecondsAgo)
    elapsedMilliseconds = Milliseconds.of(status.elapsedSeconds)
    renderingMilliseconds = status.renderingSeconds.map { max(1, Milliseconds.of($0)) } ?? 0
    if let left = status.secondsLeft { millisecondsLeft = Milliseconds.of(left) }
    waitsFor = status.waitsFor ?? ""
    waitReason = status.waitReason?.rawValue ?? ""
    error = status.error ?? ""
    problems = status.problems.map { Sheaf_Problem($0) }
    if let content = status.output?.content { output = Sheaf_Content(content) }
    damage = status.damage.map { Sheaf_MediaDamage($0) }
    warnings = status.warnings.map { Sheaf_Problem($0) }
    outputs = (status.outputs ?? []).map { Sheaf_Output($0) }
    trace = status.trace ?? ""
    // A report of texts and whole numbers can always be written.
    smart = status.smart.flatMap { try? JSONCoding.encoder.encode($0) } ?? Data()
    usage = (status.usage?.workers ?? []).map { worker in
      .with {
        $0.worker = worker.worker
        $0.workerName = worker.workerName
        $0.attempts = UInt32(clamping: worker.attempts)
        $0.usage = worker.usage.usage.message
      }
    }
    tasks = status.tasks.map { Sheaf_TaskStatus($0) }
  }
}

extension JobStatus {
  package init(_ message: Sheaf_JobStatus, notices: [String] = []) {
    self.init(job: message.job, name: message.name, state: JobState(message.state))
    owner = message.owner.nonEmpty
    priority = message.priority
    pool = message.pool.nonEmpty
    isPaused = message.paused
    doubt = message.doubt.nonEmpty
    holdUntil = message.hasHoldUntil ? Timestamp(milliseconds: message.holdUntil) : nil
    after = message.after.isEmpty ? nil : message.after
    framesDone = Int(clamping: message.framesDone)
    framesTotal = Int(clamping: message.framesTotal)
    segmentsDone = Int(message.segmentsDone)
    segmentsTotal = Int(message.segmentsTotal)
    segmentsCached = Int(message.segmentsCached)
    filesDone = Int(message.filesDone)
    filesTotal = Int(message.filesTotal)
    measuredDone = Int(message.measuredDone)
    measuredTotal = Int(message.measuredTotal)
    running = Int(message.running)
    hasAudio = message.hasAudio_p
    audioDone = message.audioDone
    build = message.build.nonEmpty
    shortBuild = build.map(ShortBuild.of)
    submittedAt = message.hasSubmittedAt ? Timestamp(milliseconds: message.submittedAt) : nil
    endedAt = message.hasEndedAt ? Timestamp(milliseconds: message.endedAt) : nil
    renderingSince = message.hasRenderingSince ? Timestamp(milliseconds: message.renderingSince) : nil
    submittedSecondsAgo = Double(message.submittedMillisecondsAgo) / 1000
    elapsedSeconds = Double(message.elapsedMilliseconds) / 1000
    renderingSeconds = message.renderingMilliseconds == 0 ? nil : Double(message.renderingMilliseconds) / 1000
    secondsLeft = message.hasMillisecondsLeft ? Double(message.millisecondsLeft) / 1000 : nil
    wait = message.waitsFor.nonEmpty.map { JobWait(WaitReason(rawValue: message.waitReason) ?? .other, $0) }
    self.notices = notices
    error = message.error.nonEmpty
    problems = message.problems.map { Problem($0) }
    if message.hasOutput { output = message.output.content.map(Output.init) }
    damage = message.damage.map { DamageReport($0) }
    setWarnings(message.warnings.map { Problem($0) })
    outputs = message.outputs.isEmpty ? nil : message.outputs.map { OutputReport($0) }
    trace = message.trace.nonEmpty
    // The report of another version may have more than this one knows, and is left out if it has less.
    smart = message.smart.isEmpty ? nil : try? JSONDecoder().decode(SmartReport.self, from: message.smart)
    usage = JobUsage(
      message.usage.map {
        JobUsage.Worker(
          worker: $0.worker, workerName: $0.workerName, attempts: Int($0.attempts),
          usage: UsageReport(AttemptUsage($0.usage)))
      })
    tasks = message.tasks.map { TaskStatus($0) }
  }
}

extension Sheaf_TaskStatus {
  package init(_ status: TaskStatus) {
    self.init()
    task = status.task
    kind = status.kind?.message ?? .unspecified
    state = status.state?.message ?? .unspecified
    ordinal = UInt32(clamping: status.ordinal)
    label = status.label ?? ""
    boundary = status.boundary ?? ""
    epoch = status.epoch
    worker = status.worker ?? ""
    workerName = status.workerName ?? ""
    backupWorker = status.secondWorker ?? ""
    backupWorkerName = status.secondWorkerName ?? ""
    if let time = status.grantedAt { grantedAt = time.milliseconds }
    if let time = status.endedAt { endedAt = time.milliseconds }
    if let usage = status.usage { self.usage = usage.usage.message }
    ranMilliseconds = Milliseconds.of(status.ranSeconds)
    done = UInt64(clamping: status.done)
    work = UInt64(clamping: status.work)
    cached = status.cached
    compared = status.compared ?? []
    endedAttempts = status.attempts.map { Sheaf_Attempt($0) }
  }
}

extension TaskStatus {
  package init(_ message: Sheaf_TaskStatus) {
    self.init(task: message.task, kind: TaskKind(message.kind), state: TaskState(message.state))
    ordinal = Int(message.ordinal)
    label = message.label.nonEmpty
    boundary = message.boundary.nonEmpty
    epoch = message.epoch
    worker = message.worker.nonEmpty
    workerName = message.workerName.nonEmpty
    secondWorker = message.backupWorker.nonEmpty
    secondWorkerName = message.backupWorkerName.nonEmpty
    grantedAt = message.hasGrantedAt ? Timestamp(milliseconds: message.grantedAt) : nil
    endedAt = message.hasEndedAt ? Timestamp(milliseconds: message.endedAt) : nil
    usage = message.hasUsage ? UsageReport(AttemptUsage(message.usage)) : nil
    ranSeconds = Double(message.ranMilliseconds) / 1000
    done = Int64(clamping: message.done)
    work = Int64(clamping: message.work)
    cached = message.cached
    compared = message.compared.isEmpty ? nil : message.compared
    setAttempts(message.endedAttempts.map { Attempt($0) })
  }
}

extension Sheaf_Attempt {
  package init(_ attempt: TaskStatus.Attempt) {
    self.init()
    epoch = attempt.epoch
    worker = attempt.worker
    workerName = attempt.workerName ?? ""
    end = attempt.end?.message ?? .unspecified
    message = attempt.message
    ranMilliseconds = Milliseconds.of(attempt.ranSeconds)
    if let process = attempt.process { self.process = process.message }
    if let time = attempt.endedAt { endedAt = time.milliseconds }
    if let usage = attempt.usage { self.usage = usage.usage.message }
  }
}

extension TaskStatus.Attempt {
  package init(_ message: Sheaf_Attempt) {
    self.init(
      epoch: message.epoch, worker: message.worker, workerName: message.workerName.nonEmpty,
      ranSeconds: Double(message.ranMilliseconds) / 1000, end: AttemptEnd(message.end), message: message.message,
      process: message.hasProcess ? ProcessEnd(message.process) : nil,
      endedAt: message.hasEndedAt ? Timestamp(milliseconds: message.endedAt) : nil,
      usage: message.hasUsage ? UsageReport(AttemptUsage(message.usage)) : nil)
  }
}

extension Sheaf_WorkersReply.Worker {
  package init(_ worker: WorkerStatus) {
    self.init()
    name = worker.name
    id = worker.id
    slots = UInt32(clamping: worker.slots)
    busy = UInt32(clamping: worker.busy)
    build = worker.build
    connectedMilliseconds = Milliseconds.of(worker.connectedSeconds)
    if let time = worker.connectedAt { connectedAt = time.milliseconds }
    coordinator = worker.coordinator
    paused = worker.paused ?? ""
    account = worker.account
    hold = worker.hold ?? ""
    holdReason = worker.holdReason ?? ""
    pools = worker.pools
    closed = worker.isClosed
    taskMemory = UInt64(clamping: worker.taskMemory ?? 0)
  }
}

extension WorkerStatus {
  package init(_ message: Sheaf_WorkersReply.Worker) {
    self.init(name: message.name, id: message.id)
    slots = Int(message.slots)
    busy = Int(message.busy)
    build = message.build
    shortBuild = ShortBuild.of(message.build)
    connectedSeconds = Double(message.connectedMilliseconds) / 1000
    connectedAt = message.hasConnectedAt ? Timestamp(milliseconds: message.connectedAt) : nil
    coordinator = message.coordinator
    taskMemory = message.taskMemory > 0 ? Int64(clamping: message.taskMemory) : nil
    paused = message.paused.nonEmpty
    account = message.account
    hold = message.hold.nonEmpty
    holdReason = message.holdReason.nonEmpty
    pools = message.pools
    isClosed = message.closed
  }
}

extension Sheaf_MediaDamage {
  package init(_ damage: DamageReport) {
    self.init()
    path = damage.path
    track = UInt32(clamping: damage.track)
    isAudio = damage.type == .audio
    count = UInt64(clamping: damage.count)
    places = damage.places.map { place in
      .with {
        $0.sourceSeconds = place.sourceSeconds
        $0.filmSeconds = place.filmSeconds
      }
    }
  }
}

extension DamageReport {
  package init(_ message: Sheaf_MediaDamage) {
    self.init(
      path: message.path, track: Int(message.track), type: message.isAudio ? .audio : .video,
      count: Int(clamping: message.count),
      places: message.places.map { Place(sourceSeconds: $0.sourceSeconds, filmSeconds: $0.filmSeconds) })
  }
}

extension Sheaf_Output {
  package init(_ output: OutputReport) {
    self.init()
    file = output.file
    container = output.container ?? ""
    if let video = output.video {
      self.video = .with {
        $0.codec = video.codec
        $0.width = UInt32(clamping: video.width)
        $0.height = UInt32(clamping: video.height)
        if let rate = video.bitRate { $0.bitRate = Int64(rate) }
        if let quality = video.quality { $0.quality = quality }
      }
    }
    if let audio = output.audio {
      self.audio = .with {
        $0.codec = audio.codec
        $0.sampleRate = UInt32(clamping: audio.sampleRate)
        $0.channels = UInt32(clamping: audio.channels)
        if let rate = audio.bitRate { $0.bitRate = Int64(rate) }
      }
    }
  }
}

extension OutputReport {
  package init(_ message: Sheaf_Output) {
    self.init(file: message.file)
    container = message.container.nonEmpty
    if message.hasVideo {
      let found = message.video
      video = Video(
        codec: found.codec, width: Int(found.width), height: Int(found.height),
        bitRate: found.hasBitRate ? Int(found.bitRate) : nil, quality: found.hasQuality ? found.quality : nil)
    }
    if message.hasAudio {
      let found = message.audio
      audio = Audio(
        codec: found.codec, sampleRate: Int(found.sampleRate), channels: Int(found.channels),
        bitRate: found.hasBitRate ? Int(found.bitRate) : nil)
    }
  }
}

extension Sheaf_Problem {
  package init(_ problem: Problem) {
    self.init()
    pointer = problem.pointer
    message = problem.message
    guard let loss = problem.loss else { return }
    lost = loss.what.rawValue
    if let track = loss.track { lostTrack = UInt32(clamping: track) }
  }
}

extension Problem {
  package init(_ message: Sheaf_Problem) {
    // A kind of another version is a warning like any other.
    let loss = Loss.Kind(rawValue: message.lost).map {
      Loss(what: $0, track: message.hasLostTrack ? Int(message.lostTrack) : nil)
    }
    self.init(pointer: message.pointer, message: message.message, loss: loss)
  }
}

/// Times on the wire.
enum Milliseconds {
  static func of(_ seconds: Double) -> Int64 { Int64(exactly: (seconds * 1000).rounded()) ?? .max }
}

extension String {
  /// An empty field of a message has not been set.
  fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
