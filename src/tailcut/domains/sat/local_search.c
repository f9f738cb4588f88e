/* Stochastic local search for satisfiability, after probSAT.

   Start from a random assignment. While a clause is false, pick one of the false clauses at random and
   flip one of its variables, drawn with a probability that falls with the number of clauses the flip would
   make false ("break"). Source of the method and of the constants: Balint and Schoening, "Choosing
   probability distributions for stochastic local search and the role of make versus break", SAT 2012.

   Kept up to date with every flip: per clause the number of true literals and the sum of the variables
   that make it true (if the number is one, the sum is the variable), per variable its break, and the list
   of false clauses. The caller asks for some number of flips at a time, so that it can be interrupted. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define TABLE 64

typedef struct {
  int32_t n, m;            /* variables 1 to n, clauses 0 to m - 1 */
  const int32_t *literals; /* the caller's, as is the next */
  const int64_t *offsets;
  int64_t *where;          /* where in `holders` the clauses of a literal begin, by place() */
  int32_t *holders;        /* the clauses that hold a literal */
  int32_t *true_count;     /* per clause */
  int64_t *true_sum;       /* per clause */
  int32_t *breaks;         /* per variable */
  int32_t *false_clauses;  /* the false ones, in no order */
  int32_t *position;       /* per clause, where it is in that list */
  int32_t n_false;
  int8_t *value;           /* per variable */
  double *weights;         /* of the literals of the clause in hand */
  double table[TABLE];     /* weight of a break */
  uint64_t state;
} search;

static int64_t place(int32_t literal) { return literal > 0 ? 2 * (int64_t)literal : -2 * (int64_t)literal + 1; }

static int is_true(const search *s, int32_t literal) {
  return literal > 0 ? s->value[literal] : !s->value[-literal];
}

