package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// allNames returns the names of all dimensions, each alone and behind a day.
func allNames() (list [][]string) {
	for _, d := range Dimensions() {
		if list = append(list, []string{d.Name}); d.Name != "day" {
			list = append(list, []string{"day", d.Name})
		}
	}
	return list
}

// breakdown divides the bill of sessions, and fails unless its groups add up to the audit's total.
func breakdown(t *testing.T, sessions []*traces.Session, names []string, o Options, now time.Time) *Breakdown {
	t.Helper()
	b, err := Break(sessions, names, o, now)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(sessions, o)
	if err != nil {
		t.Fatal(err)
	}
	addsUp(t, b, r)
	return b
}

// addsUp fails unless groups add up to the audit's total.
func addsUp(t *testing.T, b *Breakdown, r *Report) {
	t.Helper()
	sum, calls := 0.0, 0
	for _, g := range b.Groups {
		sum, calls = sum+g.USD, calls+g.Calls
	}
	if math.Abs(sum-r.Total.USD) > 1e-6 || math.Abs(b.Total.USD-r.Total.USD) > 1e-6 || b.Total.Calls != r.Total.Calls {
		t.Errorf("by %v: groups cost $%.6f, all $%.6f of %d calls; the audit says $%.6f of %d", b.By, sum, b.Total.USD, b.Total.Calls, r.Total.USD, r.Total.Calls)
	}
	if !b.Weighs && calls != r.Total.Calls {
		t.Errorf("by %v: groups have %d calls, want %d", b.By, calls, r.Total.Calls)
	}
}

// Every name, alone and inside of days, adds up to the bill: over the samples and the recordings, and of one day.
func TestEveryNameAddsUp(t *testing.T) {
	for name, sessions := range corpora(t) {
		o := Options{Prices: auditPrices(t)}
		r := ran(t, sessions, o)
		for _, names := range allNames() {
			t.Run(name, func(t *testing.T) {
				b, err := Break(sessions, names, o, time.Time{})
				if err != nil {
					t.Fatal(err)
				}
				addsUp(t, b, r)
			})
		}
	}
	noon := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC).UnixNano()
	o := Options{Prices: auditPrices(t), In: func(at int64) bool { return at >= noon+60*minute }}
	k := newScene("half")
	k.call(0, prompt.Usage{Write5m: 50_000})
	k.call(61*minute, prompt.Usage{Write5m: 50_000})
	if b := breakdown(t, []*traces.Session{k.s}, []string{"tool"}, o, time.Time{}); b.Total.Calls != 1 {
		t.Errorf("%d calls in the period, want the second alone", b.Total.Calls)
	}
}

// The lines of sums have a name of their own in a table of causes, which names causes in words.
func TestSumsAreNoCauses(t *testing.T) {
	k := newScene("causes")
	k.call(0, prompt.Usage{Write5m: 50_000})
	k.call(10*minute, prompt.Usage{Write5m: 50_000})
	k.call(61*minute, prompt.Usage{Write5m: 50_000})
	b := breakdown(t, []*traces.Session{k.s}, []string{"cause"}, Options{Prices: auditPrices(t)}, time.Time{})
	for top, wants := range [][]string{{"\nexpiry (a pause over 5 minutes", "\nall "}, {"\n2 others ", "\nall "}} {
		var out strings.Builder
		if err := b.Document(DocumentOptions{Top: top}).Write(&out, "table"); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, &out)
			}
		}
	}
}

