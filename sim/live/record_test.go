package live

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// A recorded call is named by the SHA-256 of what the server got, in both interfaces.
func TestNamedByTheBody(t *testing.T) {
	for _, provider := range []string{Anthropic, OpenAI} {
		server, web := serve(t)
		if provider == OpenAI {
			web = openAIAt(t, server.URL, 0)
		}
		s, dir := conversation("alpha"), t.TempDir()
		l := newLive(t, Options{Backend: web, Texts: library(s), Calls: folder(t, dir, Make), Settings: Settings{Provider: provider}})
		compose(t, l, s.call())
		want := fmt.Sprintf("%x.json", sha256.Sum256([]byte(server.Requests()[0].Body)))
		if _, err := os.Stat(filepath.Join(dir, want)); err != nil {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

// Whatever a request depends on tells calls apart.
func TestIdentity(t *testing.T) {
	name := func(o Options, edit func(*script, *summarizer.Call)) Key {
		s := conversation("alpha")
		c := s.call()
		if edit != nil {
			edit(s, c)
		}
		o.Texts = library(s)
		l := newLive(t, o)
		p := l.opts.plan(c)
		m, err := l.compose(t.Context(), c, &p)
		if err != nil {
			t.Fatal(err)
		}
		return m.key
	}
	base := name(Options{}, nil)
	if name(Options{}, nil) != base {
		t.Fatal("the same call has two names")
	}
	seen := map[Key]string{base: "nothing"}
	for what, got := range map[string]Key{
		"another model":        name(Options{Settings: Settings{Model: "claude-haiku-4-5"}}, nil),
		"output":               name(Options{Settings: Settings{MaxOutput: 100}}, nil),
		"instructions":         name(Options{Settings: Settings{Instructions: "Briefly."}}, nil),
		"prefix":               name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Own = true }),
		"repetition":           name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Ordinal = 1 }),
		"markers":              name(Options{}, func(_ *script, c *summarizer.Call) { c.Markers[1].TTL = exchange.TTL1h }),
		"part":                 name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Part = ask.PartUpTo }),
		"pivot":                name(Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Part, c.Intent.Summarised = ask.PartFrom, 5 }),
		"provider":             name(Options{Settings: Settings{Provider: OpenAI}}, nil),
		"a bound of the model": name(Options{MaxOutputOf: func(string) int { return 8192 }}, nil),
		"tools of the session": name(Options{}, func(s *script, _ *summarizer.Call) { s.session.Tools = []string{"", "Read", "Shell"} }),
		"a cleared result": name(Options{}, func(s *script, _ *summarizer.Call) {
			s.context.SetForm(8, prompt.FormCleared, 9, prompt.CauseEdit)
		}),
	} {
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s do not tell calls apart", what, other)
		}
		seen[got] = what
	}
}

// nth is a key, answered and recordOf are what a call may come to.
func nth(n byte) Key { return Key(fmt.Sprintf("%064x", n)) }

func answered(text string) *Record {
	return &Record{
		Session: "alpha", Source: "compact", Model: "m", Round: 3, Began: time.Unix(1000, 0).UTC(),
		Reply: Reply{ID: "i", Model: "m", StopReason: "end_turn", Text: words(text), Attempts: 1, Total: 2 * time.Second,
			Usage: prompt.Usage{Uncached: 1, Read: 2, Write5m: 3, Write1h: 4, WriteOther: 5, Output: 6}, Wasted: prompt.Usage{Output: 7},
			Thinking: 5},
	}
}

func recordOf(c Cause) *Record {
	return &Record{Reply: Reply{Failure: &Failure{Cause: c, Message: "Somebody said no.", After: time.Second}, Attempts: 1, Wasted: prompt.Usage{Output: 3}}}
}

// asker counts how often a call is made.
type asker struct {
	calls atomic.Int64
	give  *Record
}

func (a *asker) ask(context.Context) (*Record, error) {
	a.calls.Add(1)
	return a.give, nil
}

