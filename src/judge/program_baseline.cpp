#include "judge/program_baseline.h"

#include "judge/benchmark.h"
#include "judge/reference.h"
#include "task/op.h"

namespace recuda {
namespace {

class ProgramBaseline : public Baseline {
 public:
    ProgramBaseline(std::string name, std::string about, std::unique_ptr<LoadedProgram> program, Benchmark& benchmark)
        : name_(std::move(name)), about_(std::move(about)), program_(std::move(program)), benchmark_(benchmark) {}

    const std::string& name() const override { return name_; }
    std::string about() const override { return about_; }
    Timed time(const Axes& axes, uint32_t samples) override {
        return benchmark_.time(*program_, program_->workload_of(axes), samples);
    }
    void forget() override { program_->forget(); }
    void unload() override { program_->forget(); }

 private:
    std::string name_, about_;
    std::unique_ptr<LoadedProgram> program_;
    Benchmark& benchmark_;
};

}  // namespace

std::unique_ptr<Baseline> make_program_baseline(std::string name, std::string about,
                                                std::unique_ptr<LoadedProgram> program, Benchmark& benchmark) {
    return std::make_unique<ProgramBaseline>(std::move(name), std::move(about), std::move(program), benchmark);
}

Offer offer_plain(const BaselineParts& parts) {
    const Op& op = *parts.place.task.op;
    const std::optional<std::filesystem::path> path = seed_named(op, "plain");
    if (!path) return {nullptr, fmt::format("op {} has no plain seed", op.name)};
    return {make_program_baseline("plain", fmt::format("ops/{}/seeds/{}", op.name, path->filename().string()),
                                  own_program(parts.place, *path, {}), parts.benchmark),
            ""};
}

Offer offer_reference(const BaselineParts& parts) {
    const Op& op = *parts.place.task.op;
    return {make_program_baseline("reference", fmt::format("ops/{}/reference.cu with the task's types", op.name),
                                  own_program(parts.place, op.folder / "reference.cu",
                                              {.extra = reference_buffers(op, OutputTypes::stored)}),
                                  parts.benchmark),
            ""};
}

}  // namespace recuda
