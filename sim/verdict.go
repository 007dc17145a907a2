package sim

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/compactsim/compactsim/sim/internal/verify"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// ErrInvariant is wrapped by errors that report a violated invariant or a layer that
// breaks its contract: a defect of the program, not of the input.
var ErrInvariant = errors.New("invariant violated")

// verdict is what ended a simulation before its time.
type verdict struct {
	err     error           // first violated invariant, or contract that a layer broke; nil for none
	failing *traces.Session // whose error it is
}

// stop keeps the first error of a session; the run stops on it.
func (v *verdict) stop(s *traces.Session, err error) {
	if v.err == nil {
		v.err, v.failing = err, s
	}
}

// violate stops a run over a violated invariant.
func (v *verdict) violate(t *thread, format string, args ...any) {
	v.stop(t.replay.session, fmt.Errorf("thread %d round %d: %w: %s", t.Index, t.Round, ErrInvariant, fmt.Sprintf(format, args...)))
}

// breach stops a run over a layer that breaks its contract.
func (v *verdict) breach(t *thread, layer int, what string) {
	v.violate(t, "layer %s %s", t.layers[layer].Name(), what)
}

// reporter returns what keeps the first violation on a thread.
func (v *verdict) reporter(t *thread) verify.Report {
	return func(format string, args ...any) { v.violate(t, format, args...) }
}

// under names the session that ended a simulation, and the strategy.
func (v *verdict) under(strategy string) error {
	return fmt.Errorf("session %s under %s: %w", v.failing.ID, strategy, v.err)
}

// panicked returns the error of a panic, with the line of the program that it came from.
func (l *Loop) panicked(r any) error {
	l.verdict = verdict{}
	if t := l.host.thread; t != nil {
		l.violate(t, "%v%s", r, origin())
	}
	first := l.cohort[0]
	if s := l.replays[0]; s != nil {
		first = s.session
	}
	l.stop(first, fmt.Errorf("%w: %v%s", ErrInvariant, r, origin()))
	return l.under(l.config.Strategy.Name)
}

// origin returns the line that panicked, as " at FILE:LINE"; "" if it is not known. It is called where a panic is
// recovered.
func origin() string {
	var at [32]uintptr
	frames := runtime.CallersFrames(at[:runtime.Callers(1, at[:])])
	for below := false; ; {
		f, more := frames.Next()
		below = below || f.Function == "runtime.gopanic"
		if below && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" at %s:%d", path.Join(path.Base(path.Dir(f.File)), path.Base(f.File)), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// verify checks a request and what the server answered.
func (l *Loop) verify(t *thread, c *call, out *exchange.Outcome) {
	report := l.reporter(t)
	l.written.Request(&t.Course, t.replay.server, t.served(out), report)
	pairs, opening := t.parts()
	if (c.side == nil || !c.side.AsText()) && !pairs {
		t.verified.Messages(&t.Course, &t.replay.verify, l.request.Entries, opening, report)
	}
}

// parts reports whether a layer of the thread may part calls and results, and whether one may drop the first prompt.
func (t *thread) parts() (pairs, opening bool) {
	for _, l := range t.layers {
		if l, ok := l.(standard.Parting); ok {
			p, o := l.Parts()
			pairs, opening = pairs || p, opening || o
		}
	}
	return pairs, opening
}

// served returns the request at hand for a check.
func (t *thread) served(out *exchange.Outcome) *verify.Served {
	return &verify.Served{Request: &t.replay.loop.request, Outcome: out, Automatic: t.replay.hidden.Automatic, Held: t.hidden.KnowsHeld()}
}
