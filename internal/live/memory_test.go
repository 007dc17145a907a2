package live

import (
	"testing"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// noted answers every call with the same session memory.
func noted(int, *wire.Request) (*wire.Reply, error) {
	r := good()
	r.Text = "<summary># Session Title\n/src/a.go</summary>"
	return r, nil
}

// A memory that an update leaves as it was stands for what it was made from once:
// the chain ends at the first.
func TestDriftUnchanged(t *testing.T) {
	s := conversation("alpha")
	l := newLive(t, Options{Backend: &fakeServer{answer: noted}, Texts: library(s), Fidelity: &fakeFidelity{}})
	var base prompt.Digest
	for n := range 3 {
		c := s.call()
		c.Intent.Source, c.Intent.Base, c.Intent.Number = sourceSessionMemory, base, int32(n+1)
		a := compose(t, l, c)
		if a.Digest == base {
			t.Errorf("memory %d has the digest of the one it was made from", n+1)
		}
		base = a.Digest
	}
	for n, c := range l.opts.Shared.Report().Calls {
		if len(c.Drift) != n {
			t.Errorf("memory %d is held against %d that it was made from, want %d: %v", n+1, len(c.Drift), n, c.Drift)
		}
	}
}

// Equal summaries of two sessions keep what each stood for.
func TestEqualTexts(t *testing.T) {
	alpha, beta := conversation("alpha"), newScript("beta")
	beta.say(prompt.KindPrompt, "Please look at /src/a.go and nothing else.")
	beta.fill()
	l := newLive(t, Options{Backend: &fakeServer{answer: noted}, Texts: library(alpha, beta), Fidelity: &fakeFidelity{}})
	a, b := compose(t, l, alpha.call()), compose(t, l, beta.call())
	first, _ := l.memory.find(a.Digest)
	second, _ := l.memory.find(b.Digest)
	if first.text != second.text || len(first.entities) != 8 || len(second.entities) != 1 {
		t.Errorf("%d and %d entities, want 8 and 1", len(first.entities), len(second.entities))
	}
}

// A summary that stays ahead of the part that is summarised is not what the new
// one was made from.
func TestFromPart(t *testing.T) {
	s := conversation("alpha")
	l := newLive(t, Options{Backend: &fakeServer{}, Texts: library(s), Fidelity: &fakeFidelity{}})
	first := compose(t, l, s.call())
	s.compactInto(&first)
	s.context.Add(prompt.Block{Kind: prompt.KindPrompt, Tokens: 40, Object: -1, Digest: prompt.DigestString("go on")})
	c := s.call()
	p := l.opts.plan(c)
	if got := l.from(c, &p); got != first.Digest {
		t.Error("a summary of all is not made from the summary there")
	}
	c.Intent.Part, c.Intent.Summarised = prompt.PartFrom, 40
	p = l.opts.plan(c)
	if got := l.from(c, &p); !got.IsZero() {
		t.Error("a summary of the later part is made from the summary that stays ahead of it")
	}
}

// A run whose store keeps no words sends those it was told, in another cell too;
// a replay has filler, and both have one digest.
func TestWordsKept(t *testing.T) {
	k := [16]byte{1}
	shared := &Shared{}
	shared.say(k, &reading{text: "the words", analysis: "thoughts"})
	var m memory
	said := shared.said(k)
	d := m.keep(k, written{text: "a filler.", tokens: 2, output: 4, lost: true, words: said.text, thoughts: said.analysis})
	if w, _ := m.find(d); w.message(2+usualHeader) != "the words" {
		t.Errorf("%q is sent", w.message(2+usualHeader))
	}
	if w, _ := m.find(d); w.message(4+usualHeader) != "Analysis:\nthoughts\n\nSummary:\nthe words" {
		t.Errorf("%q is sent with the analysis", w.message(4+usualHeader))
	}
	if replayed := m.keep(k, written{text: "a filler.", lost: true}); replayed != d {
		t.Error("a replay has another digest")
	}
	if other := m.keep([16]byte{2}, written{text: "a filler.", lost: true}); other == d {
		t.Error("another call has the same digest")
	}
}

// An update is estimated with the memory it writes again: that which is known, else
// what the instruction holds, never more than a memory may have.
func TestEstimateMemory(t *testing.T) {
	s := conversation("alpha")
	l := newLive(t, Options{Backend: &fakeServer{}, Texts: library(s)})
	c := s.call()
	c.Intent.Source = sourceSessionMemory
	c.Intent.Known, c.Intent.Sized = &prompt.Answer{Output: 400}, true
	base := l.memory.keep([16]byte{1}, written{text: "notes", tokens: 9000})
	for _, tc := range []struct {
		instruction int32
		base        prompt.Digest
		want        int64
	}{{100, prompt.Digest{}, 400}, {5000, prompt.Digest{}, 5000}, {5000, base, 9000}, {30_000, prompt.Digest{}, 12_000}} {
		c.Intent.Instruction, c.Intent.Base = tc.instruction, tc.base
		if e := l.Estimate(c); e.Usage.Output != tc.want {
			t.Errorf("instruction of %d tokens: %d of output, want %d", tc.instruction, e.Usage.Output, tc.want)
		}
	}
}

// A call that two cells make is one call, as the second gets what is stored of
// the first.
func TestEstimateOnce(t *testing.T) {
	shared := &Shared{}
	for range 2 {
		l := newLive(t, Options{Dry: true, Calls: &shelf{}, Prices: dollars, Shared: shared})
		compose(t, l, conversation("alpha").call())
	}
	if n := shared.Report().Estimate.Calls; n != 1 {
		t.Errorf("%d calls are estimated, want 1", n)
	}
}

// Of a result that was cleared or put to disk the entities are the tool's own
// words, not those that stand for it.
func TestCoverClearedResult(t *testing.T) {
	// Two of its seven tokens are seven of its 27 bytes.
	for form, want := range map[prompt.Form]string{prompt.FormCleared: "", prompt.FormPointer: "", prompt.FormRange: "package"} {
		s := conversation("alpha")
		const at = 6 // the file that was read
		s.session.Blocks[at].Flags |= prompt.FlagError
		s.context.SetForm(at, form, 2, prompt.CauseEdit)
		kept := &fakeFidelity{}
		l := newLive(t, Options{Backend: &fakeServer{}, Texts: library(s), Fidelity: kept})
		compose(t, l, s.call())
		found := false
		for _, p := range kept.span {
			if p.Failed {
				found = true
				if p.Kind != prompt.KindToolResult || p.Text != want {
					t.Errorf("form %d: the failed %v is told as %q, want %q", form, p.Kind, p.Text, want)
				}
			}
		}
		if !found {
			t.Errorf("form %d: no failed result in %+v", form, kept.span)
		}
	}
}
