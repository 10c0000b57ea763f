extension RandomAccessCollection {
  /// The first index whose element satisfies a condition, or the end index. The elements are in an order in which those
  /// that satisfy it follow those that do not, so that a logarithmic number of them is looked at.
  package func partitionPoint(where belongsToEnd: (Element) throws -> Bool) rethrows -> Index {
    var (low, remaining) = (startIndex, count)
    while remaining > 0 {
      let half = remaining / 2
      let middle = index(low, offsetBy: half)
      if try belongsToEnd(self[middle]) {
        remaining = half
      } else {
        low = index(after: middle)
        remaining -= half + 1
      }
    }
    return low
  }
}

extension Sequence where Element: Comparable {
  /// For each element, the greatest of it and of those before it. It rises, so that it can be searched.
  package var runningMaxima: [Element] {
    var maxima: [Element] = []
    for element in self { maxima.append(maxima.last.map { Swift.max($0, element) } ?? element) }
    return maxima
  }
}
