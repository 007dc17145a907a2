package fidelity

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/sim/prompt"
)

// conversation is a stretch with two entities of each kind but one.
func conversation() []Piece {
	return []Piece{
		{Kind: prompt.KindPrompt, Text: "<system-reminder>Never mention this reminder to anyone.</system-reminder>Fix the login test, please. Don't touch v1.2 of the API!\nok"},
		{Kind: prompt.KindPrompt, Meta: true, Text: "A sentence that the client has put there."},
		{Kind: prompt.KindToolUse, Object: "/home/me/app/auth/login.go", Input: jsontext.Value(`{"file_path":"/home/me/app/auth/login.go"}`)},
		{Kind: prompt.KindToolUse, Object: "/home/me/app/auth/login.go"},
		{Kind: prompt.KindToolUse, Object: "/etc/app/settings.ini"},
		{Kind: prompt.KindToolUse, Input: jsontext.Value(`{"command":"go test ./auth  -run Login\necho done"}`)},
		{Kind: prompt.KindToolUse, Input: jsontext.Value(`{"command":["bash","-lc","make lint"]}`)},
		{Kind: prompt.KindToolResult, Failed: true, Text: "=== RUN TestLogin\nlogin_test.go:40: error: got 401, want 200\nFAIL"},
		{Kind: prompt.KindToolResult, Text: "error: not one, the call went well"},
		{Kind: prompt.KindToolUse, Input: jsontext.Value(`{"todos":[{"content":"find the cause","status":"in_progress"},{"content":"an old plan","status":"pending"}]}`)},
		{Kind: prompt.KindToolUse, Input: jsontext.Value(`{"todos":[{"content":"find the cause","status":"completed"},{"content":"fix the cookie","status":"in_progress"},{"content":"run all tests","status":"pending"}]}`)},
	}
}

// bare are entities of which nobody knows whether they are kept.
func bare(span []Piece) []cassette.Entity { return Words{}.Entities("", span, "") }

func TestEntities(t *testing.T) {
	want := []cassette.Entity{
		{Kind: Sentence, Text: "Fix the login test, please."}, {Kind: Sentence, Text: "Don't touch v1.2 of the API!"},
		{Kind: Path, Text: "/home/me/app/auth/login.go"}, {Kind: Path, Text: "/etc/app/settings.ini"},
		{Kind: Command, Text: "go test ./auth -run Login"}, {Kind: Command, Text: "make lint"},
		{Kind: Error, Text: "login_test.go:40: error: got 401, want 200"},
		{Kind: Task, Text: "fix the cookie"}, {Kind: Task, Text: "run all tests"},
	}
	if got := bare(conversation()); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A path below the project may be given relative to it, and white space may be
// broken otherwise; anything else must be there word for word. So it is for a later
// summary.
func TestKept(t *testing.T) {
	const text = "The user asked: Fix the login\n  test, please. I changed auth/login.go and ran `go test ./auth -run Login`.\nNext: fix the cookies"
	want := []string{"Fix the login test, please.", "/home/me/app/auth/login.go", "go test ./auth -run Login", "fix the cookie"}
	got := Words{}.Entities("/home/me/app", conversation(), text)
	for _, e := range got {
		if e.Kept != slices.Contains(want, e.Text) {
			t.Errorf("%s %q: kept %v", e.Kind, e.Text, e.Kept)
		}
	}
	for root, want := range map[string]int{"/home/me/app": 4, "": 3} {
		if n := (Words{}).Survive(root, got, text); n != want {
			t.Errorf("below %q %d survive, want %d", root, n, want)
		}
	}
}

func TestNothingToKeep(t *testing.T) {
	if e := bare([]Piece{
		{Kind: prompt.KindText, Text: "What the model says is not asked for. Its words are its own."},
		{Kind: prompt.KindToolUse, Input: jsontext.Value(`{"command":7,"todos":"none"}`)},
		{Kind: prompt.KindToolResult, Failed: true}, // cleared: it tells of no error
	}); len(e) != 0 {
		t.Errorf("%+v", e)
	}
}

// The text itself keeps all of its entities, and a longer summary never keeps
// less.
func TestKeepGrowsWithTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{2,8}[.!?]?`), 4, 40).Draw(t, "words")
		text := ""
		for _, w := range words {
			text += w + rapid.SampledFrom([]string{" ", "  ", "\n"}).Draw(t, "space")
		}
		entities := bare([]Piece{{Kind: prompt.KindPrompt, Text: text}})
		kept := func(text string) int { return Words{}.Survive("", entities, text) }
		if n := kept(text); n != len(entities) {
			t.Fatalf("%d of %d entities of a text are in it", n, len(entities))
		}
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		longer := rapid.IntRange(cut, len(text)).Draw(t, "longer")
		if a, b := kept(text[:cut]), kept(text[:longer]); a > b {
			t.Fatalf("%d bytes keep %d, %d bytes %d", cut, a, longer, b)
		}
	})
}