// Windows of five hours by hand: calls at 12:00, 16:50 and 17:10 of a day, and one six hours later. The first two are
// in the window from 12:00, 17:10 begins one at 17:00, which 23:10 does not meet. At 23:40 the last window has cost
// $0.3125 in half an hour, so that it is heading for $0.625 an hour over 4 h 20 m more.
func TestWindows(t *testing.T) {
	k := newScene("windows")
	for _, gap := range []int64{0, 290, 20, 360} {
		k.call(gap*minute-map[bool]int64{true: 0, false: 10 * int64(time.Second)}[gap == 0], prompt.Usage{Write5m: 50_000}) // a call takes ten seconds
	}
	at := func(h, m int) time.Time { return time.Date(2026, 2, 1, h, m, 0, 0, time.UTC) }
	o := Options{Prices: auditPrices(t)}
	b := breakdown(t, []*traces.Session{k.s}, []string{"block"}, o, at(23, 40))
	var names []string
	for _, g := range b.Groups {
		names = append(names, g.Names[0])
	}
	if want := []string{"2026-02-01 12:00", "2026-02-01 17:00", "2026-02-01 23:00"}; !slices.Equal(names, want) || b.Groups[0].Calls != 2 {
		t.Errorf("windows %v, %d calls in the first; want %v and 2", names, b.Groups[0].Calls, want)
	}
	if p := b.Pace; p == nil || !p.Ends.Equal(at(28, 0)) {
		t.Fatalf("%+v, want a window until 04:00", p)
	}
	wantUSD(t, "so far", b.Pace.USD, 0.05*6.25)
	wantUSD(t, "an hour", b.Pace.PerHour, 2*0.05*6.25)
	wantUSD(t, "in the end", b.Pace.Heading, 0.05*6.25+2*0.05*6.25*(4+20.0/60))
	for _, now := range []time.Time{at(28, 0), at(20, 0), {}} { // over; a clock that lags behind the recordings; none
		if late, err := Break([]*traces.Session{k.s}, []string{"block"}, o, now); err != nil || late.Pace != nil {
			t.Errorf("at %v: %+v, %v; no window is under way", now, late.Pace, err)
		}
	}
}

