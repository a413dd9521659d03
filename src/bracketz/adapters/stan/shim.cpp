// A plain C door to a compiled Stan program, for ctypes: make one with data, evaluate batches of
// states, change coordinates, run generated quantities.
//
// Every function returns 0, or 1 with a sentence in `error`. Arrays of Stan variables are flat with
// the first index fastest, as Stan itself writes them; batches are rows. A handle is never changed
// after it is made and every thread has a tape of its own, so threads may share handles.

#include <stan/io/array_var_context.hpp>
#include <stan/math/rev.hpp>
#include <stan/model/model_base.hpp>
#include <stan/services/util/create_rng.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// Defined by the program's own translation unit, which stanc writes.
stan::model::model_base& new_model(stan::io::var_context& data, unsigned int seed,
                                   std::ostream* messages);

namespace {

using Program = stan::model::model_base;
using Vector = Eigen::VectorXd;
using Vars = Eigen::Matrix<stan::math::var, Eigen::Dynamic, 1>;

constexpr int error_size = 4096;

template <typename Body>
int guarded(char* error, Body body) {
  static thread_local stan::math::ChainableStack tape;
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    std::strncpy(error, e.what(), error_size - 1);
  } catch (...) {
    std::strncpy(error, "an unknown exception", error_size - 1);
  }
  error[error_size - 1] = '\0';
  return 1;
}

template <typename T>
struct Variables {
  std::vector<std::string> names;
  std::vector<T> values;
  std::vector<std::vector<std::size_t>> dims;

  Variables(std::int64_t count, const char* const* name, const std::int64_t* ranks,
            const std::int64_t* sizes, const T* flat) {
    std::size_t total = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      names.emplace_back(name[k]);
      dims.emplace_back(sizes, sizes + ranks[k]);
      sizes += ranks[k];
      std::size_t size = 1;
      for (std::size_t n : dims.back()) size *= n;
      total += size;
    }
    values.assign(flat, flat + total);
  }
};

Eigen::Map<const Vector> row(const double* batch, std::int64_t b, std::int64_t width) {
  return Eigen::Map<const Vector>(batch + b * width, width);
}

void put(const Vector& values, double* batch, std::int64_t b, std::int64_t width) {
  if (values.size() != width) throw std::length_error("a row of unexpected length");
  std::copy(values.data(), values.data() + width, batch + b * width);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int bracketz_new(std::int64_t num_reals, const char* const* real_names,
                        const std::int64_t* real_ranks, const std::int64_t* real_sizes,
                        const double* reals, std::int64_t num_ints, const char* const* int_names,
                        const std::int64_t* int_ranks, const std::int64_t* int_sizes,
                        const int* ints, void** handle, char* error) {
  return guarded(error, [&] {
    Variables<double> r(num_reals, real_names, real_ranks, real_sizes, reals);
    Variables<int> i(num_ints, int_names, int_ranks, int_sizes, ints);
    stan::io::array_var_context data(r.names, r.values, r.dims, i.names, i.values, i.dims);
    *handle = &new_model(data, 0, nullptr);
  });
}

EXPORT void bracketz_free(void* handle) { delete static_cast<Program*>(handle); }

// One line per variable of the program, "name size size ...": parameters, transformed parameters,
// generated quantities.
EXPORT int bracketz_describe(void* handle, char* text, std::int64_t capacity, std::int64_t* width,
                             char* error) {
  return guarded(error, [&] {
    auto& program = *static_cast<Program*>(handle);
    std::vector<std::string> names;
    std::vector<std::vector<std::size_t>> dims;
    program.get_param_names(names, true, true);
    program.get_dims(dims, true, true);
    std::ostringstream out;
    for (std::size_t k = 0; k < names.size(); ++k) {
      out << names[k];
      for (std::size_t n : dims[k]) out << ' ' << n;
      out << '\n';
    }
    const std::string lines = out.str();
    if (static_cast<std::int64_t>(lines.size()) >= capacity)
      throw std::length_error("the program has too many variables");
    std::strcpy(text, lines.c_str());
    *width = program.num_params_r();
  });
}

// Log densities over unconstrained states, constants kept, Jacobian included; and their gradients,
// unless `gradients` is null. What Stan rejects (a domain error) has density 0.
EXPORT int bracketz_log_density(void* handle, std::int64_t count, std::int64_t width,
                                const double* states, double* densities, double* gradients,
                                char* error) {
  return guarded(error, [&] {
    auto& program = *static_cast<Program*>(handle);
    for (std::int64_t b = 0; b < count; ++b) {
      try {
        if (gradients == nullptr) {
          Vector x = row(states, b, width);
          densities[b] = program.log_prob_jacobian(x, nullptr);
          continue;
        }
        stan::math::nested_rev_autodiff nested;
        Vars x = row(states, b, width).cast<stan::math::var>();
        stan::math::var density = program.log_prob_jacobian(x, nullptr);
        densities[b] = density.val();
        density.grad();
        put(x.adj(), gradients, b, width);
      } catch (const std::domain_error&) {
        densities[b] = -std::numeric_limits<double>::infinity();
        if (gradients != nullptr)
          std::fill(gradients + b * width, gradients + (b + 1) * width, 0.0);
      }
    }
  });
}

// Parameters at unconstrained states; with seeds (two words per row) all that the program writes.
EXPORT int bracketz_write(void* handle, std::int64_t count, std::int64_t width,
                          const double* states, const std::uint32_t* seeds, std::int64_t written,
                          double* values, char* error) {
  return guarded(error, [&] {
    auto& program = *static_cast<Program*>(handle);
    const bool all = seeds != nullptr;
    for (std::int64_t b = 0; b < count; ++b) {
      auto rng = all ? stan::services::util::create_rng(seeds[2 * b], seeds[2 * b + 1])
                     : stan::services::util::create_rng(0, 0);
      Vector x = row(states, b, width);
      Vector out;
      program.write_array(rng, x, out, all, all, nullptr);
      put(out, values, b, written);
    }
  });
}

EXPORT int bracketz_unconstrain(void* handle, std::int64_t count, std::int64_t constrained,
                                const double* values, std::int64_t width, double* states,
                                char* error) {
  return guarded(error, [&] {
    auto& program = *static_cast<Program*>(handle);
    for (std::int64_t b = 0; b < count; ++b) {
      Vector out;
      program.unconstrain_array(Vector(row(values, b, constrained)), out, nullptr);
      put(out, states, b, width);
    }
  });
}
