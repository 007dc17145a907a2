package scenarios

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/sim/prompt"
)

// A summary may name a file below the project relative to it; so may a later one.
// A result that was cleared tells of no error.
func TestFidelity(t *testing.T) {
	span := []live.Piece{
		{Kind: prompt.KindToolUse, Object: "/home/me/app/auth/login.go"},
		{Kind: prompt.KindToolUse, Object: "/etc/app/settings.ini"},
		{Kind: prompt.KindToolResult, Failed: true},
	}
	const summary = "I changed auth/login.go."
	var f Fidelity
	got := f.Entities("/home/me/app", span, summary)
	want := []cassette.Entity{{Kind: "path", Text: "/home/me/app/auth/login.go", Kept: true}, {Kind: "path", Text: "/etc/app/settings.ini"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := f.Entities("", span, summary); got[0].Kept {
		t.Error("a relative path counts as kept although nobody knows the project's folder")
	}
	for root, want := range map[string]int{"/home/me/app": 1, "": 0} {
		if n := f.Survive(root, got, summary); n != want {
			t.Errorf("below %q %d of 2 survive, want %d", root, n, want)
		}
	}
}
