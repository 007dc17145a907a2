package strategies

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// DreamParams are the parameters of dream. Sizes are tokens.
type DreamParams struct {
	Switch       `yaml:",inline"`
	Hours        float64      `yaml:"hours" doc:"hours since the last consolidation"`
	ScanMinutes  float64      `yaml:"scan_minutes" doc:"minutes from one look at the list of sessions to the next, per session"`
	Sessions     int          `yaml:"sessions" doc:"sessions with a response since the last consolidation"`
	CountOwn     bool         `yaml:"count_own" doc:"the session that asks counts among them; assumed"`
	PastSessions int          `yaml:"past_sessions" doc:"sessions ahead of the first one simulated that count until the first consolidation; assumed"`
	StaleMinutes float64      `yaml:"stale_minutes" doc:"minutes from which the lock of a session that has ended is taken over"`
	Reread       bool         `yaml:"reread" doc:"the lock is read again once written, so that of two sessions at once one gives way"`
	RaceSeconds  float64      `yaml:"race_seconds" doc:"seconds in which another session does not see that the lock was written; assumed"`
	Phases       DreamPhases  `yaml:"phases" doc:"responses by phase"`
	Instruction  int32        `yaml:"instruction" doc:"tokens of the instruction; assumed"`
	TurnInput    int32        `yaml:"turn_input" doc:"tokens of the tool results between two responses; assumed"`
	TurnOutput   int32        `yaml:"turn_output" doc:"tokens of one response; assumed"`
	Lifetime     CallLifetime `yaml:"lifetime" doc:"lifetime class its markers ask for: client, 5m or 1h"`
	Failure      float64      `yaml:"failure" doc:"share of dreams that the server refuses, 0…1; assumed"`
	Killed       float64      `yaml:"killed" doc:"share of dreams that a person ends half-way, 0…1; assumed"`
	SurvivesExit bool         `yaml:"survives_exit" doc:"a dream goes on when its session has ended; off, it is lost and the lock stays; assumed"`
	Pruned       float64      `yaml:"pruned" doc:"share of the lines of the index that a dream takes out, 0…1; assumed"`
	Index        IndexParams  `yaml:"index" doc:"what a prompt holds of the index of memory files"`
}

// DreamPhases are the responses that the phases of a dream take (003:2440-2478).
type DreamPhases struct {
	Orient      int32 `yaml:"orient" doc:"responses that read the memory files; assumed"`
	Gather      int32 `yaml:"gather" doc:"responses that search logs and transcripts; assumed"`
	Consolidate int32 `yaml:"consolidate" doc:"responses that write memory files; assumed"`
	Prune       int32 `yaml:"prune" doc:"responses that shorten the index; assumed"`
}

// turns returns the responses of all phases.
func (p *DreamPhases) turns() int32 { return p.Orient + p.Gather + p.Consolidate + p.Prune }

// Validate returns what is wrong with the parameters.
func (p *DreamParams) Validate() []error {
	errs := append(negatives(p), checkShares(
		share{"failure", p.Failure}, share{"killed", p.Killed}, share{"pruned", p.Pruned})...)
	errs = append(errs, p.Index.validate()...)
	for _, d := range []struct {
		name  string
		value float64
	}{
		{"hours", p.Hours}, {"scan_minutes", p.ScanMinutes}, {"stale_minutes", p.StaleMinutes}, {"race_seconds", p.RaceSeconds},
	} {
		if !(d.value >= 0 && d.value <= maxSpan) {
			errs = append(errs, fmt.Errorf("%s %g must lie between 0 and %g", d.name, d.value, float64(maxSpan)))
		}
	}
	if p.Phases.turns() < 1 {
		errs = append(errs, fmt.Errorf("phases: %d responses, at least one is needed", p.Phases.turns()))
	}
	return errs
}

// maxSpan is the largest time a parameter may give, in its own unit: in ns it
// still fits 63 bits.
const maxSpan = 1e6

// Units of parameters, ns.
const (
	secondSpan = 1e9
	minuteSpan = 60 * secondSpan
	hourSpan   = 60 * minuteSpan
)

// span returns a number of units as ns.
func span(n, unit float64) int64 { return int64(n * unit) }

// defaultDream has the documents' gates (003:2418-2438; leaked client:
// minHours 24, minSessions 5, scans every 10 minutes, stale after an hour).
func defaultDream() DreamParams {
	return DreamParams{
		Switch: on, Hours: 24, ScanMinutes: 10, Sessions: 5, StaleMinutes: 60, Reread: true,
		Phases: DreamPhases{Orient: 2, Gather: 3, Consolidate: 3, Prune: 2}, Instruction: 2000, TurnInput: 2500, TurnOutput: 400,
		Lifetime: CallLifetime(prompt.Lifetime5m), SurvivesExit: true, Pruned: 0.3, Index: defaultIndex,
	}
}
