package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// workload returns what the sessions of an organisation are drawn from under a
// profile. What other conversations keep warm is simulated, so every session
// begins with the whole static prefix; and sessions are resumed by the fleet.
func (f *File) workload(o *Org, profile string) (*synthetic.Workload, error) {
	d := f.drawnFrom(o, profile)
	if d.err != nil {
		return nil, d.err
	}
	if errs := d.flaws(); len(errs) > 0 {
		return nil, fmt.Errorf("%w", errs[0])
	}
	return d.workload, nil
}

// changed is workload without a look at whether it can be.
func (f *File) changed(o *Org, profile string) (*synthetic.Workload, error) {
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
	return w, nil
}

// setBy returns the key of the fleet that sets a key of the profiles of an organisation,
// whose sessions are at a path; "" for none.
func (f *File) setBy(o *Org, path, key string) string {
	s := &o.Sessions
	head, _, _ := strings.Cut(key, ".")
	switch {
	case head == "turns" && s.Turns != nil, head == "rounds" && s.Rounds != nil,
		head == "version" && s.Version != "", head == "static" && s.Static != 0:
		return path + "." + key
	case head == "models" && s.Model != "":
		return path + ".model"
	case head == "version" && f.Client.Version != "", head == "static" && f.Client.Static != 0:
		return "client." + key
	}
	return ""
}

// checkPrompts refuses upgrades that leave less than no prompt, and tools of servers that
// are more than all of it.
func (f *File) checkPrompts(fs *flaws) {
	for i := range f.Orgs {
		o := &f.Orgs[i]
		for _, name := range profilesOf(o) {
			w, err := f.workload(o, name)
			if err != nil {
				continue // told by itself
			}
			if o.MCP > 0 && int(o.MCPTools) > w.Static {
				fs.once(fmt.Sprintf("orgs[%d].mcp_tools", i),
					fmt.Sprintf("%d tokens of tools are more than the %d of all tools and system prompt", o.MCPTools, w.Static))
			}
			left := w.Static
			for k := range f.Upgrades {
				if left += int(f.Upgrades[k].Static); left < 0 {
					fs.once(fmt.Sprintf("upgrades[%d].static", k),
						fmt.Sprintf("leaves %d tokens of tools and system prompt of organisation %s", left, o.Name))
					break
				}
			}
		}
	}
}

// mix are the generators of an organisation by weight.
type mix struct {
	sum  []float64 // running sums of the weights
	made []*synthetic.Generator
	from []*drawnFrom // of made
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

// profilesOf returns the profiles of an organisation that have a weight, in order.
func profilesOf(o *Org) []string {
	names := slices.SortedFunc(maps.Keys(o.Sessions.Profiles), byFile)
	return slices.DeleteFunc(names, func(name string) bool { return o.Sessions.Profiles[name] == 0 })
}

// generators returns the generators of all organisations.
func (f *File) generators() ([]mix, error) {
	mixes := make([]mix, len(f.Orgs))
	for i := range f.Orgs {
		o := &f.Orgs[i]
		sum := 0.0
		for _, name := range profilesOf(o) {
			if _, err := f.workload(o, name); err != nil {
				return nil, fmt.Errorf("organisation %s, profile %s: %w", o.Name, name, err)
			}
			from := f.drawnFrom(o, name)
			made, err := from.generator()
			if err != nil {
				return nil, fmt.Errorf("organisation %s: %w", o.Name, err)
			}
			sum += o.Sessions.Profiles[name]
			mixes[i].sum = append(mixes[i].sum, sum)
			mixes[i].made = append(mixes[i].made, made)
			mixes[i].from = append(mixes[i].from, from)
		}
	}
	return mixes, nil
}
