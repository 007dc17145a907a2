package cassette

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/reading/texts"
	"github.com/compactsim/compactsim/internal/serving/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// What is stored comes back as it was.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := []*Cassette{answered(nth(1)), refused(nth(2), wire.CauseTooLong), {Call: nth(3), Texts: true, Reply: &wire.Reply{Text: "short"}}}
	store(t, dir, Options{}, want...)
	f := openFolder(t, dir, Replay, Options{})
	for _, c := range want {
		got, err := f.load(c.Call)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("call %d: %s", c.Call.Number, diff)
		}
	}
}

// Bytes of an answer that are no UTF-8 are replaced, once: who records gets what
// is replayed.
func TestInvalidUTF8(t *testing.T) {
	f := openFolder(t, t.TempDir(), Record, Options{})
	ask := counted{give: func(int) (*Cassette, error) { return &Cassette{Reply: &wire.Reply{Text: "a\xff\xfeb"}}, nil }}
	for range 2 {
		if got, _, err := f.Do(t.Context(), nth(1), ask.ask); err != nil || got.Reply.Text != "a\uFFFD\uFFFDb" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// Keys are the same for all time, or nothing that was recorded would be found:
// XXH3-128 over chain and parameters, each with its length ahead.
func TestKey(t *testing.T) {
	chain := prompt.Digest{Hi: 0x0102030405060708, Lo: 0x090a0b0c0d0e0f10}
	d := prompt.DigestString("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10" + "\x07model=a" + "\x01b")
	if got, want := chainKey(chain, "model=a", "b").String(), fmt.Sprintf("%016x%016x", d.Hi, d.Lo); got != want {
		t.Errorf("key %s, want %s", got, want)
	}
	seen := map[Key]string{}
	for name, k := range map[string]Key{
		"base": chainKey(chain, "a", "b"), "joined": chainKey(chain, "ab"), "turned": chainKey(chain, "b", "a"), "one more": chainKey(chain, "a", "b", ""),
		"no parameters": chainKey(chain), "another chain": chainKey(chain.ExtendInt(1), "a", "b"),
	} {
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[k] = name
	}
	k := chainKey(chain, "a")
	var got Key
	if err := got.UnmarshalText([]byte(k.String())); err != nil || got != k {
		t.Errorf("%s parsed is %s, %v", k, got, err)
	}
	for _, bad := range []string{"", "12", strings.Repeat("g", 32), strings.Repeat("A", 32), k.String() + "0"} {
		if err := got.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a key", bad)
		}
	}
}

// A redacted file has nobody's words in it, whatever the call came to, and still
// gives the steps of sizes, and which marks stand in a text in which order.
func TestRedaction(t *testing.T) {
	dir := t.TempDir()
	call := nth(1)
	call.Params = append(call.Params, "instructions="+strings.Repeat("keep what is said of "+canary+" ", 8))
	full, failed := answered(call), refused(nth(2), wire.CauseTooLong)
	var c counted
	if made, _, err := openFolder(t, dir, Record, Options{Redact: true}).Do(t.Context(), call, c.ask); err != nil || !cmp.Equal(made.Call, call) {
		t.Errorf("made: %+v, %v", made, err)
	}
	store(t, dir, Options{Redact: true}, full, failed)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), canary) {
			t.Errorf("%s holds the words that were to be withheld:\n%s", path, b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f := openFolder(t, dir, Replay, Options{})
	got, err := f.load(call)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(got.Call, call) {
		t.Errorf("call %+v, want %+v", got.Call, call)
	}
	if got.Texts {
		t.Error("its texts are said to be the model's own")
	}
	for _, pair := range [][2]string{{full.Reply.Text, got.Reply.Text}, {full.Reply.Compaction, got.Reply.Compaction}} {
		want, is := pair[0], pair[1]
		if len(is) < len(want) || strings.Contains(is, canary) {
			t.Errorf("%q stands for %d bytes", is, len(want))
		}
		for _, tag := range marks {
			if strings.Count(is, tag) != strings.Count(want, tag) {
				t.Errorf("%s stands %d times in %q, want %d", tag, strings.Count(is, tag), is, strings.Count(want, tag))
			}
		}
	}
	stripped := *got.Reply
	stripped.Text, stripped.Compaction, stripped.ToolCalls = full.Reply.Text, full.Reply.Compaction, full.Reply.ToolCalls
	if diff := cmp.Diff(full.Reply, &stripped); diff != "" || len(got.Reply.ToolCalls) != 1 {
		t.Errorf("but for texts the replies differ: %s; tool calls %q", diff, got.Reply.ToolCalls)
	}
	if got, err := f.load(nth(2)); err != nil || got.Failure.Cause != wire.CauseTooLong || got.Failure.Excess != 1234 ||
		len(got.Failure.Message) < len(failed.Failure.Message) {
		t.Errorf("failure %+v, %v", got, err)
	}
}

// Titles that are named stay where they are.
func TestRedactionKeepsTitles(t *testing.T) {
	for _, text := range []string{
		"", "plain", "<summary>", "  <summary>\n\n1. Title\n" + canary + "\n2. Titles and more\n</summary>  ", "a<summary>b</summary>c</summary>",
		strings.Repeat("ä ", 100) + "\n", "\n\t ", "Titles",
	} {
		b := newBlur()
		list := b.withhold(text, []string{"Title", "", "Titles"})
		got, err := refill(list)
		if err != nil || len(got) < len(text) {
			t.Errorf("%q becomes %q, %v", text, got, err)
		}
		for _, keep := range []string{"Title", "Titles", "<summary>", "</summary>"} {
			if strings.Count(got, keep) != strings.Count(text, keep) {
				t.Errorf("%q becomes %q: %s is not as often in it", text, got, keep)
			}
		}
		if got, want := len(strings.TrimSpace(got)), len(strings.TrimSpace(text)); got < want {
			t.Errorf("%q trimmed has %d bytes, its filler %d", text, want, got)
		}
	}
	for _, list := range [][]part{{{Bytes: -1}}, {{Bytes: texts.MaxFiller}, {Kept: "x"}}, {{Bytes: texts.MaxFiller + 1}}} {
		if _, err := refill(list); err == nil {
			t.Errorf("%+v is filled", list)
		}
	}
}

// There is no place for a key or a header: no field of what is stored has a
// name like one, and none can hold just anything.
func TestNoPlaceForSecrets(t *testing.T) {
	var visit func(where string, typ reflect.Type)
	seen := map[reflect.Type]bool{}
	visit = func(where string, typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Map, reflect.Interface, reflect.Func, reflect.Chan:
			t.Errorf("%s is a %s: anything could be put there", where, typ)
		case reflect.Pointer, reflect.Slice, reflect.Array:
			visit(where, typ.Elem())
		case reflect.Struct:
			if typ.PkgPath() == "time" {
				return
			}
			for f := range typ.Fields() {
				for _, word := range []string{"header", "auth", "token", "secret", "password", "cookie", "url", "env"} {
					if strings.Contains(strings.ToLower(f.Name), word) && f.Type.Kind() != reflect.Int {
						t.Errorf("%s.%s could hold a secret", where, f.Name)
					}
				}
				visit(where+"."+f.Name, f.Type)
			}
		}
	}
	visit("form", reflect.TypeFor[form]())
}

// A request that has changed is missing: no other call's answer is taken for it.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, Options{}, answered(nth(1)), answered(nth(2)))
	f := openFolder(t, dir, Replay, Options{})
	changed, moved, stranger := nth(2), nth(1), nth(3)
	changed.Chain.Lo++
	moved.Params = []string{moved.Params[1], moved.Params[0]}
	for _, call := range []Call{changed, moved, stranger} {
		_, err := f.load(call)
		if want := fmt.Sprintf("no recorded answer for call %d of session S", call.Number); !errors.Is(err, ErrMissing) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
