import CompositionModel

extension VideoTask {
  /// The digests of the look-up tables that the filters need, each once, in order of first appearance.
  package var tableDigests: [String] {
    let ofClips = spans.flatMap(\.layers).flatMap(\.clips).flatMap { $0.filters ?? [] }
    var seen: Set<String> = []
    let ofOverlays = overlays.flatMap { $0.filters ?? [] }
    let ofSpans = spans.flatMap { $0.filters ?? [] }
    let own = (ofClips + ofOverlays + ofSpans + (filters ?? [])).compactMap(\.table)
    return (own + nested.flatMap(\.tableDigests)).filter { seen.insert($0).inserted }
  }

  /// The digests of the task's inputs that are no sources: fonts, look-up tables, and the files of sound that is seen.
  /// They follow those of the sources.
  package var otherDigests: [String] { fontDigests + tableDigests + soundDigests }
}

extension PlannedLayer {
  /// The clips of the layer.
  package var clips: [ClipLayer] {
    switch self {
    case .clip(let clip): [clip]
    case .transition(let from, let to, _, _, _): [from, to].compactMap(\.self)
    case .compositor(let layer): layer.sources.map(\.clip)
    }
  }
}
