/// The name that a mistyped one was most likely meant to be: the fewest letters inserted, left out, changed or swapped
/// with their neighbour; the first of equals.
func nearest(to name: String, among names: some Sequence<String>) -> String? {
  // Names longer than this are no typos, and a hostile document may have many.
  let letters = Array(name.lowercased().unicodeScalars.prefix(40))
  var best: (name: String, distance: Int)?
  for candidate in names.prefix(200) {
    let other = Array(candidate.lowercased().unicodeScalars.prefix(40))
    if let best, abs(letters.count - other.count) >= best.distance { continue }
    let distance = editDistance(letters, other)
    if distance < best?.distance ?? .max { best = (candidate, distance) }
  }
  return best?.name
}

/// For a message that it may end. Takes its time, so it is made only within a message that is kept.
func suggestion(for name: String, among names: some Sequence<String>) -> String {
  nearest(to: name, among: names).map { " (did you mean '\($0)'?)" } ?? ""
}

private func editDistance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
  var beforeLast: [Int] = []
  var last = Array(0...b.count)
  for i in a.indices {
    var row = [i + 1]
    for j in b.indices {
      var distance = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { distance = min(distance, beforeLast[j - 1] + 1) }
      row.append(distance)
    }
    (beforeLast, last) = (last, row)
  }
  return last[b.count]
}
