import CompositionModel

/// A step in which something of the film gets its time.
enum PlacingStep: Hashable {
  case clip(track: Int, number: Int)
  case marker(Int)
  /// The end of all clips that do not end with the film.
  case filmEnd
}

/// The order in which the clips and the markers of a document get their times: each after what its own time counts
/// from. It follows from the document alone.
struct PlacingOrder {
  private(set) var steps: [PlacingStep] = []
  /// What counts from each other in a circle, each member from the next one. The members are among `steps`, with what
  /// counts from them, after all others.
  private(set) var circles: [[PlacingStep]] = []

  init(_ document: ExaminedDocument) {
    let tracks = document.tracks
    guard !document.markers.isEmpty || tracks.contains(where: { $0.clips.contains { !$0.origins.isEmpty } }) else {
      // Each clip follows the one before it.
      func clips(where isChosen: (ClipEntry) -> Bool) -> [PlacingStep] {
        tracks.enumerated().flatMap { track, entry in
          entry.clips.indices.filter { isChosen(entry.clips[$0]) }.map { .clip(track: track, number: $0) }
        }
      }
      steps = clips { !$0.endsWithTheFilm } + [.filmEnd] + clips(where: \.endsWithTheFilm)
      return
    }
    var graph = PlacingGraph(document)
    let order = graph.order()
    circles = graph.circles().map { $0.map { graph.nodes[$0] } }
    steps = (order + graph.rest).map { graph.nodes[$0] }
  }
}

/// What has to be in its place before something else can be.
private struct PlacingGraph {
  private(set) var nodes: [PlacingStep] = []
  /// What each node needs.
  private var needs: [[Int]] = []
  /// Whether the clip before it comes first, if that is possible: an `at` that is meant to be its end, but for
  /// rounding, is its end.
  private var prefersPreceding: [Bool] = []
  private var isDone: [Bool] = []

  init(_ document: ExaminedDocument) {
    var clips: [String: Int] = [:]
    for (track, entry) in document.tracks.enumerated() {
      for (number, clip) in entry.clips.enumerated() {
        if let name = clip.name, clips[name] == nil { clips[name] = nodes.count }
        nodes.append(.clip(track: track, number: number))
      }
    }
    var markers: [String: Int] = [:]
    for (number, marker) in document.markers.enumerated() {
      if markers[marker.name] == nil { markers[marker.name] = nodes.count }
      nodes.append(.marker(number))
    }
    let filmEnd = nodes.count
    nodes.append(.filmEnd)
    /// Nil: the document does not have it, which is a problem of its own.
    func node(of origin: Document.Time.Origin) -> Int? {
      switch origin {
      case .end: filmEnd
      case .startOfClip(let name), .endOfClip(let name): clips[name]
      case .marker(let name): markers[name]
      }
    }
    var ofFilm: [Int] = []
    for (index, node) in nodes.enumerated() {
      var (needed, preference): ([Int], Bool) = ([], false)
      switch node {
      case .clip(let track, let number):
        let clip = document.tracks[track].clips[number]
        needed = clip.origins.compactMap(node(of:))
        if clip.endsWithTheFilm { needed.append(filmEnd) } else { ofFilm.append(index) }
        if number > 0 {
          if clip.at == nil { needed.append(index - 1) } else { preference = clip.transition == nil }
        }
      case .marker(let number):
        needed = document.markers[number].time.origin.flatMap(node(of:)).map { [$0] } ?? []
      case .filmEnd: needed = ofFilm
      }
      needs.append(needed)
      prefersPreceding.append(preference)
    }
    isDone = nodes.map { _ in false }
  }

  /// The nodes of which all is known that they need, in order.
  mutating func order() -> [Int] {
    var users = nodes.map { _ in [Int]() }
    for (node, needed) in needs.enumerated() { for other in needed { users[other].append(node) } }
    var missing = needs.map(\.count)
    var waits = prefersPreceding
    var order: [Int] = []
    // Those that can be placed, and those for which the clip before them would be better first.
    var ready: [Int] = []
    var waiting: [Int] = []
    for node in nodes.indices where missing[node] == 0 {
      if waits[node] { waiting.append(node) } else { ready.append(node) }
    }
    var (next, nextWaiting) = (0, 0)
    while true {
      if next == ready.count {
        guard nextWaiting < waiting.count else { return order }
        ready.append(waiting[nextWaiting])
        nextWaiting += 1
      }
      let node = ready[next]
      next += 1
      if isDone[node] { continue }
      isDone[node] = true
      order.append(node)
      for user in users[node] {
        missing[user] -= 1
        guard missing[user] == 0 else { continue }
        if waits[user] { waiting.append(user) } else { ready.append(user) }
      }
      let following = node + 1
      if following < nodes.count, waits[following] {
        waits[following] = false
        if missing[following] == 0 { ready.append(following) }
      }
    }
  }

  /// What has no place after `order`: the members of circles, and what needs them.
  var rest: [Int] { nodes.indices.filter { !isDone[$0] } }

  /// The circles after `order`. Each begins with a node whose own time is written with an origin.
  func circles() -> [[Int]] {
    var isSeen = isDone
    var circles: [[Int]] = []
    for start in nodes.indices where !isSeen[start] {
      var path: [Int] = []
      var places: [Int: Int] = [:]
      var node = start
      while !isSeen[node] {
        isSeen[node] = true
        places[node] = path.count
        path.append(node)
        // A node without a place needs one without a place.
        guard let needed = needs[node].first(where: { !isDone[$0] }) else { break }
        node = needed
      }
      if let first = places[node] { circles.append(Array(path[first...])) }
    }
    return circles
  }
}

extension ClipEntry {
  /// What its place and its length count from, other than 0 and the end of what is before it.
  var origins: [Document.Time.Origin] {
    var origins: [Document.Time.Origin] = []
    if let origin = at?.origin { origins.append(origin) }
    if case .time(let time) = until, let origin = time.origin { origins.append(origin) }
    return origins
  }
}
