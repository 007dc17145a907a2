package scenarios

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// A capacity can be given as tokens or as memory: 655,360 bytes are two tokens of
// Llama 3.1 70B.
func TestCapacityInTokensOrBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"{}":                       0,
		"{capacity: 5000}":         5000,
		"{capacity_bytes: 655360}": 2,
		"{capacity_bytes: 1}":      1, // not 0, which is no limit
		"{capacity_bytes: 1000, bytes_per_token: 10}": 100,
		"{bytes_per_token: 10}":                       0,
	} {
		d := expand(t, "server: "+text+"\n")
		if got := d.Scenario.Server.cache().Capacity; got != want {
			t.Errorf("server: %s has a capacity of %d tokens, want %d", text, got, want)
		}
	}
}

func TestCapacityOutOfRange(t *testing.T) {
	const text = "server:\n  capacity: -1\n  capacity_bytes: -2\n  bytes_per_token: 0\n"
	for _, c := range []struct{ text, want string }{
		{text, "t.yaml:2: server.capacity -1 must not be negative"},
		{text, "t.yaml:3: server.capacity_bytes -2 must not be negative"},
		{text, "t.yaml:4: server.bytes_per_token 0 must be at least 1"},
		{"server: {capacity: 1, capacity_bytes: 1}\n", "contradict each other"},
	} {
		f, err := Parse(registry(t), []byte(c.text), "t.yaml")
		if err == nil {
			_, err = f.Expand()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v does not say %q", err, c.want)
		}
	}
}

// A cache too small for a conversation loses what does not fit: the session misses
// by eviction. One that holds every token ever sent is one without a limit.
func TestCapacityCausesEvictions(t *testing.T) {
	d := expand(t, "strategies: [none]\nserver: {capacity: [0, 20000, 1000000000]}\n")
	run, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Run(context.Background(), samples(t, "short-fix"))
	if err != nil {
		t.Fatal(err)
	}
	var evictions []int
	var read []int64
	for _, c := range run.Cells {
		if strings.HasPrefix(c.Cell, "none") {
			evictions = append(evictions, c.Rows[0].MissesByClass[prompt.MissEviction])
			read = append(read, c.Rows[0].Usage.Read)
		}
	}
	if len(read) != 3 || evictions[0] != 0 || evictions[1] == 0 || evictions[2] != 0 || read[1] >= read[0] || read[2] != read[0] {
		t.Errorf("evictions %v, tokens read %v without a limit, with 20,000 tokens and with 10⁹", evictions, read)
	}
}

// The cache of Codex's provider knows no capacity: one is refused, with its place,
// where there are sessions of it.
func TestCapacityIsNotForCodex(t *testing.T) {
	for text, want := range map[string]string{
		"strategies: [none]\nserver:\n  capacity: 20000\n":       "t.yaml:3: server.capacity: ",
		"strategies: [none]\nserver:\n  capacity_bytes: 20000\n": "t.yaml:3: server.capacity_bytes: ",
		"strategies: [none]\nserver: {capacity: [0, 20000]}\n":   "t.yaml:2: server.capacity: ",
		"strategies: [none]\nserver: {capacity: 0}\n":            "",
	} {
		p := Plan{Registry: registry(t), Prices: prices(t), Design: expand(t, text)}
		_, err := p.Run(context.Background(), asCodex(samples(t, "short-fix")))
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (!errors.Is(err, ErrContradiction) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "1 of these sessions are recordings of Codex")):
			t.Errorf("%q: error %v does not say %q", text, err, want)
		}
	}
}
