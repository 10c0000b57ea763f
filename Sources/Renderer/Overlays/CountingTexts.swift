import CompositionModel
import Media
import RenderTasks

/// The text overlays of a task that count. Their fonts are found once for all that they show, and a text is set when it
/// differs from the one before.
final class CountingTexts {
  private let task: VideoTask
  private let inputs: [String: any ByteSource]
  /// By index in `VideoTask.overlays`.
  private var fonts: [Int: FontSet] = [:]
  /// By index in `VideoTask.overlays`. The picture is nil if none of the text is in the frame.
  private var latest: [Int: (text: String, picture: BlendPicture?)] = [:]

  init(_ task: VideoTask, inputs: [String: any ByteSource]) {
    (self.task, self.inputs) = (task, inputs)
  }

  /// What an overlay shows, in its place. Nil if it is outside the frame.
  func picture(_ index: Int, _ text: String) throws(RenderError) -> BlendPicture? {
    if let known = latest[index], known.text == text { return known.picture }
    let overlay = task.overlays[index]
    guard case .text(let style, let fonts) = overlay.content else { return nil }
    let picture = try Overlays.text(
      style.showing(text), fonts: self.fonts(fonts, of: style, index), placement: overlay.placement,
      format: task.format)
    latest[index] = (text, picture)
    return picture
  }

  /// The fonts of a text overlay. Those of one that does not count are not kept, since it is drawn once.
  func fonts(_ planned: TextFonts, of style: StyledText, _ index: Int) throws(RenderError) -> FontSet {
    if let known = fonts[index] { return known }
    let set = try FontSet(planned, of: style.text, inputs: inputs)
    if style.counting != nil { fonts[index] = set }
    return set
  }
}
