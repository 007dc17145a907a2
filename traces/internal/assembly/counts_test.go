package assembly

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// A log that has one value for all reads is told where a cache would have read more: at least eight calls behind the first one, most of
// which were sent 8,800 tokens more before, or 1,024 where breakpoints end what is read. A program whose requests show that they mark the
// system prompt alone is not.
func TestConstantReads(t *testing.T) {
	for name, tc := range map[string]struct {
		model              string
		calls              int
		grows, read, write int64
		varies, head       bool
		want               int
	}{
		"one value":            {model: "gemini-3-flash", calls: 9, grows: 5000, read: 8144, want: 8},
		"few calls":            {model: "gemini-3-flash", calls: 8, grows: 5000, read: 8144},
		"another value":        {model: "gemini-3-flash", calls: 9, grows: 5000, read: 8144, varies: true},
		"within a block":       {model: "gemini-3-flash", calls: 9, grows: 500, read: 8144},
		"nothing":              {model: "gemini-3-flash", calls: 9, grows: 5000},
		"writes are not read":  {model: "claude-opus-5", calls: 9, grows: 5000, read: 8144, write: 5000, want: 8},
		"without writes":       {model: "claude-opus-5", calls: 9, grows: 600, read: 8144, want: 8},
		"only the head marked": {model: "claude-opus-5", calls: 9, grows: 5000, read: 8144, head: true},
	} {
		th := traces.Thread{}
		for i := range int64(tc.calls) {
			u := prompt.Usage{Read: tc.read, Write5m: tc.write, Uncached: 10_000 + tc.grows*i - tc.read - tc.write}
			if tc.varies && i == 5 {
				u.Read, u.Uncached = u.Read+10, u.Uncached-10
			}
			th.Rounds = append(th.Rounds, traces.Round{Usage: u})
		}
		s := traces.Session{Models: []string{tc.model}, Threads: []traces.Thread{th}}
		if tc.head {
			s.Placements = []traces.Breakpoints{{N: 1, At: [exchange.MaxMarkers]traces.Breakpoint{{Level: prompt.LevelSystem, Share: 1}}}}
		}
		if n, read := constant(&s); n != tc.want || n > 0 && read != tc.read {
			t.Errorf("%s: %d calls read %d tokens, want %d calls and %d", name, n, read, tc.want, tc.read)
		}
	}
}

// A request that holds more has another input. Two calls of a session, or the only two, that count the same are in doubt; one of many
// may be a server's, and so are calls of which no text shows that they hold more.
func TestEqualInputs(t *testing.T) {
	for name, tc := range map[string]struct {
		inputs []int64
		bytes  int32
		event  bool // the log says that the context was cut ahead of each call
		want   int
	}{
		"two calls":     {[]int64{9000, 9000}, 400, false, 1},
		"without texts": {[]int64{9000, 9000}, 0, false, 0},
		"cut":           {[]int64{9000, 9000}, 400, true, 0},
		"one of many":   {[]int64{9000, 9000, 9100, 9200, 9300, 9400}, 400, false, 0},
		"two of many":   {[]int64{9000, 9000, 9000, 9200, 9300, 9400, 9500, 9600, 9700, 9800, 9900}, 400, false, 2},
	} {
		th := traces.Thread{}
		s := traces.Session{Models: []string{"gpt-5.5"}, Blocks: []prompt.Block{{Bytes: tc.bytes}}}
		for i, n := range tc.inputs {
			th.Rounds = append(th.Rounds, traces.Round{Usage: prompt.Usage{Uncached: n - 8000, Read: 8000, Output: 10 * int64(i)}, Input: traces.Span{To: 1}})
			if tc.event {
				th.Events = append(th.Events, traces.Event{Kind: traces.EventMicrocompact, Round: int32(i)})
			}
		}
		s.Threads = []traces.Thread{th}
		draft := Session{Files: []*File{NewFile("a", traces.Options{})}}
		if draft.doubt(&s, 0); s.Quality.Uncounted != tc.want {
			t.Errorf("%s: %d calls in doubt, want %d", name, s.Quality.Uncounted, tc.want)
		}
	}
}

