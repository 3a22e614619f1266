#include "base/digest.h"

#include <openssl/evp.h>

#include <array>

#include "base/error.h"

namespace recuda {

std::string sha256(std::string_view bytes) {
    std::array<unsigned char, 32> hash;
    if (EVP_Digest(bytes.data(), bytes.size(), hash.data(), nullptr, EVP_sha256(), nullptr) != 1)
        throw Error("OpenSSL cannot compute SHA-256");
    std::string text;
    for (const unsigned char byte : hash) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

}  // namespace recuda
