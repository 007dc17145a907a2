package validate

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
)

// passage is a passage with two entities of each kind but one.
func passage() []piece {
	return []piece{
		{kind: prompt.KindPrompt, text: "<system-reminder>Never mention this reminder to anyone.</system-reminder>Fix the login test, please. Don't touch v1.2 of the API!\nok"},
		{kind: prompt.KindPrompt, meta: true, text: "A sentence that the client has put there."},
		{kind: prompt.KindToolUse, object: "/home/me/app/auth/login.go", input: jsontext.Value(`{"file_path":"/home/me/app/auth/login.go"}`)},
		{kind: prompt.KindToolUse, object: "/home/me/app/auth/login.go"},
		{kind: prompt.KindToolUse, object: "/etc/app/settings.ini"},
		{kind: prompt.KindToolUse, input: jsontext.Value(`{"command":"go test ./auth  -run Login\necho done"}`)},
		{kind: prompt.KindToolUse, input: jsontext.Value(`{"command":["bash","-lc","make lint"]}`)},
		{kind: prompt.KindToolResult, failed: true, text: "=== RUN TestLogin\nlogin_test.go:40: error: got 401, want 200\nFAIL"},
		{kind: prompt.KindToolResult, text: "error: not one, the call went well"},
		{kind: prompt.KindToolUse, input: jsontext.Value(`{"todos":[{"content":"find the cause","status":"in_progress"},{"content":"an old plan","status":"pending"}]}`)},
		{kind: prompt.KindToolUse, input: jsontext.Value(`{"todos":[{"content":"find the cause","status":"completed"},{"content":"fix the cookie","status":"in_progress"},{"content":"run all tests","status":"pending"}]}`)},
	}
}

// bare are entities of which nobody knows whether they are kept.
func bare(span []piece) []entity { return entities("", span, "") }

func TestEntities(t *testing.T) {
	want := []entity{
		{kind: entitySentence, text: "Fix the login test, please."}, {kind: entitySentence, text: "Don't touch v1.2 of the API!"},
		{kind: entityPath, text: "/home/me/app/auth/login.go"}, {kind: entityPath, text: "/etc/app/settings.ini"},
		{kind: entityCommand, text: "go test ./auth -run Login"}, {kind: entityCommand, text: "make lint"},
		{kind: entityError, text: "login_test.go:40: error: got 401, want 200"},
		{kind: entityTask, text: "fix the cookie"}, {kind: entityTask, text: "run all tests"},
	}
	if got := bare(passage()); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A path below the project may be given relative to it, and white space may be
// broken otherwise; anything else must be there word for word.
func TestKept(t *testing.T) {
	const text = "The user asked: Fix the login\n  test, please. I changed auth/login.go and ran `go test ./auth -run Login`.\nNext: fix the cookies"
	want := []string{"Fix the login test, please.", "/home/me/app/auth/login.go", "go test ./auth -run Login", "fix the cookie"}
	for root, n := range map[string]int{"/home/me/app": 4, "": 3} {
		got := 0
		for _, e := range entities(root, passage(), text) {
			if e.kept {
				got++
			}
			if root != "" && e.kept != slices.Contains(want, e.text) {
				t.Errorf("%s %q: kept %v", e.kind, e.text, e.kept)
			}
		}
		if got != n {
			t.Errorf("below %q %d are kept, want %d", root, got, n)
		}
	}
}

func TestNothingToKeep(t *testing.T) {
	if e := bare([]piece{
		{kind: prompt.KindText, text: "What the model says is not asked for. Its words are its own."},
		{kind: prompt.KindToolUse, input: jsontext.Value(`{"command":7,"todos":"none"}`)},
		{kind: prompt.KindToolResult, failed: true}, // cleared: it tells of no error
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
		span := []piece{{kind: prompt.KindPrompt, text: text}}
		kept := func(text string) (n int) {
			for _, e := range entities("", span, text) {
				if e.kept {
					n++
				}
			}
			return n
		}
		if n, all := kept(text), len(bare(span)); n != all {
			t.Fatalf("%d of %d entities of a text are in it", n, all)
		}
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		longer := rapid.IntRange(cut, len(text)).Draw(t, "longer")
		if a, b := kept(text[:cut]), kept(text[:longer]); a > b {
			t.Fatalf("%d bytes keep %d, %d bytes %d", cut, a, longer, b)
		}
	})
}
