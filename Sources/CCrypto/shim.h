// libcrypto's hashes and codes of messages, and nothing else of it.
#pragma once
#include <openssl/evp.h>
#include <openssl/hmac.h>
