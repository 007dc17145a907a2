package synthetic

import (
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// billed is a call as the lines of a file show it.
type billed struct {
	input, read, write5m, write1h int64
	output                        int64 // of the last line
	first, end, asked             time.Time
	compacted                     bool
	lines                         int
}

func (b billed) total() int64 { return b.input + b.read + b.write5m + b.write1h }

// calls collapses lines by message id, in order.
func calls(t *testing.T, lines []record) []billed {
	t.Helper()
	var out []billed
	index := map[string]int{}
	var input time.Time
	compacted := false
	for i, r := range lines {
		at, _ := time.Parse(time.RFC3339, r.str("timestamp"))
		switch r.str("type") {
		case "user":
			input = at
			compacted = compacted || r["isCompactSummary"] == true
			continue
		case "assistant":
		default:
			continue
		}
		u := r.sub("message").sub("usage")
		b := billed{
			input: u.int("input_tokens"), read: u.int("cache_read_input_tokens"), output: u.int("output_tokens"),
			write5m: u.sub("cache_creation").int("ephemeral_5m_input_tokens"),
			write1h: u.sub("cache_creation").int("ephemeral_1h_input_tokens"),
			first:   at, end: at, asked: input, compacted: compacted, lines: 1,
		}
		if b.write5m+b.write1h != u.int("cache_creation_input_tokens") {
			t.Errorf("line %d: creation is not the sum of its lifetimes", i+1)
		}
		id := r.sub("message").str("id")
		k, known := index[id]
		if !known {
			index[id] = len(out)
			out = append(out, b)
			compacted = false
			continue
		}
		c := &out[k]
		if c.total() != b.total() || c.read != b.read || c.input != b.input {
			t.Errorf("line %d: input figures differ between lines of %s", i+1, id)
		}
		c.output, c.end, c.lines = b.output, at, c.lines+1
	}
	return out
}

// facts/recorded.md, "Prefix extension": cache_read(n+1) = cache_read(n) +
// cache_creation(n) inside the lifetime; after an expiry 0 or the static
// prefix; after a compaction exactly the static prefix.
func TestPrefixExtension(t *testing.T) {
	var warm, cold, compacted int
	eachFile(t, func(t *testing.T, s *Session, name string, lines []record) {
		static := int64(s.profile.Static)
		if name != s.ID()+".jsonl" {
			static = int64(s.profile.Agent.Static)
		}
		list := calls(t, lines)
		for i := 1; i < len(list); i++ {
			p, c := list[i-1], list[i]
			gap := c.asked.Sub(p.end)
			switch {
			case c.compacted:
				compacted++
				if c.read != static {
					t.Errorf("call %d after a compaction reads %d, want the static %d", i, c.read, static)
				}
			case gap < s.profile.lifetime()-time.Second:
				warm++
				if want := p.read + p.write5m + p.write1h; c.read != want {
					t.Errorf("call %d after %v reads %d, want %d", i, gap, c.read, want)
				}
			case gap > s.profile.lifetime():
				cold++
				if c.read != 0 && c.read != static {
					t.Errorf("call %d after %v reads %d, want 0 or %d", i, gap, c.read, static)
				}
			}
		}
	})
	if warm < 300 || cold < 5 || compacted < 3 {
		t.Errorf("%d warm calls, %d after an expiry, %d after a compaction: too few to say anything", warm, cold, compacted)
	}
}

// A call's input is the previous context, its output and what was added since:
// the plan's tokens account for every token billed.
func TestContextGrowsByWhatWasSaid(t *testing.T) {
	for _, name := range Names() {
		s := generate(t, name, 3)
		for i := range s.threads {
			context := s.threads[i].static + s.profile.Reminders
			if i > 0 {
				context = s.threads[i].static + s.profile.Agent.Reminders
			}
			for j := range s.threads[i].calls {
				c := &s.threads[i].calls[j]
				for _, b := range c.input {
					context += b.tokens
				}
				if m := c.compact; m != nil {
					if m.preTokens != context {
						t.Errorf("%s: compaction at %d tokens logs %d", name, context, m.preTokens)
					}
					restored := int(c.usage.Input()) - s.threads[i].static - s.profile.Reminders - m.summary.tokens
					if restored < 0 || restored > s.profile.RestoreFiles*s.profile.RestoreTokens {
						t.Errorf("%s: compaction restores %d tokens", name, restored)
					}
					context = int(c.usage.Input())
				}
				if got := int(c.usage.Input()); got != context {
					t.Fatalf("%s: thread %d call %d has %d tokens, want %d", name, i, j, got, context)
				}
				for _, b := range c.reply {
					context += b.tokens
				}
				if c.context() != context {
					t.Fatalf("%s: thread %d call %d leaves %d tokens, want %d", name, i, j, c.context(), context)
				}
			}
		}
	}
}

// The written usage is the plan's, call by call, and outputs are final from
// version 2.1.59 (facts/recorded.md); before they are the stream's start, 1–10.
func TestLoggedUsage(t *testing.T) {
	for _, name := range Names() {
		s := generate(t, name, 3)
		for k, f := range s.Files() {
			list := calls(t, parseLines(t, written(t, f)))
			if len(list) != len(s.threads[k].calls) {
				t.Fatalf("%s: %d calls written, %d planned", f.Name, len(list), len(s.threads[k].calls))
			}
			for i, c := range list {
				p := &s.threads[k].calls[i]
				if c.read != p.usage.Read || c.total() != p.usage.Input() || c.lines != len(p.reply) {
					t.Errorf("%s: call %d: logged %+v, planned %+v", f.Name, i, c, p.usage)
				}
				if s.profile.Version == "2.1.62" && c.output != p.usage.Output {
					t.Errorf("%s: call %d logs %d output tokens, want the final %d", f.Name, i, c.output, p.usage.Output)
				}
				if s.profile.Version != "2.1.62" && (c.output < 1 || c.output > 10) {
					t.Errorf("%s: call %d logs %d output tokens, want the stream's start", f.Name, i, c.output)
				}
			}
		}
	}
}

// Compactions happen in the first call whose context passes the threshold, so
// preTokens is never below it (facts/recorded.md: minima 155.0k and 167.0k) and
// no context reaches it otherwise.
func TestCompactsAtTheThreshold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int
	}{{"exploration", 155_000}, {"long-refactor", 167_000}, {"overnight", 167_000}} {
		n := 0
		for seed := range uint64(4) {
			s := generate(t, tt.name, seed)
			for _, c := range s.threads[0].calls {
				if c.compact != nil {
					n++
					if c.compact.preTokens < tt.limit || c.compact.preTokens > tt.limit+25_000 {
						t.Errorf("%s: compacts at %d, want %d or little more", tt.name, c.compact.preTokens, tt.limit)
					}
				}
				if int(c.usage.Input()) >= tt.limit {
					t.Errorf("%s: a request of %d tokens passes the threshold", tt.name, c.usage.Input())
				}
			}
		}
		if n < 4 {
			t.Errorf("%s: %d compactions in 4 sessions", tt.name, n)
		}
	}
}

