package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// limits are the figures that no change may make worse, by group and measure. They only get tighter.
type limits map[string]map[string]float64

// measures returns the figures that have limits, shares: of errors less is better, of what is right more.
func (l *line) measures() map[string]float64 {
	m := map[string]float64{"cost, open": l.cost[0], "cost, closed": l.cost[1], "worst, open": l.worst[0], "worst, closed": l.worst[1],
		"first compaction" + right: float64(l.first) / float64(l.pairs)}
	if l.saved > 0 {
		m["saving, open"], m["saving, closed"] = l.saving[0], l.saving[1]
	}
	if l.changes > 0 {
		m["signs, open"+right], m["signs, closed"+right] = float64(l.signs[0])/float64(l.changes), float64(l.signs[1])/float64(l.changes)
	}
	if l.sized > 0 {
		m["size behind compactions"] = l.sizes
	}
	if t := &l.drawn[1]; t.pairs > 0 {
		m["told, cost, open"], m["told, cost, closed"], m["told, size behind compactions"] = t.means()
		m["told, worst, open"], m["told, worst, closed"] = t.worst[0], t.worst[1]
	}
	if l.ruled > 0 {
		m["cost, by rule"], m["worst, by rule"] = l.rule, l.ruleWorst
	}
	if l.placed > 0 {
		m["fetches at their step"+right] = float64(l.atStep) / float64(l.placed)
	}
	return m
}

// right ends the names of measures of which more is better.
const right = ", right"

// slack is what a measure may be worse than its limit by: half a point, as other changes move figures a little.
const slack = 0.005

// check returns what is worse than its limit, and what has no limit.
func (l limits) check(lines []*line) []string {
	var worse []string
	none := 0
	for _, g := range lines {
		for _, name := range slices.Sorted(maps.Keys(g.measures())) {
			v := g.measures()[name]
			limit, ok := l[g.group][name]
			switch {
			case !ok:
				none++
			case strings.HasSuffix(name, right) && v < limit-slack:
				worse = append(worse, fmt.Sprintf("%s: %s is %.4f, and was at least %.4f", g.group, name, v, limit))
			case !strings.HasSuffix(name, right) && v > limit+slack:
				worse = append(worse, fmt.Sprintf("%s: %s is %.4f, and was at most %.4f", g.group, name, v, limit))
			}
		}
	}
	if none > 0 {
		worse = append(worse, fmt.Sprintf("%d measures have no limit; make experiment LIMITS=-tighten sets them", none))
	}
	return worse
}

// tighten sets every limit that a measure has passed to that measure.
func (l limits) tighten(lines []*line) {
	for _, g := range lines {
		if l[g.group] == nil {
			l[g.group] = map[string]float64{}
		}
		for name, v := range g.measures() {
			v = math.Round(v*1e4) / 1e4
			limit, ok := l[g.group][name]
			if !ok || strings.HasSuffix(name, right) == (v > limit) && v != limit {
				l[g.group][name] = v
			}
		}
	}
}

func readLimits(folder string) (limits, error) {
	l := limits{}
	text, err := os.ReadFile(filepath.Join(folder, "limits.json"))
	if os.IsNotExist(err) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("limits.json: %w", err)
	}
	return l, nil
}

func (l limits) write(folder string) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "limits.json"), append(text, '\n'), 0o644)
}
