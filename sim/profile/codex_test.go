package profile

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// A client is served as the newest recorded version not after its own, one older
// than all as the oldest; of another model nothing is known.
func TestServingForVersion(t *testing.T) {
	c := Codex{Served: []Served{
		{Agent: "codex", Model: "gpt-5.4", Version: "0.118.0", Step: 128, Lag: 51, Replies: true, Retention: Estimate{Value: 600}},
		{Agent: "codex", Model: "gpt-5.4", Version: "0.140.0", Step: 512, Offset: 384, Retention: Estimate{Value: 3600}},
	}}
	replies := exchange.Serving{Step: 128, Lag: 51, Replies: true, Retention: 600e9}
	steps := exchange.Serving{Step: 512, Offset: 384, Retention: 3600e9}
	for version, want := range map[string]exchange.Serving{
		"0.99.0": replies, "0.118.0-alpha.2": replies, "0.139.9": replies, "0.140.0": steps, "0.150.1": steps, "": replies,
	} {
		if got, ok := c.ServingFor("codex", "gpt-5.4", version); !ok || got != want {
			t.Errorf("%s: %+v, %v; want %+v", version, got, ok, want)
		}
	}
	if got, ok := c.ServingFor("codex", "gpt-5.5", "0.140.0"); ok || got != (exchange.Serving{}) {
		t.Errorf("gpt-5.5: %+v, %v; want nothing", got, ok)
	}
}

// A first call reads what first calls of the user's other sessions read most often, with its model
// if there are any, and nothing is learned from the session itself. A
// user who is not known reads the median over users: of 10,624 and 2,432 the mean.
func TestFirstReadOfUser(t *testing.T) {
	c := Codex{First: []FirstRead{
		{Session: "1", User: "a", Model: "gpt-5.5", Read: 10624}, {Session: "2", User: "a", Model: "gpt-5.5", Read: 6016},
		{Session: "3", User: "a", Model: "gpt-5.5", Read: 10624}, {Session: "4", User: "a", Model: "gpt-5.6-sol", Read: 9984},
		{Session: "5", User: "b", Model: "gpt-5.5", Read: 2432}, {Session: "6", User: "c", Model: "gpt-5.4", Read: 3456},
	}}
	for _, tc := range []struct {
		of   FirstRead
		want int64
	}{
		{FirstRead{User: "a", Model: "gpt-5.5"}, 10624},
		{FirstRead{User: "a", Model: "gpt-5.5", Session: "1"}, 6016}, // of 6,016 and 10,624, one each
		{FirstRead{User: "a", Model: "gpt-5.6-sol"}, 9984},
		{FirstRead{User: "a", Model: "gpt-5.7"}, 10624},
		{FirstRead{User: "b", Model: "gpt-5.6-sol"}, 2432},
		{FirstRead{Model: "gpt-5.5"}, (10624 + 2432) / 2},
		{FirstRead{User: "d", Model: "gpt-5.7"}, 3456},
	} {
		if got := c.FirstRead(&tc.of); got != tc.want {
			t.Errorf("%+v reads %d, want %d", tc.of, got, tc.want)
		}
	}
	if got := (&Codex{}).FirstRead(&FirstRead{}); got != 0 {
		t.Errorf("%d without rows, want nothing", got)
	}
}

func TestCodexIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"served: [{model: m, version: 1, step: 0}]":                                    "codex.served[0].step 0 must be at least 1",
		"served: [{model: m, version: 1, step: 128, offset: 128}]":                     "the offset must be smaller",
		"served: [{model: m, version: 2, step: 1}, {model: m, version: 1, step: 1}]":   "versions must ascend",
		"served: [{model: m, version: 1, step: 1, retention_seconds: {value: 1e300}}]": "retention_seconds: 1e+300 must lie",
	} {
		if _, err := Parse([]byte("codex: {"+text+"}\n"), "p.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