// What each mode does about a call that is recorded, and about one that is not.
func TestModes(t *testing.T) {
	for _, tt := range []struct {
		mode            Mode
		stored, missing int64 // calls made where the call is recorded, and where it is not
		has             bool
	}{{Replay, 0, 0, true}, {Make, 0, 1, true}} {
		dir := t.TempDir()
		first := asker{give: answered("one\ntwo\n")}
		if _, _, err := folder(t, dir, Make).Do(t.Context(), nth(1), first.ask); err != nil {
			t.Fatal(err)
		}
		f := folder(t, dir, tt.mode)
		if f.Has(nth(1)) != tt.has {
			t.Errorf("%s: the recorded call is there: %v", tt.mode, !tt.has)
		}
		for call, want := range map[byte]int64{1: tt.stored, 2: tt.missing} {
			a := asker{give: answered("one\ntwo\n")}
			for range 3 { // once in the life of the folder
				got, _, err := f.Do(t.Context(), nth(call), a.ask)
				if call == 2 && tt.mode == Replay {
					if !errors.Is(err, ErrMissing) {
						t.Errorf("a missing call: %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s, call %d: %v", tt.mode, call, err)
				}
				if d := cmp.Diff(answered("one\ntwo\n").Reply, got.Reply); d != "" {
					t.Errorf("%s, call %d (-made +got):\n%s", tt.mode, call, d)
				}
			}
			if n := a.calls.Load(); n != want {
				t.Errorf("%s, call %d: made %d times, want %d", tt.mode, call, n, want)
			}
		}
	}
}

// Failures that may pass are tried again when what is missing is recorded, once;
// others are answers.
func TestFailuresOfRecords(t *testing.T) {
	dir := t.TempDir()
	for n, c := range map[byte]Cause{1: CauseNetwork, 2: CauseTooLong} {
		if _, _, err := folder(t, dir, Make).Do(t.Context(), nth(n), (&asker{give: recordOf(c)}).ask); err != nil {
			t.Fatal(err)
		}
	}
	f := folder(t, dir, Make)
	again := asker{give: recordOf(CauseNetwork)}
	for range 2 {
		if _, _, err := f.Do(t.Context(), nth(1), again.ask); err != nil {
			t.Error(err)
		}
	}
	if n := again.calls.Load(); n != 1 {
		t.Errorf("a call that failed on the network was made %d times, want 1", n)
	}
	r, there, err := f.Do(t.Context(), nth(2), nil)
	if err != nil || !there || !cmp.Equal(r.Reply, recordOf(CauseTooLong).Reply) {
		t.Errorf("%+v, %v, %v", r, there, err)
	}
}

// However many want a call, it is made once, and all get the same.
func TestCallsAreMadeOnce(t *testing.T) {
	f := folder(t, t.TempDir(), Make)
	a := asker{give: answered("once")}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if r, _, err := f.Do(context.Background(), nth(1), a.ask); err != nil || r.Reply.Text != "once" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if n := a.calls.Load(); n != 1 {
		t.Errorf("made %d times, want 1", n)
	}
}

// A file that does not hold the call it is named by, as it was recorded, is refused with its name and what to do.
func TestDefects(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := folder(t, dir, Make).Do(t.Context(), nth(1), (&asker{give: answered("a summary of\ntwo lines")}).ask); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, string(nth(1))+".json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(b)
	if !strings.Contains(whole, "\"a summary of\",\n") {
		t.Errorf("nobody can read this:\n%s", whole)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"half of it":        {whole[:len(whole)/2], "it is cut off: " + remedy},
		"nothing":           {"", "it is cut off: " + remedy},
		"no JSON":           {"summary", "it is not as this version records calls"},
		"another summary":   {strings.Replace(whole, "a summary of", "a story of", 1), "not the one that was recorded"},
		"another bill":      {strings.Replace(whole, `"Read": 2`, `"Read": -2`, 1), "not the one that was recorded"},
		"a member more":     {strings.Replace(whole, `"source"`, `"api_key": "x", "source"`, 1), "it is not as this version records calls"},
		"another call":      {strings.Replace(whole, string(nth(1)), string(nth(2)), 1), "not the one it is named by"},
		"no answer":         {`{"request":"` + string(nth(1)) + `"}`, "not the one that was recorded"},
		"an earlier format": {`{"version": 2, "key": "0123"}`, "it is not as this version records calls"},
	} {
		if err := os.WriteFile(path, []byte(tc.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := folder(t, dir, Replay).Do(t.Context(), nth(1), nil)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(whole, "\n", "\r\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := folder(t, dir, Replay).Do(t.Context(), nth(1), nil); err != nil {
		t.Errorf("line ends as a repository may write them: %v", err)
	}
}

// What earlier versions recorded is refused with one line, whatever is to be done; a folder that is missing has nothing
// to replay.
func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "5320fb876a6ce9ffea445dba700e8896.json")
	if err := os.WriteFile(old, []byte(`{"version":2}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Replay, Make} {
		_, err := OpenFolder(dir, mode)
		if err == nil || !strings.Contains(err.Error(), old+" was recorded by an earlier version of sim") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if _, err := OpenFolder(filepath.Join(dir, "none"), Replay); err == nil || !strings.Contains(err.Error(), "record one first") {
		t.Errorf("%v", err)
	}
}
