package import CompositionModel

/// Everything that the pieces of one segment depend on, and nothing else. Two tasks with equal JSON render equal bytes,
/// in any place of any film. The fingerprint of a task is the digest of its JSON, so all times count from the segment's
/// own first frame, and media are named by their digests.
package struct VideoTask: Sendable, Hashable, Codable {
  package var format: VideoTaskFormat
  /// How the frames are encoded: in at least one way, in all with the film's pixel format. Empty: they are not encoded,
  /// as those of an `ImageTask`.
  package var renditions: [VideoRendition]
  /// The number of frames to make. Their timestamps in a piece are 0, 1, 2… in ticks of the frame duration.
  package var frameCount: Int
  /// They tile 0..<frameCount.
  package var spans: [Span]
  /// The first is on top.
  package var overlays: [PlannedOverlay]
  /// In the order of the task's inputs.
  package var sources: [PlannedSource]
  /// The filters of the composited frame before overlays are drawn, applied in order. Their ramps are on the segment's
  /// clock. Nil: none.
  package var filters: [Filter<RampList>]?
  /// Drawn over everything else. Nil: none.
  package var captions: [PlannedCaptions]?
  /// The metadata tracks that compositors are given, by name, as far as their values are within the segment, on the
  /// segment's clock. Nil: none.
  package var metadata: [MetadataTrack]?
  /// The frames that are keyframes in all renditions that have a grid of keyframes, rising from 0 on. Nil: those of the
  /// grid, counted from the segment's first frame.
  package var keyframes: [Int]?
  /// Nil: all of the film is encoded.
  package var smart: SmartSegment?

  package init(
    format: VideoTaskFormat, renditions: [VideoRendition], frameCount: Int, spans: [Span], overlays: [PlannedOverlay],
    sources: [PlannedSource]
  ) {
    self.format = format
    self.renditions = renditions
    self.frameCount = frameCount
    self.spans = spans
    self.overlays = overlays
    self.sources = sources
  }
}

extension VideoTask {
  /// The digests of the sources' files, in the order of the sources.
  package var sourceDigests: [String] {
    sources.flatMap { source in source.nested?.task.sourceDigests ?? (source.video.drawn == nil ? [source.digest] : [])
    }
  }

  /// The digests of the font files that the texts need, each once, in order of first appearance. They are inputs of the
  /// task, after those of the sources.
  package var fontDigests: [String] {
    var seen: Set<String> = []
    let ofTexts = overlays.flatMap { overlay -> [PlannedFont] in
      if case .text(_, let fonts) = overlay.content { fonts.fonts } else { [] }
    }
    let own = (ofTexts + (captions ?? []).flatMap(\.fonts)).map(\.digest)
    return (own + nested.flatMap(\.fontDigests)).filter { seen.insert($0).inserted }
  }
}

/// The format of the frames of a segment.
package struct VideoTaskFormat: Sendable, Hashable, Codable {
  package var size: PixelSize
  package var pixelFormat: PixelFormat
  package var colour: ColourTags
  package var frameDuration: MediaTime
  /// Nil: as BT.2390.
  package var toneMapping: ToneMapping?

  /// The block of the frames' luma samples that share one chroma sample.
  package var cell: ChromaCell { ChromaCell(pixelFormat, site: ChromaSite(tag: colour.chromaLocation)) }

  package init(
    size: PixelSize, pixelFormat: PixelFormat, colour: ColourTags, frameDuration: MediaTime,
    toneMapping: ToneMapping? = nil
  ) {
    self.toneMapping = toneMapping
    self.size = size
    self.pixelFormat = pixelFormat
    self.colour = colour
    self.frameDuration = frameDuration
  }
}