func TestClientThreshold(t *testing.T) {
	// By generation: 200k − 32k − 13k, then 200k − 20k − 13k.
	for _, tt := range []struct {
		version string
		window  int
		want    int
	}{
		{"2.1.20", 200_000, 155_000},
		{"2.1.9", 200_000, 155_000},
		{"2.1.25", 200_000, 167_000},
		{"2.2.0", 200_000, 167_000},
		{"2.1.42", 1_000_000, 967_000},
	} {
		if got := ClientThreshold(tt.version, tt.window); got != tt.want {
			t.Errorf("ClientThreshold(%q, %d) = %d, want %d", tt.version, tt.window, got, tt.want)
		}
	}
}

// The bytes written are in the recorded proportion to true tokens: text .26,
// thinking .30, prompts .31, results .33 tokens a byte (facts/recorded.md).
func TestTokensPerByte(t *testing.T) {
	bytes, tokens := map[string]float64{}, map[prompt.Kind]float64{}
	for seed := range uint64(5) {
		s := generate(t, "long-refactor", seed)
		for _, c := range s.threads[0].calls {
			for _, b := range append(c.input, c.reply...) {
				if !b.failed {
					tokens[b.kind] += float64(b.tokens)
				}
			}
		}
		for _, r := range parseLines(t, written(t, s.Files()[0])) {
			countBytes(r, bytes)
		}
	}
	for _, tt := range []struct {
		kind prompt.Kind
		name string
		want float64
	}{
		{prompt.KindText, "text", 0.26}, {prompt.KindThinking, "thinking", 0.30},
		{prompt.KindPrompt, "prompt", 0.31}, {prompt.KindToolResult, "tool_result", 0.33},
	} {
		if got := tokens[tt.kind] / bytes[tt.name]; math.Abs(got/tt.want-1) > 0.05 {
			t.Errorf("%s: %.3f tokens a byte, want %.2f", tt.name, got, tt.want)
		}
	}
}

func countBytes(r record, bytes map[string]float64) {
	m := r.sub("message")
	if s := m.str("content"); s != "" && r["isCompactSummary"] == nil {
		bytes["prompt"] += float64(len(s))
	}
	for _, b := range m.list("content") {
		switch b.str("type") {
		case "tool_result":
			if b["is_error"] != true {
				bytes["tool_result"] += float64(len(b.str("content")))
			}
		default:
			bytes[b.str("type")] += float64(len(b.str("text") + b.str("thinking")))
		}
	}
}

// A ledger by hand: 5 minutes, a static prefix of 100.
func TestLedger(t *testing.T) {
	l := ledger{lifetime: int64(5 * time.Minute), static: 100}
	at := int64(0)
	step := func(after time.Duration, total int, warm, compacted bool, wantRead int64) {
		t.Helper()
		at += int64(after)
		u := l.bill(at, total, 1, warm, compacted)
		l.end = at
		if u.Read != wantRead || u.Input() != int64(total) || u.Uncached != 1 {
			t.Errorf("after %v, total %d: %+v, want %d read", after, total, u, wantRead)
		}
	}
	step(0, 150, false, false, 0)                   // cold start
	step(time.Minute, 200, false, false, 149)       // all that was cached
	step(5*time.Minute, 220, false, false, 199)     // at the very end of the lifetime
	step(5*time.Minute+1, 230, false, false, 0)     // expired
	step(6*time.Minute, 240, true, false, 100)      // expired, prefix kept warm by others
	step(time.Minute, 130, false, true, 100)        // compacted
	step(30*time.Second, 135, true, false, 129)     // and the chain goes on
	step(10*time.Minute, 120, false, true, 100)     // a compaction's own call keeps the prefix
	step(5*time.Minute-1, 125, false, false, 120-1) // ns before expiry
}
