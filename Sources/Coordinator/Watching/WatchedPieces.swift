import Digest
import FarmAPI
import FarmModel
import PieceFiles
import Synchronization

/// What was read last of the pieces of films that are watched: a player asks for the playlists again and again.
final class WatchedPieces: Sendable {
  /// A piece of pictures that was opened.
  struct Picture: Sendable {
    var piece: FilmFile
    var header: PieceHeader
    /// Nil: players have no codec for it.
    var head: MovieHead?
  }

  private static let mostPictures = 256
  private static let mostSounds = 128
  private static let mostJobs = 1024

  private struct State {
    var pictures: [SHA256Digest: Picture] = [:]
    /// Nil: players have no codec for it.
    var sounds: [SHA256Digest: WatchedFilm.Sound?] = [:]
    /// When it was recorded last that somebody watches a job.
    var watched: [JobID: ContinuousClock.Instant] = [:]
  }

  private let state = Mutex(State())

  func picture(_ package: SHA256Digest) -> Picture? { state.withLock { $0.pictures[package] } }

  func keep(_ picture: Picture, of package: SHA256Digest) {
    state.withLock { state in
      if state.pictures.count >= Self.mostPictures { state.pictures = [:] }
      state.pictures[package] = picture
    }
  }

  /// Nil: it was not read before.
  func sound(_ package: SHA256Digest) -> WatchedFilm.Sound?? { state.withLock { $0.sounds[package] } }

  func keep(_ sound: WatchedFilm.Sound?, of package: SHA256Digest) {
    state.withLock { state in
      if state.sounds.count >= Self.mostSounds { state.sounds = [:] }
      state.sounds.updateValue(sound, forKey: package)
    }
  }

  /// Whether it is to be recorded again that somebody watches a job: no more often than the store needs it.
  func isToBeRecorded(_ job: JobID, every interval: Duration) -> Bool {
    let now = ContinuousClock.now
    return state.withLock { state in
      if let last = state.watched[job], now - last < interval { return false }
      if state.watched.count >= Self.mostJobs { state.watched = [:] }
      state.watched[job] = now
      return true
    }
  }
}
