// Package tried says how far predictions were from what real clients cost under another setting. It has no promise to importers.
package tried

import (
	_ "embed"
	"encoding/json"

	"github.com/compactsim/compactsim/internal/kit/version"
	"github.com/compactsim/compactsim/traces"
)

// Setting is how far predictions of a session's cost under another setting were from what a real client cost under that
// setting, from recordings of the same script under the first. make experiment writes tried.json from the pairs of
// docs/validation.md.
type Setting struct {
	Agent   string `json:"agent"`   // as in traces.Session.Agent
	Version string `json:"version"` // of the client
	Pairs   int    `json:"pairs"`
	// Mean and greatest error of the cost as shares, in the open and in the closed loop.
	Open   [2]float64 `json:"open"`
	Closed [2]float64 `json:"closed"`
}

//go:embed tried.json
var text []byte

// List returns how far predictions were off, by agent; nothing where the figures cannot be read.
func List() (list []Setting) {
	if json.Unmarshal(text, &list) != nil {
		return nil
	}
	return list
}

// Later returns the number of the agent's sessions by versions after the one that was tried.
func (t *Setting) Later(sessions []*traces.Session) (n int) {
	v, _ := version.Numbers(t.Version)
	for _, s := range sessions {
		if s.Agent == t.Agent && version.AtLeast(s.Version(), v[0], v[1], v[2]+1) {
			n++
		}
	}
	return n
}
