package fidelity

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
)

// conversation is a stretch with two entities of each kind but one.
func conversation() *Index {
	var x Index
	for _, p := range []Piece{
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
	} {
		x.Add(&p)
	}
	return &x
}

func TestEntities(t *testing.T) {
	want := []Entity{
		{Sentence, "Fix the login test, please."}, {Sentence, "Don't touch v1.2 of the API!"},
		{Path, "/home/me/app/auth/login.go"}, {Path, "/etc/app/settings.ini"},
		{Command, "go test ./auth -run Login"}, {Command, "make lint"},
		{Error, "login_test.go:40: error: got 401, want 200"},
		{Task, "fix the cookie"}, {Task, "run all tests"},
	}
	if got := conversation().Entities(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// kept counts the entities that a text has.
func kept(text string, entities []Entity, root string) (n int) {
	for _, e := range entities {
		if NewText(text).Has(e, root) {
			n++
		}
	}
	return n
}

// A path below the project may be given relative to it, and white space may be
// broken otherwise; anything else must be there word for word.
func TestHas(t *testing.T) {
	text := NewText("The user asked: Fix the login\n  test, please. I changed auth/login.go and ran `go test ./auth -run Login`.\nNext: fix the cookies")
	want := []Entity{
		{Sentence, "Fix the login test, please."}, {Path, "/home/me/app/auth/login.go"},
		{Command, "go test ./auth -run Login"}, {Task, "fix the cookie"},
	}
	for _, e := range conversation().Entities() {
		if got := text.Has(e, "/home/me/app"); got != slices.Contains(want, e) {
			t.Errorf("%s %q: %v", e.Kind, e.Text, got)
		}
	}
	if text.Has(want[1], "") {
		t.Error("a relative path counts as kept although nobody knows the project's folder")
	}
}

func TestNothingToKeep(t *testing.T) {
	var x Index
	x.Add(&Piece{Kind: prompt.KindText, Text: "What the model says is not asked for. Its words are its own."})
	x.Add(&Piece{Kind: prompt.KindToolUse, Input: jsontext.Value(`{"command":7,"todos":"none"}`)})
	if e := x.Entities(); len(e) != 0 {
		t.Errorf("%q", e)
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
		var x Index
		x.Add(&Piece{Kind: prompt.KindPrompt, Text: text})
		entities := x.Entities()
		if n := kept(text, entities, ""); n != len(entities) {
			t.Fatalf("%d of %d entities of a text are in it", n, len(entities))
		}
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		longer := rapid.IntRange(cut, len(text)).Draw(t, "longer")
		if a, b := kept(text[:cut], entities, ""), kept(text[:longer], entities, ""); a > b {
			t.Fatalf("%d bytes keep %d, %d bytes %d", cut, a, longer, b)
		}
	})
}
