/// The pictures of a source that is an edit of its own: they are made where they are shown, and stored nowhere.
package struct NestedPictures: Sendable, Hashable, Codable {
  /// How the frames that are shown are made. It has no renditions, and the pixel format and the colours of the film
  /// that shows them.
  package var task: VideoTask
  /// The number of the task's first frame among the frames of the edit's film: its timestamp.
  package var firstFrame: Int64
  /// True if its backgrounds are not drawn. Its frames then have alpha. Nil: they are opaque.
  package var isTransparent: Bool?

  package init(task: VideoTask, firstFrame: Int64, isTransparent: Bool) {
    self.task = task
    self.firstFrame = firstFrame
    self.isTransparent = isTransparent ? true : nil
  }

  /// The pixel format of frames with alpha, by libavutil's name: black is not drawn, so that their colours are
  /// multiplied by alpha.
  package static let transparentFormat = "yuva444p10le"
}

extension VideoTask {
  /// The tasks of the sources that are edits of their own.
  package var nested: [VideoTask] { sources.compactMap(\.nested?.task) }
}
