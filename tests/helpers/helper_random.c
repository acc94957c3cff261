// SPDX-License-Identifier: Apache-2.0
//
// Random numbers from a seed, and duets simulated with them.
#include "tests/helpers/helper_random.h"

#include <math.h>
#include <stdlib.h>

const char *const noise_names[NOISE_KINDS] = {"normal", "t3",    "cauchy",  "ar(.5)",
                                              "ar(.9)", "drift", "bimodal", "skew",
                                              "spikes", "step",  "bursts"};

// splitmix64 (Steele, Lea and Flood 2014).
static uint64_t next_bits(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double random_uniform(struct random *random)
{
    return ((double)(next_bits(random) >> 11) + 0.5) * 0x1p-53;
}

double random_normal(struct random *random)
{
    double radius = sqrt(-2 * log(random_uniform(random)));
    return radius * cos(2 * M_PI * random_uniform(random));
}

bool random_coin(struct random *random)
{
    return next_bits(random) >> 63;
}

struct duet duet_start(enum noise noise, double sd, double log_ratio, uint64_t seed)
{
    struct duet duet = {.noise = noise, .sd = sd, .log_ratio = log_ratio};
    duet.random.state = seed * 0x2545f4914f6cdd1du + noise;
    duet.level = random_normal(&duet.random);
    return duet;
}

static double correlated(struct duet *duet, double r)
{
    duet->level = r * duet->level + sqrt(1 - r * r) * random_normal(&duet->random);
    return duet->level;
}

static double t3(struct random *random)
{
    double squares = 0, z = random_normal(random);
    for (int i = 0; i < 3; i++) {
        double x = random_normal(random);
        squares += x * x;
    }
    return z / sqrt(squares / 3);
}

// One launch, in units of the SD.
static double launch(struct duet *duet)
{
    struct random *random = &duet->random;
    duet->launches++;
    switch (duet->noise) {
    case NOISE_T3:
        return t3(random);
    case NOISE_CAUCHY:
        return tan(M_PI * (random_uniform(random) - 0.5));
    case NOISE_AR5:
        return correlated(duet, 0.5);
    case NOISE_AR9:
        return correlated(duet, 0.9);
    case NOISE_DRIFT:
        return random_normal(random) + 0.05 * (double)duet->launches;
    case NOISE_BIMODAL:
        duet->high ^= random_uniform(random) < 0.05;
        return random_normal(random) + (duet->high ? 4 : 0);
    case NOISE_SKEW:
        return -log(random_uniform(random));
    case NOISE_SPIKES:
        return random_normal(random) + (random_uniform(random) < 0.02 ? 30 : 0);
    case NOISE_STEP:
        return random_normal(random) + (duet->launches > 61 ? 20 : 0);
    case NOISE_BURSTS:
        duet->high ^= random_uniform(random) < 0.02;
        return duet->high ? 5 * random_normal(random) + 10 : random_normal(random);
    default:
        return random_normal(random);
    }
}

static void log_times(struct duet *duet, double *base, double *head, bool *head_first)
{
    double first = duet->sd * launch(duet);
    double second = duet->sd * launch(duet) + duet->second;
    *head_first = random_coin(&duet->random);
    *base = *head_first ? second : first;
    *head = (*head_first ? first : second) + duet->log_ratio;
    if (duet->head_sd > 0)
        *head += duet->head_sd * random_normal(&duet->random);
}

void duet_pair(struct duet *duet, double *base_ns, double *head_ns, bool *head_first)
{
    log_times(duet, base_ns, head_ns, head_first);
    *base_ns = 1e6 * exp(*base_ns);
    *head_ns = 1e6 * exp(*head_ns);
}

// Not from the times: a Cauchy launch may be too long for a double, its logarithm is not.
double duet_log_ratio(struct duet *duet)
{
    double base, head;
    bool head_first;
    log_times(duet, &base, &head, &head_first);
    return head - base;
}

void store_pair(struct stored *s, double base_ns, double head_ns, bool head_first, uint32_t pair,
                uint32_t process)
{
    struct sample common = {.clock_hz = 1.6e9,
                            .launches = 2,
                            .pair = pair,
                            .block = (uint16_t)(pair / 8),
                            .process = (uint16_t)process};
    struct sample base = common, head = common;
    base.time_ns = base_ns;
    base.role = ROLE_BASE;
    base.order = head_first;
    head.time_ns = head_ns;
    head.role = ROLE_HEAD;
    head.order = !head_first;
    if (s->base.count == STORED_ROOM)
        abort();
    s->base_samples[s->base.count++] = base;
    s->head_samples[s->head.count++] = head;
}

struct stored *stored_new(void)
{
    struct stored *s = xcalloc(1, sizeof(*s));
    s->base.state = s->head.state = MEASURED_OK;
    s->base.samples = s->base_samples;
    s->head.samples = s->head_samples;
    return s;
}

void stored_free(struct stored *s)
{
    arena_free(&s->arena);
    free(s);
}

void store_duet(struct stored *s, double log_ratio, uint32_t pairs, uint32_t processes)
{
    struct duet duet = duet_start(NOISE_NORMAL, 0.003, log_ratio, 42);
    for (uint32_t process = 0; process < processes; process++) {
        for (uint32_t pair = 0; pair < pairs; pair++) {
            double base_ns, head_ns;
            bool head_first;
            duet_pair(&duet, &base_ns, &head_ns, &head_first);
            store_pair(s, base_ns, head_ns, head_first, pair, process);
        }
    }
}

struct verdict stored_judge(struct stored *s, const struct gate_policy *policy)
{
    struct verdict verdict;
    gate_replay(&verdict, &s->base, &s->head, policy, &s->arena);
    return verdict;
}
