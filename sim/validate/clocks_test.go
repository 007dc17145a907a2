package validate

import (
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// By hand, of entries that live for five minutes: one read 4 minutes after a response that took 2 is past the edge from its start
// alone, and wrong there; one lost then is wrong from the end. One lost after 6 minutes is wrong by neither. Half a minute and an
// hour tell nothing, and of gpt-5.6-luna's three minutes one read tells at 170 s and 200 s.
func TestClocks(t *testing.T) {
	call := func(model string, gap, stream time.Duration, read int64) Call {
		return Call{
			Model: model, TierKnown: model == "claude-opus-4-6", TTL: prompt.TTL5m, Class: ClassPrompt, Gap: int64(gap), Since: int64(gap + stream),
			Left: 1000, Actual: prompt.Usage{Read: read},
		}
	}
	const claude, luna = "claude-opus-4-6", "gpt-5.6-luna"
	r := newReport([]Call{
		call(claude, 4*time.Minute, 2*time.Minute, 1000), call(claude, 4*time.Minute, 2*time.Minute, 0), call(claude, 6*time.Minute, 0, 0),
		call(claude, 30*time.Second, 0, 1000), call(claude, time.Hour, 0, 0), call(luna, 170*time.Second, 30*time.Second, 1000),
	}, 0)
	want := []Clock{
		{Provider: "anthropic", Life: 5 * time.Minute, Calls: 3, FromEnd: 1, FromStart: 1},
		{Provider: "openai", Model: luna, Life: 3 * time.Minute, Calls: 1, FromStart: 1},
	}
	if !slices.Equal(r.Clocks, want) {
		t.Errorf("%+v, want %+v", r.Clocks, want)
	}
}
