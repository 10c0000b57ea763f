public import CompositionModel

/// Warnings about overlays of which nothing, or not all, is seen.
extension Lowering {
  /// Overlays that are transparent throughout, outside the frame, or larger than it.
  func addUnseenOverlays(_ edit: Edit, to warnings: inout ProblemList) {
    let frame = edit.videoComposition.renderSize
    for (overlay, pointer) in zip(edit.videoComposition.overlays, overlayPlaces) {
      if overlay.opacity <= 0 || !overlay.ramps.isEverAboveZero(in: overlay.over) {
        warnings.add(pointer, "the overlay is never seen: its opacity is 0 throughout")
        continue
      }
      if let text = overlay.content.text, text.isTransparent {
        warnings.add(pointer, "the text is never seen: its colour is transparent, and it has no outline, shadow or box")
        continue
      }
      guard let size = pictureSize(of: overlay.content) else { continue }
      let place = overlay.shownPlace(of: size, in: frame)
      if let place, !place.isNear(frame) {
        warnings.add(pointer, "the overlay is never seen: \(place.text) is outside the frame of \(frame.text)")
      } else if overlay.staysOutside(frame, of: size) {
        warnings.add(
          pointer, "the overlay is never seen: from its start to its end it is outside the frame of \(frame.text)")
      } else if let place, place.isLarger(than: frame), !overlay.isRotated {
        warnings.add(
          pointer,
          "the overlay is larger than the frame of \(frame.text), and what is beyond it is cut off: \(place.size); "
            + (overlay.geometry == nil ? "'width' and 'height' make it smaller" : "a smaller scale shows all of it"))
      }
    }
  }

  /// The size of a picture in the frame. Nil: of a text it is not known here.
  private func pictureSize(of content: OverlayContent) -> PixelSize? {
    switch content {
    case .image(let id, let width, let height):
      assets[id]?.defaultTrack(.video)?.video?.presentationSize.overlaySize(width: width, height: height)
    case .video(let video):
      assets[video.asset]?.defaultTrack(.video)?.video?.presentationSize
        .overlaySize(width: video.width, height: video.height)
    case .waveform(let waveform): waveform.size
    case .text: nil
    }
  }
}

extension OverlayContent {
  fileprivate var text: StyledText? { if case .text(let text) = self { text } else { nil } }
}

extension ExaminedDocument {
  /// The warnings about texts that are not whole within the frame.
  /// - Parameters:
  ///   - edit: The edit of this document.
  ///   - findings: what was found for each of `fontRequests`.
  public func textWarnings(_ edit: Edit, _ findings: [FontRequest: FontFindings]) -> [Problem] {
    var warnings = ProblemList()
    let frame = edit.videoComposition.renderSize
    var shown = edit.videoComposition.overlays
    for entry in videoComposition.overlays {
      // A text that counts is not known as a whole.
      guard case .text(let written, _, nil) = entry.content, !entry.counts,
        let index = shown.firstIndex(where: { $0.content.text?.text == written.text }),
        case .text(let text) = shown[index].content
      else { continue }
      let overlay = shown.remove(at: index)
      guard let measure = findings[written.fontRequest]?.measure else { continue }
      let size = measure.size(of: text, wrappedAt: overlay.placement.wrapWidth(of: text, in: frame))
      // Turned or moved texts are most often meant to leave the frame.
      guard let place = overlay.shownPlace(of: size, in: frame) else { continue }
      guard place.isNear(frame) else {
        warnings.add(entry.pointer, "the text is never seen: \(place.origin) is outside the frame of \(frame.text)")
        continue
      }
      // The lines' edges have no ink: what is cut is more than they have.
      let slack = text.size / 4
      guard overlay.geometry == nil else { continue }
      let sides = place.beyond(frame, slack: slack)
      if !sides.isEmpty {
        warnings.add(
          entry.pointer.key("text"),
          "the text is cut off at the \(list(sides)): its lines take about \(place.text) of the frame of \(frame.text)")
      }
    }
    return warnings.problems
  }
}

/// The smallest upright rectangle around an overlay in the frame, in pixels.
private struct ShownPlace {
  var left: Double
  var top: Double
  var right: Double
  var bottom: Double

  func isNear(_ frame: PixelSize) -> Bool {
    left < Double(frame.width) && top < Double(frame.height) && right > 0 && bottom > 0
  }

  /// The edges of the frame that it goes beyond by more than `slack`.
  func beyond(_ frame: PixelSize, slack: Double) -> [String] {
    [
      ("left", left < -slack), ("top", top < -slack), ("right", right > Double(frame.width) + slack),
      ("bottom", bottom > Double(frame.height) + slack),
    ].filter(\.1).map(\.0)
  }

