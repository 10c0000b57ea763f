/// What a task says to the process that runs it, as JSON with sorted keys: the same task is the same bytes.
package enum TaskPayload: Sendable, Hashable, Codable {
  /// One input: the file to probe. The result is an `AssetDescription` as JSON.
  case probe
  case video(VideoTask)
  case audio(AudioTask)
  case stitch(StitchTask)
}
