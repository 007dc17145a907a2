package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
)

// Bounds of agreement, as shares of what the library did.
const (
	fewEdits   = 2    // requests, and edits, that may differ however few there are
	edits      = 0.05 // requests until one is refused for good, and requests that change history
	peak       = 0.02 // the largest prompt
	price      = 0.05 // cost
	unbilled   = 0.03 // the simulated bill of the log
	leastOrder = 0.95 // Kendall's tau of the orders of real and of simulated costs
)

// unread stands for the share of a log that cannot be read.
const unread = -1

// An outcome is what a library did in a conversation under a preset's settings.
type outcome struct {
	Preset  string   `json:"preset"`
	Talk    string   `json:"talk"`
	Package string   `json:"package"`
	Version string   `json:"version,omitempty"`
	Others  []string `json:"others,omitempty"` // packages beside it that are not of the pinned version, each with its own
	Date    string   `json:"date"`             // of the run
	Fault   string   `json:"fault,omitempty"`  // why there are no figures
	Did     *figures `json:"did,omitempty"`
	// Recorded is what the simulator bills for a log of what the library sent, as a share of what the log says was billed.
	Recorded float64 `json:"recorded,omitempty"`
}

// outcomesName is the file with what libraries did when they last ran.
const outcomesName = "outcomes.jsonl"

// readOutcomes reads outcomes, none if there is no file.
func readOutcomes(file string) (list []*outcome, err error) {
	text, err := os.ReadFile(file) //nolint:gosec // of the tool
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		o := &outcome{}
		if err := d.Decode(o); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: outcome %d: %w", file, len(list)+1, err)
		}
		list = append(list, o)
	}
}

// writeOutcomes writes outcomes in the order of libraries, presets and conversations.
func writeOutcomes(file string, list []*outcome) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	for _, l := range libraries {
		for _, p := range l.presets {
			for _, t := range l.talks() {
				if o := find(list, p, t.Name); o != nil {
					if err := e.Encode(o); err != nil {
						return err
					}
				}
			}
		}
	}
	return os.WriteFile(file, out.Bytes(), 0o644) //nolint:gosec // of the tool
}

// find returns the outcome of a preset in a conversation, nil if there is none.
func find(list []*outcome, preset, talk string) *outcome {
	i := slices.IndexFunc(list, func(o *outcome) bool { return o.Preset == preset && o.Talk == talk })
	if i < 0 {
		return nil
	}
	return list[i]
}

// A line holds a preset against its library in one conversation.
type line struct {
	library  *library
	preset   string
	talk     string
	requests int // of the whole conversation
	real     *outcome
	sim      *figures
	differs  []string // what the preset does otherwise
	known    *known   // what it is known to do otherwise
}

// moved reports whether a preset does otherwise than its library in another way than is known, or agrees where it is known not to.
func (l *line) moved() bool {
	if l.known != nil && l.real.Did != nil {
		return strings.Join(l.differs, ", ") != l.known.differs
	}
	return len(l.differs) > 0
}

// compare simulates the presets of a library and holds each against what the library did.
func (s *simulator) compare(ctx context.Context, l *library, kept []*outcome) (list []*line, err error) {
	for _, p := range l.presets {
		for _, t := range l.talks() {
			n := &line{library: l, preset: p, talk: t.Name, requests: t.requests(), real: find(kept, p, t.Name)}
			if i := slices.IndexFunc(l.known, func(k known) bool { return k.preset == p && k.talk == t.Name }); i >= 0 {
				n.known = &l.known[i]
			}
			switch {
			case n.real == nil:
				n.real = &outcome{Preset: p, Talk: t.Name, Package: l.lead(), Fault: "it was not run"}
			case n.real.Did != nil:
				if n.sim, err = s.simulate(ctx, p, t, n.real.Did.Head); err != nil {
					return nil, err
				}
				n.differs = differs(n.real.Did, n.sim)
				if d := n.real.Recorded - 1; n.real.Recorded == unread {
					n.differs = append(n.differs, "its log cannot be read")
				} else if n.real.Recorded != 0 && math.Abs(d) > unbilled {
					n.differs = append(n.differs, fmt.Sprintf("its log is billed %+.1f %%", 100*d))
				}
			}
			list = append(list, n)
		}
	}
	return list, nil
}

// differs returns what a preset does otherwise than its library, beyond the bounds.
func differs(lib, sim *figures) (list []string) {
	off := func(a, b float64) float64 { return (b - a) / math.Max(a, 1e-9) }
	for _, x := range []struct {
		of   string
		a, b int
	}{{"requests", lib.Requests, sim.Requests}, {"edits", len(lib.Edits), len(sim.Edits)}} {
		if d := float64(max(x.a-x.b, x.b-x.a)); d > math.Max(fewEdits, edits*float64(x.a)) {
			list = append(list, fmt.Sprintf("%d %s and not %d", x.b, x.of, x.a))
		}
	}
	if d := off(float64(lib.Peak), float64(sim.Peak)); math.Abs(d) > peak {
		list = append(list, fmt.Sprintf("largest prompt %+.1f %%", 100*d))
	}
	if d := off(lib.cost(), sim.cost()); math.Abs(d) > price {
		list = append(list, fmt.Sprintf("cost %+.1f %%", 100*d))
	}
	return list
}

// disagreements says which presets do otherwise than their libraries and are not known to, or agree where they are known not to, and whether the order of costs is another.
func disagreements(lines []*line) (list []string) {
	for _, l := range lines {
		if !l.moved() {
			continue
		}
		text := fmt.Sprintf("%s, %s: %s", l.preset, l.talk, cmp.Or(strings.Join(l.differs, ", "), "agrees"))
		if l.known != nil {
			text += "; known was: " + l.known.differs
		}
		list = append(list, text)
	}
	if tau, pairs := order(lines); pairs > 0 && tau < leastOrder {
		list = append(list, fmt.Sprintf("the order of costs: Kendall's tau %.3f over %d pairs is below %.2f", tau, pairs, leastOrder))
	}
	return list
}

// order returns how well the order of simulated costs is the order of real ones: Kendall's tau over the pairs of presets whose real costs,
// summed over the conversations, are not equal. However little a pair differs by, it counts. Presets that ran in every conversation do.
func order(lines []*line) (tau float64, pairs int) {
	type sums struct{ real, sim float64 }
	all, faulty := map[string]*sums{}, map[string]bool{}
	for _, l := range lines {
		if l.real.Did == nil {
			faulty[l.preset] = true
			continue
		}
		if all[l.preset] == nil {
			all[l.preset] = &sums{}
		}
		all[l.preset].real += l.real.Did.cost()
		all[l.preset].sim += l.sim.cost()
	}
	var list []*sums
	for name, s := range all {
		if !faulty[name] {
			list = append(list, s)
		}
	}
	agree := 0
	for i, a := range list {
		for _, b := range list[:i] {
			if a.real == b.real {
				continue
			}
			if pairs++; (a.real-b.real)*(a.sim-b.sim) > 0 {
				agree++
			}
		}
	}
	if pairs == 0 {
		return 1, 0
	}
	return float64(2*agree-pairs) / float64(pairs), pairs
}
