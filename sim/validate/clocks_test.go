package validate

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// By hand, of entries that live for five minutes: one read 4 minutes after a response that took 2 is past the edge from its start
// alone, and wrong there; one lost then is wrong from the end. One lost after 6 minutes is wrong by neither. Half a minute and an
// hour tell nothing, and of gpt-5.6-luna's three minutes one read tells at 170 s and 200 s.
func TestClocks(t *testing.T) {
	call := func(model string, gap, stream time.Duration, read int64) Call {
		return Call{
			Model: model, TierKnown: model == "claude-opus-4-6", TTL: exchange.TTL5m, Class: ClassPrompt, Gap: int64(gap), Since: int64(gap + stream),
			Left: 1000, Actual: prompt.Usage{Read: read},
		}
	}
	const claude, luna = "claude-opus-4-6", "gpt-5.6-luna"
	r := reportOn(ofSessions(
		call(claude, 4*time.Minute, 2*time.Minute, 1000), call(claude, 4*time.Minute, 2*time.Minute, 0), call(claude, 6*time.Minute, 0, 0),
		call(claude, 30*time.Second, 0, 1000), call(claude, time.Hour, 0, 0), call(luna, 170*time.Second, 30*time.Second, 1000),
	), 0)
	want := []Clock{
		{Provider: "anthropic", Life: 300, Calls: 3, FromEnd: 1, FromStart: 1},
		{Provider: "openai", Model: luna, Life: 180, Calls: 1, FromStart: 1},
	}
	if !slices.Equal(r.Clocks, want) {
		t.Errorf("%+v, want %+v", r.Clocks, want)
	}
	if life := r.clockTable().Rows[0][2]; life != "5 m 00 s" {
		t.Errorf("a lifetime of 300 s is written %v", life)
	}
	if err := r.Document().Write(io.Discard, "json"); err != nil {
		t.Error(err)
	}
}

// Reads of 1,001, 2,003 and 3,005 tokens end at no step of any server: they are told. Those of OpenAI's steps are not, nor are
// Google's, whose steps are in tokens of its own, nor two reads alone.
func TestReadsOffEveryGrid(t *testing.T) {
	var calls []Call
	for session, of := range map[string]struct {
		model string
		reads []int64
	}{
		"off": {"ling-2.6-flash", []int64{1001, 2003, 3005, 128}}, "on": {"gpt-5.5", []int64{1024, 2048, 2560}},
		"own": {"gemini-3-flash", []int64{1001, 2003, 3005}}, "few": {"ling-2.6-flash", []int64{1001, 2003}},
	} {
		for _, read := range of.reads {
			calls = append(calls, Call{Session: session, Agent: "pi", Model: of.model, Class: ClassToolResult, Context: 4000, Actual: prompt.Usage{Read: read}})
		}
	}
	sum := 0
	r := reportOn(ofSessions(calls...), 0)
	for i := range r.Agents {
		sum += r.Agents[i].OffGrid
	}
	if notes := strings.Join(r.byAgent().Notes, "\n"); sum != 1 || !strings.Contains(notes, "pi: the reads of 1 session end at no step") {
		t.Errorf("%d sessions off every grid, want 1:\n%s", sum, notes)
	}
}
