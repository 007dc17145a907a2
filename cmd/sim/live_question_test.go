package main

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/live"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Who is asked whether to make real calls reads how much of whose text goes where, without the
// path of the address, which may be a secret.
func TestQuestionSaysWhatGoesWhere(t *testing.T) {
	c := &liveCalls{flags: &liveFlags{at: hostOf("https://user:secret@gateway.example.org:8443/token/abc/v1")}}
	corpus := &traces.Corpus{Sessions: []*traces.Session{{Project: "/home/me/shop"}, {Project: "/home/me/shop"}, {Project: "/home/me/bank"}}}
	got := c.question(&live.Estimate{Usage: prompt.Usage{Uncached: 12_000, Output: 5}}, corpus)
	for _, want := range []string{"12k tokens", "3 sessions", "/home/me/bank, /home/me/shop", "to https://gateway.example.org:8443?", "leave this machine"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "secret") || strings.Contains(got, "abc") {
		t.Errorf("%q shows a secret", got)
	}
}
