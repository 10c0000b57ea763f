import CompositionModel

// `smart` of `export`: what it excludes, which is known before any file is. Which pictures are copied is planned.

extension DocumentReader {
  /// Reports what is no film of one output that is rendered.
  mutating func checkSmart(_ entry: ExportEntry, _ value: JSONValue) {
    if entry.isPassthrough {
      problems.add(
        value.pointer, "the preset '\(Passthrough.name)' copies everything: leave 'smart' or the preset out")
    } else if entry.hasOutputs {
      problems.add(
        value.pointer, "'smart' is for a film with one output, and 'outputs' has several: leave one of them out")
    }
  }
}

extension Lowering {
  /// Reports settings that copied pictures cannot keep.
  /// - Parameter video: Nil: the output has no video.
  mutating func checkSmart(_ video: VideoSettings?, _ container: Container) {
    let entry = document.export
    let pointer = entry.place.key("smart")
    if entry.hasOutputs || entry.outputPointer != nil { return }
    guard let video else {
      problems.add(pointer, "'smart' copies pictures, and the output has none: leave it out")
      return
    }
    let written = entry.presetVideo
    guard video.codec.definition.smartRendering != nil else {
      let able = VideoCodec.allCases.filter { $0.definition.smartRendering != nil }.map(\.rawValue)
      problems.add(
        pointer,
        "pictures in \(video.codec.rawValue) cannot be copied between others that are encoded: 'smart' is for "
          + list(able))
      return
    }
    if container.isPlaylist {
      problems.add(
        pointer,
        "the keyframes of a playlist are where its segments begin, and copied pictures have theirs elsewhere: leave "
          + "'smart' out, or write another container")
    }
    func refuse(_ key: String, _ reason: String) {
      problems.add(written.pointer.key(key), "\(reason): leave '\(key)' or 'smart' out")
    }
    if case .averageBitRate = video.rateControl {
      refuse("bitRate", "copied pictures take the bits that they have, which no average bit rate can plan with")
    }
    if video.targetQuality != nil {
      refuse("targetQuality", "copied pictures have the quality that they have")
    }
    if written.maxBitRate != nil {
      refuse("maxBitRate", "copied pictures take the bits that they have, whatever the limit is")
    }
    if written.level != nil {
      refuse("level", "copied pictures keep the level that they state, and take the bits that they have")
    }
    if written.keyframeInterval != nil, !video.codec.definition.isIntraOnly {
      refuse("keyframeInterval", "copied pictures have their keyframes where their files have them")
    }
    if case .quality(let quality) = video.rateControl, video.codec == .h264, quality < 1,
      video.pixelFormat.bitDepth == 8
    {
      refuse("quality", "pictures of H.264 without loss cannot refer to the parameter sets of others")
    }
  }
}
