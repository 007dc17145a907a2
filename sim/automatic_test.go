package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// codexSession is a session of Codex with n calls of a model that each bring a
// tool result of 1,000 tokens and answer with 200: the first has 18,300 tokens and
// read some of these, every later call what a way of serving gives it.
func codexSession(model, version string, n int, first int64, way exchange.Serving) *traces.Session {
	s := newSession("s").turns(n, 0, 1000).session()
	s.Agent, s.Models, s.Versions = facts.Codex, []string{model}, []string{version}
	rounds := s.Threads[0].Rounds
	total := int64(18300)
	for i := range rounds {
		read := first
		if i > 0 {
			end := total
			if way.Replies {
				end += 200
			}
			read = way.Floor(end, 0)
			total += 1200
		}
		rounds[i].Usage = prompt.Usage{Read: read, Uncached: total - read, Output: 200}
	}
	return s
}

// codexReads returns what the calls of a session are predicted to read.
func codexReads(t *testing.T, s *traces.Session, p *profile.Profile) []int64 {
	t.Helper()
	c := testConfig(t, "recorded")
	c.Profile = p
	c.Server = func(facts.Cache) Server {
		return promptcache.NewOpenAI(promptcache.OpenAIConfig{Serving: servers.Recorded})
	}
	var reads []int64
	c.Record = func(r *results.CallRecord) { reads = append(reads, r.Usage.Read) }
	if _, err := NewLoop(c).Run(s); err != nil {
		t.Fatal(err)
	}
	return reads
}

// codexProfile returns a profile with all rules for Codex and no figures.
func codexProfile() *profile.Profile {
	return &profile.Profile{Weight: 2, Codex: profile.Codex{
		Switches: profile.CodexSwitches{Served: true, Warm: true, Search: true, First: true},
	}}
}

// A thread's own reads outweigh what is known about its model once there are more reads than the
// prior counts for. gpt-5.4 is served by 512 tokens unless a profile
// says otherwise; here it reads responses too: 18,300 + 200 − 51 is 18,432 cut to
// a step, and 18,300 is 17,792 in steps of 512.
func TestThreadTellsHowItIsServed(t *testing.T) {
	replies := exchange.Serving{Step: 128, Lag: 51, Replies: true}
	s := codexSession("gpt-5.4", "0.118.0", 6, 2432, replies)
	got := codexReads(t, s, codexProfile())
	if got[1] != 17792 {
		t.Errorf("the second call reads %d, want 17,792 as its model is known to", got[1])
	}
	if want := servers.ServingOf(servers.Caller{Agent: "codex"}, "gpt-5.4").Floor(18300+2*1200, 0); got[3] != want {
		t.Errorf("behind two of its own calls it reads %d, want %d: they count as much as what is known", got[3], want)
	}
	for i := 4; i < 6; i++ {
		if want := s.Threads[0].Rounds[i].Usage.Read; got[i] != want {
			t.Errorf("call %d reads %d, want %d as those before it", i+1, got[i], want)
		}
	}
	p := codexProfile()
	p.Codex.Served = []profile.Served{{Agent: facts.Codex, Model: "gpt-5.4", Version: "0.118.0", Step: 128, Lag: 51, Replies: true}}
	if got := codexReads(t, s, p); got[1] != 18432 {
		t.Errorf("the second call reads %d, want 18,432 as the profile says", got[1])
	}
	p.Codex.Switches.Served = false
	if got := codexReads(t, s, p); got[5] != servers.Recorded("gpt-5.4").Floor(18300+4*1200, 0) {
		t.Errorf("the last call reads %d although the switch is off", got[5])
	}
}

