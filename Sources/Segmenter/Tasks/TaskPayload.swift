/// What a task says to the process that runs it, as JSON with sorted keys: the same task is the same bytes.
package enum TaskPayload: Sendable, Hashable, Codable {
  /// One input: the file to describe. The result is an `AssetDescription` as JSON.
  case describe
  case picture(VideoTask)
  case sound(AudioTask)
  case stitch(StitchTask)
}
