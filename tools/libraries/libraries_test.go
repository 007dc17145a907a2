package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/strategies"
)

// said returns a request of messages of 100 tokens each, a head of 10 and an output of 5: those in capitals are the model's.
func said(messages string) *request {
	r := &request{head: "h", size: 10, output: 5}
	for _, m := range messages {
		r.items = append(r.items, item{string(m), 100, m < 'a'})
	}
	return r
}

// The third request appends, the fourth puts a summary in the place of two messages behind the first, after a call that reads them, and the
// fifth goes back to what the third was: an ideal cache has all of that and the response. By hand, tokens read: 0, 10+100+100 (the
// response too), 410, 0 (another head), 10+100 and 410.
func TestMeasure(t *testing.T) {
	side := said("bc")
	side.side, side.head = true, "other"
	got := measure([]*request{said("a"), said("aBc"), said("aBcDe"), side, said("asDe"), said("aBcDe")})
	want := &figures{
		Head: 10, Requests: 5, Edits: []int{4, 5}, Before: 500, Stays: 300, Sides: 1, Reads: 210, Peak: 510,
		Cached: 210 + 410 + 110 + 510, Fresh: 110 + 100 + 100 + 210 + 300, Output: 30,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if usd := got.cost(); math.Abs(usd-(1240*0.30+820*3.75+30*15)/1e6) > 1e-12 {
		t.Errorf("it costs $%v", usd)
	}
}

// What a driver logs is measured as messages; a last refusal says why a conversation ends.
func TestReadRequests(t *testing.T) {
	list, refused, err := readRequests(strings.NewReader(`{"kind":"main","system":"12345678","tools":500,"messages":[{"role":"user","text":"abcd"}],"output":3}
{"kind":"side","system":"","messages":[{"role":"assistant","text":"","calls":[["i","look","{\"a\":1}."]]}],"output":9}
{"kind":"refused"}`))
	if err != nil || !refused || len(list) != 2 {
		t.Fatalf("%d requests, refused %v, %v", len(list), refused, err)
	}
	if a, b := list[0], list[1]; a.side || a.size != 502 || a.items[0].tokens != 1 || !b.side || b.size != 0 || b.items[0].tokens != 2 || b.output != 9 {
		t.Errorf("%+v, %+v", a, b)
	}
}

// Bounds hold at their edge, and what lies beyond is named.
func TestDiffers(t *testing.T) {
	lib := &figures{Requests: 100, Edits: make([]int, 100), Peak: 1000, Fresh: 1000}
	near := &figures{Requests: 100, Edits: make([]int, 105), Peak: 1019, Fresh: 1049}
	far := &figures{Requests: 90, Edits: make([]int, 94), Peak: 979, Fresh: 949}
	if list := differs(lib, near); len(list) > 0 {
		t.Errorf("near: %q", list)
	}
	if list := differs(lib, far); len(list) != 4 {
		t.Errorf("far: %q", list)
	}
	if list := differs(&figures{}, &figures{Edits: make([]int, 2)}); len(list) > 0 {
		t.Errorf("two edits: %q", list)
	}
}

// Of four presets the first two cost the same in truth, so that five pairs have an order, however small the difference of one is; and the
// simulation turns one around. A preset that did not run everywhere does not count.
func TestOrder(t *testing.T) {
	var lines []*line
	for name, usd := range map[string][2]int{"a": {1000, 1200}, "b": {1000, 500}, "c": {1001, 1100}, "e": {1500, 1600}, "d": {9000, 1}} {
		l := &line{preset: name, real: &outcome{Did: &figures{Fresh: usd[0]}}, sim: &figures{Fresh: usd[1]}}
		if name == "d" {
			lines = append(lines, &line{preset: name, real: &outcome{Fault: "not there"}})
		}
		lines = append(lines, l)
	}
	if tau, pairs := order(lines); tau != 0.6 || pairs != 5 {
		t.Errorf("tau %v over %d pairs", tau, pairs)
	}
	if bad := disagreements(lines); len(bad) != 1 || !strings.Contains(bad[0], "tau") {
		t.Errorf("%q", bad)
	}
}

// A line that differs as is known has not moved; one that differs otherwise has, and so has one that agrees where it should not. A line
// that was not run has not.
func TestKnown(t *testing.T) {
	k := &known{"p", "t", "largest prompt +2.9 %", "the head is sent twice"}
	ran := &outcome{Did: &figures{}}
	for _, tc := range []struct {
		l    *line
		want string
	}{
		{&line{known: k, real: ran, differs: []string{"largest prompt +2.9 %"}}, ""},
		{&line{known: k, real: ran, differs: []string{"largest prompt +3.0 %"}}, ", : largest prompt +3.0 %; known was: largest prompt +2.9 %"},
		{&line{known: k, real: ran}, ", : agrees; known was: largest prompt +2.9 %"},
		{&line{known: k, real: &outcome{Fault: "not there"}}, ""},
	} {
		tc.l.sim = &figures{}
		if got := strings.Join(disagreements([]*line{tc.l}), "\n"); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.l.differs, got, tc.want)
		}
	}
}

