/// Things that each take a range of time, in order and none overlapping another.
struct Timeline<Element> {
  private(set) var entries: [(range: MediaTimeRange, element: Element)] = []

  /// `entries` in any order; returns those that overlap the one before them in time, and leaves them out.
  init(_ entries: [(range: MediaTimeRange, element: Element)], overlap: (_ entry: Element, _ earlier: Element) -> Void)
  {
    // Stable, so that of two that start together the first as written stays.
    let order = entries.indices.sorted { a, b in
      entries[a].range.start == entries[b].range.start ? a < b : entries[a].range.start < entries[b].range.start
    }
    for entry in order.map({ entries[$0] }) {
      if let last = self.entries.last, entry.range.start < last.range.end {
        overlap(entry.element, last.element)
      } else {
        self.entries.append(entry)
      }
    }
  }

  init() {}

  /// Those that take some of the range.
  subscript(_ range: MediaTimeRange) -> ArraySlice<(range: MediaTimeRange, element: Element)> {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].range.end <= range.start { low = middle + 1 } else { high = middle }
    }
    return entries[low...].prefix { $0.range.start < range.end }
  }

  /// Whether every time of the range is taken.
  func covers(_ range: MediaTimeRange) -> Bool {
    var covered = range.start
    for entry in self[range] {
      guard entry.range.start <= covered else { return false }
      covered = entry.range.end
    }
    return range.end <= covered
  }
}