// Calls that contradict those around them count beside calls that a file lacks, and once where they were counted one by one.
func TestDoubtsAddUp(t *testing.T) {
	s := traces.Session{Models: []string{"gpt-5.5"}, Threads: []traces.Thread{{}}}
	for range 9 {
		s.Threads[0].Rounds = append(s.Threads[0].Rounds, traces.Round{Usage: prompt.Usage{Uncached: 900, Read: 8000}})
	}
	for one, want := range map[int]int{0: 3 + 8, 2: 3 + 8, 8: 3 + 8} {
		draft := Session{Files: []*File{NewFile("a", traces.Options{})}}
		s.Quality.Uncounted = 3 + one
		if draft.doubt(&s, one); s.Quality.Uncounted != want {
			t.Errorf("%d counted one by one: %d in doubt, want %d", one, s.Quality.Uncounted, want)
		}
	}
}

// Counts that are sums of all calls so far grow by the size of a whole request each time, and so do outputs; a conversation that
// grows does not.
func TestCountsAreSums(t *testing.T) {
	for name, tc := range map[string]struct {
		calls int
		first int64
		sums  bool
		want  int
	}{"sums": {5, 9200, true, 4}, "calls": {5, 9200, false, 0}, "sums behind a short first request": {12, 100, true, 11}, "calls behind a short first request": {12, 100, false, 0}} {
		th, sum := traces.Thread{}, prompt.Usage{}
		for i := range int64(tc.calls) {
			u := prompt.Usage{Uncached: tc.first + 200*i, Output: 50 + 10*(i%3/2)}
			sum.Add(&u)
			if tc.sums {
				u = sum
			}
			th.Rounds = append(th.Rounds, traces.Round{Usage: u})
		}
		s := traces.Session{Models: []string{"gpt-5.5"}, Threads: []traces.Thread{th}}
		draft := Session{Files: []*File{NewFile("a", traces.Options{})}}
		if draft.doubt(&s, 0); s.Quality.Uncounted != tc.want {
			t.Errorf("%s: %d calls in doubt, want %d", name, s.Quality.Uncounted, tc.want)
		}
	}
}

// Calls that all have one time are told, since prices go by their date.
func TestOneTime(t *testing.T) {
	for want, times := range map[bool][]int64{true: {5, 5, 5}, false: {5, 5, 6}} {
		s := traces.Session{Threads: []traces.Thread{{}, {}}}
		for i, at := range times {
			th := &s.Threads[i%2]
			th.Rounds = append(th.Rounds, traces.Round{At: at})
		}
		if got := oneTime(&s); got != want {
			t.Errorf("%v: %v", times, got)
		}
	}
}

// Qwen Code logs no thoughts beside thinking that it shows, and an output that holds both. 1,000 bytes of thinking are estimated at 300
// tokens and 100 bytes of text at 26, so of an output of 163 tokens thinking has 150. Thinking without a text is as many as is counted.
func TestThinkingThatIsNotCounted(t *testing.T) {
	for name, c := range map[string]struct {
		reasoning int64
		bytes     int32
		want      int32
	}{"shown and counted with the rest": {0, 1000, 150}, "counted apart": {40, 1000, 40}, "hidden and none": {0, 0, 0}} {
		rates := traces.DefaultRates()
		rd := Round{Call: &Call{Usage: Usage{Reasoning: c.reasoning, OK: true, Usage: prompt.Usage{Output: 163}}}}
		for _, b := range []prompt.Block{{Kind: prompt.KindThinking, Bytes: c.bytes}, {Kind: prompt.KindText, Bytes: 100}} {
			b.Tokens = int32(rates.Tokens(b.Kind, int(b.Bytes)))
			rd.Reply = append(rd.Reply, Block{Block: b})
		}
		if rd.scaleReply(); rd.Reply[0].Tokens != c.want || rd.Reply[0].Tokens+rd.Reply[1].Tokens != 163 {
			t.Errorf("%s: thinking has %d tokens, text %d; want %d of 163", name, rd.Reply[0].Tokens, rd.Reply[1].Tokens, c.want)
		}
	}
}
