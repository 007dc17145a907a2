package strategies

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// asked calls the layer ahead of a request.
func asked(t *testing.T, l Layer, k *talk) Outcome {
	t.Helper()
	return l.(BeforeRequest).BeforeRequest(&k.Turn)
}

// The limits of E4: 50,000 characters, Bash 30,000, Grep 20,000, Read never; a
// result of exactly the limit stays. Of what goes 2,000 bytes stay, and 60
// tokens around them.
func TestToolStorageLimits(t *testing.T) {
	for _, tc := range []struct {
		tool  string
		bytes int32
		flags prompt.Flags
		text  string
		want  int32 // tokens left of 10,000
	}{
		{"Bash", 30000, 0, "{}", 10000},
		{"Bash", 30001, 0, "{}", 666 + 60}, // 10,000 × 2,000 / 30,001
		{"Edit", 50000, 0, "{}", 10000},
		{"Edit", 50001, 0, "{}", 399 + 60},
		{"mcp__db__query", 50001, 0, "{}", 399 + 60},
		{"mcp__db__query", 50001, 0, "{limits: {mcp: 100000}}", 10000},
		{"Task", 8001, 0, "{limits: {tools: {Task: 8000}}}", 2499 + 60}, // 10,000 × 2,000 / 8,001
		{"Task", 8000, 0, "{limits: {tools: {Task: 8000}}}", 10000},
		{"Skill", 8001, 0, "{limits: {tools: {Task: 8000}}}", 10000}, // another tool
		{"Bash", 40000, 0, "{limits: {tools: {Bash: 40000}}}", 10000},
		{"mcp__db__query", 8001, 0, "{limits: {tools: {mcp__db__query: 8000}}}", 2499 + 60},
		{"mcp__db__list", 8001, 0, "{limits: {tools: {mcp__db__query: 8000}}}", 10000},
		{"Edit", 450000, 0, "{limits: {tools: {Edit: 450000}}, per_message: 0}", 10000}, // no cap
		{"Read", 8001, 0, "{limits: {tools: {Read: 8000}}}", 10000},                     // never
		{"Read", 900000, 0, "{}", 10000},
		{"Read", 900000, 0, "{never: []}", 22 + 60},
		{"Edit", 400001, 0, "{limits: {default: 500000}, per_message: 0}", 49 + 60}, // the hard cap
		{"Edit", 400000, 0, "{limits: {default: 500000}, per_message: 0}", 10000},
		{"Bash", 40000, prompt.FlagImage, "{}", 10000},
		{"Bash", 40000, prompt.FlagImage, "{store_images: true}", 500 + 60},
		{"Bash", 40000, prompt.FlagError, "{}", 10000},
		{"Bash", 40000, prompt.FlagError, "{store_errors: true}", 500 + 60},
	} {
		k, h := hosted()
		r := k.parallel(tc.tool, 10000)[0]
		r.Bytes = tc.bytes
		r.Flags |= tc.flags
		out := asked(t, layer(t, "tool-storage: "+tc.text), k)
		b := k.Boundary()
		if got := k.results(); got[0] != tc.want || (out.Verdict == Done) != (tc.want < 10000) {
			t.Errorf("%s of %d bytes under %s: %d tokens left (%+v), want %d", tc.tool, tc.bytes, tc.text, got[0], out, tc.want)
		}
		if tc.want == 10000 {
			continue
		}
		if h.counts[measures.StoredResults] != 1 || h.counts[measures.StoredTokens] != int64(10000-tc.want) {
			t.Errorf("%s: counts %v", tc.tool, h.counts)
		}
		if b.Kind != BoundaryStore || b.Before-b.After != int64(10000-tc.want) || b.Uncounted != int64(tc.bytes-2000)/4 {
			t.Errorf("%s: boundary %+v", tc.tool, b)
		}
	}
}

