package import SystemSupport

extension TLSTrust {
  /// Whom a client or a worker trusts: the authorities of `--tls-ca` or `SHEAF_TLS_CA` and no others, or with `--tls`
  /// or `SHEAF_TLS` those of the system. Nil: the connection is plain TCP.
  package static func setting(
    authorities file: String?, system: Bool, environment: Setting.Environment = ProcessEnvironment.value
  ) throws(SettingError) -> TLSTrust? {
    do throws(TLSError) {
      return try Authorities.setting(file: file, system: system, environment: environment)
        .map { (authorities) throws(TLSError) in try TLSTrust(authorities) }
    } catch {
      throw SettingError(error.message)
    }
  }
}

extension TLSTrust.Authorities {
  /// The same, before the file is read.
  package static func setting(
    file: String?, system: Bool, environment: Setting.Environment = ProcessEnvironment.value
  ) -> TLSTrust.Authorities? {
    if let file = Setting.text(file, "SHEAF_TLS_CA", environment: environment) { return .file(file) }
    return Setting.flag(system, "SHEAF_TLS", environment: environment) ? .system : nil
  }
}

extension TLSIdentity {
  /// The files of `--tls-certificate` and `--tls-key`, or of their variables. Nil: there are none. Throws if one of the
  /// two is missing, or they cannot be used.
  package static func setting(
    certificate: String?, key: String?, environment: Setting.Environment = ProcessEnvironment.value
  ) throws(SettingError) -> TLSIdentity? {
    let certificate = Setting.text(certificate, "SHEAF_TLS_CERTIFICATE", environment: environment)
    let key = Setting.text(key, "SHEAF_TLS_KEY", environment: environment)
    guard certificate != nil || key != nil else { return nil }
    guard let certificate, let key else {
      throw SettingError(
        "TLS needs a certificate and its key: set --tls-certificate and --tls-key, or neither")
    }
    do {
      return try TLSIdentity(certificate: certificate, key: key)
    } catch {
      throw SettingError(error.message)
    }
  }
}
