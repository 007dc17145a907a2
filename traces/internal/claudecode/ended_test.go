package claudecode

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// ended is a session of 2.1.60 with two responses of two lines, of which the first begins with 1 token of output, and the last ends at 300.
func ended() *script {
	s := newScript("S")
	s.version = "2.1.60"
	s.prompt("go")
	for i, id := range []string{"m1", "m2"} {
		for k, output := range []int{1, 300} {
			usage, stop := tokensOf(20_000+i*1000), any(nil)
			if usage["output_tokens"] = output; k == 1 {
				stop = "end_turn"
			}
			s.add(fields{"type": "assistant", "message": fields{
				"id": id, "model": "claude-opus-4-6", "role": "assistant", "content": []fields{text(words(200))}, "usage": usage, "stop_reason": stop,
			}})
		}
	}
	return s
}

// A response whose last line is cut off, damaged or without counts has the count of output that its stream began with, 1 here. It is not
// taken for the final one: the output is derived from what the lines show, and told.
func TestStartIsNotTheEnd(t *testing.T) {
	tests := []struct {
		name           string
		do             func(last string) string
		bad, uncounted int
		final          bool
	}{
		{"whole", func(l string) string { return l }, 0, 0, true},
		{"cut off", func(l string) string { return l[:len(l)/2] }, 1, 0, false},
		{"damaged", func(l string) string { return l[:len(l)/2] + "\n" }, 1, 0, false},
		{"no counts", func(l string) string { return strings.Replace(l, `"usage"`, `"usage_"`, 1) }, 0, 1, false},
		{"no counts, no reason", func(l string) string {
			return strings.NewReplacer(`"usage"`, `"usage_"`, `"end_turn"`, "null").Replace(l)
		}, 0, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := ended()
			n := len(s.lines) - 1
			body := strings.Join(s.lines[:n], "\n") + "\n" + tt.do(s.lines[n])
			c := corpusOf(t, traces.Options{}, map[string][]byte{"S.jsonl": []byte(body)})
			got := c.Sessions[0]
			last := got.Threads[0].Rounds[1]
			derived := last.Flags&signs.OutputDerived != 0
			if final := last.Logged == 300; final != tt.final || derived == tt.final {
				t.Errorf("logged output %d, derived %v", last.Logged, derived)
			}
			if c.BadLines != tt.bad || got.Quality.Uncounted != tt.uncounted {
				t.Errorf("%d bad lines, want %d; %d calls uncounted, want %d", c.BadLines, tt.bad, got.Quality.Uncounted, tt.uncounted)
			}
		})
	}
}
