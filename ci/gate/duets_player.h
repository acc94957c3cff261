// SPDX-License-Identifier: Apache-2.0
//
// The players of duets*.c: one per unit, each with its child. All that they share
// is touched by one at a time, who has the table's lock; it is given away while a child works.
#ifndef PLUMB_DUETS_PLAYER_H
#define PLUMB_DUETS_PLAYER_H

#include "ci/gate/duets.h"

#include <pthread.h>

struct table {
    struct duets *all;
    struct player *players;
    size_t count, living;
    double begun_s;
    pthread_mutex_t lock;
    pthread_cond_t changed; // something that another may have waited for
    uint32_t stalls;        // how often all waited while something was left
    bool over;
    int status;
    struct error why; // of status -1
};

struct player {
    struct table *table;
    struct duets *all;
    size_t unit;
    struct bench *bench;
    struct bench *leaving; // its last child, which ends while the next one starts
    uint16_t process;      // number of this child
    struct gate_turn *turns;
    size_t open;
    bool full;        // the child has no room for another until one is closed
    bool mixed;       // this child has played others than suspects
    bool pressed;     // what time is left belongs to the alarms
    bool lost;        // a command failed for want of a device
    bool left;        // it plays no more
    bool waits;       // for what others may leave to it
    uint32_t renewed; // of the table's stalls, the last after which it ended its child
    double start_s;   // that a child takes to start
};

// ---- duets.c: one player's moves

double player_now(const struct player *p);
// The time is over.
bool player_late(const struct player *p);
void player_end_child(struct player *p);
// Waits until the last child is gone, too.
void player_end_all(struct player *p);
// *moved: it did something; else there is nothing left that it could open or play. When the time is
// over it closes what it has open.
int player_move(bool *moved, struct player *p, struct error *err);
// Whether it may open this one, which waits.
bool player_may(const struct player *p, const struct duet *d);
int player_finish(struct player *p, struct duet *d, struct error *err);
// The child has it open no more, or never had.
void player_take_out(struct player *p, struct duet *d, enum duet_place place);

// ---- duets_trouble.c

// The duet's command ended in `outcome`, which is not ok; the child has it open no more. Finishes
// it, or lets it be tried again.
int player_failed(struct player *p, struct duet *d, const struct bench_outcome *outcome,
                  struct error *err);

#endif
