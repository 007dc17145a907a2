package sim

import (
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/sim/internal/verify"
	"github.com/compactsim/compactsim/sim/prompt"
)

// ErrInvariant is wrapped by errors that report a violated invariant or a layer that
// breaks its contract: a defect of the program, not of the input.
var ErrInvariant = errors.New("invariant violated")

// violate keeps the first violation; the run stops on it.
func (l *Loop) violate(t *thread, format string, args ...any) {
	if l.err == nil {
		l.failing = t.replay.session
		l.err = fmt.Errorf("thread %d round %d: %w: %s", t.Index, t.Round, ErrInvariant, fmt.Sprintf(format, args...))
	}
}

// reporter returns what keeps the first violation on a thread.
func (l *Loop) reporter(t *thread) verify.Report {
	return func(format string, args ...any) { l.violate(t, format, args...) }
}

// verify checks a request and what the server answered.
func (l *Loop) verify(t *thread, c *call, out *prompt.Outcome) {
	report := l.reporter(t)
	l.written.Request(&t.Course, t.replay.server, l.served(t, out), report)
	if !c.text {
		t.verified.Messages(&t.Course, &t.replay.verify, l.request.Entries, report)
	}
}

// served returns the request at hand for a check.
func (l *Loop) served(t *thread, out *prompt.Outcome) *verify.Served {
	return &verify.Served{Request: &l.request, Outcome: out, Automatic: t.replay.hidden.Automatic, Held: t.hidden.KnowsHeld()}
}
