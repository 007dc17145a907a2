package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// lasting is a server that notes of each conversation beside the main one which of its
// requests is said to be the last.
type lasting struct {
	*promptcache.Anthropic
	last map[uint32][]bool
}

func (s lasting) Begin(t int64, r *exchange.Request) exchange.Outcome {
	if r.Thread>>31 != 0 {
		s.last[r.Thread] = append(s.last[r.Thread], r.Last)
	}
	return s.Anthropic.Begin(t, r)
}

// The server is told which request of a call beside the conversation is its last, so that
// it can forget it; until then the next turn of the call is expected to read all the
// earlier one left.
func TestLastRequestOfABackgroundCall(t *testing.T) {
	for params, want := range map[string][]bool{"": {false, true}, "turns: 1": {true}, "turns: 3": {false, false, true}} {
		c := written(t, "  - memory-extraction: {"+params+"}\n")
		server := lasting{promptcache.New(promptcache.Config{}), map[uint32][]bool{}}
		c.Server = func(facts.Cache) Server { return server }
		_, calls := run(t, c, newSession("s").looping(2, 1).session())
		if len(server.last) != 2 {
			t.Errorf("{%s}: %d conversations beside, want one for each turn", params, len(server.last))
		}
		for _, got := range server.last {
			if !slices.Equal(got, want) {
				t.Errorf("{%s}: last requests %v, want %v", params, got, want)
			}
		}
		turns := callsOf(calls, measures.SourceOf("extract_memories"))
		for i := range turns {
			if i%len(want) > 0 && turns[i].Expected != turns[i-1].Usage.Input() {
				t.Errorf("{%s}: turn %d is expected to read %d, want the %d of the one before", params, i, turns[i].Expected, turns[i-1].Usage.Input())
			}
		}
	}
}

// A call whose answer is known and has no time takes what the latency model says of its
// input and output.
func TestTimeOfABackgroundCall(t *testing.T) {
	c := written(t, "  - memory-extraction: {}\n")
	c.Latency = costmodel.DefaultLatency()
	_, calls := run(t, c, newSession("s").looping(2, 1).session())
	for _, r := range callsOf(calls, measures.SourceOf("extract_memories")) {
		if got, want := r.End-r.Start, c.Latency.Total(r.Usage); got != want {
			t.Errorf("%+v takes %d ns, want %d", r.Usage, got, want)
		}
	}
}

// A call that fills the window is made; one token more is too long. The conversation has
// 18,500 tokens when it ends, and the instruction 1,500.
func TestBackgroundCallAtTheWindow(t *testing.T) {
	for window, want := range map[int64]int{20_000: 1, 19_999: 0} {
		c := written(t, "  - memory-extraction: {turns: 1}\n")
		c.Window = window
		row, _ := run(t, c, newSession("s").looping(1, 1).session())
		if got := row.CallsBy(measures.SourceOf("extract_memories")); got != want || row.Reasons["memory-extraction: "+ask.FailTooLong] != 1-want {
			t.Errorf("a window of %d: %d calls, %v", window, got, row.Reasons)
		}
	}
}

// numbered is a summariser that notes the numbers of the calls it is asked about.
type numbered struct{ got *[]int32 }

func (s numbered) Summarize(in *prompt.Intent, _ draws.Source, _ uint64, _ prompt.Digest) prompt.Answer {
	*s.got = append(*s.got, in.Number)
	return prompt.Answer{Summary: 1000, Output: 1000, Total: second}
}

// asker makes a call beside the conversation behind every compaction whose answer is the
// summariser's.
type asker struct{ follower }

func (l asker) Clone() strategies.Layer { return l }
func (asker) AfterCompaction(t *strategies.Turn) {
	t.Background(prompt.Intent{Source: "other", Instruction: 100})
}

// What a summariser is asked is numbered from 1, calls beside the conversation among them.
func TestSummariserCallsAreNumbered(t *testing.T) {
	c := testConfig(t, "auto-compact/167k")
	taken := 0
	c.Strategy = strategies.NewStrategy("own", "", append(c.Strategy.Layers(), asker{follower{&taken}})...)
	var got []int32
	c.Summarizer = numbered{&got}
	row, _ := run(t, c, newSession("s").turns(90, 0, 4000).session())
	for i, n := range got {
		if n != int32(i+1) {
			t.Fatalf("numbers %v", got)
		}
	}
	if row.N(measures.Compactions) < 2 || len(got) != 2*row.N(measures.Compactions) {
		t.Errorf("%d calls numbered in %d compactions, want two each", len(got), row.N(measures.Compactions))
	}
}

// resting waits for nothing until now.
type resting struct{ follower }

func (l resting) Clone() strategies.Layer { return l }
func (resting) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	return t.Await(t.Now)
}

// A layer that waits until a time that has come would wait for ever.
func TestWaitMustHaveAnEnd(t *testing.T) {
	c := testConfig(t, "none")
	c.Strategy = strategies.NewStrategy("own", "", resting{follower{new(int)}})
	_, err := NewLoop(c).Run(newSession("s").turns(3, 0, 1000).session())
	if err == nil || !strings.Contains(err.Error(), "layer follower waits until a time that has come") {
		t.Errorf("%v", err)
	}
}

// A session waits as long among others as by itself: its clock starts with it.
func TestWaitInALaterSession(t *testing.T) {
	c := written(t, notesAndSummary(", keep: {min_tokens: 0, min_texts: 0}, extract: {tool_calls: 1, growth: 1, turns: 1, seconds: 20}"))
	alone, _ := run(t, c, memorySession())
	later := memorySession()
	later.Start += 600 * minute
	rows, err := NewLoop(c).RunCohort([]*traces.Session{newSession("first").turns(3, 0, 1000).session(), later})
	if err != nil {
		t.Fatal(err)
	}
	if alone.Figures[measures.AddedLatency] == 0 || !near(rows[1].Figures[measures.AddedLatency], alone.Figures[measures.AddedLatency]) {
		t.Errorf("%g s of waiting, by itself %g s", rows[1].Figures[measures.AddedLatency], alone.Figures[measures.AddedLatency])
	}
}

// The second turn of a background call may go out when its conversation has answered for the last time: an automatic cache
// serves it as it served the last call.
func TestBackgroundCallBehindTheLastAnswer(t *testing.T) {
	c := written(t, "  - memory-extraction: {turns: 2}\n")
	c.Profile = codexProfile()
	c.Server = func(facts.Cache) Server {
		return promptcache.NewOpenAI(promptcache.OpenAIConfig{Serving: servers.Recorded})
	}
	s := newSession("s").looping(2, 1).session()
	s.Agent, s.Models = facts.Codex, []string{"gpt-5.4"}
	_, calls := run(t, c, s)
	turns := callsOf(calls, measures.SourceOf("extract_memories"))
	if len(turns) != 4 {
		t.Errorf("%d turns of background calls, want 2 behind each of 2 answers", len(turns))
	}
	if last := turns[len(turns)-1]; last.Usage.Read == 0 {
		t.Errorf("the last turn reads nothing of what the turn before it left: %+v", last.Usage)
	}
}
