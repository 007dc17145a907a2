// Command causes counts in recordings how often calls read less than was left in the cache behind what stands between two calls,
// and writes the counts to sim/profile/causes.yaml and the tables of docs/causes.md.
//
//	go run ./tools/causes FOLDER...
//
// Of folders other than the first it counts sessions whose id has a SHA-256 that begins with 0–7; with -unseen only the
// rest, and it writes nothing. The same recordings give the same bytes.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/signs"
)

func main() {
	unseen := flag.Bool("unseen", false, "count only the sessions that were kept out of sight, and print")
	flag.Parse()
	if err := run(flag.Args(), *unseen); err != nil {
		fmt.Fprintln(os.Stderr, "causes:", err)
		os.Exit(1)
	}
}

func run(folders []string, unseen bool) error {
	prices, err := costmodel.Default()
	if err != nil {
		return err
	}
	p, err := profile.Default()
	if err != nil {
		return err
	}
	t := &tallies{profile: p, lifts: profile.Lifts{Marked: profile.Tallies{}, Automatic: profile.Tallies{}}}
	judged := judgement{map[string]int{}, map[string]int{}, map[calls.Cause]float64{}, map[calls.Cause]int{}}
	lines := survey{tallies: profile.Tallies{}}
	for i, folder := range folders {
		corpus, err := agents.Read(context.Background(), traces.Options{}, folder)
		if err != nil {
			return err
		}
		for _, s := range corpus.Sessions {
			out := sha256.Sum256([]byte(s.ID))[0] >= 0x80 && i > 0
			if out != unseen {
				continue
			}
			if s, err = s.Load(); err != nil {
				return err
			}
			table := calls.Of(s, prices)
			if err := lines.session(corpus, table); err != nil {
				return err
			}
			for _, thread := range table.Threads {
				for i := range thread {
					t.add(&thread[i])
					judged.add(&thread[i])
				}
			}
		}
	}
	l := t.sorted()
	text := tables(l) + lines.table()
	judged.print()
	if unseen {
		fmt.Print(text)
		return nil
	}
	return errors.Join(write(l), writeDocs(text))
}

type tallies struct {
	profile  *profile.Profile
	lifts    profile.Lifts
	sessions map[string]bool
	calls    int
}

// add counts a call.
func (t *tallies) add(c *calls.Call) {
	if !c.Comparable() {
		return
	}
	t.calls++
	if t.sessions == nil {
		t.sessions = map[string]bool{}
	}
	t.sessions[c.Session.ID] = true
	to := t.lifts.Marked
	if c.Automatic() {
		to = t.lifts.Automatic
	}
	between := c.Between()
	if between == 0 || between == profile.Kinds(0).With(profile.KindPrompt) {
		t.count(to, profile.Nothing, c, c.Fell())
	}
	for k := range profile.NumKinds {
		if between.Has(k) {
			t.count(to, k.String(), c, c.Fell() && c.Explains(k))
		}
	}
}

func (t *tallies) count(to profile.Tallies, kind string, c *calls.Call, fell bool) {
	tally(to, kind, t.profile.EpochOf(c.Session), c, fell)
}

// tally counts a call behind something that has a name.
func tally(to profile.Tallies, kind, from string, c *calls.Call, fell bool) {
	agent := c.Session.Agent
	i := slices.IndexFunc(to[kind], func(x profile.Tally) bool { return x.Agent == agent && x.From == from })
	if i < 0 {
		i = len(to[kind])
		to[kind] = append(to[kind], profile.Tally{Agent: agent, From: from})
	}
	n := &to[kind][i].Others
	if c.Recorded.Trigger == traces.TriggerPrompt {
		n = &to[kind][i].Prompts
	}
	n[1]++
	if fell {
		n[0]++
	}
}

func (t *tallies) sorted() *profile.Lifts {
	for _, of := range []profile.Tallies{t.lifts.Marked, t.lifts.Automatic} {
		for _, rows := range of {
			slices.SortFunc(rows, func(a, b profile.Tally) int {
				return cmp.Or(cmp.Compare(a.Agent, b.Agent), profile.Compare(a.From, b.From))
			})
		}
	}
	t.lifts.Source = fmt.Sprintf("%d sessions, %d calls", len(t.sessions), t.calls)
	return &t.lifts
}

