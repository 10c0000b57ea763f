// What every store refuses, so that all refuse alike: as `.invalid`, before anything is written.

extension JobID {
  /// 1 to 64 of [0-9a-z-].
  package var isWellFormed: Bool {
    let bytes = description.utf8
    return (1...64).contains(bytes.count)
      && bytes.allSatisfy { (48...57).contains($0) || (97...122).contains($0) || $0 == 45 }
  }
}

extension NewJob {
  func validate() throws(JobStoreError) {
    guard id.isWellFormed else {
      throw JobStoreError(.invalid, "job id \"\(id)\" is not 1 to 64 characters of 0-9, a-z and -")
    }
    for task in tasks {
      guard task.kind == .describe else {
        throw JobStoreError(.invalid, "a job starts with describe tasks alone, not with a \(task.kind.rawValue) task")
      }
      try task.validate()
    }
  }
}

extension NewTask {
  func validate() throws(JobStoreError) {
    guard fingerprint.isDigest else {
      throw JobStoreError(
        .invalid, "fingerprint \"\(fingerprint)\" of a \(kind.rawValue) task is not 64 lower-case hexadecimal digits")
    }
    guard cost.isFinite, cost >= 0 else {
      throw JobStoreError(.invalid, "cost \(cost) of a \(kind.rawValue) task is not a number from 0")
    }
    guard work >= 0 else {
      throw JobStoreError(.invalid, "work \(work) of a \(kind.rawValue) task is below 0")
    }
    for input in inputs { try input.validate() }
    try cached?.validate()
  }
}

extension [NewTask] {
  /// Pictures, then at most one sound, then one stitch, whose inputs are the others' results.
  func validatePlan() throws(JobStoreError) {
    guard let last, last.kind == .stitch, last.inputs.isEmpty else {
      throw JobStoreError(.invalid, "a plan ends with one stitch task, which has no inputs of its own")
    }
    let pieces = dropLast()
    guard !pieces.isEmpty, pieces.dropLast().allSatisfy({ $0.kind == .picture }),
      pieces.last?.kind == .picture || pieces.last?.kind == .sound
    else {
      throw JobStoreError(.invalid, "before its stitch task a plan has picture tasks, then at most one sound task")
    }
    for task in self { try task.validate() }
  }
}

extension Content {
  func validate() throws(JobStoreError) {
    guard digest.isDigest else {
      throw JobStoreError(.invalid, "digest \"\(digest)\" is not 64 lower-case hexadecimal digits")
    }
    guard size >= 0 else { throw JobStoreError(.invalid, "size \(size) of content \(digest) is below 0") }
  }
}

extension WorkerID {
  /// 1 to 128 visible ASCII characters.
  func validate() throws(JobStoreError) {
    let bytes = description.utf8
    guard (1...128).contains(bytes.count), bytes.allSatisfy({ (33...126).contains($0) }) else {
      throw JobStoreError(.invalid, "worker id \"\(description)\" is not 1 to 128 visible ASCII characters")
    }
  }
}

extension WorkerRecord {
  func validate() throws(JobStoreError) {
    try id.validate()
    guard slots >= 0 else { throw JobStoreError(.invalid, "worker \(id) says it has \(slots) slots") }
  }
}

extension String {
  fileprivate var isDigest: Bool {
    utf8.count == 64 && utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  /// A database's text holds every character but NUL, so no store keeps one.
  var withoutNul: String {
    utf8.contains(0) ? String(unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : Character($0) }) : self
  }
}
