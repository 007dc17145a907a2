package studies

import "github.com/compactsim/compactsim/sim/results"

// Tuning is a search for the best settings of some strategies.
type Tuning struct {
	// Run has the settings that were left, over all sessions, with the recorded
	// strategy and the bill.
	Run *results.Run
	// Objectives are the metrics of the search: the first decides, all together make the front.
	Objectives []results.Metric
	Limits     []Limit
	Settings   []Setting // of Run, the best first
	Command    []string  // that runs the best setting again

	Space  int     // settings to choose from
	Tried  int     // settings simulated at least in part
	Work   float64 // in runs of one setting over all sessions
	Budget int
	// Chosen is the number of sessions on which settings were dropped and refined, Judged
	// that of the others; 0 and all if every setting was simulated over all sessions.
	Chosen, Judged int
	HeldOut        Gain
	Indices        []Index
	Pairs          int // of settings, for Indices
}

// MostPairs is the largest number of pairs of settings for indices: intervals are then
// some 4 percentage points wide, and more pairs tell little more.
const MostPairs = 4096

// Limit is a bound that a setting must keep.
type Limit struct {
	Metric results.Metric
	Least  bool // the value is the least allowed, else the most
	Value  float64
}

// Keeps reports whether a value is within the limit.
func (l *Limit) Keeps(v float64) bool {
	if l.Least {
		return v >= l.Value
	}
	return v <= l.Value
}

// Setting is a strategy with values for its swept parameters.
type Setting struct {
	Cell  string   `json:"cell"`
	Set   []string `json:"set"`            // as arguments of sim run --set
	Keeps bool     `json:"keeps"`          // it keeps the limits and ends no session early
	Tie   bool     `json:"tie"`            // the difference to the best one can be chance
	Front bool     `json:"front"`          // no other one is better in one objective and as good in the others
	Edge  string   `json:"edge,omitempty"` // at which ends of the swept range it lies
}

// Gain is what choosing saves on sessions that took no part in the choice.
type Gain struct {
	// Share is the gain in the first objective against recorded, as a share of it and positive for
	// an improvement, with its interval at Level.
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
	Agree int     `json:"folds_agree"` // folds that improve
	Folds int     `json:"folds"`       // of those in which the values differ
}

// Index is the share of a parameter in the variance of the first objective over the space.
type Index struct {
	Strategy  string `json:"strategy"`
	Parameter string `json:"parameter"`
	// First is the parameter's own share of the variance, Total includes all its
	// interactions (Sobol 1993; estimators of Saltelli et al. 2010 and Jansen
	// 1999), with 90 % intervals from resampling.
	First     float64 `json:"first"`
	FirstLow  float64 `json:"first_low"`
	FirstHigh float64 `json:"first_high"`
	Total     float64 `json:"total"`
	TotalLow  float64 `json:"total_low"`
	TotalHigh float64 `json:"total_high"`
}
