package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// days are sessions of n days, one a day, of ten calls for two prompts; each as a function of its day has it.
func days(n int, each func(k *scene, day int)) (list []*traces.Session) {
	for i := range n {
		k := newScene(fmt.Sprintf("s%02d", i))
		k.s.Start += int64(i) * 24 * 60 * minute
		k.s.Versions = []string{"2.1.30"}
		each(k, i)
		for j := range k.s.Threads[0].Rounds {
			r := &k.s.Threads[0].Rounds[j]
			r.At += int64(i) * 24 * 60 * minute
			if j%5 > 0 {
				r.Trigger = traces.TriggerToolResult
			}
		}
		list = append(list, k.s)
	}
	return list
}

// From the eleventh of twenty days on, with version 2.1.40, entries are written for five minutes and not for an hour, and results of a
// tool are ten times as long: both are told with the day and the version, and nothing else is.
func TestChanges(t *testing.T) {
	r := ran(t, days(20, func(k *scene, day int) {
		size, u := int32(200+10*(day%3)), prompt.Usage{Read: 20_000, Write1h: 100}
		if day >= 10 {
			k.s.Versions[0] = "2.1.40"
			size, u = 10*size, prompt.Usage{Read: 20_000, Write5m: 100}
		}
		for range 10 {
			k.call(minute, u)
			k.result(1, op.Read, size)
		}
	}), Options{Prices: auditPrices(t)})
	var got []string
	for _, c := range r.Changes {
		got = append(got, fmt.Sprintf("%s since %s (%s … %s), %s → %s: %s", c.What, c.From, c.Low, c.High, c.figure(c.Before), c.figure(c.After), c.See))
		if c.Chance > 0.001 || c.Agent != facts.ClaudeCode {
			t.Errorf("%+v", c)
		}
	}
	want := []string{
		"share of cache writes for an hour since 2026-02-11 (2026-02-11 … 2026-02-11), 100.0 % → 0.0 %: sim audit --by day,version --format csv",
		"share of cache writes for an hour since 2.1.40 (2.1.40 … 2.1.40), 100.0 % → 0.0 %: sim audit --by day,version --format csv",
		"tokens of results of Read per call since 2026-02-11 (2026-02-11 … 2026-02-11), 209 → 2.1k: sim audit --by tool --since 2026-02-11",
		"tokens of results of Read per call since 2.1.40 (2.1.40 … 2.1.40), 209 → 2.1k: sim audit --by tool",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// The page tells each once, by its version.
	table := (&page{Report: r}).changes()[0].Blocks[0].(*document.Table)
	got = nil
	for _, row := range table.Rows {
		got = append(got, fmt.Sprint(row[:3], row[5:6]))
	}
	if want := []string{"[share of cache writes for an hour version 2.1.40 2.1.40] [0.1 %]", "[tokens of results of Read per call version 2.1.40 2.1.40] [0.1 %]"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// Days that differ by chance alone have no change, and neither have seven days or calls without times.
func TestNoChanges(t *testing.T) {
	vary := func(k *scene, day int) {
		for i := range 10 {
			k.call(minute, prompt.Usage{Read: 20_000, Write1h: int64(100 + 37*(day*7+i)%50)})
			k.result(1, op.Read, int32(200+(day*7919+i*104729)%300))
		}
	}
	changed := func(k *scene, day int) {
		k.call(minute, prompt.Usage{Write1h: int64(1000 * (day / 4)), Write5m: int64(1000 * (1 - day/4))})
	}
	untimed := days(20, func(k *scene, day int) { changed(k, day/5) })
	for _, s := range untimed {
		for i := range s.Threads[0].Rounds {
			s.Threads[0].Rounds[i].At, s.Threads[0].Rounds[i].Flags = 0, signs.NoTime
		}
	}
	for name, sessions := range map[string][]*traces.Session{"chance": days(20, vary), "seven days": days(7, changed), "no times": untimed} {
		if r := ran(t, sessions, Options{Prices: auditPrices(t)}); len(r.Changes) > 0 {
			t.Errorf("%s: %+v", name, r.Changes)
		}
	}
}

// Of more than 400 sessions the sessions of a day are one unit, and the change is where it was.
func TestChangesOfManySessions(t *testing.T) {
	sessions := days(450, func(k *scene, day int) {
		k.s.Start -= int64(day-day/15) * 24 * 60 * minute
		u := prompt.Usage{Read: 20_000, Write1h: 100}
		if day >= 300 { // the 21st day
			u = prompt.Usage{Read: 20_000, Write5m: 100}
		}
		k.call(minute, u)
	})
	for i, s := range sessions { // fifteen a day
		s.Threads[0].Rounds[0].At -= int64(i-i/15) * 24 * 60 * minute
	}
	r := ran(t, sessions, Options{Prices: auditPrices(t)})
	if len(r.Changes) != 1 || r.Changes[0].From != "2026-02-21" || r.Changes[0].By != byDay {
		t.Errorf("%+v", r.Changes)
	}
}