// A clock that is set back repeats an hour: 01:30 comes twice on 25 October 2026 in Berlin, both on one day, and calls on
// both sides of midnight are on two. Calls without a time stand apart, at the end.
func TestClockChangesAndMidnight(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	k := newScene("night")
	k.now = time.Date(2026, 10, 24, 21, 59, 0, 0, time.UTC).UnixNano() // 23:59 in Berlin
	for _, gap := range []int64{0, 1, 90, 60} {
		k.call(gap*minute, prompt.Usage{Write5m: 1000})
	}
	k.s.Threads[0].Rounds = append(k.s.Threads[0].Rounds, traces.Round{ID: "untimed", Usage: prompt.Usage{Write5m: 1000}, Flags: signs.NoTime})
	b := breakdown(t, []*traces.Session{k.s}, []string{"day"}, Options{Prices: auditPrices(t), Zone: zone}, time.Time{})
	var got []string
	for _, g := range b.Groups {
		got = append(got, fmt.Sprint(g.Names[0], " ", g.Calls))
	}
	if want := []string{"2026-10-24 1", "2026-10-25 3", NoDay + " 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A result of 2,000 tokens in a context of 50,000 and later 52,000 weighs 2,000 tokens in each of two calls: by hand
// 2/52 of what they paid for input. Behind a compaction it weighs nothing.
func TestThingsWeighWhereTheyStand(t *testing.T) {
	k := newScene("weight")
	k.call(0, prompt.Usage{Write5m: 50_000})
	k.call(minute, prompt.Usage{Read: 50_000, Write5m: 2000})
	k.result(1, op.Read, 2000)
	k.call(minute, prompt.Usage{Read: 52_000})
	k.event(traces.Event{Kind: traces.EventCompact})
	k.call(minute, prompt.Usage{Write5m: 20_000})
	for _, name := range []string{"tool", "file"} {
		b := breakdown(t, []*traces.Session{k.s}, []string{name}, Options{Prices: auditPrices(t)}, time.Time{})
		if len(b.Groups) != 2 || b.Groups[1].Names[0] != Rest || b.Groups[0].Tokens != 4000 || b.Groups[0].Calls != 2 {
			t.Fatalf("by %s: %+v, want one thing of 2,000 tokens in two calls, and the rest", name, b.Groups)
		}
		wantUSD(t, name, b.Groups[0].USD, (0.050*0.50+0.002*6.25)*2/52+0.052*0.50*2/52)
	}
}

// Names that are none or come twice, and two that weigh, are refused with what to write.
func TestNamesAreChecked(t *testing.T) {
	for text, names := range map[string][]string{"did you mean \"day\"?": {"dya"}, "at most one name may weigh": {"tool", "mcp"},
		"day is given twice": {"day", "model", "day"}} {
		if _, err := Break(nil, names, Options{Prices: auditPrices(t)}, time.Time{}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v, want %q", names, err, text)
		}
	}
}

// Machines read one line for each group, with the columns that people see or their parts; people see the newest days and the
// sum of all others.
func TestBreakdownIsWritten(t *testing.T) {
	k := newScene("written")
	for range 4 {
		k.call(24*60*minute, prompt.Usage{Write5m: 1000, Output: 10})
	}
	b := breakdown(t, []*traces.Session{k.s}, []string{"day", "session"}, Options{Prices: auditPrices(t)}, time.Time{})
	var out strings.Builder
	if err := b.Document(DocumentOptions{Top: 2}).Write(&out, "csv"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 || lines[0] != "day,session,cost_usd,calls,cache_hit_ratio,misses,miss_usd,cache_read_tokens,cache_write_5m_tokens,"+
		"cache_write_1h_tokens,cache_write_other_tokens,input_uncached_tokens,output_tokens" {
		t.Errorf("CSV has\n%s", out.String())
	}
	out.Reset()
	if err := b.Document(DocumentOptions{Top: 2}).Write(&out, "table"); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "2 before") || !strings.Contains(text, "\nall ") || strings.Contains(text, "\n2026-02-03") {
		t.Errorf("people see\n%s", text)
	}
}

// Dashboards read a line for each group and metric, with the names as labels, escaped.
func TestMetrics(t *testing.T) {
	k := newScene("metrics")
	k.s.Project = `C:\"src"` + "\x1b[31m"
	k.call(0, prompt.Usage{Write5m: 1000, Output: 10})
	b := breakdown(t, []*traces.Session{k.s}, []string{"project", "model"}, Options{Prices: auditPrices(t)}, time.Time{})
	var out strings.Builder
	if err := b.WriteMetrics(&out); err != nil {
		t.Fatal(err)
	}
	labels := `project="C:\\\"src\"\\u001b[31m",model="` + opus + `"`
	for _, want := range []string{
		"# TYPE sim_cost_usd gauge\n# UNIT sim_cost_usd usd\n", "sim_cost_usd{" + labels + "} 0.0065", "sim_tokens{" + labels + `,class="cache_write_5m"} 1000` + "\n",
		"sim_calls{" + labels + "} 1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if !strings.HasSuffix(out.String(), "\n# EOF\n") {
		t.Error("the text has no end")
	}
}

// A group whose calls all lack a price has a dash for people and 0 for machines; one that has some, or counts no calls, has its dollars.
func TestPricelessGroups(t *testing.T) {
	for _, c := range []struct {
		group Group
		want  bool
	}{
		{Group{Sum: Sum{Calls: 2}, Unpriced: 2}, true},
		{Group{Sum: Sum{Calls: 2}, Unpriced: 1}, false},
		{Group{}, false},
	} {
		if got := c.group.Priceless(); got != c.want {
			t.Errorf("%+v: %t, want %t", c.group, got, c.want)
		}
		for people, of := range map[bool]any{true: document.Dash, false: 0.0} {
			b := &Breakdown{By: []string{"agent"}}
			b.Groups = []Group{c.group}
			c.group.Names = []string{"pi"}
			if got := b.columns(people)[1].Of(c.group); c.want && got != of || !c.want && got != 0.0 {
				t.Errorf("%+v, for people %t: %v", c.group, people, got)
			}
		}
	}
}
