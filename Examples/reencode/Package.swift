// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "reencode",
  dependencies: [.package(name: "sheaf", path: "../..")],
  targets: [
    .executableTarget(
      name: "Reencode", dependencies: [.product(name: "Sheaf", package: "sheaf")], path: "Sources/Reencode")
  ]
)
