extension Fields {
  mutating func kind() throws(JobStoreError) -> TaskKind { try named("task kind") }
  mutating func jobState() throws(JobStoreError) -> JobState { try named("job state") }

  /// Two columns: digests and sizes.
  mutating func contents() throws(JobStoreError) -> [Content] {
    let (digests, sizes) = (try texts(), try longs())
    return zip(digests, sizes).map { Content(digest: $0, size: $1) }
  }

  /// Two columns: digest and size.
  mutating func optionalContent() throws(JobStoreError) -> Content? {
    let (digest, size) = (optionalText(), try optionalLong())
    guard let digest, let size else { return nil }
    return Content(digest: digest, size: size)
  }

  mutating func job() throws(JobStoreError) -> Job {
    Job(
      id: JobID(try text()), name: try text(), priority: try int(), state: try jobState(), request: try bytes(),
      build: optionalText(), output: try optionalContent(), error: optionalText(), age: .microseconds(try long()),
      elapsed: .microseconds(try long()))
  }

  mutating func grant() throws(JobStoreError) -> Grant {
    let task = TaskID(job: JobID(try text()), ordinal: try int())
    return Grant(
      lease: Lease(task: task, epoch: try long()), kind: try kind(), payload: try bytes(), inputs: try contents(),
      work: try long())
  }

  /// Three columns: worker, epoch and progress.
  mutating func optionalTwin() throws(JobStoreError) -> TwinLease? {
    let (worker, epoch, progress) = (optionalText(), try long(), try long())
    return worker.map { TwinLease(worker: WorkerID($0), epoch: epoch, progress: progress) }
  }

  mutating func task(of job: JobID) throws(JobStoreError) -> RenderTask {
    RenderTask(
      id: TaskID(job: job, ordinal: try int()), kind: try kind(), state: try named("task state"),
      payload: try bytes(), inputs: try contents(), fingerprint: try text(), cost: try double(), work: try long(),
      epoch: try long(), worker: optionalText().map { WorkerID($0) }, progress: try long(),
      twin: try optionalTwin(), grants: try long(), failedOn: try texts().map { WorkerID($0) },
      result: try optionalContent(), isCached: try flag(), error: optionalText())
  }

  private mutating func named<Value: RawRepresentable<String>>(_ what: String) throws(JobStoreError) -> Value {
    let name = try text()
    guard let value = Value(rawValue: name) else {
      throw JobStoreError(.internal, "the database holds an unknown \(what), \"\(name)\"")
    }
    return value
  }
}