// tables shows the lifts of all kinds, by agent and version.
func tables(l *profile.Lifts) string {
	var b strings.Builder
	for _, of := range []struct {
		name string
		t    profile.Tallies
	}{{"Caches whose entries are marked and have a lifetime", l.Marked}, {"Caches that providers fill by themselves", l.Automatic}} {
		fmt.Fprintf(&b, "%s:\n\n| between two calls | agent, from version | fell at prompts | fell elsewhere | lift | here | named |\n"+
			"|---|---|---:|---:|---:|---:|---|\n", of.name)
		for _, kind := range append([]string{profile.Nothing}, kinds()...) {
			last := ""
			for _, x := range of.t[kind] {
				row := [4]string{strings.TrimSpace(x.Agent + " " + x.From)}
				if k := slices.Index(kinds(), kind); k >= 0 {
					v := of.t.Of(profile.Kind(k), x.Agent, x.From)
					if row[2] = lift(v.Here); x.Agent != last {
						row[1] = fmt.Sprintf("%s (%s–%s)", lift(v.Value), lift(v.Low), lift(v.High))
					}
					if row[3] = "no"; v.Named() {
						row[3] = "yes"
					}
				}
				last = x.Agent
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", kind, row[0], share(x.Prompts), share(x.Others), row[1], row[2], row[3])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// lift formats a lift in two digits or more.
func lift(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "∞"
	case v < 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// share formats how many of how many fell.
func share(n [2]int) string {
	if n[1] == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", n[0], n[1])
}

func kinds() []string {
	var list []string
	for k := range profile.NumKinds {
		list = append(list, k.String())
	}
	return list
}

// judgement compares causes that recordings make likely with what the server says, and adds up what is named.
type judgement struct {
	right, wrong map[string]int
	usd          map[calls.Cause]float64
	count        map[calls.Cause]int
}

func (j *judgement) add(c *calls.Call) {
	if c.Missed <= 0 {
		return
	}
	j.usd[c.Cause()] += c.MissUSD
	j.count[c.Cause()]++
	r := *c.Recorded
	if r.Verdict <= signs.VerdictNone || r.Verdict == signs.VerdictUnknown || r.Verdict == signs.VerdictGone || r.Parted > 0 {
		return // the server compared nothing
	}
	r.Verdict = signs.VerdictNone // the cause is named without it
	blind := *c
	blind.Recorded = &r
	l, ok := blind.Likely()
	switch {
	case !ok:
	case c.Explains(l.Kind):
		j.right[l.Kind.String()]++
	default:
		j.wrong[l.Kind.String()+", the server says "+c.Recorded.Verdict.String()]++
	}
}

func (j *judgement) print() {
	for _, k := range slices.Sorted(maps.Keys(j.usd)) {
		fmt.Printf("%-14s %4d misses $%.2f\n", k, j.count[k], j.usd[k])
	}
	right, wrong := 0, 0
	for _, k := range slices.Sorted(maps.Keys(j.right)) {
		right += j.right[k]
		fmt.Printf("right: %d %s\n", j.right[k], k)
	}
	for _, k := range slices.Sorted(maps.Keys(j.wrong)) {
		wrong += j.wrong[k]
		fmt.Printf("wrong: %d %s\n", j.wrong[k], k)
	}
	fmt.Printf("causes named without the server's verdict: right in %d of %d\n", right, right+wrong)
}

func write(l *profile.Lifts) error {
	text, err := yaml.Marshal(l)
	if err != nil {
		return err
	}
	const head = "# How often calls fell behind what stands between two calls, in recordings: tools/causes counts it anew.\n"
	return os.WriteFile("sim/profile/causes.yaml", append([]byte(head), text...), 0o644)
}

// writeDocs puts the tables into their page.
func writeDocs(text string) error {
	const page = "docs/causes.md"
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	const begin, end = "<!-- counted by tools/causes -->\n", "<!-- end of counts -->\n"
	from, to := bytes.Index(old, []byte(begin)), bytes.Index(old, []byte(end))
	if from < 0 || to < from {
		return fmt.Errorf("%s lacks the marks around its tables", page)
	}
	return os.WriteFile(page, slices.Concat(old[:from+len(begin)], []byte("\n"+text), old[to:]), 0o644)
}
