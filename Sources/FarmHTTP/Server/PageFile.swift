import Digest

/// A file of the page.
struct PageFile: Sendable {
  let bytes: [UInt8]
  /// Its media type.
  let type: String
  /// Its SHA-256, as an entity tag.
  let tag: String

  static let index = PageFile("index.html", PackageResources.index_html)

  /// By their names.
  static let assets: [String: PageFile] = Dictionary(
    uniqueKeysWithValues: files.map { name, bytes in (name, PageFile(name, bytes)) })

  private init(_ name: String, _ bytes: [UInt8]) {
    self.bytes = bytes
    type =
      switch name.split(separator: ".").last {
      case "html": "text/html; charset=utf-8"
      case "css": "text/css; charset=utf-8"
      case "svg": "image/svg+xml"
      default: "text/javascript; charset=utf-8"
      }
    tag = "\"\(SHA256Digest.of(bytes).hex)\""
  }

  private static let files: KeyValuePairs = [
    "access-view.js": PackageResources.access_view_js,
    "api.js": PackageResources.api_js,
    "attempts.js": PackageResources.attempts_js,
    "critical-path.js": PackageResources.critical_path_js,
    "dialogs.js": PackageResources.dialogs_js,
    "dom.js": PackageResources.dom_js,
    "editor.js": PackageResources.editor_js,
    "estimate.js": PackageResources.estimate_js,
    "farm-view.js": PackageResources.farm_view_js,
    "film-marks.js": PackageResources.film_marks_js,
    "film.js": PackageResources.film_js,
    "filmstrip.js": PackageResources.filmstrip_js,
    "findings.js": PackageResources.findings_js,
    "format.js": PackageResources.format_js,
    "hash-worker.js": PackageResources.hash_worker_js,
    "icon.svg": PackageResources.icon_svg,
    "job-cost.js": PackageResources.job_cost_js,
    "job-tasks.js": PackageResources.job_tasks_js,
    "job-view.js": PackageResources.job_view_js,
    "jobs-view.js": PackageResources.jobs_view_js,
    "main.js": PackageResources.main_js,
    "new-job-view.js": PackageResources.new_job_view_js,
    "notifications.js": PackageResources.notifications_js,
    "path-control.js": PackageResources.path_control_js,
    "pools-panel.js": PackageResources.pools_panel_js,
    "rendering-film.js": PackageResources.rendering_film_js,
    "segment-map.js": PackageResources.segment_map_js,
    "sha256.js": PackageResources.sha256_js,
    "state.js": PackageResources.state_js,
    "stream.js": PackageResources.stream_js,
    "style.css": PackageResources.style_css,
    "task-watch.js": PackageResources.task_watch_js,
    "theme.js": PackageResources.theme_js,
    "timeline-painting.js": PackageResources.timeline_painting_js,
    "timeline.js": PackageResources.timeline_js,
    "trace.js": PackageResources.trace_js,
    "uploads.js": PackageResources.uploads_js,
    "virtual-list.js": PackageResources.virtual_list_js,
    "workers-view.js": PackageResources.workers_view_js,
  ]
}
