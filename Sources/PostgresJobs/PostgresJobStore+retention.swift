package import Digest
package import FarmModel
package import Jobs

// What is kept: jobs that have ended, and contents.

extension PostgresJobStore {
  package func delete(_ job: JobID) async throws(JobStoreError) -> Bool {
    try await bulk.perform { (connection) throws(JobStoreError) in
      try !connection.run(.deleteJob, [.text(job.description.withoutNul)]).isEmpty
    }
  }

  package func deleteJobs(endedBefore age: Duration, limit: Int) async throws(JobStoreError) -> Int {
    try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.run(.deleteJobs, [.long(age.microseconds), .long(Int64(max(limit, 0)))]).count
    }
  }

  package func markFetched(_ job: JobID) async throws(JobStoreError) {
    try await results.perform { (connection) throws(JobStoreError) in
      _ = try connection.run(.markFetched, [.text(job.description.withoutNul)])
    }
  }

  package func contentsInUse(keepingResults: Duration) async throws(JobStoreError) -> [SHA256Digest] {
    try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.run(.contentsInUse, [.long(keepingResults.microseconds)])
        .map { (fields) throws(JobStoreError) in try fields.digest() }
    }
  }
}

extension Statement {
  fileprivate static let deleteJob = Statement(
    "delete-job", "DELETE FROM sheaf.job WHERE id = $1 AND ended_at IS NOT NULL RETURNING number")

  /// A job that another coordinator deletes, or takes up, is passed over.
  fileprivate static let deleteJobs = Statement(
    "delete-jobs",
    """
    WITH old AS MATERIALIZED (
      SELECT number FROM sheaf.job
      WHERE ended_at IS NOT NULL AND ended_at < sheaf.now() - $1 * interval '1 microsecond'
      ORDER BY ended_at, number LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM sheaf.job USING old WHERE job.number = old.number RETURNING job.number
    """)

  fileprivate static let markFetched = Statement(
    "mark-fetched", "UPDATE sheaf.job SET is_fetched = true WHERE id = $1 AND state = 'done' AND NOT is_fetched")

  fileprivate static let contentsInUse = Statement(
    "contents-in-use",
    """
    WITH open AS MATERIALIZED (
      SELECT task.input_digests, task.result_digest FROM sheaf.job JOIN sheaf.task ON task.job = job.number
      WHERE job.state IN ('probing', 'measuring', 'rendering')
    )
    SELECT result_digest FROM open WHERE result_digest IS NOT NULL
    UNION SELECT unnest(input_digests) FROM open
    UNION SELECT result_digest FROM sheaf.compared
    UNION SELECT output_digest FROM sheaf.job
      WHERE ended_at IS NOT NULL AND state = 'done' AND NOT is_fetched
        AND ended_at > sheaf.now() - $1 * interval '1 microsecond'
    """)
}
