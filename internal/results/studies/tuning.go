package studies

import (
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// Tuning is a search for the best setting of some strategies.
type Tuning struct {
	// Run has the settings that were tried, with the recorded strategy and the bill.
	Run       *results.Run
	Objective results.Metric
	Settings  []Setting // of Run, the best first
	Command   []string  // that runs the best setting again

	Space   int // settings to choose from
	Tried   int
	HeldOut Gain
}

// Setting is a strategy with values for its swept parameters.
type Setting struct {
	Cell string   `json:"cell"`
	Set  []string `json:"set"`                            // as arguments of sim run --set
	Ends int      `json:"sessions_ended_early,omitempty"` // that the recording brings to their end
	Tie  bool     `json:"tie"`                            // the difference to the best one can be chance
	Edge string   `json:"edge,omitempty"`                 // at which ends of the swept range it lies
}

// Gain is what choosing saves on sessions that took no part in the choice.
type Gain struct {
	// Share is the gain in the objective against recorded, as a share of it and positive for
	// an improvement, with its interval at Level. It is NaN for too few sessions to choose and judge.
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
	// Detectable is the smallest share that four of five such sets of sessions show.
	Detectable float64       `json:"detectable"`
	Verdict    stats.Verdict `json:"-"`
}
