package scenarios

import (
	"context"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Study is a question about sessions: which cells answer it, and what is made of their rows.
type Study struct {
	// Cells returns the cells to simulate over the sessions that made calls; nil for those of the plan.
	Cells func(sessions []*traces.Session) (*Design, error)
	// Judge makes the answer of the run, which lacks rows if it ended early; nil for the run alone.
	Judge func(run *results.Run) error

	watch func(d *Design) *watch // follows compactions; may be nil
}

// Execute simulates the cells of a study over the sessions of a corpus and judges them. The cells always
// include the recorded strategy, with which others are compared, and the billed one. With an error, a
// cancelled context included, Execute also returns the cells complete so far, which it has judged; none
// if there is nothing to judge.
func (p *Plan) Execute(ctx context.Context, corpus *traces.Corpus, s Study) (*results.Run, error) {
	sessions := withCalls(corpus)
	if len(sessions) == 0 {
		return nil, errNoCalls
	}
	if s.Cells != nil {
		d, err := s.Cells(sessions)
		if err != nil {
			return nil, err
		}
		own := *p
		own.Design, p = d, &own
	}
	r, err := p.begin(ctx, corpus)
	if err != nil {
		return nil, err
	}
	switch {
	case s.watch != nil:
		r.watch = s.watch(r.design)
	case p.kept != nil:
		r.watch = p.kept.watch
	}
	run, err := p.finish(ctx, r)
	if run == nil || s.Judge == nil {
		return run, err
	}
	if wrong := s.Judge(run); wrong != nil {
		return nil, wrong
	}
	return run, err
}

// Run simulates the cells of the plan, as Execute does.
func (p *Plan) Run(ctx context.Context, corpus *traces.Corpus) (*results.Run, error) {
	return p.Execute(ctx, corpus, Study{})
}