// 200,000 characters per message of parallel results: the largest go first, and
// no more than needed; what is left of a result counts. Read stays and counts.
func TestToolStorageMessageBudget(t *testing.T) {
	const p = 500 + 60 // 2,000 bytes of four a token
	for name, tc := range map[string]struct {
		tool    string
		results []int32
		want    []int32
	}{
		"one is enough":            {"Edit", []int32{11000, 12000, 10000, 12500, 11500}, []int32{11000, 12000, 10000, p, 11500}}, // 228,000 − 48,000
		"exactly the limit stays":  {"Edit", []int32{10000, 10000, 10000, 10000, 10000}, []int32{10000, 10000, 10000, 10000, 10000}},
		"the first of equal ones":  {"Edit", []int32{12000, 12000, 12000, 12000, 12000}, []int32{p, 12000, 12000, 12000, 12000}},
		"two when one is too few":  {"Edit", []int32{12400, 12400, 12400, 12400, 12400, 500}, []int32{p, p, 12400, 12400, 12400, 500}}, // 250,000 − 47,600 = 202,400
		"Read is never taken":      {"Read", []int32{40000, 40000}, []int32{40000, 40000}},
		"over its own limit first": {"Bash", []int32{8000, 7000, 7000, 7000}, []int32{p, 7000, 7000, 7000}},
	} {
		k, _ := hosted()
		k.parallel(tc.tool, tc.results...)
		asked(t, layer(t, "tool-storage: {}"), k)
		if got := k.results(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	// Results of different messages have a budget each, and the switch is off at 0.
	k, _ := hosted()
	k.parallel("Edit", 12000, 12000, 12000)
	k.parallel("Edit", 12000, 12000, 12000)
	asked(t, layer(t, "tool-storage: {freeze: false}"), k)
	if got := k.results(); slices.Max(got) != slices.Min(got) {
		t.Errorf("two messages of 144,000: %v", got)
	}
	k, _ = hosted()
	k.parallel("Edit", 12000, 12000, 12000, 12000, 12000)
	if out := asked(t, layer(t, "tool-storage: {per_message: 0}"), k); out.Verdict != Declined {
		t.Errorf("without a budget: %+v", out)
	}
}

// What was decided about a result stays when the limits change (003,
// ContentReplacementState): the prefix that was sent does. Without the freeze
// older results go, or come back.
func TestToolStorageFreeze(t *testing.T) {
	const stored = 333 + 60 // 10,000 tokens of 60,000 bytes
	for text, want := range map[string][]int32{
		"{retune: {request: 3, scale: 0.5}}":                {10000, stored, stored, stored},
		"{retune: {request: 3, scale: 0.5}, freeze: false}": {stored, stored, stored, stored},
		"{retune: {request: 3, scale: 3}}":                  {10000, stored, 10000, 10000},
		"{retune: {request: 3, scale: 3}, freeze: false}":   {10000, 10000, 10000, 10000},
		"{retune: {request: 9, scale: 3}, freeze: false}":   {10000, stored, 10000, stored},
	} {
		k, _ := hosted()
		l := layer(t, "tool-storage: "+text)
		for _, bytes := range []int32{25000, 60000, 25000, 60000} {
			k.parallel("Bash", 10000)[0].Bytes = bytes
			k.Context.MarkSent()
			asked(t, l, k)
			k.Boundary()
		}
		want = slices.Clone(want)
		if want[0] == stored {
			want[0] = 10000*2000/25000 + 60
		}
		if want[2] == stored {
			want[2] = 10000*2000/25000 + 60
		}
		if got := k.results(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if s := l.(*toolStorage); !s.params.Freeze && len(s.stored) != previews(k) {
			t.Errorf("%s: remembers %d stored results", text, len(s.stored))
		}
	}
}

// previews returns how many results of a talk are not whole.
func previews(k *talk) int {
	n := 0
	for i := range k.Context.Len() {
		if k.Context.At(i).Form == prompt.FormRange {
			n++
		}
	}
	return n
}

// A fork copies context and state: it decides the same, and what it reads back
// is its own.
func TestToolStorageClone(t *testing.T) {
	k, h := hosted()
	h.draws = []float64{0}
	l := layer(t, "tool-storage: {reread: {share: 1}}").(*toolStorage)
	k.parallel("Bash", 10000)
	asked(t, l, k)
	c := l.Clone().(*toolStorage)
	if out := asked(t, l, k); out.Verdict != Pending {
		t.Fatalf("%+v", out)
	}
	if len(c.reads.due) != 1 || len(l.reads.due) != 0 {
		t.Errorf("the clone has %d reads due, the original %d", len(c.reads.due), len(l.reads.due))
	}
	k.Intent()
	if out := asked(t, c, k); out.Verdict != Pending {
		t.Errorf("the clone does not read in the same request: %+v", out)
	}
	l.Reset()
	l.never.has(&k.Turn, k.Context.BlockAt(4))
	if len(c.never.member) != 0 {
		t.Error("the clone shares its list of tools")
	}
}

// A stored result is read back with the drawn share, a round later: a response
// of 100 tokens on the conversation's prefix, then the pair; one read returns
// 25,000 tokens at most, and is never stored.
func TestToolStorageReread(t *testing.T) {
	k, h := hosted()
	h.draws = []float64{0.49, 0.5, 0.2}
	l := layer(t, "tool-storage: {freeze: false, reread: {share: 0.5}}")
	k.parallel("Bash", 10000, 11000, 30000)
	if out := asked(t, l, k); out.Verdict != Done {
		t.Fatalf("%+v", out)
	}
	k.add(prompt.KindPrompt, 50)
	k.InputAt = k.Context.Len() - 1
	n := k.Context.Len()
	out := asked(t, l, k)
	for i, want := range []int32{10000, 25000} {
		in, ok := k.Intent()
		if out.Verdict != Pending || !ok || in.Source != "reread" || in.Own || in.SkipCacheWrite ||
			in.Instruction != 0 || in.Known == nil || in.Known.Output != 100 {
			t.Fatalf("read %d: %+v, %+v", i, out, in)
		}
		out = l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: *in.Known})
		use, result := k.Context.BlockAt(n+2*i), k.Context.BlockAt(n+2*i+1)
		if use.Kind != prompt.KindToolUse || use.Call != int32(-1-i) || use.Tokens != 100 || k.tool(use) != "Read" ||
			result.Kind != prompt.KindToolResult || result.Call != use.Call || result.Tokens != want {
			t.Errorf("read %d: %+v and %+v, want %d tokens", i, use, result, want)
		}
		if b := k.Boundary(); b.Kind != BoundaryStore || b.After-b.Before != int64(want)+100 || b.Uncounted != -int64(want)-100 {
			t.Errorf("read %d: boundary %+v", i, b)
		}
	}
	if out.Verdict != Done || h.counts[measures.RereadResults] != 2 || k.Context.Len() != n+4 {
		t.Errorf("%+v, %d read, %d entries more", out, h.counts[measures.RereadResults], k.Context.Len()-n)
	}
	if out := asked(t, l, k); out.Verdict != Declined || len(k.results()) != 5 || k.results()[4] != 25000 {
		t.Errorf("what was read back was stored again: %+v, %v", out, k.results())
	}
}

// Every request draws for itself: the first stored result of each takes the
// first draw.
func TestToolStorageDraws(t *testing.T) {
	k, h := hosted()
	h.draws = []float64{0, 0.99}
	l := layer(t, "tool-storage: {reread: {share: 0.5, after: 9}}").(*toolStorage)
	for range 2 {
		k.parallel("Bash", 10000, 10000)
		asked(t, l, k)
	}
	if len(l.reads.due) != 2 {
		t.Errorf("%d reads due, want one of each request", len(l.reads.due))
	}
}

// Behind a compaction nothing points to what was stored, so nothing is read.
func TestToolStorageForgetsBehindCompaction(t *testing.T) {
	k, h := hosted()
	h.draws = []float64{0}
	l := layer(t, "tool-storage: {reread: {share: 1}}")
	k.parallel("Bash", 10000)
	asked(t, l, k)
	l.(AfterCompaction).AfterCompaction(&k.Turn)
	if out := asked(t, l, k); out.Verdict != Declined {
		t.Errorf("%+v", out)
	}
}

// Whatever arrives: with the freeze nothing that was sent changes, no message
// keeps more than it may as long as something can go, and deciding a second
// time changes nothing.
func TestToolStorageProperties(t *testing.T) {
	l := layer(t, "tool-storage: {}").(*toolStorage)
	rapid.Check(t, func(rt *rapid.T) {
		k, _ := hosted()
		l.Reset()
		for range rapid.IntRange(1, 4).Draw(rt, "messages") {
			sent := k.sizes(0)
			k.parallel(rapid.SampledFrom([]string{"Bash", "Edit", "Read"}).Draw(rt, "tool"),
				rapid.SliceOfN(rapid.Int32Range(0, 20000), 1, 12).Draw(rt, "results")...)
			l.BeforeRequest(&k.Turn)
			if !slices.Equal(k.sizes(0)[:len(sent)], sent) {
				rt.Fatal("what was sent has changed")
			}
			var bytes int64
			most := int32(0)
			for i := k.InputAt; i < k.Context.Len(); i++ {
				e, b := k.Context.At(i), k.Context.BlockAt(i)
				if e.Form == prompt.FormRange {
					bytes += 2000
					continue
				}
				bytes += int64(b.Bytes)
				if k.tool(b) != "Read" && b.Bytes > 2240 { // smaller ones gain nothing
					most = max(most, b.Bytes)
				}
			}
			if bytes > 200000 && most > 0 {
				rt.Fatalf("%d bytes stay, one of %d could go", bytes, most)
			}
			k.Boundary()
			if l.BeforeRequest(&k.Turn); k.Boundary().Kind != boundaryNone {
				rt.Fatal("a second decision changed something")
			}
		}
	})
}

// The sizes that are nobody's: what stays of a result and around it, and how it
// is read back.
func TestToolStorageSizes(t *testing.T) {
	k, h := hosted()
	h.draws = []float64{0.99}
	l := layer(t, "tool-storage: {preview: 4000, pointer: 10, reread: {share: 1, after: 2, output: 50, limit: 500}}")
	k.parallel("Bash", 10000)
	asked(t, l, k)
	if got := k.results(); !slices.Equal(got, []int32{1000 + 10}) {
		t.Errorf("%v, want 4,000 bytes of 40,000 and 10 tokens", got)
	}
	if out := asked(t, l, k); out.Verdict != Declined {
		t.Errorf("one request later: %+v", out)
	}
	out := asked(t, l, k)
	in, _ := k.Intent()
	if out.Verdict != Pending || in.Known.Output != 50 {
		t.Fatalf("two requests later: %+v", out)
	}
	l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: *in.Known})
	if got := k.sizes(k.Context.Len() - 2); !slices.Equal(got, []int32{50, 500}) {
		t.Errorf("read back as %v", got)
	}
}

