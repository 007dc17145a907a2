package cassette

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that cannot be read stops what asks for it and is named. Where it is to be
// replaced its call counts as missing, is made anew, and the file stays beside the
// new one, whatever stands there already; what cannot be told to be a cassette at
// all is left alone.
func TestReplaceBroken(t *testing.T) {
	dir := t.TempDir()
	call := nth(1)
	store(t, dir, Options{}, answered(call))
	path := filepath.Join(dir, call.Key().String()+suffix)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(context.Context) (*Cassette, error) { return answered(call), nil }
	for n, text := range []string{string(whole[:100]), "", strings.Replace(string(whole), `"version": 1`, `"version": 9`, 1)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, o := range []struct {
			mode Mode
			opts Options
		}{{RecordMissing, Options{}}, {Replay, Options{ReplaceBroken: true}}} {
			f := openFolder(t, dir, o.mode, o.opts)
			if _, _, err := f.Do(t.Context(), call, ask); !f.Has(call) || !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), path) {
				t.Errorf("%d %v: %v", n, o.mode, err)
			}
		}
		f := openFolder(t, dir, RecordMissing, Options{ReplaceBroken: true})
		if f.Has(call) {
			t.Errorf("%d: a broken file is taken for a call that is there", n)
		}
		if _, there, err := f.Do(t.Context(), call, ask); err != nil || there {
			t.Fatalf("%d: %v, there %v", n, err, there)
		}
		beside := path + brokenSuffix
		if n > 0 {
			beside += "-" + string(rune('1'+n))
		}
		if got, err := os.ReadFile(beside); err != nil || string(got) != text {
			t.Errorf("%d: beside stands %q, %v", n, got, err)
		}
		if list := f.Broken(); len(list) != 1 || !strings.HasPrefix(list[0], beside+": ") || len(list[0]) < len(beside)+3 {
			t.Errorf("%d: replaced %v", n, list)
		}
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	f := openFolder(t, dir, RecordMissing, Options{ReplaceBroken: true})
	if _, _, err := f.Do(t.Context(), call, ask); err == nil || errors.Is(err, ErrBroken) {
		t.Errorf("a folder in the place of a cassette: %v", err)
	}
}
