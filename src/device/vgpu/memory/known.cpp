#include "device/vgpu/memory/known.h"

#include <algorithm>

namespace recuda::vgpu {
namespace {

using Entry = Known::Entry;

constexpr uint64_t kWithin = 0xfff;  // the part of `who` within a block

bool before(const Entry& a, const Entry& b) { return a.who < b.who; }

const Entry* find(const std::vector<Entry>& entries, uint64_t who) {
    const auto at = std::lower_bound(entries.begin(), entries.end(), Entry{who, 0}, before);
    return at != entries.end() && at->who == who ? &*at : nullptr;
}

/// Whether `whole` says all that `part` says.
bool contains(const std::vector<Entry>& whole, const std::vector<Entry>& part) {
    auto at = whole.begin();
    for (const Entry& entry : part) {
        at = std::lower_bound(at, whole.end(), entry, before);
        if (at != whole.end() && at->who == entry.who && at->stamp >= entry.stamp) continue;
        const Entry* block = (entry.who & kWithin) != 0 ? find(whole, entry.who & ~kWithin) : nullptr;
        if (block == nullptr || block->stamp < entry.stamp) return false;
    }
    return true;
}

/// Both, without what an entry for the whole block says already.
std::vector<Entry> merged(const std::vector<Entry>& a, const std::vector<Entry>& b) {
    std::vector<Entry> sum;
    sum.reserve(a.size() + b.size());
    Entry whole;
    const auto add = [&](const Entry& entry) {
        if (!sum.empty() && sum.back().who == entry.who) {
            sum.back().stamp = std::max(sum.back().stamp, entry.stamp);
            if (sum.back().who == whole.who) whole = sum.back();
            return;
        }
        if ((entry.who & kWithin) == 0)
            whole = entry;
        else if (entry.who - whole.who <= kWithin && entry.stamp <= whole.stamp)
            return;
        sum.push_back(entry);
    };
    auto x = a.begin(), y = b.begin();
    while (x != a.end() || y != b.end()) {
        const bool first = y == b.end() || (x != a.end() && x->who <= y->who);
        add(first ? *x++ : *y++);
    }
    return sum;
}

}  // namespace

bool Known::covers(uint32_t block, uint32_t index, uint32_t stamp) const {
    for (const uint64_t who : {all(block), warp(block, index / 32), thread(block, index)}) {
        const Entry* entry = find(entries, who);
        if (entry != nullptr && stamp <= entry->stamp) return true;
    }
    return false;
}

bool join(View& to, const View& from) {
    if (from == nullptr || from == to) return false;
    if (to == nullptr) {
        to = from;
        return true;
    }
    if (contains(to->entries, from->entries)) return false;
    if (contains(from->entries, to->entries))
        to = from;
    else
        to = std::make_shared<const Known>(Known{merged(to->entries, from->entries)});
    return true;
}

bool join(View& to, std::vector<Entry> entries) {
    if (entries.empty()) return false;
    std::sort(entries.begin(), entries.end(), before);
    return join(to, std::make_shared<const Known>(Known{merged(entries, {})}));
}

}  // namespace recuda::vgpu
