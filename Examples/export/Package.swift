// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "export",
  dependencies: [.package(name: "sheaf", path: "../..")],
  targets: [
    .executableTarget(
      name: "ExportFilm", dependencies: [.product(name: "Sheaf", package: "sheaf")], path: "Sources/ExportFilm")
  ]
)
