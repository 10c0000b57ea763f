// libcrypto's hashes, and nothing else of it.
#pragma once
#include <openssl/evp.h>
