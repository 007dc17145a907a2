package live

import (
	"testing"

	"github.com/compactsim/compactsim/internal/serving/live/cassette"
	"github.com/compactsim/compactsim/internal/serving/live/wire"
	"github.com/compactsim/compactsim/internal/serving/summarizer"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Whatever a request depends on is part of what identifies a call.
func TestIdentity(t *testing.T) {
	name := func(o Options, edit func(*script, *summarizer.Call)) cassette.Key {
		s := conversation("alpha")
		c := s.call()
		if edit != nil {
			edit(s, c)
		}
		o.Calls = &shelf{}
		l := newLive(t, o)
		p := l.opts.plan(c)
		call := l.about(c, &p)
		return call.Key()
	}
	base := name(Options{}, nil)
	if name(Options{}, nil) != base {
		t.Fatal("the same call has two names")
	}
	seen := map[cassette.Key]string{base: "nothing"}
	for what, got := range map[string]cassette.Key{
		"another model":        name(Options{Settings: Settings{Model: "claude-haiku-4-5"}}, nil),
		"output":               name(Options{Settings: Settings{MaxOutput: 100}}, nil),
		"instructions":         name(Options{Settings: Settings{Instructions: "Briefly."}}, nil),
		"system prompt":        name(Options{System: []wire.Block{{Text: "x"}}}, nil),
		"tools":                name(Options{Tools: []wire.Tool{{Name: "x"}}}, nil),
		"betas":                name(Options{Settings: Settings{Betas: []string{"x"}}}, nil),
		"a compaction":         name(Options{}, byServer),
		"way":                  name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Way = "streaming" }),
		"source":               name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Source = sourceSessionMemory }),
		"prefix":               name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Own = true }),
		"repetition":           name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Ordinal = 1 }),
		"markers":              name(Options{}, func(_ *script, c *summarizer.Call) { c.Markers[1].TTL = prompt.TTL1h }),
		"part":                 name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Part = prompt.PartUpTo }),
		"pivot":                name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Part, c.Intent.Summarised = prompt.PartFrom, 5 }),
		"base":                 name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Base = prompt.DigestString("notes") }),
		"provider":             name(Options{Settings: Settings{Provider: "openai"}}, nil),
		"a bound of the model": name(Options{MaxOutputOf: func(string) int { return 8192 }}, nil),
		"tools of the session": name(Options{}, func(s *script, _ *summarizer.Call) { s.session.Tools = []string{"", "Read", "Shell"} }),
		"a cleared result": name(Options{}, func(s *script, _ *summarizer.Call) {
			s.context.SetForm(8, prompt.FormCleared, 9, prompt.CauseEdit)
		}),
	} {
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s do not tell calls apart", what, other)
		}
		seen[got] = what
	}
}

// The keys of calls stay what they are: what is stored, and was paid for, is found.
func TestKeysStay(t *testing.T) {
	for want, o := range map[string]Options{
		"5320fb876a6ce9ffea445dba700e8896": {},
		"efd80af097e06e41ac5e0da79566c8e6": {Settings: Settings{Instructions: "Briefly.", Betas: []string{"b"}}, System: []wire.Block{{Kind: wire.KindText, Text: "x"}}},
	} {
		c := conversation("alpha").call()
		o.Calls = &shelf{}
		l := newLive(t, o)
		p := l.opts.plan(c)
		call := l.about(c, &p)
		if got := call.Key().String(); got != want {
			t.Errorf("key %s, want %s", got, want)
		}
	}
}
