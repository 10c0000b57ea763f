import Digest
import FarmModel

// What every store rejects as `.invalid` before it writes anything.

extension NewJob {
  /// How many jobs may be before one.
  package static let mostBefore = 16

  package func validate() throws(JobStoreError) {
    guard id.isWellFormed else {
      throw JobStoreError(.invalid, "job id \"\(id)\" is not 1 to 64 characters of 0-9, a-z and -")
    }
    if let submission {
      try requireVisible(submission, "submission", upTo: 64)
    }
    if let owner { try requireVisible(owner, "owner", upTo: 64) }
    try Pool.validate(jobsPool: pool)
    guard after.count <= NewJob.mostBefore, after.allSatisfy(\.isWellFormed) else {
      throw JobStoreError(.invalid, "a job comes after at most \(NewJob.mostBefore) jobs, each named by its id")
    }
    for task in tasks {
      guard task.kind == .probe else {
        throw JobStoreError(.invalid, "a job is submitted with probe tasks only, not with a \(task.kind.rawValue) task")
      }
      try task.validate()
    }
  }
}

extension JobID {
  /// Whether this is 1 to 64 characters of 0-9, a-z and `-`.
  package var isWellFormed: Bool {
    let bytes = description.utf8
    return (1...64).contains(bytes.count)
      && bytes.allSatisfy { (48...57).contains($0) || (97...122).contains($0) || $0 == 45 }
  }
}

extension [NewTask] {
  /// So that the work of all tasks of a job has a sum.
  private static let greatestCount = 1 << 20

  /// What is measured before a plan is made: one task a segment.
  package func validateMeasures() throws(JobStoreError) {
    guard !isEmpty, allSatisfy({ $0.kind == .measure }) else {
      throw JobStoreError(.invalid, "a job is measured by measure tasks, of which there is at least one")
    }
    try validateEach()
  }

  /// A plan is video tasks, then audio tasks, then one stitch task, which is alone if the film is copied.
  package func validatePlan() throws(JobStoreError) {
    guard let last, last.kind == .stitch else {
      throw JobStoreError(.invalid, "a plan ends with one stitch task")
    }
    guard dropLast().drop(while: { $0.kind == .video }).allSatisfy({ $0.kind == .audio }) else {
      throw JobStoreError(.invalid, "before its stitch task a plan has video tasks, then audio tasks")
    }
    try validateEach()
  }

  private func validateEach() throws(JobStoreError) {
    guard count <= Self.greatestCount else {
      throw JobStoreError(.invalid, "a plan has \(count) tasks; it may have \(Self.greatestCount)")
    }
    for task in self { try task.validate() }
  }
}

extension NewTask {
  /// Two months of samples at 192 kHz are a little less.
  package static let works: ClosedRange<Int64> = 0...1 << 40

  package func validate() throws(JobStoreError) {
    guard cost.isFinite, cost >= 0 else {
      throw JobStoreError(.invalid, "the cost of a \(kind.rawValue) task is \(cost); it must be a finite number from 0")
    }
    guard Self.works.contains(work) else {
      throw JobStoreError(
        .invalid, "the work of a \(kind.rawValue) task is \(work); it must be from 0 to \(Self.works.upperBound)")
    }
    guard memory >= 0 else {
      throw JobStoreError(.invalid, "the memory of a \(kind.rawValue) task is \(memory); it must be at least 0")
    }
    for input in inputs { try input.validate() }
    try cached?.validate()
  }
}

extension Content {
  package func validate() throws(JobStoreError) {
    guard size >= 0 else {
      throw JobStoreError(.invalid, "the size of content \(digest) is \(size); it must be at least 0")
    }
  }
}

extension JobFailure {
  package func validate() throws(JobStoreError) {
    guard (reason == .task) == (task != nil), task ?? 0 >= 0 else {
      throw JobStoreError(
        .invalid, "a job's failure names a task by its ordinal, which is at least 0, if its reason is a task")
    }
    guard problems.isEmpty || reason == .document else {
      throw JobStoreError(.invalid, "a job's failure has a document's problems only if its reason is the document")
    }
  }
}

extension TaskFailure {
  package func validate() throws(JobStoreError) {
    try usage?.validate()
    guard let process, process.cpuMilliseconds < 0 || process.peakBytes < 0 else { return }
    throw JobStoreError(.invalid, "the CPU time and the peak memory of a task process must be at least 0")
  }
}

extension AttemptUsage {
  package func validate() throws(JobStoreError) {
    guard [wait, fetch, render, upload, cpu].allSatisfy({ $0 >= .zero }),
      [peakBytes, fetchedBytes, uploadedBytes].allSatisfy({ $0 >= 0 })
    else { throw JobStoreError(.invalid, "the times and the bytes that an attempt took must be at least 0") }
  }
}

