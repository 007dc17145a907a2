// Package check holds a run against rules: a gate for continuous integration.
//
// A check file names a scenario and rules. A rule bounds one metric, by itself
// (min, max) or against a baseline (max_increase, max_decrease):
//
//	scenario: ci.yaml
//	baseline: baseline.json
//	rules:
//	  - metric: cache_hit_ratio
//	    strategy: claude-code/2026-03
//	    min: 0.92
//	  - metric: cost_usd
//	    max_increase: 1%
//
// What a check cannot judge fails it: no sessions, a metric without a sample, a
// cell or group that matches nothing, a baseline that is not there or is of
// other sessions or another scenario, and a rule that no figure could break.
//
// # Figures that are drawn
//
// Sizes and failures of summaries, evictions and what layers leave to chance are
// drawn, so that every figure of such a cell is a sample. It is simulated under
// several seeds, and what decides is the interval of the mean over them: a rule
// is broken when all of the interval lies beyond the bar, and its mean beyond by
// more than the rule's min_effect. Against a baseline the seeds are paired. The
// interval is Student's with a confidence of 1 − level/m, m being the number of
// figures of the check that spread; so a check of any length in which nothing
// has changed raises a false alarm in at most a share level of its runs (half of
// that when the figures are near normal, for an alarm is on one side). A figure
// that is the same under all seeds is compared as it is.
package check