/// Frames of a segment that show the same stack.
package struct Span: Sendable, Hashable, Codable {
  package var frames: Range<Int>
  package var background: Color
  /// The first is on top. Tracks in a gap are left out.
  package var layers: [PlannedLayer]
  /// The filters of the composited layers, applied in order, before those of the task. Their ramps are on the segment's
  /// clock. Nil: none.
  package var filters: [Filter<RampList>]?

  package init(frames: Range<Int>, background: Color, layers: [PlannedLayer]) {
    self.frames = frames
    self.background = background
    self.layers = layers
  }
}

/// A layer of a span.
package enum PlannedLayer: Sendable, Hashable, Codable {
  case clip(ClipLayer)
  /// A side that is nil is transparent. `progress` is the position in the transition's time, 0…1, on the segment's
  /// clock. A style that is nil is a dissolve without easing; `matte` is the index in `VideoTask.sources` of the still
  /// picture of a luma transition.
  case transition(from: ClipLayer?, to: ClipLayer?, progress: Ramp, style: TransitionStyle?, matte: Int?)
  case compositor(PlannedCompositor)
}

/// The pictures of a clip in a span. On the segment's clock frame n is at n·frameDuration.
package struct ClipLayer: Sendable, Hashable, Codable {
  /// Index in `VideoTask.sources`.
  package var source: Int
  /// On the asset's timeline.
  package var sourceRange: MediaTimeRange
  /// On the segment's clock. It may start before the segment or end after it.
  package var targetRange: MediaTimeRange
  package var fit: Fit
  /// On the segment's clock.
  package var opacity: RampList
  /// The filters of the fitted picture, applied in order. Their ramps are on the segment's clock. A look-up table is
  /// named by its file's digest. Nil: none.
  package var filters: [Filter<RampList>]?
  /// On the segment's clock. Nil: fitted into the whole frame.
  package var geometry: LayerGeometry?
  /// Nil: drawn over what is below.
  package var blendMode: BlendMode?
  package var mask: PlannedMask?
  /// Nil: nothing is drawn around the picture.
  package var decoration: LayerDecoration?
  /// Nil: forwards, at one speed.
  package var retiming: Retiming?

  package init(
    source: Int, sourceRange: MediaTimeRange, targetRange: MediaTimeRange, fit: Fit, opacity: RampList,
    geometry: LayerGeometry? = nil, blendMode: BlendMode? = nil, mask: PlannedMask? = nil
  ) {
    self.source = source
    self.sourceRange = sourceRange
    self.targetRange = targetRange
    self.fit = fit
    self.opacity = opacity
    self.geometry = geometry
    self.blendMode = blendMode
    self.mask = mask
  }

  /// The asset's time that is shown at a time of the segment's clock. For a still picture it is always the same. If the
  /// clip is reversed, the picture just before it is shown.
  package func sourceTime(at time: MediaTime) throws(TimeError) -> Rational {
    if sourceRange.isEmpty, retiming == nil { return try sourceRange.start.exact }
    let elapsed = try time.exact - targetRange.start.exact
    return try retiming.sourceTime(after: elapsed, of: sourceRange, lasting: targetRange.duration)
  }
}

/// A mask, as `LayerMask`.
package struct PlannedMask: Sendable, Hashable, Codable {
  /// Index in `VideoTask.sources`.
  package var source: Int
  package var channel: LayerMask.Channel
  package var isInverted: Bool
  /// The part of the asset that is a moving mask, and when, as in `ClipLayer`. Nil for a still picture.
  package var sourceRange: MediaTimeRange?
  package var targetRange: MediaTimeRange?
  package var retiming: Retiming?

  package init(source: Int, channel: LayerMask.Channel, isInverted: Bool) {
    self.source = source
    self.channel = channel
    self.isInverted = isInverted
  }

  /// The asset's time that is shown at a time of the segment's clock. Nil for a still picture.
  package func sourceTime(at time: MediaTime) throws(TimeError) -> Rational? {
    guard let sourceRange, let targetRange else { return nil }
    let elapsed = try time.exact - targetRange.start.exact
    return try retiming.sourceTime(after: elapsed, of: sourceRange, lasting: targetRange.duration)
  }
}

