package profile

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// Codex is what recordings show of automatic caches, such as that behind Codex. The zero
// value is the plain cache.
type Codex struct {
	Switches CodexSwitches `yaml:"switches"`
	// Served is how requests are served, by agent, model and client version; for each
	// model in ascending order of versions.
	Served []Served `yaml:"served,omitempty"`
	// First is what the first calls of sessions read, by user and model.
	First []FirstRead `yaml:"first_reads,omitempty"`
	// Residual is as Profile.Residual, of Codex's sessions.
	Residual []float64 `yaml:"session_residual,flow,omitempty" min:"-20" max:"20"`
}

// CodexSwitches turn on the parts of the model that go beyond the plain cache.
type CodexSwitches struct {
	// Served takes the steps of reads, cached responses and the retention from
	// the table, and from what the thread's earlier calls have shown.
	Served bool `yaml:"served"`
	// Warm lets a call whose prefix is gone read what the first call of its thread
	// read, because others keep that in the cache.
	Warm bool `yaml:"warm_head"`
	// Search leaves uncached what the provider's web search adds to a call.
	Search bool `yaml:"web_search"`
	// Reasoning ends reads at a person's prompt before the reasoning of the turn that it finishes, for models
	// whose provider leaves it out.
	Reasoning bool `yaml:"reasoning"`
	// First lets the first call of a thread read what others have cached.
	First bool `yaml:"first_calls"`
}

// Names returns the names of the switches that are on, in order.
func (s CodexSwitches) Names() []string { return switchedOn(s) }

// Served is how the requests of a client are served.
type Served struct {
	Agent   string `yaml:"agent"`
	Model   string `yaml:"model"`
	Version string `yaml:"version"` // of the client; the first version that is served so
	// Step, Offset, Lag and Replies are as in exchange.Serving.
	Step    int32 `yaml:"step" min:"1"`
	Offset  int32 `yaml:"offset" min:"0"`
	Lag     int32 `yaml:"lag" min:"0"`
	Replies bool  `yaml:"replies"`
	// Exact is the share of calls after a tool call that read exactly that.
	Exact Estimate `yaml:"exact"`
	// Retention is how long an idle prefix is read, seconds: at most ten years.
	Retention Estimate `yaml:"retention_seconds" min:"0" max:"315360000"`
}

// ServingFor returns how an agent's requests for a model are served at a client
// version: as at the newest recorded version not after it, else as at the
// oldest. It reports whether the model has been recorded.
func (c *Codex) ServingFor(agent, model, version string) (exchange.Serving, bool) {
	var at *Served
	for i := range c.Served {
		if s := &c.Served[i]; s.Agent == agent && s.Model == model && (at == nil || Compare(s.Version, version) <= 0) {
			at = s
		}
	}
	if at == nil {
		return exchange.Serving{}, false
	}
	return exchange.Serving{
		Step: at.Step, Offset: at.Offset, Lag: at.Lag, Replies: at.Replies, Retention: int64(at.Retention.Value * 1e9),
	}, true
}

// Rules returns the errors that no tag expresses.
func (c *Codex) Rules() []error {
	var errs []error
	for i, s := range c.Served {
		at := fmt.Sprintf("served[%d]", i)
		if s.Offset >= s.Step {
			errs = append(errs, spec.Wrong(at, "begins at %d in steps of %d: the offset must be smaller", s.Offset, s.Step))
		}
		if i > 0 && c.Served[i-1].Agent == s.Agent && c.Served[i-1].Model == s.Model && Compare(c.Served[i-1].Version, s.Version) >= 0 {
			errs = append(errs, spec.Wrong(at, "lists versions out of order: versions must ascend"))
		}
	}
	return errs
}

// FirstRead returns the expected read of a session's first call, tokens: the
// most frequent read of the user's other sessions, with the same model if there
// are any; for an unknown user the median over users with that model, or over
// all models if it was not recorded. The field Read of f is ignored.
func (c *Codex) FirstRead(f *FirstRead) int64 {
	for _, model := range []string{f.Model, ""} {
		by := c.readsByUser(f.Session, model)
		if own := by[f.User]; f.User != "" && len(own) > 0 {
			return mostOften(own)
		}
	}
	for _, model := range []string{f.Model, ""} {
		var reads []int64
		for _, own := range c.readsByUser(f.Session, model) {
			reads = append(reads, mostOften(own))
		}
		if n := len(reads); n > 0 {
			slices.Sort(reads)
			return (reads[(n-1)/2] + reads[n/2]) / 2
		}
	}
	return 0
}

// readsByUser returns the reads of the first calls of all sessions but one by
// user, for one model or all.
func (c *Codex) readsByUser(session, model string) map[string][]int64 {
	by := map[string][]int64{}
	for i := range c.First {
		if f := &c.First[i]; f.Session != session && (model == "" || f.Model == model) {
			by[f.User] = append(by[f.User], f.Read)
		}
	}
	return by
}

// mostOften returns the most frequent number, the smallest if there are several.
func mostOften(list []int64) int64 {
	best, most := int64(0), 0
	counts := map[int64]int{}
	for _, x := range list {
		counts[x]++
		if n := counts[x]; n > most || n == most && x < best {
			best, most = x, n
		}
	}
	return best
}
