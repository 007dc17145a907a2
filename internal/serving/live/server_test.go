package live

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/serving/summarizer"
	"github.com/compactsim/compactsim/sim/prompt"
)

// compacting answers with a compaction and nothing else.
func compacting() *fakeServer {
	return &fakeServer{answer: func(int, *Request) (*Reply, error) {
		return &Reply{
			StopReason: "compaction", Compaction: "It stands well.", Attempts: 1,
			Passes: 1, Compacted: 6, Usage: prompt.Usage{Read: 900, Uncached: 100, Output: 6},
		}, nil
	}}
}

// sent returns what a call sends under options; edit, if any, changes the call.
func sent(t *testing.T, o Options, edit func(*script, *summarizer.Call)) *Request {
	t.Helper()
	s := conversation("alpha")
	c := s.call()
	if edit != nil {
		edit(s, c)
	}
	server := compacting()
	o.Backend, o.Texts = server, library(s)
	compose(t, newLive(t, o), c)
	return server.last()
}

func byServer(_ *script, c *summarizer.Call) { c.Intent.Way = wayServer }

// The provider's compaction on demand: a field of its own, its beta, and no
// instruction of ours at the end of the conversation.
func TestComposeOnDemand(t *testing.T) {
	o := Options{}
	s := conversation("alpha")
	c := s.call()
	s.context.Truncate(s.context.Len()-1, prompt.CauseNone)
	c.Intent.Way, c.Intent.Instruction = wayServer, 0
	server := compacting()
	o.Backend, o.Texts = server, library(s)
	a := compose(t, newLive(t, o), c)
	r := server.last()
	if d := cmp.Diff(&Compaction{Type: "summarize"}, r.Compaction); d != "" {
		t.Errorf("compaction %s", d)
	}
	last := r.Messages[len(r.Messages)-1]
	if text := last.Content[len(last.Content)-1].words(); text != "Good. Now the logout." {
		t.Errorf("the request ends with %q", text)
	}
	if a.Summary != 6 || a.Output != 6 || a.Measured.Usage != (prompt.Usage{Read: 900, Uncached: 100, Output: 6}) || a.Measured.Iterations != 1 {
		t.Errorf("answer %+v measured %+v", a, a.Measured)
	}
}

// A compaction on demand over HTTP gives a summary, and the request has its beta.
func TestServerOverHTTP(t *testing.T) {
	server, web := serve(t)
	s := conversation("alpha")
	call := s.call()
	call.Intent.Way = wayServer
	l := newLive(t, Options{Backend: web, Texts: library(s)})
	if a := compose(t, l, call); a.Failed != "" || a.Summary < 100 {
		t.Errorf("%+v", a)
	}
	if got := server.Requests()[0].Header.Get("Anthropic-Beta"); got != "compact-2026-09-04" {
		t.Errorf("beta %q", got)
	}
}

// Instructions of the client's own are sent where the strategy has some, and where
// the user wants something of summaries; else the provider's own hold.
func TestInstructionsOfCompaction(t *testing.T) {
	const own = "Summarise this conversation so that the work can go on"
	for _, tc := range []struct {
		what   string
		o      Options
		tokens int32
		want   []string
	}{
		{"neither", Options{}, 0, nil},
		{"the strategy", Options{}, 300, []string{own}},
		{"the user", Options{Settings: Settings{Instructions: "Briefly."}}, 0, []string{own, "Briefly."}},
	} {
		r := sent(t, tc.o, func(s *script, c *summarizer.Call) { c.Intent.Way, c.Intent.Instruction = wayServer, tc.tokens })
		got := r.Compaction.Instructions
		if (got == "") != (len(tc.want) == 0) {
			t.Errorf("%s: %q", tc.what, got)
		}
		for _, w := range tc.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", tc.what, got, w)
			}
		}
	}
}

// What the modelled server has cleared goes out as the placeholder that the context has, and nothing declares edits.
func TestClearedByTheServer(t *testing.T) {
	r := sent(t, Options{}, func(s *script, _ *summarizer.Call) { s.context.LeaveOut(6, 9) })
	if got := r.Messages[2].Content[0]; got.Type != typeResult || got.words() != clearedText {
		t.Errorf("sent %+v", got)
	}
}

// recall is the call of a script that has its instruction already.
func (s *script) recall() *summarizer.Call {
	s.context.Truncate(s.context.Len()-1, prompt.CauseNone)
	return s.call()
}

// A server that offers no compaction is not asked for one: the call fails at once,
// for the strategy to go on, and is not estimated.
func TestNoCompactionOffered(t *testing.T) {
	server := &fakeServer{}
	s := conversation("alpha")
	l := newLive(t, Options{Backend: server, Texts: library(s), Settings: Settings{Provider: OpenAI}})
	c := s.call()
	c.Intent.Way = wayServer
	if a := compose(t, l, c); a.Failed != prompt.FailAPI || len(server.requests) != 0 {
		t.Errorf("%d requests, %+v", len(server.requests), a)
	}
	if r := l.opts.Shared.Report(); r.Failures[whyNotOffered] != 1 || r.Made != 0 {
		t.Errorf("report %+v", r)
	}
	c = s.recall()
	if a := compose(t, l, c); a.Failed != "" || len(server.requests) != 1 {
		t.Errorf("the next way: %d requests, %+v", len(server.requests), a)
	}
}
