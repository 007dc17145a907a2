package assembly

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// A marker is found where interfaces have any, in a part of a result in a list of messages at the deepest. Deeper ones are none, so that a
// value that is nested thousands deep is not read as many times.
func TestMarksInDepth(t *testing.T) {
	marked := `{"text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}`
	result := `[{"role":"user","content":[{"type":"tool_result","content":[` + marked + `]}]}]`
	if got := MarksIn([]byte(result)); len(got) != 1 || got[0].TTL != exchange.TTL1h || result[:got[0].Behind] != result[:strings.Index(result, marked)+len(marked)] {
		t.Errorf("%v in a result", got)
	}
	if got := MarksIn([]byte(strings.Repeat("[", 100) + marked + strings.Repeat("]", 100))); len(got) != 0 {
		t.Errorf("%v in 100 lists, want none", got)
	}
}
