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
		"newer":           {replace(`"version": 2`, `"version": 3, "mood": "good"`), "it has version 3 of the format and 2 is read: use a newer sim"},
		"no version":      {replace(`"version": 2`, `"mood": 1`), "it has version 0 of the format and 2 is read: delete it and record the call again"},
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
		"another model":   {replace(`"model": "`, `"model": "x`), "its answer is not the one that was stored"},
		"another time":    {replace(`"began": "2`, `"began": "1`), "its answer is not the one that was stored"},
		"no sum":          {func(s string) string { return s[:strings.Index(s, ",\n  \"sum\"")] + "\n}\n" }, "its answer is not the one that was stored"},
		"an empty sum":    {func(s string) string { return s[:strings.Index(s, "\"sum\"")] + "\"sum\": \"\"\n}\n" }, "its answer is not the one that was stored"},
		"an earlier form": {replace(`"version": 2`, `"version": 1`), "it has version 1 of the format and 2 is read: delete it and record the call again"},
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
		{answered(nth(1)), "bf54f8691791a85035788873e54ba30dbc6d64869809ef4f7acdcf390489733a"},
		{refused(nth(2), wire.CauseTooLong), "35acd84130c62622064818409af4c21a660149feabb7905cd227114bb774bd0f"},
	} {
		if got, err := formOf(tc.c).sum(); err != nil || got != tc.want {
			t.Errorf("sum %s, %v; want %s", got, err, tc.want)
		}
	}
}

// Line ends that a repository changed leave a file as it is.
func TestLineEnds(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, Options{}, answered(nth(1)))
	path := filepath.Join(dir, nth(1).name()+".json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openFolder(t, dir, Replay, Options{}).Do(t.Context(), nth(1), nil); err != nil {
		t.Error(err)
	}
}

func replace(old, with string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, with, 1) }
}