// A conversation is simulated as it was written: without a cut everything is read that was sent, and the largest prompt is the sum of its
// parts. LangChain's clearing, at 100,000 tokens, leaves three results.
func TestSimulate(t *testing.T) {
	small := shape{name: "t", prompts: 1, rounds: 8, sizes: []int{15_000}}.talk()
	s, err := newSimulator(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	size := 3000 + 100 + 8*15_000
	for _, r := range small.Prompts[0].Rounds {
		size += r.output()
	}
	none, err := s.simulate(t.Context(), "none", small, 3000)
	if err != nil {
		t.Fatal(err)
	}
	if none.Requests != 9 || none.Edits != nil || none.Peak != size || none.Fresh+none.Output-100 != size {
		t.Errorf("none: %+v, want a largest prompt of %d", none, size)
	}
	cleared, err := s.simulate(t.Context(), "langchain/clear-tools", small, 3000)
	if err != nil {
		t.Fatal(err)
	}
	if first := (100_000 + 14_999) / 15_000; len(cleared.Edits) == 0 || cleared.Edits[0] != first+1 || cleared.Before-cleared.Stays != 60_000 {
		t.Errorf("clear-tools: %+v, want the first edit at request %d", cleared, first+1)
	}
}

// A shape is read as it is written, and has a request for each round and each answer: 2 × (29 + 1). What is no shape is refused.
func TestParseTalks(t *testing.T) {
	list, err := parseTalks("steps 2 29 50 25000, both 1 3 7 calls=2 say=90 prompt=600, chat 4 0")
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	if talk := list[0].talk(); talk.requests() != 60 || tokens(talk.Prompts[1].Rounds[0].Calls[0].Result) != 25_000 {
		t.Errorf("%d requests, want 60; result 29 is %d tokens, want 25,000", talk.requests(), tokens(talk.Prompts[1].Rounds[0].Calls[0].Result))
	}
	both := list[1].talk()
	if r := both.Prompts[0].Rounds[2]; both.requests() != 4 || tokens(both.Prompts[0].Text) != 600 || tokens(r.Say) != 90 || len(r.Calls) != 2 || r.Calls[1].ID != "call_005" {
		t.Errorf("two calls at once: %+v", r)
	}
	if list, err = parseTalks("fail 1 3 7 errors=2 resume=1, x 1 1 7"); err != nil {
		t.Fatal(err)
	} else if bad := list[0].talk(); !bad.Resumes || bad.Prompts[0].Rounds[0].Calls[0].Fails || !bad.Prompts[0].Rounds[1].Calls[0].Fails || list[1].talk().Resumes {
		t.Errorf("every second result an error, and agents made anew: %+v", bad)
	}
	list, _ = parseTalks("a 1 0, b 1 0, chat 4 0")
	if chat := list[2].talk(); chat.requests() != 4 {
		t.Errorf("prompts alone: %d requests, want 4", chat.requests())
	}
	for _, bad := range []string{"steps", "steps 2 29", "steps 0 1 50", "steps 2 x 50", "steps 2 9 50 cals=2", "steps 2 9 50 calls=x", "steps 2 9 50 calls=0", "steps 2 9 -3"} {
		if _, err := parseTalks(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Results of 200 and of 100,000 characters by turns (2026-11-29). deepagents 0.7.32 puts the large ones into files and sent 17,497 tokens at most.
// Strands 1.62.0 answers refusals until a request passes: it drops rounds until a large result is its oldest, which it cuts, and edited at
// these requests.
func TestResultsByTurns(t *testing.T) {
	s, err := newSimulator(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	turns := shape{name: "turns", prompts: 2, rounds: 29, sizes: []int{50, 25_000}}.talk()
	for preset, want := range map[string]figures{
		"deepagents":     {Head: 5127, Peak: 17_497},
		"strands/window": {Head: 2500, Peak: 178_878, Edits: []int{17, 19, 21, 23, 25, 27, 29, 32, 46, 48, 50, 52, 54, 56, 58, 60}},
	} {
		did, err := s.simulate(t.Context(), preset, turns, want.Head)
		if err != nil {
			t.Fatal(err)
		}
		if off := float64(did.Peak)/float64(want.Peak) - 1; !slices.Equal(did.Edits, want.Edits) || math.Abs(off) > peak {
			t.Errorf("%s: edits %v and a largest prompt of %d, want %v and %d", preset, did.Edits, did.Peak, want.Edits, want.Peak)
		}
	}
}

// The preset of Mastra edits at the very requests at which @mastra/memory 1.31.0 did (2026-11-29), three conversations long: 18, 27 and 11. Where
// the fourth parts is a matter of 60 tokens.
func TestMastra(t *testing.T) {
	s, err := newSimulator(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	want := map[string][]int{
		"large":   {4, 5, 6, 7, 9, 10, 12, 14, 16, 18, 20, 23, 24, 25, 26, 28, 29, 30},
		"prompts": {8, 13, 14, 19, 24, 25, 29, 34, 35, 40, 45, 46, 50, 56, 57, 61, 66, 67, 72, 77, 78, 82, 88, 89, 93, 98, 99},
		"loop":    {10, 16, 22, 28, 34, 40, 46, 52, 58, 64, 70},
	}
	for _, talk := range libraries[0].talks() {
		if want[talk.Name] == nil {
			continue
		}
		if f, err := s.simulate(t.Context(), "mastra", talk, headTokens); err != nil || !slices.Equal(f.Edits, want[talk.Name]) {
			t.Errorf("%s: edits %v, %v; want %v", talk.Name, f.Edits, err, want[talk.Name])
		}
	}
}

// Of a log, requests read what ended with a marker, the head too: 10 tokens and 100 for each message. A call of the library's own reads nothing.
func TestMarked(t *testing.T) {
	side, other, c := said("aB"), said("a"), marked{}
	side.side, other.head = true, "another"
	for i, tc := range []struct {
		r          *request
		size, read int
	}{{said("a"), 110, 0}, {said("aBc"), 310, 110}, {side, 210, 0}, {said("asc"), 310, 110}, {said("xBc"), 310, 10}, {other, 110, 0}} {
		if size, read := c.serve(tc.r); size != tc.size || read != tc.read {
			t.Errorf("request %d: %d tokens, %d read; want %d, %d", i, size, read, tc.size, tc.read)
		}
	}
}

// The log of a conversation whose second half begins with a summary, which a call made, is billed as the log has it.
func TestLogIsBilled(t *testing.T) {
	say := func(role, text string) item {
		key, err := json.Marshal(map[string]string{"role": role, "text": text})
		if err != nil {
			t.Fatal(err)
		}
		return item{string(key), tokens(text), role == "assistant"}
	}
	var list []*request
	items := []item{say("user", fill(3000, "prompt"))}
	for i := range 8 {
		list = append(list, &request{system: fill(2000, "system"), head: "main", size: headTokens, items: items[:len(items):len(items)], output: 50})
		items = append(items, say("assistant", fill(50, fmt.Sprint("answer ", i))), say("user", fill(4000, fmt.Sprint("more ", i))))
		if i == 4 {
			list = append(list, &request{side: true, items: []item{say("user", fill(20_000, "all"))}, output: summarySize})
			items = append([]item{say("user", fill(summarySize, "summary"))}, items[len(items)-2:]...)
		}
	}
	file := filepath.Join(t.TempDir(), "log.jsonl")
	if err := writeLog(file, list); err != nil {
		t.Fatal(err)
	}
	share, err := recorded(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(share-1) > 0.03 {
		t.Errorf("of the bill %.1f %% are simulated", 100*share)
	}
}

// Where a library cannot be installed its figures stay, and the line says why there are no newer ones; without figures the line says it alone.
func TestNotInstalled(t *testing.T) {
	l := &library{name: "x", packages: []string{"x==1"}, presets: []string{"none"}, settings: []string{"`level=3`"}}
	b := &bench{env: t.TempDir(), logs: t.TempDir(), python: filepath.Join(t.TempDir(), "python")}
	kept := b.renew(t.Context(), l, []*outcome{{Preset: "none", Talk: "loop", Package: "x", Version: "1", Date: "2026-01-02", Did: &figures{Requests: 71, Peak: 9}}})
	if len(kept) != len(usual) {
		t.Fatalf("%d outcomes", len(kept))
	}
	for _, o := range kept {
		if (o.Did != nil) != (o.Talk == "loop") || !strings.Contains(o.Fault, "x==1 cannot be installed") {
			t.Errorf("%+v", o)
		}
	}
	n := &line{library: l, preset: "none", talk: "loop", requests: 71, real: find(kept, "none", "loop"), sim: &figures{Requests: 71, Peak: 9}}
	if c := n.cells(); !strings.Contains(c[len(c)-1], "agrees; not run again") || !strings.Contains(n.origin(), "`x` 1, run on 2026-01-02") {
		t.Errorf("%q, %s", c, n.origin())
	}
}

// Each package of a library is held against its pin: one of another version is installed anew, and where nothing is to be
// installed the page and the terminal say which version ran.
func TestOtherVersions(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no npm
	l := &library{name: "x", node: true, packages: []string{"@x/memory@1.2.0", "@x/core@3.4.0", "y@5.6.0"}, presets: []string{"none"}, settings: []string{"`level=3`"}}
	b := &bench{env: t.TempDir(), logs: t.TempDir()}
	for name, version := range map[string]string{"@x/memory": "1.2.0", "@x/core": "3.4.1", "y": "5.6.0"} {
		if err := put(filepath.Join(b.environment(l), "node_modules", name, "package.json"), map[string]string{"version": version}); err != nil {
			t.Fatal(err)
		}
	}
	if versions, err := b.install(t.Context(), l); err == nil {
		t.Errorf("%q are taken as they are", versions)
	}
	b.reuse = true
	versions, err := b.install(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	n := &line{library: l, preset: "none", real: &outcome{Package: l.lead(), Version: versions[0], Others: l.others(versions), Date: "2026-01-02"}}
	if s := n.origin(); !strings.HasSuffix(s, "run on 2026-01-02. It ran with other packages than the preset is of: @x/core 3.4.1.\n\nSettings: `level=3`.") {
		t.Error(s)
	}
	n.preset, n.real.Version, n.real.Others, n.real.Did, n.sim = "", "1.1.0", nil, &figures{}, &figures{}
	if s := plain([]*line{n}); !strings.HasPrefix(s, " 1.1.0,  (@x/memory 2026-01-02): agrees. The preset is of 1.2.0.\n") {
		t.Error(s)
	}
}

// Of six lines, of which one was not run and one differs, four agree: in two nothing is edited, one of which is refused at request 9 of 10, as
// is one that edits; in two calls read something, of which one is 6 % off and one 5 %.
func TestCount(t *testing.T) {
	a, b := &library{name: "a"}, &library{name: "b"}
	ran := func(l *library, requests, edits, reads, simulated int, differs ...string) *line {
		return &line{library: l, requests: 10, differs: differs, sim: &figures{Reads: simulated},
			real: &outcome{Did: &figures{Requests: requests, Edits: make([]int, edits), Reads: reads}}}
	}
	got := count([]*line{ran(a, 10, 0, 0, 0), ran(a, 8, 0, 0, 0), ran(a, 8, 3, 100, 106), ran(b, 10, 1, 100, 95),
		ran(b, 10, 0, 100, 300, "cost +9.0 %"), {library: b, real: &outcome{Fault: "not there"}}}).text()
	want := "4 of 5 lines agree, of 2 libraries; 0 lines differ in a known way. Of the 4 that agree the library never edits in 2 and ends refused in 2 (3 have one or both); " +
		"in 1 of the 2 whose library makes calls what these READ is more than 5 % off.\n\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A setting is a preset's own, or stands for all presets of its library that have none.
func TestSettings(t *testing.T) {
	l := &library{presets: []string{"a", "b", "c"}, settings: []string{"one", "two"}}
	if got := l.setting("a") + l.setting("b") + l.setting("c"); got != "onetwotwo" {
		t.Error(got)
	}
	for _, l := range libraries {
		if len(l.settings) == 0 || len(l.settings) > len(l.presets) {
			t.Errorf("%s: %d settings of %d presets", l.name, len(l.settings), len(l.presets))
		}
	}
}

// Every library has a driver, its presets exist, and lists are pinned.
func TestLibraries(t *testing.T) {
	var presets []string
	for _, l := range libraries {
		if _, err := os.Stat(l.driver("drivers")); err != nil {
			t.Error(err)
		}
		if l.lead() == "" || l.pin(0) == "" || slices.ContainsFunc(l.packages, func(p string) bool { return l.unpinned(p) == p }) {
			t.Errorf("%s: %q: what is installed has no version", l.name, l.packages)
		}
		presets = append(presets, l.presets...)
	}
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range presets {
		if _, err := registry.Strategy(p); err != nil {
			t.Error(err)
		}
	}
	if _, err := choose([]string{"nobody"}); err == nil {
		t.Error("a name that nobody has is taken")
	}
}

// Three calls in each response, one of six results large (2026-11-30): of the four events that OpenHands 1.58.2 keeps in front two are calls whose
// results stay with them and are not counted where it keeps half of the window. It edited at these requests.
func TestResultsOfCallsInFront(t *testing.T) {
	s, err := newSimulator(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	vast := shape{name: "vast", prompts: 3, rounds: 17, sizes: []int{700, 37_500, 1900, 400, 3100, 900}, sized: sized{calls: 3}}.talk()
	did, err := s.simulate(t.Context(), "openhands", vast, 4307)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{10, 14, 18, 23, 27, 31, 35, 40, 44, 48, 52}; !slices.Equal(did.Edits, want) || did.Peak != 183_463 {
		t.Errorf("edits at %v, largest prompt %d, want %v and 183,463", did.Edits, did.Peak, want)
	}
}

// Four calls in each response (2026-11-29): LangChain 1.5.2 keeps 20 messages, a result one each, OpenHands 1.58.2 counts 80 calls and results, and
// the session of OpenAI Agents 0.24.0 counts ten items at the end of a turn. They edited at these requests.
func TestCallsAtOnce(t *testing.T) {
	s, err := newSimulator(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	list, err := parseTalks("par 3 20 1200 3000 calls=4")
	if err != nil {
		t.Fatal(err)
	}
	for preset, want := range map[string]figures{
		"langchain/summarization": {Head: 2500, Peak: 155_101, Edits: []int{20, 36, 52}},
		"openhands":               {Head: 4307, Peak: 81_178, Edits: []int{11, 16, 21, 27, 32, 37, 42, 48, 53, 58, 63}},
		"openai-agents/session":   {Head: 2500, Peak: 172_516, Edits: []int{22, 43}},
	} {
		did, err := s.simulate(t.Context(), preset, list[0].talk(), want.Head)
		if err != nil {
			t.Fatal(err)
		}
		if did.Peak != want.Peak || !slices.Equal(did.Edits, want.Edits) {
			t.Errorf("%s: largest prompt %d and edits at %v, want %d and %v", preset, did.Peak, did.Edits, want.Peak, want.Edits)
		}
	}
}
