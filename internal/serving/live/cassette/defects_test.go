package cassette

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/serving/live/wire"
)

// Each defect of a file is told with the file and what to do, when its call is
// asked for.
func TestDefects(t *testing.T) {
	whole := func(t *testing.T) (dir, path, text string) {
		dir = t.TempDir()
		store(t, dir, Options{}, answered(nth(1)))
		path = filepath.Join(dir, nth(1).name()+".json")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return dir, path, string(b)
	}
	for name, tt := range map[string]struct {
		spoil func(string) string
		want  string
	}{
		"newer":           {replace(`"version": 1`, `"version": 2, "mood": "good"`), "it has version 2 of the format and 1 is read: use a newer sim"},
		"no version":      {replace(`"version": 1`, `"mood": 1`), "it has version 0 of the format and 1 is read: delete it and record the call again"},
		"cut off":         {func(s string) string { return s[:len(s)/2] }, "it is cut off: delete it"},
		"empty":           {func(string) string { return "" }, "it is cut off: delete it"},
		"no JSON":         {replace(`"reply"`, `reply`), "it is damaged"},
		"unknown member":  {replace(`"reply"`, `"answer"`), "it is damaged"},
		"more behind it":  {func(s string) string { return s + s }, "it is damaged"},
		"another's name":  {replace(nth(1).name(), nth(2).name()), "it holds the call " + nth(2).name() + " and not the one it is named by"},
		"another chain":   {replace(`"chain": "0000000000000001`, `"chain": "0000000000000002`), "its key is not that of its call, "},
		"no reply":        {replace(`"reply"`, `"withheld": null, "reply": null, "reply"`), "it is damaged"},
		"negative":        {replace(`"output": 900`, `"output": -900`), "negative"},
		"another output":  {replace(`"output": 900`, `"output": 901`), "its answer is not the one that was stored"},
		"another read":    {replace(`"read": 100000`, `"read": 100001`), "its answer is not the one that was stored"},
		"another text":    {replace(`<summary>`, `<summary> `), "its answer is not the one that was stored"},
		"neither texts":   {replace(`"texts": true`, `"texts": false`), "texts must be there or be withheld"},
		"absurd withheld": {replace(`"texts": true`, `"texts": false, "withheld": {"text": [{"bytes": 99999999999}]}`), "out of range"},
	} {
		dir, path, text := whole(t)
		if err := os.WriteFile(path, []byte(tt.spoil(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []Mode{Replay, RecordMissing} {
			_, _, err := openFolder(t, dir, mode, Options{}).Do(t.Context(), nth(1), nil)
			wantError(t, name, err, path, tt.want)
			if errors.Is(err, ErrMissing) {
				t.Errorf("%s: a defect is taken for a call that is missing", name)
			}
		}
		var c counted
		if _, _, err := openFolder(t, dir, Record, Options{}).Do(t.Context(), nth(1), c.ask); err != nil {
			t.Errorf("%s: recording does not mend it: %v", name, err)
		}
	}
}

// The sum of an answer stays what it is: files that were paid for hold it.
func TestSumStays(t *testing.T) {
	for _, tc := range []struct {
		c    *Cassette
		want string
	}{
		{answered(nth(1)), "2:d487d1b6934c765e36c33c7e866c2155e54ee3b771fd6480b434d561ca5f09a6"},
		{refused(nth(2), wire.CauseTooLong), "2:7d34b66b1cc13ae59cbccbd6a5db01c81205231f6ff24570ce012ac37f4d6046"},
	} {
		if got, err := formOf(tc.c).sum(); err != nil || got != tc.want {
			t.Errorf("sum %s, %v; want %s", got, err, tc.want)
		}
	}
}

// Files of earlier programs are read: without a sum or with one of what is no longer kept, and with the sizes and
// digests of what was sent.
func TestEarlierFiles(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, Options{}, answered(nth(1)))
	path := filepath.Join(dir, nth(1).name()+".json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(b), ",\n  \"sum\"")
	if !found {
		t.Fatalf("no sum in %s", b)
	}
	asked := replace(`"texts"`, `"request": {"model": "m", "messages": ["user text 10 B 0123456789abcdef"]}, "texts"`)(string(b))
	kept := replace(`"texts"`, `"predicted": {"read": 9}, "entities": [{"kind": "path", "kept": true}], "texts"`)(
		replace(`"sum": "2:`, `"sum": "1:00`)(string(b)))
	for _, text := range []string{before + "\n}\n", asked, kept, strings.ReplaceAll(string(b), "\n", "\r\n")} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := openFolder(t, dir, Replay, Options{}).Do(t.Context(), nth(1), nil); err != nil {
			t.Error(err)
		}
	}
}

func replace(old, with string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, with, 1) }
}
