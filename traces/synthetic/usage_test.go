package synthetic

import (
	"strings"
	"testing"
	"time"
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

// Prefix extension, as recorded: cache_read(n+1) = cache_read(n) +
// cache_creation(n) inside the lifetime; after an expiry 0 or the static prefix;
// after a compaction exactly the static prefix. The samples have a static prefix
// of 20,000 tokens, their agents one of 11,000.
func TestPrefixExtension(t *testing.T) {
	var warm, cold, compacted int
	for name, gz := range sampleFiles(t) {
		static, lifetime := int64(20_000), 5*time.Minute
		if strings.Contains(name, "subagents") {
			static = 11_000
		}
		list := calls(t, parseLines(t, gunzip(t, gz)))
		if list[0].write1h > 0 {
			lifetime = time.Hour
		}
		for i := 1; i < len(list); i++ {
			p, c := list[i-1], list[i]
			gap := c.asked.Sub(p.end)
			switch {
			case c.compacted:
				compacted++
				if c.read != static {
					t.Errorf("%s: call %d after a compaction reads %d, want the static %d", name, i, c.read, static)
				}
			case gap < lifetime-time.Second:
				warm++
				if want := p.read + p.write5m + p.write1h; c.read != want {
					t.Errorf("%s: call %d after %v reads %d, want %d", name, i, gap, c.read, want)
				}
			case gap > lifetime:
				cold++
				if c.read != 0 && c.read != static {
					t.Errorf("%s: call %d after %v reads %d, want 0 or %d", name, i, gap, c.read, static)
				}
			}
		}
	}
	if warm < 300 || cold < 5 || compacted < 3 {
		t.Errorf("%d warm calls, %d after an expiry, %d after a compaction: too few to say anything", warm, cold, compacted)
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
		if got := clientThreshold(tt.version, tt.window); got != tt.want {
			t.Errorf("clientThreshold(%q, %d) = %d, want %d", tt.version, tt.window, got, tt.want)
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
