package promptcache

import "github.com/compactsim/compactsim/sim/prompt"

// mark is a marker that takes part: in range, in order and not below the
// minimum.
type mark struct {
	prompt.Marker
	level prompt.Level // of the marked entry
}

// marks are the markers of one request that take part, in order of position.
type marks struct {
	at     [prompt.MaxMarkers]mark
	n      int
	global int32 // position of the last one with global scope, -1 for none
}

// collect fills m with the markers of r that take part, at most limit of them.
func (m *marks) collect(r *prompt.Request, limit int) {
	m.n, m.global = 0, -1
	last := int32(-1)
	for _, k := range r.Markers[:min(limit, len(r.Markers))] {
		if k.Position <= last || int(k.Position) >= len(r.Entries) {
			continue
		}
		last = k.Position
		e := &r.Entries[last]
		if e.Cum < r.MinTokens {
			continue
		}
		m.at[m.n] = mark{k, e.Kind.Level()}
		m.n++
		if k.Scope == prompt.ScopeGlobal {
			m.global = last
		}
	}
}

// last returns the last marker that takes part, or nil.
func (m *marks) last() *mark {
	if m.n == 0 {
		return nil
	}
	return &m.at[m.n-1]
}
