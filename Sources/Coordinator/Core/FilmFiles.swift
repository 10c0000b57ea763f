import Digest
import FarmAPI
import FarmModel
import Synchronization

/// The files of the films that were asked for last: a player asks for many ranges of one, and to name its files the
/// job's document is read.
final class FilmFiles: Sendable {
  private static let maximumJobs = 256

  private struct Entry {
    var film: Content
    var files: [FilmFile]
  }

  private let entries = Mutex<[JobID: Entry]>([:])

  /// Nil: they were not asked for before, or the job has another film now.
  func files(of job: JobID, _ film: Content) -> [FilmFile]? {
    entries.withLock { $0[job] }.flatMap { $0.film == film ? $0.files : nil }
  }

  func keep(_ files: [FilmFile], of job: JobID, _ film: Content) {
    entries.withLock { entries in
      if entries.count >= Self.maximumJobs { entries = [:] }
      entries[job] = Entry(film: film, files: files)
    }
  }
}
