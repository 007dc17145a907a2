package promptcache_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/servers"
)

// TestOpenAIScripts runs testdata/openai with the commands of TestScripts:
//
//	new [start] [retention=D] [overflow=P] [model=NAME] [writes]
//	    model names the model 0 of requests; writes bills what is not read as written
//	begin|call NAME … [shared=N] [unheld=N] [replies]
//	    shared and unheld are the request's; replies serves it as gpt-5.4 served client 0.118
func TestOpenAIScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/openai", func(t *testing.T, path string) {
		s := openAIScript{cache: promptcache.NewOpenAI(promptcache.OpenAIConfig{Serving: codexServing})}
		s.contexts = map[string]*conversation{}
		datadriven.RunTest(t, path, s.run)
	})
}

type openAIScript struct {
	script
	cache *promptcache.OpenAI
}

func (s *openAIScript) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "new":
		return s.renew(t, d)
	case "begin", "call":
		r := s.request(t, d)
		r.MinTokens = 0
		r.Shared, r.Unheld = count(t, d, "shared"), count(t, d, "unheld")
		if d.HasArg("replies") {
			r.Serving = exchange.Serving{Step: 128, Lag: 51, Replies: true, Retention: int64(10 * time.Minute)}
		}
		at := duration(t, d, "t")
		o := s.cache.Begin(at, &r)
		if d.Cmd == "begin" {
			return describe(&r, &o, true)
		}
		s.cache.FirstToken(at, o.Ticket)
		s.cache.End(at, o.Ticket, 0)
		return describe(&r, &o, false)
	case "first", "end":
		ticket := int32(atoi(t, d, d.CmdArgs[0].Key))
		if d.Cmd == "first" {
			s.cache.FirstToken(duration(t, d, "t"), ticket)
		} else {
			s.cache.End(duration(t, d, "t"), ticket, 0)
		}
		return "ok"
	}
	return s.script.run(t, d)
}

// count returns a number of tokens, 0 without the argument.
func count(t *testing.T, d *datadriven.TestData, arg string) int32 {
	n := 0
	if d.HasArg(arg) {
		d.ScanArgs(t, arg, &n)
	}
	return int32(n)
}

func (s *openAIScript) renew(t *testing.T, d *datadriven.TestData) string {
	c := promptcache.OpenAIConfig{Serving: codexServing}
	if d.HasArg("retention") {
		c.Retention = duration(t, d, "retention")
	}
	if d.HasArg("start") {
		c.Anchor = promptcache.AnchorStart
	}
	if d.HasArg("overflow") {
		c.OverflowPerCall = 0.5
	}
	if d.HasArg("writes") {
		c.BillWrites = func(string) bool { return true }
	}
	if err := c.Validate(); err != nil {
		return err.Error()
	}
	s.cache = promptcache.NewOpenAI(c)
	if d.HasArg("model") {
		var name string
		d.ScanArgs(t, "model", &name)
		s.cache.NameModel(0, name)
	}
	clear(s.contexts)
	return "ok"
}

func TestOpenAIValidate(t *testing.T) {
	for want, c := range map[string]promptcache.OpenAIConfig{
		"promptcache: minimum of -1 tokens is negative":         {MinTokens: -1},
		"promptcache: negative retention -1":                    {Retention: -1},
		"promptcache: unknown retention anchor 2":               {Anchor: 2},
		"promptcache: overflow probability 1.5 is not in [0,1]": {OverflowPerCall: 1.5},
	} {
		if err := c.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := (promptcache.OpenAIConfig{}).Validate(); err != nil {
		t.Error(err)
	}
}

// A steady conversation allocates nothing once the storage is there.
func TestOpenAISteadyAllocations(t *testing.T) {
	c, replay := steady(100)
	replay()
	if n := testing.AllocsPerRun(5, func() { c.Reset(); replay() }); n != 0 {
		t.Errorf("%v allocations for a replay of 100 requests, want 0", n)
	}
}

// steady returns a cache and a replay of a conversation of n requests that
// grows by five blocks each.
func steady(n int) (*promptcache.OpenAI, func()) {
	c := promptcache.NewOpenAI(promptcache.OpenAIConfig{Serving: codexServing})
	var arena prompt.Arena
	var ctx prompt.Context
	ctx.Reset(nil, &arena)
	for i := range 5 * n {
		ctx.Add(prompt.Block{Kind: prompt.KindToolResult, Tokens: 300, Digest: prompt.Digest{Hi: 1, Lo: uint64(i)}})
	}
	entries := ctx.Seal()
	return c, func() {
		for i := range n {
			r := exchange.Request{Entries: entries[:5*(i+1)], Change: prompt.NoChange}
			o := c.Begin(int64(2*i), &r)
			c.FirstToken(int64(2*i+1), o.Ticket)
			c.End(int64(2*i+1), o.Ticket, 100)
		}
	}
}

// BenchmarkOpenAI serves conversations that grow by five blocks a request: the
// time per request must not depend on their length.
func BenchmarkOpenAI(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(map[int]string{100: "calls=100", 1000: "calls=1000", 10000: "calls=10000"}[n], func(b *testing.B) {
			c, replay := steady(n)
			b.ReportAllocs()
			for b.Loop() {
				c.Reset()
				replay()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/request")
		})
	}
}

// codexServing is how Codex's requests for a model were served.
func codexServing(model string) exchange.Serving {
	return servers.ServingOf(servers.Caller{Agent: "codex"}, model)
}
