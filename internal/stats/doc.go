// Package stats holds the statistics of paired comparisons: quantiles, the
// signed-rank test of Wilcoxon, Holm's correction, and the bootstrap over pairs
// with its replacement for many pairs. It knows nothing of sessions or metrics.
//
// All inputs must be finite. Same inputs and seed give the same bits, whatever
// the number of workers.
package stats
