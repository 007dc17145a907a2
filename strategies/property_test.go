package strategies

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"pgregory.net/rapid"
)

// Whatever was read and run: a clearing takes eligible results of more than the
// minimum, never one of the newest three, and a second one right behind it
// finds nothing that the first would not have taken.
func TestMicrocompactProperties(t *testing.T) {
	l := layer(t, always)
	tools := []string{"Read", "Bash", "Task", "mcp__db__query", "Edit"}
	rapid.Check(t, func(rt *rapid.T) {
		l.Reset() // for another session
		hook := l.(BeforeRequest)
		k := newTalk()
		for range rapid.IntRange(0, 12).Draw(rt, "rounds") {
			k.round(rapid.SampledFrom(tools).Draw(rt, "tool"), "", rapid.Int32Range(0, 30000).Draw(rt, "tokens"))
		}
		before := k.sizes(0)
		out := hook.BeforeRequest(&k.Turn)
		b := k.Boundary()
		var saved int64
		eligible := 0
		for i := k.Context.Len() - 1; i >= 0; i-- {
			e, block := k.Context.At(i), k.Context.BlockAt(i)
			takes := block.Tool > 0 && block.Flags&prompt.FlagMCP == 0 && k.tool(block) != "Task"
			if e.Kind == prompt.KindToolResult && takes {
				eligible++
			}
			if e.Form == prompt.FormVerbatim {
				continue
			}
			saved += int64(before[i])
			if e.Kind != prompt.KindToolResult || !takes || eligible <= 3 || e.Tokens != 12 {
				rt.Fatalf("entry %d was cleared: %v, %d-th eligible from the end, %d tokens", i, e.Kind, eligible, e.Tokens)
			}
		}
		if (out.Verdict == Done) != (saved >= 20000 && b.Cleared > 0) || out.Verdict != Done && saved > 0 {
			rt.Fatalf("%+v with %d tokens cleared", out, saved)
		}
		if out.Verdict == Done {
			if again := hook.BeforeRequest(&k.Turn); again.Verdict == Done {
				rt.Fatalf("a second clearing took more: %+v", k.Boundary())
			}
		}
	})
}

// Declining costs nothing: no hook that does not act allocates.
func TestDecliningAllocatesNothing(t *testing.T) {
	k := newTalk()
	for range 100 {
		k.round("Read", "", 100)
	}
	for _, text := range []string{
		always, // looks at every result and finds too little
		"microcompact: {trigger: {fixed: 190000}}",
		"full-compact: {trigger: {fixed: 190000}}",
		"truncate-oldest: {trigger: {fixed: 190000}}",
	} {
		l := layer(t, text).(BeforeRequest)
		if n := testing.AllocsPerRun(100, func() { l.BeforeRequest(&k.Turn) }); n != 0 {
			t.Errorf("%s: %g allocations a call", text, n)
		}
	}
}

// A preset is read or refused, whatever it says; one that is read can be
// written and read back.
func FuzzAddPreset(f *testing.F) {
	r, err := Builtin()
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range r.Presets() {
		s, _ := r.Strategy(name)
		text, err := s.YAML()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("name: x\nlayers:\n  - first_of: [recorded: {}, first_of: []]\nexclusive: [[a]]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		own := &Registry{layers: r.layers}
		if own.AddPreset(text, "fuzz.yaml") != nil {
			return
		}
		s, err := own.Strategy(own.Presets()[0])
		if err != nil {
			t.Fatal(err)
		}
		written, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again := &Registry{layers: r.layers}
		if err := again.AddPreset(written, "again.yaml"); err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
	})
}
