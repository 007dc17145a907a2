package claudecode

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// costState writes the client's own sum of all calls, tokens of one model.
func (s *script) costState(start int, models ...fields) {
	usage := fields{}
	for _, m := range models {
		usage[m["model"].(string)] = m
	}
	s.raw(mustJSON(fields{"type": "cost-state", "sessionId": s.session, "startTime": start, "modelUsage": usage}))
}

func spent(model string, input, read, written, output int) fields {
	return fields{"model": model, "inputTokens": input, "cacheReadInputTokens": read, "cacheCreationInputTokens": written,
		"cacheCreationEphemeral5mInputTokens": written, "cacheCreationEphemeral1hInputTokens": 0, "outputTokens": output}
}

// The sum has 700,000 tokens that no line shows: a summary of the 160,000 tokens before the boundary, the request at
// 40,000 tokens that was sent twice, and a title by another model. Reads go to the first two by what these sent, 4 to 1.
func TestCallsThatNoLineShows(t *testing.T) {
	s := newScript("s")
	s.version, s.stop = "2.1.332", "end_turn"
	s.prompt("go")
	s.call("m1", 160_000, text("a"))
	s.compact("auto", 160_000, words(900))
	s.prompt("on")
	s.raw(mustJSON(fields{"type": "api-request", "sessionId": "s", "id": "r1", "timestamp": "2026-03-01T12:00:30Z"}))
	s.raw(mustJSON(fields{"type": "api-request", "sessionId": "s", "id": "r2", "timestamp": "2026-03-01T12:00:31Z"}))
	u := tokensOf(40_000)
	s.add(fields{"type": "assistant", "requestRef": "r2", "message": fields{
		"id": "m2", "model": "claude-opus-4-6", "role": "assistant", "content": []fields{text("b")}, "usage": u, "stop_reason": "end_turn"}})
	s.costState(7, spent("claude-opus-4-6[1m]", 6+2000, 160_000-3+40_000-3+200_001, 500, 2+901), spent("claude-haiku-5-5", 1046, 0, 0, 9))
	got := sessionOf(t, s)
	want := []traces.UnshownCall{
		{Event: -1, Model: "claude-haiku-5-5", Usage: prompt.Usage{Uncached: 1046, Output: 9}},
		{Event: 0, Model: "claude-opus-4-6", Usage: prompt.Usage{Uncached: 2000, Read: 160_001, Output: 900}},
		{Event: -1, Cut: true, Model: "claude-opus-4-6", Usage: prompt.Usage{Read: 40_000, Write5m: 500, Output: 1}},
	}
	for i := range got.Unshown {
		c := got.Unshown[i]
		if c.At == 0 || c.Line == 0 {
			t.Errorf("call %d has no place", i)
		}
		c.At, c.Line = 0, 0
		if i >= len(want) || c != want[i] {
			t.Errorf("call %d is %+v", i, c)
		}
	}
	counts := []traces.Unshown{{Model: "claude-haiku-5-5", Others: 1}, {Model: "claude-opus-4-6", Summaries: 1, Cut: 1}}
	if q := got.Quality.Unshown; len(got.Unshown) != 3 || !slices.Equal(q, counts) || len(got.Problems) != 0 {
		t.Errorf("%d calls, %+v, %v", len(got.Unshown), q, got.Problems)
	}
	for i, given := range []bool{true, false, true} { // the summary is predicted
		if got.Given(&got.Unshown[i]) != given {
			t.Errorf("call %d comes about whatever a strategy does: %v, want %v", i, !given, given)
		}
	}
	if got.MayHide() { // the only call with reads that is neither a summary nor cut has none
		t.Error("the sum leaves room for calls at the end of turns")
	}
}

// In a recording whose ids were replaced by others no answer names its request: none of the requests is a place then.
func TestRequestsUnderOtherNames(t *testing.T) {
	s := newScript("s")
	s.prompt("go")
	for i := range 3 {
		s.raw(mustJSON(fields{"type": "api-request", "sessionId": "s", "id": fmt.Sprint("r", i), "timestamp": "2026-03-01T12:00:30Z"}))
		s.add(fields{"type": "assistant", "requestRef": fmt.Sprint("x", i), "message": fields{
			"id": fmt.Sprint("m", i), "model": "claude-opus-4-6", "role": "assistant", "content": []fields{text(fmt.Sprint(i))}, "usage": tokensOf(20_000 + i), "stop_reason": "end_turn"}})
	}
	s.costState(7, spent("claude-opus-4-6", 9, 60_003-9+500, 0, 3))
	if got := sessionOf(t, s); len(got.Unshown) != 1 || got.Unshown[0].Cut || got.Unshown[0].Usage.Read != 500 {
		t.Errorf("%+v, want one call of 500 tokens at the sum", got.Unshown)
	}
}

