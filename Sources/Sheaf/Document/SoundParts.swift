import CompositionModel
import EditDocument

extension AudioMix {
  /// The member of a document's mix that is no track, unless a track has this name.
  private static let loudnessKey = "loudness"

  /// Nil if a time is in frames.
  init?(_ mix: Document.AudioMix) {
    var parameters: [TrackID: InputParameters] = [:]
    for (track, written) in mix.tracks {
      guard let read = InputParameters(written) else { return nil }
      parameters[track] = read
    }
    self.init(inputParameters: parameters, loudness: mix.loudness)
  }

  /// Throws, with places below that of the mix, if the loudness of the film and a track of that name exclude each
  /// other.
  /// - Parameter tracks: The tracks of the document.
  func written(tracks: [CompositionTrack]) throws(DocumentError) -> Document.AudioMix {
    let isTrack = tracks.contains { $0.id == Self.loudnessKey }
    guard isTrack ? loudness == nil : inputParameters[Self.loudnessKey] == nil else {
      throw DocumentError(
        "/\(Self.loudnessKey)",
        isTrack
          ? "the film has a loudness, which a document cannot have beside a track 'loudness': give the track another "
            + "name"
          : "there is no audio track 'loudness'")
    }
    var mix = Document.AudioMix()
    mix.tracks = inputParameters.mapValues(\.written)
    mix.loudness = loudness
    return mix
  }
}

extension AudioMix.InputParameters {
  fileprivate init?(_ mix: Document.TrackMix) {
    guard let volume = mix.volume.converted({ RampList($0) }), let pan = mix.pan.converted({ RampList($0) }) else {
      return nil
    }
    self.init(
      volume: volume ?? RampList(), pan: pan ?? RampList(), filters: mix.filters.map(\.effect), ducking: mix.duck)
  }

  fileprivate var written: Document.TrackMix {
    var mix = Document.TrackMix(volume: volume.level)
    mix.pan = pan.level
    mix.filters = filters.map { Document.AudioFilter($0) }
    mix.duck = ducking
    return mix
  }
}

extension Edit.Captions {
  /// Nil if a time is in frames, or if they are a list.
  init?(_ captions: Document.Captions) {
    guard captions.cues.isEmpty, let source = captions.use.converted({ $0.inSeconds }),
      let start = captions.at.converted({ $0.inSeconds })
    else { return nil }
    let use: Use
    switch captions.as ?? .picture {
    case .picture:
      use = .drawn(
        Style(
          font: captions.font, isBold: captions.bold ?? false, isItalic: captions.italic ?? false, size: captions.size,
          color: captions.color, outline: captions.outline, outlineColor: captions.outlineColor,
          anchor: captions.anchor, margin: captions.margin, sideMargin: captions.sideMargin,
          edges: captions.edgeMargins,
          box: captions.box, highlightColor: captions.highlightColor, spokenColor: captions.spokenColor,
          isVertical: captions.vertical ?? false))
    case .track:
      use = .track(
        Edit.TextTrack(
          language: captions.language, title: captions.title, isDefault: captions.default ?? false))
    }
    self.init(captions.asset, source: source, at: start ?? .zero, use: use, wording: captions.wording)
  }

  var written: Document.Captions {
    var captions = Document.Captions(asset)
    captions.use = source.map { Document.TimeRange($0) }
    captions.at = start == .zero ? nil : .seconds(start)
    captions.wording = wording
    switch use {
    case .drawn(let style):
      captions.font = style.font
      (captions.bold, captions.italic) = (style.isBold ? true : nil, style.isItalic ? true : nil)
      (captions.size, captions.color) = (style.size, style.color)
      (captions.outline, captions.outlineColor) = (style.outline, style.outlineColor)
      (captions.anchor, captions.margin, captions.sideMargin) = (style.anchor, style.margin, style.sideMargin)
      (captions.edgeMargins, captions.box) = (style.edges, style.box)
      (captions.highlightColor, captions.spokenColor) = (style.highlightColor, style.spokenColor)
      captions.vertical = style.isVertical ? true : nil
    case .track(let track):
      captions.as = .track
      (captions.language, captions.title) = (track.language, track.title)
      captions.default = track.isDefault ? true : nil
    }
    return captions
  }
}
