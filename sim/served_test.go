package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Google reports its blocks by a ratio that drifts: after a read of 0.95 for each of its own tokens the next is predicted with that
// ratio. Requests are 18,300 tokens and grow by 1,200: two blocks of 8,192 at 0.95 are 15,564, at 0.965 15,810.
func TestGooglesRatioIsThatOfTheLastRead(t *testing.T) {
	way := servers.ServingOf(servers.Caller{Agent: "pi"}, "gemini-3-flash")
	way.Ratio = 0.95
	s := codexSession("gemini-3-flash", "", 4, 0, way)
	s.Agent = facts.Pi
	got := codexReads(t, s, codexProfile())
	if got[1] != 15_810 || got[2] != 15_564 || got[3] != 15_564 {
		t.Errorf("reads %d, want 15,810 by the ratio that threads begin with, then 15,564 by their own", got)
	}
}

// A lifetime is the model's, whoever calls and whatever grid its reads show: pi reads gpt-5.4 in steps of 128, responses too, and
// still after half an hour.
func TestLifetimeIsTheModels(t *testing.T) {
	s := codexSession("gpt-5.4", "", 6, 0, exchange.Serving{Step: 128, Lag: 51, Replies: true})
	s.Agent = facts.Pi
	s.Threads[0].Rounds[5].Wait = 1800 * second
	got := codexReads(t, s, codexProfile())
	if want := s.Threads[0].Rounds[5].Usage.Read; got[5] != want {
		t.Errorf("after half an hour %d tokens are read, want %d", got[5], want)
	}
}

// gpt-5.6-luna forgets three minutes after the start of a request: a reply of 100 s and a pause of 100 s is too long, where
// gpt-5.6-sol, which counts from the end, still reads. 18,300 less 64 is 17,920 in 512 modulo 1,024.
func TestLifetimeFromTheStart(t *testing.T) {
	for model, want := range map[string]int64{"gpt-5.6-luna": 0, "gpt-5.6-sol": 17_920} {
		s := codexSession(model, "", 2, 0, exchange.Serving{Step: 128})
		s.Agent = facts.OpenCode
		s.Threads[0].Rounds[0].Stream = 100 * second
		s.Threads[0].Rounds[1].Wait = 100 * second
		if got := codexReads(t, s, codexProfile()); got[1] != want {
			t.Errorf("%s reads %d, want %d", model, got[1], want)
		}
	}
}

// At a person's prompt models through gpt-5.5 read what is ahead of the reasoning of the turn before: with reasoning in the first
// response 18,300 tokens, or 18,176 in steps of 128 and 72 before the end, and without the rule all 19,500 and 200 of the response,
// 19,584. Amid the turn it reads the response too: of 18,500 tokens 18,304.
func TestReasoningEndsThePrefixAtAPrompt(t *testing.T) {
	session := func() *traces.Session {
		s := codexSession("gpt-5.4", "", 3, 0, exchange.Serving{Step: 128})
		s.Agent = facts.Pi
		rounds := s.Threads[0].Rounds
		s.Blocks[rounds[0].Reply.From].Kind = prompt.KindThinking
		rounds[2].Trigger = traces.TriggerPrompt
		return s
	}
	p := codexProfile()
	if got := codexReads(t, session(), p); got[2] != 19_584 {
		t.Errorf("without the rule %d are read, want 19,584", got[2])
	}
	p.Codex.Switches.Reasoning = true
	if got := codexReads(t, session(), p); got[1] != 18_304 || got[2] != 18_176 {
		t.Errorf("reads %d, want 18,304 amid the turn and 18,176 at the prompt", got)
	}
	s := session()
	s.Models[0] = "gpt-5.6-sol"
	if got := codexReads(t, s, p); got[2] <= 18_432 {
		t.Errorf("gpt-5.6-sol, which keeps reasoning, reads %d", got[2])
	}
}

// What a thread's calls of one model show says nothing about another's: a session that goes to Google and back to OpenAI is
// predicted by the grids of both.
func TestGridsAreThoseOfEachModel(t *testing.T) {
	openai := exchange.Serving{Step: 512, Offset: 384}
	s := codexSession("gpt-5.2", "", 10, 0, openai)
	s.Models = append(s.Models, "gemini-3-flash")
	s.Agent = facts.Pi
	google := servers.ServingOf(servers.Caller{Agent: "pi"}, "gemini-3-flash")
	for i := 4; i < 7; i++ {
		r := &s.Threads[0].Rounds[i]
		r.Model, r.Usage.Uncached, r.Usage.Read = 1, r.Usage.Input(), 0
	}
	got := codexReads(t, s, codexProfile())
	if want := google.Floor(18300+4*1200, 0); got[5] != want {
		t.Errorf("the second call of Google reads %d, want %d", got[5], want)
	}
	if want := openai.Floor(18300+8*1200, 0); got[9] != want {
		t.Errorf("the last call reads %d, want %d as those of its model before", got[9], want)
	}
}

// Reads of a provider that nobody knows end at steps of their own: multiples of 400 are found from four different reads.
func TestStepsOfAnUnknownProvider(t *testing.T) {
	own := exchange.Serving{Step: 400}
	s := codexSession("unheard-of-1", "", 9, 0, own)
	s.Agent = facts.Pi
	got := codexReads(t, s, codexProfile())
	if want := own.Floor(18300+7*1200, 0); got[8] != want {
		t.Errorf("the last call reads %d, want %d", got[8], want)
	}
}

// The head loses 1,000 tokens where lines show that it changed: of its 16,000 the first 15,000 are still there, 14,976 in steps of 128.
// Where no line shows it the oldest messages lose them, 300, 200 and 500 of the next: the head is read, 17,920. After the day that DeepSeek keeps it nothing is.
func TestServerReadsTheRestOfACutHead(t *testing.T) {
	for _, tc := range []struct {
		told bool
		wait int64
		want int64
	}{{true, 0, 14_976}, {false, 0, 17_920}, {true, 25 * 3600 * second, 0}} {
		s := codexSession("deepseek-v4-flash", "", 3, 0, exchange.Serving{Step: 128})
		s.Agent = facts.Pi
		th := &s.Threads[0]
		th.Rounds[2].Usage.Uncached -= 1000
		th.Rounds[2].Wait = tc.wait
		th.Events = []traces.Event{{Kind: traces.EventShrink, Round: 2, Saved: 1000, Head: tc.told}}
		if got := codexReads(t, s, codexProfile()); got[2] != tc.want {
			t.Errorf("told %v, %d ns later: %d are read, want %d", tc.told, tc.wait, got[2], tc.want)
		}
	}
}
