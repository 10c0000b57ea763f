/// melt, the player of MLT, as a reference that reads timelines by other code than Sheaf's.
public enum Melt {
  /// How often melt is started for a film, and how long it may take, in seconds.
  private static let (mostRuns, longest) = (6, 90)

  /// Renders to a file without loss, and returns when ffprobe finds pictures in it. On a loaded machine one run of a
  /// hundred of melt 7.12 ends with 0 before its first picture or never ends, whatever it plays: it is started again.
  ///
  /// - Parameter what: What is played, as arguments before those of the consumer.
  public static func render(_ what: String..., to film: String, _ properties: String...) throws {
    var log = ""
    for _ in 0..<mostRuns {
      let consumer = ["avformat:\(film)", "vcodec=ffv1", "pix_fmt=yuv420p", "real_time=0", "terminate_on_pause=1"]
      let made = try Tool.result(
        of: "timeout",
        ["--signal", "KILL", "\(longest)", "melt", "-silent"] + what + ["-consumer"] + consumer + properties)
      let pictures = try Tool.result(
        of: "ffprobe", ["-v", "error", "-select_streams", "v", "-show_entries", "packet=size", "-of", "csv=p=0", film])
      if made.status == 0, pictures.status == 0, !pictures.output.isEmpty { return }
      log = "melt ended with \(made.status): \(made.log)\(pictures.log)"
    }
    throw Tool.Failure(description: "\(film) was not rendered in \(mostRuns) runs; \(log)")
  }
}
