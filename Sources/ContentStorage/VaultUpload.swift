import Digest
import FoundationEssentials
import Glibc

/// A file on its way into the vault: hashed as it is written, there only when it is whole and what it was said to be.
///
/// Unchecked, and safe: one task at a time owns it and calls it in turn.
final class VaultUpload: @unchecked Sendable {
  let digest: SHA256Digest
  let size: Int64
  /// Bytes taken so far.
  private(set) var received: Int64 = 0
  private let vault: Vault
  private let temporary: String
  private var file: Int32
  private var hasher: SHA256Hasher? = SHA256Hasher()

  init(_ vault: Vault, digest: SHA256Digest, size: Int64) throws(VaultError) {
    self.vault = vault
    self.digest = digest
    self.size = size
    temporary = vault.temporaryPath()
    file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw .system("writing to the vault", errno: errno) }
  }

  deinit {
    discard()
  }

  /// Takes the next bytes.
  func write(_ data: Data) throws(VaultError) {
    guard Int64(data.count) <= size - received else {
      throw VaultError(.mismatch, "the upload is longer than the \(size) bytes that were announced")
    }
    let failure = data.withUnsafeBytes { bytes in
      hasher?.update(bytes)
      return FileBytes.write(bytes, to: file)
    }
    if let failure { throw .system("writing to the vault", errno: failure) }
    received += Int64(data.count)
  }

  /// Checks the whole and puts it in its place.
  func finish() throws(VaultError) {
    guard received == size else {
      throw VaultError(.mismatch, "the upload has \(received) bytes where \(size) were announced")
    }
    guard let actual = hasher.take()?.finalize(), actual == digest else {
      throw VaultError(.mismatch, "the upload is not what its digest says")
    }
    guard fsync(file) == 0 else { throw .system("syncing an upload", errno: errno) }
    try vault.place(temporary, at: vault.path(of: digest))
    close(file)
    file = -1
  }

  /// Drops what has come; nothing stays behind.
  func discard() {
    guard file >= 0 else { return }
    close(file)
    file = -1
    unlink(temporary)
  }
}
