package studies

import "github.com/compactsim/compactsim/sim/results"

// Tuning is a search for the best settings of some strategies.
type Tuning struct {
	// Run has the settings that were left at the end over all sessions, beside the
	// recorded strategy and the bill.
	Run *results.Run
	// Objectives are what was sought: the first decides, all make the front.
	Objectives []results.Metric
	Limits     []Limit
	Settings   []Setting // of Run, the best first
	Command    []string  // that runs the best setting again

	Space  int     // settings to choose from
	Tried  int     // settings simulated at least in part
	Work   float64 // in runs of one setting over all sessions
	Budget int
	// Chosen are the sessions on which settings were dropped and refined, Judged the others;
	// 0 and all when every setting was simulated over all sessions.
	Chosen, Judged int
	HeldOut        Gain
	Indices        []Index
}

// Limit is what a setting has to keep.
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

// Setting is a strategy with values for what was swept.
type Setting struct {
	Cell  string   `json:"cell"`
	Set   []string `json:"set"`            // as sim run --set takes it
	Keeps bool     `json:"keeps"`          // it keeps the limits and ends no session early
	Tie   bool     `json:"tie"`            // the difference to the best one can be chance
	Front bool     `json:"front"`          // no other one is better in one objective and as good in the others
	Edge  string   `json:"edge,omitempty"` // at which ends of what was swept it lies
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

// Index is how much of the variance of the first objective over the space comes from a parameter.
type Index struct {
	Strategy  string `json:"strategy"`
	Parameter string `json:"parameter"`
	// First is what it makes by itself, Total with all its interactions, as shares of the
	// variance (Sobol 1993; estimators of Saltelli et al. 2010 and Jansen 1999), with 90 %
	// intervals from resampling.
	First     float64 `json:"first"`
	FirstLow  float64 `json:"first_low"`
	FirstHigh float64 `json:"first_high"`
	Total     float64 `json:"total"`
	TotalLow  float64 `json:"total_low"`
	TotalHigh float64 `json:"total_high"`
}