// What may not be given: a preview larger than a limit, and reads without a size.
func TestToolStorageRules(t *testing.T) {
	for text, ok := range map[string]bool{
		"{preview: 20000}": true, "{preview: 20001}": false, // Grep's limit
		"{limits: {tools: {X: 2000}}}": true, "{limits: {tools: {X: 1999}}}": false, "{limits: {tools: {X: 0}}}": false,
		"{reread: {share: 0.5, after: 0}}": false, "{reread: {share: 0, after: 0}}": true,
	} {
		err := builtin(t).AddPreset([]byte("name: test\nlayers:\n  - tool-storage: "+text+"\n"), "test.yaml")
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What stays whole: what would not become smaller, and a result whose call is not
// known, which is of no tool.
func TestToolStorageLeaves(t *testing.T) {
	k, h := hosted()
	small := k.parallel("Bash", 63)[0] // 3 of the preview and 60 around it
	small.Bytes = 40_000
	k.parallel("Bash", 10_000)[0].Call = 0
	for range 2 {
		if out := asked(t, layer(t, "tool-storage: {freeze: false}"), k); out.Verdict != Declined ||
			h.counts[measures.StoredResults] != 0 || previews(k) != 0 {
			t.Errorf("%+v, %d stored", out, h.counts[measures.StoredResults])
		}
	}
}

// A change of limits changes every limit, the limit of a message too; without a request from which
// on they hold they never do. What reads a result back is of no file.
func TestToolStorageRetune(t *testing.T) {
	for text, want := range map[string]int{
		"{retune: {request: 1, scale: 2}, limits: {bash: 100000}}": 0, // 400,000 for a message
		"{retune: {request: 0, scale: 2}, limits: {bash: 100000}}": 1,
	} {
		k, h := hosted()
		k.parallel("Bash", 12000, 12000, 12000, 12000, 12000)
		asked(t, layer(t, "tool-storage: "+text), k)
		if int(h.counts[measures.StoredResults]) != want {
			t.Errorf("%s: %d stored of 240,000 bytes, want %d", text, h.counts[measures.StoredResults], want)
		}
	}
	k, h := hosted()
	h.draws = []float64{0}
	l := layer(t, "tool-storage: {reread: {share: 1}}")
	k.parallel("Bash", 10000)
	asked(t, l, k)
	asked(t, l, k)
	in, _ := k.Intent()
	l.(IntentResult).IntentResult(&k.Turn, &prompt.Result{Answer: *in.Known})
	if b := k.Context.BlockAt(k.Context.Len() - 1); b.Object >= 0 {
		t.Errorf("read back as %+v", b)
	}
}