  func isLarger(than frame: PixelSize) -> Bool {
    right - left > Double(frame.width) + 0.5 || bottom - top > Double(frame.height) + 0.5
  }

  /// Whether this place and another are both beyond the same edge of the frame.
  func isBeyondSameEdge(as other: ShownPlace, of frame: PixelSize) -> Bool {
    let (width, height) = (Double(frame.width), Double(frame.height))
    return max(right, other.right) <= 0 || max(bottom, other.bottom) <= 0 || min(left, other.left) >= width
      || min(top, other.top) >= height
  }

  var text: String { "\(size) at \(origin)" }

  var size: String { "\(Self.whole(right - left))x\(Self.whole(bottom - top))" }

  /// The left top corner. A text that begins outside the frame has no size to speak of: it is wrapped at a pixel.
  var origin: String { "(\(Self.whole(left)), \(Self.whole(top)))" }

  private static func whole(_ value: Double) -> Int {
    Int(min(max(value, -1e9), 1e9).rounded())
  }
}

extension Overlay {
  /// Nil: it moves.
  fileprivate func shownPlace(of size: PixelSize, in frame: PixelSize) -> ShownPlace? {
    if let geometry, !geometry.isConstant(from: over.start) { return nil }
    return place(of: size, in: frame, at: over.start)
  }

  /// Whether an overlay that moves is outside the frame all the time, as far as the ends of its ramps show. In a ramp
  /// that is not eased its corners go from one end to the other in straight lines, unless it is rotated meanwhile.
  fileprivate func staysOutside(_ frame: PixelSize, of size: PixelSize) -> Bool {
    guard let geometry, case .turn(let turns) = geometry.transform else { return false }
    let rotations = Set(turns.ramps.flatMap { [$0.from.rotation, $0.to.rotation] })
    guard rotations.count <= 1, turns.ramps.allSatisfy({ $0.easing == nil }), let first = turns.ramps.first else {
      return false
    }
    // Before the first ramp it is where it is without one. After each it stays at its end.
    let before = place(of: size, in: frame, turned: nil)
    guard first.over.start <= over.start || before.isBeyondSameEdge(as: before, of: frame) else { return false }
    return turns.ramps.allSatisfy { ramp in
      place(of: size, in: frame, turned: ramp.from)
        .isBeyondSameEdge(as: place(of: size, in: frame, turned: ramp.to), of: frame)
    }
  }

  /// Whether it is shown at an angle at any time.
  fileprivate var isRotated: Bool {
    guard case .turn(let turns) = geometry?.transform else { return false }
    return turns.ramps.contains { $0.from.rotation != 0 || $0.to.rotation != 0 }
  }

  /// Nil: the time cannot be computed exactly, which is reported by the planner.
  private func place(of size: PixelSize, in frame: PixelSize, at time: MediaTime) -> ShownPlace? {
    guard case .turn(let turns) = geometry?.transform else { return place(of: size, in: frame, turned: nil) }
    do throws(TimeError) {
      return place(of: size, in: frame, turned: try turns.value(at: time))
    } catch {
      return nil
    }
  }

  private func place(of size: PixelSize, in frame: PixelSize, turned turn: TransformComponents?) -> ShownPlace {
    let origin = placement.origin(of: size, in: frame)
    let rectangle = Rectangle(
      x: Double(origin.x), y: Double(origin.y), width: Double(size.width), height: Double(size.height))
    var corners = [
      (x: rectangle.x, y: rectangle.y), (x: rectangle.x + rectangle.width, y: rectangle.y),
      (x: rectangle.x + rectangle.width, y: rectangle.y + rectangle.height),
      (x: rectangle.x, y: rectangle.y + rectangle.height),
    ]
    if let matrix = turn?.matrix(in: rectangle) { corners = corners.map { matrix.map(x: $0.x, y: $0.y) } }
    let (x, y) = (corners.map(\.x), corners.map(\.y))
    return ShownPlace(left: x.min() ?? 0, top: y.min() ?? 0, right: x.max() ?? 0, bottom: y.max() ?? 0)
  }
}

extension StyledText {
  /// Whether nothing of it is drawn.
  fileprivate var isTransparent: Bool {
    color.alpha <= 0 && (outline?.color.alpha ?? 0) <= 0 && (shadow?.color.alpha ?? 0) <= 0
      && (box?.color.alpha ?? 0) <= 0
  }
}

extension PixelSize {
  fileprivate var text: String { "\(width)x\(height)" }
}
