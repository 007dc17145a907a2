package fleet

import (
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim/draws"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// workload returns what the sessions of an organisation are drawn from under a
// profile. What other conversations keep warm is simulated, so every session
// begins with the whole static prefix; and sessions are resumed by the fleet.
func (f *File) workload(o *Org, profile string) (*synthetic.Workload, error) {
	w, err := synthetic.LoadWorkload(profile)
	if err != nil {
		return nil, err
	}
	w.Start, w.Spread, w.WarmStart, w.Resumes = f.Start.Time, 0, 1, 0
	s := &o.Sessions
	for _, version := range [...]string{f.Client.Version, s.Version} {
		if version != "" {
			w.Version = version
		}
	}
	for _, static := range [...]int{f.Client.Static, s.Static} {
		if static != 0 {
			w.Static = static
		}
	}
	if s.Turns != nil {
		w.Turns = *s.Turns
	}
	if s.Rounds != nil {
		w.Rounds = *s.Rounds
	}
	if s.Model != "" {
		w.Models = []synthetic.WorkModel{{Name: s.Model, Weight: 1}}
	}
	if errs := w.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("%w", errs[0])
	}
	return w, nil
}

// mix are the generators of an organisation by weight.
type mix struct {
	sum  []float64 // running sums of the weights
	made []*synthetic.Generator
}

// at returns the generator at a share of all weights.
func (m *mix) at(share float64) *synthetic.Generator {
	share *= m.sum[len(m.sum)-1]
	for i, sum := range m.sum {
		if share < sum {
			return m.made[i]
		}
	}
	return m.made[len(m.made)-1]
}

// generator returns what the nth session of a user is drawn from.
func (m *mix) generator(src draws.Source, user, n int) *synthetic.Generator {
	return m.at(draws.Unit(src.Uint64(drawProfile, place(user, n))))
}

// generatorKey is what the generators of two organisations differ in.
type generatorKey struct {
	profile, version, model string
	static                  int
	sizes                   string // turns and rounds
}

// generators makes the generators of all organisations, each once.
func (f *File) generators() ([]mix, error) {
	made := map[generatorKey]*synthetic.Generator{}
	mixes := make([]mix, len(f.Orgs))
	for i := range f.Orgs {
		o := &f.Orgs[i]
		sum := 0.0
		for _, name := range slices.Sorted(maps.Keys(o.Sessions.Profiles)) {
			weight := o.Sessions.Profiles[name]
			if weight == 0 {
				continue
			}
			s := &o.Sessions
			key := generatorKey{name, s.Version, s.Model, s.Static, fmt.Sprint(s.Turns, s.Rounds)}
			if made[key] == nil {
				w, err := f.workload(o, name)
				if err != nil {
					return nil, fmt.Errorf("organisation %s, profile %s: %w", o.Name, name, err)
				}
				if made[key], err = synthetic.NewGenerator(w); err != nil {
					return nil, fmt.Errorf("organisation %s: %w", o.Name, err)
				}
			}
			sum += weight
			mixes[i].sum = append(mixes[i].sum, sum)
			mixes[i].made = append(mixes[i].made, made[key])
		}
	}
	return mixes, nil
}