/// One track of one asset, and where to start decoding it. A track that several clips use has a source for each clip.
package struct PlannedSource: Sendable, Hashable, Codable {
  /// The SHA-256 of the file, in lower-case hexadecimal. Empty if it is no file: if `video` describes a picture that is
  /// drawn, or if it is `nested`.
  package var digest: String
  /// The stream's index in the file.
  package var track: Int
  /// libavcodec's name of the codec.
  package var codec: String
  /// Seconds a tick of the stored timestamps.
  package var timebase: MediaTime
  /// The stored timestamp of the asset's time zero.
  package var origin: Int64
  /// Whether the container rounds times to its ticks.
  package var hasRoundedTimes: Bool
  /// The track's. Nil if there are none.
  package var discontinuities: [Discontinuity]?
  /// One of the keyframes of `video`. Nil: at the start of the file.
  package var decodeFrom: Keyframe?
  /// `keyframes` are those at which a decoder may have to start if pictures are damaged: `Keyframe.neededBefore` before
  /// `decodeFrom`, as far as there are, up to the first after what is shown. `frames` is empty, and how the starts were
  /// proved is left out, because rendering does not need it.
  package var video: VideoFormat
  /// Nil: pictures are used as they are stored.
  package var deinterlacing: PlannedDeinterlacing?
  /// Nil: pictures stay where they are.
  package var stabilization: PlannedStabilization?
  /// How colours of pictures with alpha are stored. Nil: straight.
  package var alpha: AlphaMode?
  /// Nil: the pictures are not those of an edit.
  package var nested: NestedPictures?

  package init(
    digest: String, track: Int, codec: String, timebase: MediaTime, origin: Int64,
    hasRoundedTimes: Bool = false, discontinuities: [Discontinuity]? = nil, decodeFrom: Keyframe?,
    video: VideoFormat
  ) {
    self.discontinuities = discontinuities
    self.digest = digest
    self.track = track
    self.codec = codec
    self.timebase = timebase
    self.origin = origin
    self.hasRoundedTimes = hasRoundedTimes
    self.decodeFrom = decodeFrom
    self.video = video
  }
}

/// Which pictures of a source are deinterlaced.
package enum PlannedDeinterlacing: String, Sendable, Hashable, Codable {
  /// Those that are flagged as interlaced.
  case flagged
  case all
}

/// An overlay on the segment's clock.
package struct PlannedOverlay: Sendable, Hashable, Codable {
  package var content: PlannedOverlayContent
  /// The frames that show it, ascending and apart. There are several ranges if an instruction without overlays is
  /// between them.
  package var frames: [Range<Int>]
  package var placement: OverlayPlacement
  package var opacity: Double
  package var ramps: RampList
  /// As in `Overlay`, on the segment's clock. Nil: neither crop nor transform.
  package var geometry: LayerGeometry?
  /// Before the transform, in order, on the segment's clock. Nil: none.
  package var filters: [Filter<RampList>]?
  /// Nil: drawn over what is below.
  package var blendMode: BlendMode?

  package init(
    content: PlannedOverlayContent, frames: [Range<Int>], placement: OverlayPlacement, opacity: Double,
    ramps: RampList, blendMode: BlendMode? = nil
  ) {
    self.content = content
    self.frames = frames
    self.placement = placement
    self.opacity = opacity
    self.ramps = ramps
    self.blendMode = blendMode
  }
}

/// What an overlay shows.
package enum PlannedOverlayContent: Sendable, Hashable, Codable {
  /// `source` is an index in `VideoTask.sources`; width and height are as in `OverlayContent.image`.
  case image(source: Int, width: Int?, height: Int?)
  case video(PlannedOverlayVideo)
  case text(StyledText, TextFonts)
  case waveform(PlannedWaveform)
}
