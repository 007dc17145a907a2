package live

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// Layers that change results in place, as early as the samples allow, and what ends
// a strategy of them: a summary at 60,000 tokens.
const (
	storing   = "- tool-storage: {limits: {default: 6000, bash: 3000, grep: 3000}, never: [], preview: 800}\n"
	clearing  = "- microcompact: {trigger: {measure: client_tokens, fixed: 40000, reserve: null, reserve_output: false, output_cap: 0}, threshold: 10000, min_saved: 2000, persist: false}\n"
	saving    = "- microcompact: {trigger: {measure: client_tokens, fixed: 40000, reserve: null, reserve_output: false, output_cap: 0}, threshold: 10000, min_saved: 2000, persist: true}\n"
	timed     = "- time-microcompact: {gap_minutes: 5, keep_recent: 2}\n"
	deleting  = "- cached-microcompact: {}\n"
	leaving   = "- api-context: {clear_results: {input_tokens: 30000, clear_at_least: 1000, tools: []}, clear_uses: {enabled: false}}\n"
	summaries = "- full-compact: {trigger: {measure: client_tokens, fixed: 60000, reserve: null, reserve_output: false, output_cap: 0}, call: [fork]}\n"
)

// declared is what leaving asks of the server.
var declared = Clearing{Tools: []ClearTools{{InputTokens: 30_000, AtLeast: 1000, Keep: 3}}}

// inspector looks at each call beside what was sent for it, to a server that takes
// all, and what of it the server was taken to leave.
type inspector struct {
	*Summarizer
	shadow fakeShadow
	sent   *wire.Request
	look   func(c *prompt.Context, sent, left *wire.Request)
}

func (x *inspector) Compose(ctx context.Context, c *summarizer.Call) (prompt.Answer, error) {
	a, err := x.Summarizer.Compose(ctx, c)
	if c.Intent.Source == sourceCompact && err == nil {
		x.look(c.Context, x.sent, x.shadow.request)
	}
	return a, err
}

// inspect runs sessions, one after the other, under layers.
func inspect(t *testing.T, layers string, o Options, corpus *traces.Corpus, look func(c *prompt.Context, sent, left *wire.Request)) {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var body yaml.Node
	if err := yaml.Unmarshal([]byte("layers:\n"+layers+summaries), &body); err != nil {
		t.Fatal(err)
	}
	strategy, err := registry.Compose("mixed", body.Content[0], "test")
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	x := &inspector{look: look}
	o.Backend, o.Shadow, o.Texts = &asked{look: func(r *wire.Request) { x.sent = r }}, &x.shadow, readingOf(corpus)
	x.Summarizer = newLive(t, o)
	if _, err := (sim.Runner{Workers: 1}).Run(t.Context(), corpus.Sessions, []sim.Config{{
		Strategy: strategy, Summarizer: x, Prices: prices, Seed: 1, Verify: true,
		Server: func(traces.Cache) sim.Server { return promptcache.New(promptcache.Config{}) },
	}}); err != nil {
		t.Fatal(err)
	}
}

// resultsOf returns the texts of a request's tool results by the id of their call.
func resultsOf(r *wire.Request) map[string]string {
	texts := map[string]string{}
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if b.Kind == wire.KindToolResult {
				texts[b.ID] = b.Text
			}
		}
	}
	return texts
}

// Whatever layers change results in place, and in whatever mixture: what the server
// is taken to leave of a request has a placeholder for each result that the modelled
// context has cleared, and for no other, in about its size; what is sent has those
// that the server clears as the client has them, whole or as the preview of what is
// stored, and placeholders for those that the client has cleared itself.
func TestMixedClearing(t *testing.T) {
	corpus, err := agents.ReadFS(t.Context(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	defer corpus.Close()
	for _, tc := range []struct {
		name, layers                string
		client, server, both, store bool // results that the client, the server, or both in one call have cleared; previews that the server cleared
	}{
		{"none", "", false, false, false, false},
		{"stored", storing, false, false, false, false},
		{"microcompact", clearing, true, false, false, false},
		{"by time", timed, true, false, false, false},
		{"cache edits", deleting, false, false, false, false},
		{"the server", leaving, false, true, false, false},
		{"stored, the server", storing + leaving, false, true, false, true},
		{"by time, the server", timed + leaving, true, true, true, false},
		{"microcompact, the server", strings.ReplaceAll(clearing, "40000", "28000") + leaving, true, true, true, false},
		{"saved, the server", strings.ReplaceAll(saving, "40000", "28000") + leaving, true, true, true, false},
		{"cache edits, the server", deleting + leaving, false, true, false, false},
		{"all", storing + timed + clearing + deleting + leaving, true, true, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var o Options
			if strings.Contains(tc.layers, "api-context") {
				o.Clear = declared
			}
			var seen struct{ client, server, both, store bool }
			inspect(t, tc.layers, o, corpus, func(c *prompt.Context, sent, left *wire.Request) {
				client, server := false, false
				whole, stay := resultsOf(sent), resultsOf(left)
				var modelled, bytes int
				for i := c.Messages(); i < c.Len(); i++ {
					e, b := c.At(i), c.BlockAt(i)
					if e.Kind != prompt.KindToolResult {
						continue
					}
					id := callID(b, i)
					text, out := stay[id], whole[id]
					modelled, bytes = modelled+int(e.Tokens), bytes+len(text)
					placeholder := e.Form == prompt.FormCleared || e.Form == prompt.FormPointer
					if (text == clearedText) != (e.Form == prompt.FormCleared) || (text == storedPointer) != (e.Form == prompt.FormPointer) {
						t.Errorf("entry %d, %v of %d tokens: the server is taken to leave %q", i, e.Form, e.Tokens, cut(text, 60))
					}
					switch {
					case placeholder && e.Had > 0:
						server = true
						seen.store = seen.store || e.Had < b.Tokens
						if preview := strings.HasPrefix(out, storedOpening); out == clearedText || preview != (e.Had < b.Tokens) || len(out) < int(e.Had) {
							t.Errorf("entry %d, cleared by the server: of %d tokens %d bytes are sent, %q", i, e.Had, len(out), cut(out, 60))
						}
					case placeholder:
						client = true
						fallthrough
					default:
						if out != text {
							t.Errorf("entry %d, %v: sent %q, the server is taken to leave %q", i, e.Form, cut(out, 60), cut(text, 60))
						}
					}
				}
				seen.client, seen.server, seen.both = seen.client || client, seen.server || server, seen.both || client && server
				// A result has three bytes a token in the recordings; placeholders that weigh
				// 12 are 35 to 89 bytes.
				if least, most := 2*modelled, 5*modelled+1000; bytes < least || bytes > most {
					t.Errorf("results of %d tokens are %d bytes, want %d to %d", modelled, bytes, least, most)
				}
			})
			if want := (struct{ client, server, both, store bool }{tc.client, tc.server, tc.both, tc.store}); seen != want {
				t.Errorf("%s, want %s", fmt.Sprintf("%+v", seen), fmt.Sprintf("%+v", want))
			}
		})
	}
}
