/// What the two executables are: `sheaf --version` and `sheaf-worker --version` print it.
package enum Product {
  /// Of this source tree. Which workers may render one film together depends on their builds and not on this.
  package static let version = "0.1.0"
}
