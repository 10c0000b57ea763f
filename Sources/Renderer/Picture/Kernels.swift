import CMedia

enum Kernels {
  /// The fastest kernels that this processor runs.
  static let best = sheaf_kernels_best().pointee
}
