public import CompositionModel
import EditDocument

extension Edit {
  /// The video composition with everything that follows from the tracks, to be changed: AVFoundation's
  /// `AVMutableVideoComposition.videoComposition(withPropertiesOf:)`. It has the size and the rate of the frames, and
  /// an instruction wherever a clip or a transition starts or ends.
  ///
  ///     edit.videoComposition = try edit.videoComposition(with: [a.id: a.contents, b.id: b.contents])
  ///     try edit.videoComposition.instructions?[0].layers[0].setOpacity(0.5)
  ///
  /// A dissolve is the opacity of the track that goes, above the one that comes: the same picture where both fill the
  /// frame. What the edit has of its own, such as overlays and explicit instructions, stays.
  /// - Parameter assets: What the files of the edit contain.
  /// - Throws: `.invalidEdit` with every problem; `.misuse` if a derived layer is not one that an instruction can have:
  ///   a transition of another kind, or a clip of a document with a geometry of its own.
  public func videoComposition(
    with assets: [AssetID: AssetDescription]
  ) throws(SheafError) -> VideoComposition {
    var edit = self
    edit.videoComposition.renderScale = 1
    // Whatever is exported.
    edit.export = ExportSettings(path: "film.mov")
    let derived: CompositionModel.VideoComposition
    do throws(DocumentError) {
      derived = try Document.examine(edit.document()).lower(assets: assets, output: nil).videoComposition
    } catch {
      throw SheafError(.invalidEdit, "", problems: error.problems)
    }
    var composition = videoComposition
    composition.renderSize = derived.renderSize
    composition.frameDuration = derived.frameDuration
    composition.transitions = []
    if composition.instructions != nil { return composition }
    var instructions: [VideoComposition.Instruction] = []
    for instruction in derived.instructions {
      var layers: [VideoComposition.LayerInstruction] = []
      for layer in instruction.layers { layers += try VideoComposition.LayerInstruction.derived(from: layer) }
      instructions.append(VideoComposition.Instruction(timeRange: instruction.over, layers: layers))
    }
    composition.instructions = instructions
    return composition
  }
}

extension VideoComposition.LayerInstruction {
  /// One layer, or the two of a dissolve.
  fileprivate static func derived(
    from layer: Layer
  ) throws(SheafError) -> [VideoComposition.LayerInstruction] {
    switch layer {
    case .track(let layer): return [try VideoComposition.LayerInstruction(layer)]
    case .transition(let transition):
      guard transition.style.kind == .dissolve else {
        throw SheafError(
          .misuse,
          "the transition from '\(transition.from.track)' to '\(transition.to.track)' is no dissolve, and none of layers"
        )
      }
      var going = try VideoComposition.LayerInstruction(transition.from)
      let (progress, easing) = (transition.progress, transition.style.easing)
      guard easing == .linear || (progress.from == 0 && progress.to == 1) else {
        throw SheafError(
          .misuse,
          "another clip starts or ends in the eased transition from '\(transition.from.track)'; a part of its "
            + "curve is no ramp")
      }
      going.setOpacityRamp(
        from: 1 - progress.from, to: 1 - progress.to, over: progress.over, easing: easing == .linear ? nil : easing)
      return [going, try VideoComposition.LayerInstruction(transition.to)]
    case .compositor(let layer):
      throw SheafError(.misuse, "the compositor '\(layer.compositor.name)' makes the picture; it is none of layers")
    }
  }

  private init(_ layer: TrackLayer) throws(SheafError) {
    guard layer.geometry == nil, layer.filters == nil, layer.mask == nil, layer.decoration == nil,
      layer.blendMode == nil, layer.opacity == .one
    else {
      throw SheafError(
        .misuse,
        "a clip of the track '\(layer.track)' has a place, filters or an opacity of its own, which the document "
          + "of the edit keeps in the clip")
    }
    self.init(track: layer.track, fit: layer.fit)
  }
}
