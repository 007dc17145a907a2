package live

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/sim/summarizer/cassette"
	"github.com/compactsim/compactsim/sim/summarizer/wire"
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
	for what, got := range map[string]cassette.Key{
		"another model":        name(Options{Model: "claude-haiku-4-5"}, nil),
		"output":               name(Options{MaxOutput: 100}, nil),
		"instructions":         name(Options{Instructions: "Briefly."}, nil),
		"system prompt":        name(Options{System: []wire.Block{{Text: "x"}}}, nil),
		"tools":                name(Options{Tools: []wire.Tool{{Name: "x"}}}, nil),
		"betas":                name(Options{Betas: []string{"x"}}, nil),
		"server":               name(Options{Server: Server{Instructions: "x"}}, nil),
		"way":                  name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Way = "streaming" }),
		"source":               name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Source = sourceSessionMemory }),
		"prefix":               name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Prefix = prompt.PrefixOwn }),
		"repetition":           name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Ordinal = 1 }),
		"markers":              name(Options{}, func(_ *script, c *summarizer.Call) { c.Markers[1].TTL = prompt.TTL1h }),
		"part":                 name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Part = prompt.PartUpTo }),
		"pivot":                name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Part, c.Intent.Summarised = prompt.PartFrom, 5 }),
		"base":                 name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Base = prompt.DigestString("notes") }),
		"provider":             name(Options{Provider: "openai"}, nil),
		"a bound of the model": name(Options{MaxOutputOf: func(string) int { return 8192 }}, nil),
		"tools of the session": name(Options{}, func(s *script, _ *summarizer.Call) { s.session.Tools = []string{"", "Read", "Shell"} }),
		"a cleared result": name(Options{}, func(s *script, _ *summarizer.Call) {
			s.context.SetForm(8, prompt.FormCleared, 9, prompt.CauseEdit)
		}),
	} {
		if got == base {
			t.Errorf("%s does not tell calls apart", what)
		}
	}
}