/* splitmix64 (Steele, Lea and Flood 2014) */
static uint64_t draw(search *s) {
  uint64_t z = (s->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static double fraction(search *s) { return (double)(draw(s) >> 11) * 0x1.0p-53; }

static int32_t below(search *s, int32_t bound) { return (int32_t)(((draw(s) >> 32) * (uint64_t)bound) >> 32); }

/* Polynomial for clauses of at most 3 literals, exponential for longer ones; the longest clause decides. */
static void fill_table(search *s, int64_t longest) {
  static const double bases[] = {3.0, 3.7, 5.0, 5.4}; /* for 4, 5, 6, and 7 or more literals */
  for (int b = 0; b < TABLE; b++) {
    if (longest <= 3)
      s->table[b] = pow(0.9 + b, -2.06);
    else
      s->table[b] = pow(bases[longest > 7 ? 3 : longest - 4], -b);
  }
}

static void become_false(search *s, int32_t clause) {
  s->position[clause] = s->n_false;
  s->false_clauses[s->n_false++] = clause;
}

static void become_true(search *s, int32_t clause) {
  int32_t hole = s->position[clause], last = s->false_clauses[--s->n_false];
  s->false_clauses[hole] = last;
  s->position[last] = hole;
}

static void flip(search *s, int32_t variable) {
  int32_t now_false = s->value[variable] ? variable : -variable;
  s->value[variable] = !s->value[variable];
  int64_t at = place(-now_false);
  for (int64_t i = s->where[at]; i < s->where[at + 1]; i++) {
    int32_t clause = s->holders[i];
    int32_t count = s->true_count[clause]++;
    if (count == 0) {
      become_true(s, clause);
      s->breaks[variable]++;
    } else if (count == 1) {
      s->breaks[s->true_sum[clause]]--;
    }
    s->true_sum[clause] += variable;
  }
  at = place(now_false);
  for (int64_t i = s->where[at]; i < s->where[at + 1]; i++) {
    int32_t clause = s->holders[i];
    int32_t count = --s->true_count[clause];
    s->true_sum[clause] -= variable;
    if (count == 0) {
      become_false(s, clause);
      s->breaks[variable]--;
    } else if (count == 1) {
      s->breaks[s->true_sum[clause]]++;
    }
  }
}

static int32_t choose(search *s, int32_t clause) {
  int64_t start = s->offsets[clause], length = s->offsets[clause + 1] - start;
  double total = 0.0;
  for (int64_t i = 0; i < length; i++) {
    int32_t b = s->breaks[abs(s->literals[start + i])];
    s->weights[i] = total += s->table[b < TABLE ? b : TABLE - 1];
  }
  double drawn = fraction(s) * total;
  int64_t i = 0;
  while (i < length - 1 && s->weights[i] <= drawn) i++;
  return abs(s->literals[start + i]);
}

static void assign_at_random(search *s) {
  for (int32_t v = 1; v <= s->n; v++) s->value[v] = (int8_t)(draw(s) >> 63);
  for (int32_t c = 0; c < s->m; c++) {
    for (int64_t i = s->offsets[c]; i < s->offsets[c + 1]; i++) {
      if (is_true(s, s->literals[i])) {
        s->true_count[c]++;
        s->true_sum[c] += abs(s->literals[i]);
      }
    }
    if (s->true_count[c] == 0) become_false(s, c);
    if (s->true_count[c] == 1) s->breaks[s->true_sum[c]]++;
  }
}

static void index_literals(search *s) {
  int64_t total = s->offsets[s->m], places = 2 * (int64_t)s->n + 2;
  for (int64_t i = 0; i < total; i++) s->where[place(s->literals[i]) + 1]++;
  for (int64_t p = 0; p < places; p++) s->where[p + 1] += s->where[p];
  /* Filling moves every beginning to its end, which is where the next one began: go backwards instead. */
  for (int32_t c = s->m - 1; c >= 0; c--)
    for (int64_t i = s->offsets[c]; i < s->offsets[c + 1]; i++) {
      int64_t at = place(s->literals[i]);
      s->holders[--s->where[at + 1]] = c;
    }
  for (int64_t p = 0; p < places; p++) s->where[p] = s->where[p + 1];
  s->where[places] = total;
}

void tailcut_search_end(search *s) {
  if (s == NULL) return;
  void *parts[] = {s->where,    s->holders, s->true_count, s->true_sum, s->breaks, s->false_clauses,
                   s->position, s->value,   s->weights,    s};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) free(parts[i]);
}

/* Clauses must not be empty, and must hold no variable twice. NULL if there is not enough memory. */
search *tailcut_search_begin(int32_t n, int32_t m, const int32_t *literals, const int64_t *offsets,
                             uint64_t seed) {
  search *s = calloc(1, sizeof *s);
  if (s == NULL) return NULL;
  int64_t longest = 0;
  for (int32_t c = 0; c < m; c++)
    if (offsets[c + 1] - offsets[c] > longest) longest = offsets[c + 1] - offsets[c];
  s->n = n;
  s->m = m;
  s->literals = literals;
  s->offsets = offsets;
  s->state = seed;
  s->where = calloc(2 * (size_t)n + 4, sizeof *s->where);
  s->holders = calloc((size_t)offsets[m] + 1, sizeof *s->holders);
  s->true_count = calloc((size_t)m + 1, sizeof *s->true_count);
  s->true_sum = calloc((size_t)m + 1, sizeof *s->true_sum);
  s->breaks = calloc((size_t)n + 1, sizeof *s->breaks);
  s->false_clauses = calloc((size_t)m + 1, sizeof *s->false_clauses);
  s->position = calloc((size_t)m + 1, sizeof *s->position);
  s->value = calloc((size_t)n + 1, sizeof *s->value);
  s->weights = calloc((size_t)longest + 1, sizeof *s->weights);
  if (!s->where || !s->holders || !s->true_count || !s->true_sum || !s->breaks || !s->false_clauses ||
      !s->position || !s->value || !s->weights) {
    tailcut_search_end(s);
    return NULL;
  }
  index_literals(s);
  fill_table(s, longest);
  assign_at_random(s);
  return s;
}

/* Make at most so many flips; 1 if the assignment is a model now. */
int tailcut_search_run(search *s, int64_t flips) {
  while (s->n_false > 0 && flips-- > 0) flip(s, choose(s, s->false_clauses[below(s, s->n_false)]));
  return s->n_false == 0;
}

/* The values of variables 1 to n, as n bytes of 0 or 1. */
void tailcut_search_values(const search *s, int8_t *values) {
  for (int32_t v = 1; v <= s->n; v++) values[v - 1] = s->value[v];
}
