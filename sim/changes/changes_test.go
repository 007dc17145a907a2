package changes

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// What an event must say.
func TestValidateEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		event Event
		want  string // keys of the problems
	}{
		"right":         {Event{At: When{Round: 1}, Do: "effort", Value: "high"}, ""},
		"no moment":     {Event{Do: "effort"}, "at"},
		"two moments":   {Event{At: When{Round: 1, Every: 2}, Do: "effort"}, "at"},
		"negative":      {Event{At: When{Round: -1}, Do: "effort"}, "at.round"},
		"unknown":       {Event{At: When{Round: 1}, Do: "mcp_conect"}, "do"},
		"tokens":        {Event{At: When{Round: 1}, Do: "mcp_connect", Value: "many"}, "value"},
		"shorter":       {Event{At: When{Round: 1}, Do: "system_change", Value: "-10000000"}, ""},
		"much shorter":  {Event{At: When{Round: 1}, Do: "system_change", Value: "-10000001"}, "value"},
		"less than 0":   {Event{At: When{Round: 1}, Do: "mcp_connect", Value: "-1"}, "value"},
		"a skill below": {Event{At: When{Round: 1}, Do: "skill", Value: "-500"}, "value"},
		"the largest":   {Event{At: When{Round: 1}, Do: "mcp_connect", Value: "10000000"}, ""},
		"too large":     {Event{At: When{Round: 1}, Do: "system_change", Value: "100000000"}, "value"},
		"switch":        {Event{At: When{Round: 1}, Do: "fast_mode", Value: "5"}, "value"},
		"model":         {Event{At: When{Round: 1}, Do: "model"}, "value"},
		"threads":       {Event{At: When{Round: 1}, Do: "beta", Threads: "agents"}, "threads"},
		"several wrong": {Event{Do: "fast_mode", Value: "x", Threads: "y"}, "at threads value"},
	} {
		var got []string
		for _, p := range spec.Validate(&tc.event) {
			got = append(got, p.Paths[0])
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: problems of %v, want %q", name, got, tc.want)
		}
	}
}

// Every action has a name of its own.
func TestActionNames(t *testing.T) {
	names := Names()
	if slices.Contains(names, "") || len(slices.Compact(slices.Sorted(slices.Values(names)))) != NumActions {
		t.Errorf("names %q", names)
	}
}
