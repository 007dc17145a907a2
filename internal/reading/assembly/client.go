package assembly

import (
	"context"

	"github.com/compactsim/compactsim/traces"
)

// Client completes the description of a client that calls models of several providers and
// compacts at a share of the window, percent. Unless it says otherwise it has no usual
// places, and asks for a summary in a request of its own.
func Client(a *traces.Agent, percent int64) *traces.Agent {
	a.Cache = CacheByModel
	a.CompactsAt = func(_ string, window, _ int64) int64 { return window * percent / 100 }
	if a.Places == nil {
		a.Places = func(*traces.Home) {}
	}
	if a.SummaryShares == nil {
		a.SummaryShares = func(string) bool { return false }
	}
	return a
}

// ReadBy returns the function that reads the recordings of an agent; see Reader.
func ReadBy[S interface{ Base() *File }](
	name string, scan func(context.Context, traces.Options, traces.Input) (S, error), sessions func(*traces.Options, []S) []*Session,
) func(context.Context, traces.Options, *traces.Inputs, string) (*traces.Corpus, error) {
	r := Reader[S]{Name: name, Scan: scan, Sessions: sessions}
	return r.Read
}

// ShareOfWindow is the setting of a client that compacts at a share of the window.
func ShareOfWindow(name, where, snippet, caveat string, values ...string) []traces.Setting {
	return []traces.Setting{{
		Name: name, Group: traces.GroupThreshold, Where: where, Snippet: snippet, Does: "compact at %s of the window",
		Values: values, Assign: "full-compact.trigger.fraction=%s", Caveat: caveat,
	}}
}