extension WorkerRecord {
  package func validate() throws(JobStoreError) {
    try id.validate()
    try session.validate()
    guard slots >= 0 else {
      throw JobStoreError(.invalid, "worker \(id) has \(slots) slots; it must have at least 0")
    }
    guard memory >= 0 else {
      throw JobStoreError(.invalid, "a task of worker \(id) may use \(memory) bytes; it must be at least 0")
    }
    try Self.validate(account: account)
    if let problem = PoolName.problem(with: pools) { throw JobStoreError(.invalid, problem) }
  }
}

extension WorkerRecord {
  package static func validate(account: String) throws(JobStoreError) {
    guard (1...longestAccount).contains(account.utf8.count) else {
      throw JobStoreError(.invalid, "a worker's name must have 1 to \(longestAccount) bytes")
    }
  }
}

extension Holder {
  package func validate() throws(JobStoreError) {
    try worker.validate()
    try session.validate()
  }
}

extension WorkerID {
  package func validate() throws(JobStoreError) { try requireVisible(description, "worker id", upTo: 128) }
}

extension SessionID {
  package func validate() throws(JobStoreError) {
    guard number >= 0 else {
      throw JobStoreError(.invalid, "session \(number) of a worker is not a number from 0")
    }
  }
}

extension WebhookID {
  package func validate() throws(JobStoreError) {
    let bytes = description.utf8
    guard (1...64).contains(bytes.count),
      bytes.allSatisfy({ (48...57).contains($0) || (97...122).contains($0) || $0 == 95 })
    else {
      throw JobStoreError(.invalid, "webhook id \"\(description)\" is not 1 to 64 characters of 0-9, a-z and _")
    }
  }
}

extension AccessToken {
  package func validate() throws(JobStoreError) {
    let bytes = id.description.utf8
    guard (1...64).contains(bytes.count),
      bytes.allSatisfy({ (48...57).contains($0) || (97...122).contains($0) || $0 == 95 })
    else {
      throw JobStoreError(.invalid, "token id \"\(id)\" is not 1 to 64 characters of 0-9, a-z and _")
    }
    try requireVisible(owner, "owner", upTo: 64)
    try Pool.validate(jobsPool: pool)
    guard pool == nil || role == .worker || role == .submitter else {
      throw JobStoreError(
        .invalid, "a token of role \(role.rawValue) has no pool: only workers' and submitters' have one")
    }
  }
}

extension AuditEntry {
  package func validate() throws(JobStoreError) {
    guard times > 0 else {
      throw JobStoreError(.invalid, "an entry of the audit is about something that happened \(times) times")
    }
  }

  /// In characters: what is longer is cut off.
  private static let longestText = 256

  package var withoutNul: AuditEntry {
    var entry = self
    entry.subject = String(subject.withoutNul.prefix(Self.longestText))
    entry.detail = String(detail.withoutNul.prefix(Self.longestText))
    entry.caller.owner = caller.owner?.withoutNul
    entry.caller.address = caller.address.withoutNul
    entry.caller.token = caller.token.map { AccessTokenID($0.description.withoutNul) }
    return entry
  }
}

private func requireVisible(_ id: String, _ name: String, upTo limit: Int) throws(JobStoreError) {
  let bytes = id.utf8
  guard (1...limit).contains(bytes.count), bytes.allSatisfy({ (33...126).contains($0) }) else {
    throw JobStoreError(.invalid, "\(name) \"\(id)\" is not 1 to \(limit) visible ASCII characters")
  }
}

extension TaskFailure {
  package var withoutNul: TaskFailure {
    var failure = self
    failure.message = message.withoutNul
    if let process { failure.process?.log = process.log.withoutNul }
    return failure
  }
}

extension Webhook {
  package var withoutNul: Webhook {
    var webhook = self
    webhook.url = url.withoutNul
    webhook.description = description.withoutNul
    webhook.types = types.map(\.withoutNul)
    webhook.disabled = disabled?.withoutNul
    return webhook
  }
}

extension WebhookChange {
  package var withoutNul: WebhookChange {
    var change = self
    change.url = url?.withoutNul
    change.description = description?.withoutNul
    change.types = types?.map(\.withoutNul)
    if case .disabled(let reason) = activity { change.activity = .disabled(reason.withoutNul) }
    return change
  }
}

extension String {
  /// A database's text cannot contain NUL, so every store replaces it.
  package var withoutNul: String {
    utf8.contains(0) ? String(unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : Character($0) }) : self
  }
}
