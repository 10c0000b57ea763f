import CompositionModel

// GIF, APNG and WebP: files that are one picture that moves.

extension ColourTags {
  /// Whether red, green and blue of these are those of screens, as far as they are stated.
  var isOfScreens: Bool {
    highDynamicRange == nil && (primaries.map { ["bt709", "bt470bg", "smpte170m"].contains($0) } ?? true)
  }
}

extension Lowering {
  /// Reports colours that a codec of screen pictures does not have.
  mutating func checkScreenColours(_ colour: ColourTags, of codec: VideoCodec) {
    guard !colour.isOfScreens else { return }
    problems.add(
      document.videoComposition.pointer.key("color"),
      "\(codec.rawValue) has the colours of screens alone: leave 'color' out, or give \"bt709\"")
  }

  /// Reports what a file that is one moving picture cannot have.
  mutating func checkImage(_ container: Container) {
    let pointer = document.videoComposition.pointer
    if let shortest = container.shortestFrame, frameDuration < shortest {
      let example = container == .gif ? "1/25" : "1/60"
      problems.add(
        pointer,
        "a frame every \(frameDuration) s cannot be shown in \(container), whose frames last \(shortest) s at least; "
          + "\"frameDuration\": \"\(example)\" is possible")
    }
    // The delay of a frame is a fraction of two numbers of 16 bits.
    let greatest = Int64(UInt16.max)
    if container == .apng, frameDuration.value > greatest || Int64(frameDuration.timescale) > greatest {
      problems.add(
        pointer,
        "a frame every \(frameDuration) s cannot be stored in apng, which takes fractions of two numbers up to "
          + "\(greatest)")
    }
    guard let plays = document.export.presetVideo.plays, container.playCounts == nil else { return }
    problems.add(
      document.export.place.key("video").key("plays"),
      "\(container) cannot state that it is played \(plays) times; "
        + "\(list(Container.allCases.filter { $0.playCounts != nil }.map(\.rawValue))) can")
  }

  /// Sound that is left out, and times that are rounded.
  func addImageLosses(_ edit: Edit, to warnings: inout ProblemList) {
    let container = edit.export.container
    guard container.isAnimatedImage else { return }
    let hasSound = tracks.flatMap(\.composed).contains { $0.type == .audio && !$0.clips.isEmpty }
    if hasSound, !document.export.audio.isNone {
      warnings.add(
        document.export.place, "\(container) has no sound: that of the film is left out; \"audio\": false says so")
    }
    let duration = edit.videoComposition.frameDuration
    if let tick = container.tick, (try? duration / tick)?.denominator != 1 {
      warnings.add(
        document.videoComposition.pointer,
        "a frame every \(duration) s is shown to the nearest \(tick) s in \(container); no error adds to another's")
    }
  }
}
