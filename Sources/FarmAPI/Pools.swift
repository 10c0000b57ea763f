package import FarmModel

/// A pool of workers, and its jobs. Its JSON is stable: keys may be added, but are never changed.
package struct PoolReport: Sendable, Hashable, Codable {
  package var pool: String
  /// When it is open, such as `mon-fri 19:00-07:00`. Nil, with `timeZone`: always.
  package var hours: String?
  /// Of the hours: a name of the IANA time zone database.
  package var timeZone: String?
  /// Whether its jobs' tasks are granted now.
  package var isOpen: Bool
  /// When it closes, or opens, next. Nil: it is open for the next two weeks.
  package var changesAt: Timestamp?
  /// How many workers of it are connected, and how many tasks they execute at a time.
  package var workers = 0
  package var slots = 0
  /// How many of its jobs have not ended.
  package var jobs: Int64 = 0

  package init(pool: String, isOpen: Bool = true) {
    self.pool = pool
    self.isOpen = isOpen
  }
}

/// The working hours that a pool is given.
package struct PoolRequest: Sendable, Hashable {
  /// As `WorkingHours.init(parsing:)` reads them.
  package var hours: String
  package var timeZone: String

  package init(hours: String, timeZone: String) {
    (self.hours, self.timeZone) = (hours, timeZone)
  }
}

extension WorkingHours {
  /// Reads the hours of a request. Throws `.invalid` with what is wrong with them.
  package static func requested(_ text: String) throws(FarmError) -> WorkingHours {
    do {
      return try WorkingHours(parsing: text)
    } catch {
      throw FarmError(.invalid, error.description)
    }
  }
}
