/// What a task has to do. It is passed to the process that runs the task as JSON with sorted keys, so that equal tasks
/// have equal bytes.
///
/// A film has one output or several, which makes no difference to the kinds of its tasks: a task of rendering has the
/// renditions of all outputs, and what they have in common is made once. Its result is a `ContentPackage` of pieces.
package enum TaskPayload: Sendable, Hashable, Codable {
  /// Describes a file, which is the one input. The result is an `AssetDescription` as JSON.
  case probe
  /// Finds the fonts of texts. The inputs are files of captions that are drawn, and the result is a `FontList` with the
  /// fonts' files. It is a task of the kind `probe`: it comes before planning, and any worker may run it.
  case fonts(FontTask)
  /// Makes compositors of the author's own from their parameters. There are no inputs, and the result is a
  /// `CompositorFindings` as JSON. It is a measure task of a job, which only workers that have the
  /// compositors may run, and a probe task of an inspection.
  case compositors(CompositorTask)
  /// Measures how the camera moves in a stretch of a clip. The one input is the file, and the result is a
  /// `CameraMotion` as JSON. It is a measure task of a job, and a probe task of an inspection.
  case motion(MotionTask)
  /// Makes still pictures. The inputs are the files that its parts name, and the result is an `ImageList` after the
  /// pictures. It is a task of the kind `probe` too: it belongs to no plan.
  case images(ImageTask)
  /// Measures a segment: encodes its frames in a fast way, at each of the measuring rate factors of each rendition's
  /// codec, to predict how many bits they take. The renditions are those that have an average bit rate, with the rate
  /// control of the first rate factor, so that a segment is measured once, whatever its film aims at. The inputs are
  /// those of rendering, and the result is a `Measurement` for each rendition, as JSON.
  case measure(VideoTask)
  /// Renders a segment. The inputs are the task's sources, and the result is a package with a piece for each rendition,
  /// named by its number.
  case video(VideoTask)
  /// Mixes the audio. The inputs are the task's sources, and the result is a package with a piece for each encoder of
  /// each mix, in order, named by its number.
  case audio(AudioTask)
  /// Copies stored packets. The inputs are the files that the clips name and that of the artwork, and the result is the
  /// film. It is the stitch task of a film with the preset `passthrough`, which has no other after its probe tasks.
  case passthrough(PassthroughTask)
  /// Makes the files of the outputs. The inputs are the packages of the video tasks by segment, then that of the audio
  /// task, then the file of the artwork.
  case stitch(StitchTask)
}
