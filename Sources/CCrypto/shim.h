// libcrypto's hashes and codes of messages, and Ed25519 with its keys, and nothing else of it.
#pragma once
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

// A macro.
static inline int sheaf_is_ed25519(const EVP_PKEY *key) { return EVP_PKEY_id(key) == EVP_PKEY_ED25519; }