// A refused request costs nothing: its place is none for what the sum has beyond lines.
func TestRefusedRequestIsNoPlace(t *testing.T) {
	for _, refused := range []bool{true, false} {
		s := newScript("s")
		s.prompt("go")
		status := fields{"connection": "cut"}
		if refused {
			status = fields{"status": 529}
		}
		s.system("api_error", fields{"error": status})
		s.call("m1", 20_000, text("a"))
		s.costState(7, spent("claude-opus-4-6", 6, 39_994, 0, 2))
		got := sessionOf(t, s)
		if n := len(got.Unshown); n != 1 || got.Unshown[0].Cut == refused || got.Unshown[0].Usage.Input() != 20_000 {
			t.Errorf("refused %v: %+v", refused, got.Unshown)
		}
	}
}

// A fork goes on with the sum of the session it left. The session has 100 tokens that no line shows ahead of the fork
// and 10 behind it, the fork has 1000 of its own, and no token is counted twice.
func TestForkCountsEachTokenOnce(t *testing.T) {
	history := func(s *script) {
		s.prompt("go")
		s.call("m1", 20_000, text("a"))
	}
	a := newScript("a")
	history(a)
	a.costState(7, spent("claude-opus-4-6", 3, 19_997+100, 0, 1))
	a.clock = a.clock.AddDate(0, 0, 2)
	a.prompt("on")
	a.call("m3", 22_000, text("c"))
	a.costState(7, spent("claude-opus-4-6", 6, 41_994+110, 0, 2))
	b := newScript("b")
	history(b)
	b.clock = b.clock.AddDate(0, 0, 1)
	b.prompt("another way")
	b.call("m2", 21_000, text("b"))
	b.costState(7, spent("claude-opus-4-6", 6, 40_994+1100, 0, 2))
	c := corpusOf(t, traces.Options{}, map[string][]byte{"a.jsonl": a.bytes(), "b.jsonl": b.bytes()})
	lines, hidden := int64(0), map[string]int64{}
	for _, s := range c.Sessions {
		u := s.Usage()
		lines += u.Input()
		for i := range s.Unshown {
			hidden[s.ID] += s.Unshown[i].Usage.Input()
		}
	}
	if lines != 20_000+21_000+22_000 || hidden["a"] != 110 || hidden["b"] != 1000 {
		t.Errorf("%d tokens in lines, %v in none; want 63000, 110 and 1000", lines, hidden)
	}
}

// What a sum cannot say is told, and the calls of lines are the bill.
func TestSumsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name, problem string
		hidden        int64
		states        func(s *script)
	}{
		{"below the lines", "has 11,000 tokens of claude-opus-4-6 fewer than the calls of lines", 0, func(s *script) {
			s.costState(7, spent("claude-opus-4-6", 3, 8997, 0, 1))
		}},
		{"falling", "falls; the line is left out", 50, func(s *script) {
			s.costState(7, spent("claude-opus-4-6", 3, 19_997+50, 0, 1))
			s.costState(7, spent("claude-opus-4-6", 3, 19_997, 0, 1))
		}},
		{"begun anew", "", 70, func(s *script) {
			s.costState(7, spent("claude-opus-4-6", 3, 19_997+50, 0, 1))
			s.costState(8, spent("claude-opus-4-6", 0, 20, 0, 0))
		}},
		{"of another form", "cost-state without token counts by model", 0, func(s *script) {
			s.raw(`{"type":"cost-state","sessionId":"s","modelUsage":[1,2]}`)
		}},
		{"with a count that cannot be", "cost-state without token counts by model", 0, func(s *script) {
			s.costState(7, spent("claude-opus-4-6", -3, 19_997, 0, 1))
		}},
		{"cut short", "text ends where", 0, func(s *script) {
			s.raw(`{"type":"cost-state","sessionId":"s","modelUsage":{"claude-opus-4-6":{"inputTokens":3`)
		}},
	} {
		s := newScript("s")
		s.prompt("go")
		s.call("m1", 20_000, text("a"))
		c.states(s)
		got := sessionOf(t, s)
		hidden := int64(0)
		for i := range got.Unshown {
			hidden += got.Unshown[i].Usage.Input()
		}
		if told := fmt.Sprint(got.Problems); !strings.Contains(told, c.problem) || (c.problem == "") != (len(got.Problems) == 0) || hidden != c.hidden {
			t.Errorf("%s: %d tokens, %s", c.name, hidden, told)
		}
		if u := got.Usage(); u.Input() != 20_000 {
			t.Errorf("%s: the calls of lines have %d tokens", c.name, u.Input())
		}
	}
}