// An automatic cache follows the model, whoever calls it: DeepSeek's reads the previous
// request and its response in steps of 128 tokens (api-docs.deepseek.com, context caching),
// also after two hours. 18,300 + 200 is 18,432 in such steps, without the response 18,176.
// The rows and first reads of Codex say nothing about another agent.
func TestOtherAgentsAreServedAsTheirModel(t *testing.T) {
	p := codexProfile()
	p.Codex.First = []profile.FirstRead{{Session: "another", Model: "deepseek-v4-flash", Read: 7000}}
	p.Codex.Served = []profile.Served{{Agent: facts.Codex, Model: "deepseek-v4-flash", Version: "1", Step: 512}}
	s := codexSession("deepseek-v4-flash", "1", 3, 640, servers.ServingOf(servers.Caller{Agent: "codex"}, "deepseek-v4-flash"))
	s.Agent = facts.Pi
	s.Threads[0].Rounds[2].Wait = 2 * 3600 * second
	got := codexReads(t, s, p)
	if got[0] != 0 || got[1] != 18432 || got[2] != (19500+200)/128*128 {
		t.Errorf("reads %d, want none, 18,432 and 19,584", got)
	}
}

// The first call reads what another session's first call has left. After a gap longer than the
// retention what the first call is recorded to have read is still there; without
// the rules nothing is.
func TestHeadIsWarm(t *testing.T) {
	s := codexSession("gpt-5.6-sol", "0.144.2", 3, 9984, servers.ServingOf(servers.Caller{Agent: "codex"}, "gpt-5.6-sol"))
	s.Threads[0].Rounds[2].Wait = 2 * 3600 * second
	p := codexProfile()
	p.Codex.First = []profile.FirstRead{{Session: "another", Model: "gpt-5.6-sol", Read: 7000}}
	if got := codexReads(t, s, p); got[0] != 7000 || got[2] != 9984 {
		t.Errorf("reads %d, want 7,000 of the first and 9,984 of the last call", got)
	}
	p.Codex.Switches = profile.CodexSwitches{}
	if got := codexReads(t, s, p); got[0] != 0 || got[2] != 0 {
		t.Errorf("reads %d without the rules, want none of the first and the last call", got)
	}
}

// What a search of the provider adds to a call is not read by the next one.
func TestWebSearchIsNotCached(t *testing.T) {
	s := codexSession("gpt-5.5", "0.142.5", 3, 2432, servers.ServingOf(servers.Caller{Agent: "codex"}, "gpt-5.5"))
	s.Tools = append(s.Tools, "web_search")
	r := &s.Threads[0].Rounds[1]
	s.Blocks[r.Input.From].Kind = prompt.KindUnseen // instead of the tool's result
	s.Blocks[r.Reply.To-1].Tool = uint16(len(s.Tools) - 1)
	c := codexProfile()
	got := codexReads(t, s, c)
	if want := servers.ServingOf(servers.Caller{Agent: "codex"}, "gpt-5.5").Floor(18300+200, 0); got[2] != want {
		t.Errorf("the call behind the search reads %d, want %d", got[2], want)
	}
	c.Codex.Switches.Search = false
	if got := codexReads(t, s, c); got[2] != servers.ServingOf(servers.Caller{Agent: "codex"}, "gpt-5.5").Floor(18300+1200, 0) {
		t.Errorf("the call behind the search reads %d without the rule", got[2])
	}
}

// Where the response of a call that searched is left out of the context, what the
// provider found changes its place: the next call reads what stands ahead of that place, and
// without the rule through it.
func TestWhatASearchFoundMoves(t *testing.T) {
	s := codexSession("gpt-5.5", "0.142.5", 4, 2432, servers.ServingOf(servers.Caller{Agent: "codex"}, "gpt-5.5"))
	s.Tools = append(s.Tools, "web_search")
	th := &s.Threads[0]
	r := &th.Rounds[1]
	s.Blocks[r.Input.From].Kind = prompt.KindUnseen // instead of the tool's result
	said := &s.Blocks[r.Reply.To-1]
	said.Tool = uint16(len(s.Tools) - 1)
	th.Events = append(th.Events, traces.Event{Kind: traces.EventForget, Round: 3, Cleared: []int32{r.Reply.To - 1}, Saved: said.Tokens})
	c := codexProfile()
	way := servers.ServingOf(servers.Caller{Agent: "codex"}, "gpt-5.5")
	if got, want := codexReads(t, s, c)[3], way.Floor(18300+200, 0); got != want {
		t.Errorf("the last call reads %d, want %d", got, want)
	}
	c.Codex.Switches.Search = false
	if got, want := codexReads(t, s, c)[3], way.Floor(18300+1200, 0); got != want {
		t.Errorf("the last call reads %d without the rule, want %d", got, want)
	}
}

// A call of Codex is expected to lose its rate × the part that a loss takes of what
// it reads: gpt-5.5 costs $5 a million of input and $0.50 to read.
func TestExpectedLossOfCodex(t *testing.T) {
	s := codexSession("gpt-5.5", "0.142.5", 2, 0, servers.ServingOf(servers.Caller{Agent: "codex"}, "gpt-5.5"))
	p := codexProfile()
	rows := []profile.GapShare{{Seconds: 86400, Kept: 0.75, Estimate: profile.Estimate{Value: 0.2}}}
	p.Losses.Automatic = profile.Places{Prompt: rows, ToolResult: rows}
	c := testConfig(t, "none")
	c.Profile = p
	c.Server = func(facts.Cache) Server {
		return promptcache.NewOpenAI(promptcache.OpenAIConfig{Serving: servers.Recorded})
	}
	row, err := NewLoop(c).Run(s)
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.2 * 0.25 * 17792 * 4.5e-6; row.Figures[measures.ExpectedLossUSD] < want*0.999 || row.Figures[measures.ExpectedLossUSD] > want*1.001 {
		t.Errorf("expected loss $%.6f, want $%.6f", row.Figures[measures.ExpectedLossUSD], want)
	}
	// Of another agent's 3 losses, which count for 1.5, 30,000 tokens were due, and 70,000 missing: (0.5 + 1.5·7/3)/2 = 2.
	p.LearnLosses([]profile.Shown{{Agent: "other", Provider: "other", Session: "other", Early: 15, EarlyTokens: 600_000, Missing: 70_000}})
	l := NewLoop(c)
	for range 2 { // a loop that is used again begins anew
		scaled, err := l.Run(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := scaled.Figures[measures.ExpectedLossUSD] / row.Figures[measures.ExpectedLossUSD]; got < 1.999 || got > 2.001 {
			t.Errorf("expected loss times %g by another session's, want 2", got)
		}
	}
}

// As many reads of its own as the prior counts for do not outweigh what is known of a model.
func TestAsManyReadsAsThePriorCountsFor(t *testing.T) {
	s := codexSession("gpt-5.2", "0.118.0", 6, 2432, exchange.Serving{Step: 512, Offset: 384})
	got := codexReads(t, s, codexProfile())
	known := servers.ServingOf(servers.Caller{Agent: "codex"}, "gpt-5.2")
	if want := known.Floor(18300+2*1200, 0); got[3] != want {
		t.Errorf("behind two of its own calls it reads %d, want %d", got[3], want)
	}
	if want := s.Threads[0].Rounds[5].Usage.Read; got[5] != want || known.Floor(18300+4*1200, 0) == want {
		t.Errorf("behind four of them it reads %d, want %d", got[5], want)
	}
}

// Behind a call that read nothing a call to Google is expected to lose 1.98 times the average, behind any other 0.85 times.
func TestExpectedLossBehindALoss(t *testing.T) {
	const gemini = "gemini-3.1-pro-preview"
	loss := func(read int64) float64 {
		s := codexSession(gemini, "", 2, read, servers.ServingOf(servers.Caller{}, gemini))
		s.Agent = facts.OpenCode
		p := codexProfile()
		rows := []profile.GapShare{{Seconds: 86400, Estimate: profile.Estimate{Value: 0.2}}}
		p.Losses.Automatic = profile.Places{Prompt: rows, ToolResult: rows}
		c := testConfig(t, "none")
		c.Profile = p
		c.Server = func(facts.Cache) Server {
			return promptcache.NewOpenAI(promptcache.OpenAIConfig{Serving: servers.Recorded})
		}
		row, err := NewLoop(c).Run(s)
		if err != nil {
			t.Fatal(err)
		}
		return row.Figures[measures.ExpectedLossUSD]
	}
	if nothing, some := loss(0), loss(7_905); some <= 0 || nothing/some < 1.98/0.85*0.999 || nothing/some > 1.98/0.85*1.001 {
		t.Errorf("expected losses $%.6f behind nothing, $%.6f behind a read: want %.3f times as much", nothing, some, 1.98/0.85)
	}
}
