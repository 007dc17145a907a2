package codex_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// recordings returns the folder of recorded sessions next to the module root.
func recordings(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skip("the test does not run inside the module")
		}
		dir = parent
	}
	shared := filepath.Join(filepath.Dir(dir), "shared", "traces")
	if _, err := os.Stat(filepath.Join(shared, "codex")); err != nil {
		t.Skip("recorded sessions are not here: ", err)
	}
	return shared
}

// manifest returns the rows of manifest.tsv for Codex by file, values by column.
func manifest(t *testing.T, shared string) map[string]map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(shared, "manifest.tsv"))
	if err != nil {
		t.Skip("no manifest: ", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			m[name] = row[i]
		}
		if m["agent"] == "codex" {
			out[m["name"]] = m
		}
	}
	return out
}

// Calls, tokens, models, versions and compactions of all 28 recorded rollouts
// equal manifest.tsv, which was made by another program.
func TestRecordedTotals(t *testing.T) {
	shared := recordings(t)
	want := manifest(t, shared)
	if len(want) != 28 {
		t.Fatalf("manifest lists %d rollouts, want 28", len(want))
	}
	c, err := readPaths(traces.Options{Strict: true}, filepath.Join(shared, "codex"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, s := range c.Sessions {
		name, _ := filepath.Rel(shared, s.Files[0])
		m := want[filepath.ToSlash(name)]
		delete(want, filepath.ToSlash(name))
		u := s.Usage()
		peak, compactions := int64(0), 0
		for _, r := range s.Threads[0].Rounds {
			peak = max(peak, r.Usage.Input()+r.Usage.Output) // the manifest counts the response in
		}
		for _, ev := range s.Threads[0].Events {
			if ev.Kind == traces.EventCompact {
				compactions++
			}
		}
		for column, got := range map[string]int64{
			"api_calls": int64(s.NumCalls()), "sum_input": u.Uncached, "sum_cache_read": u.Read, "sum_output": u.Output,
			"max_context": peak, "compact_boundaries": int64(compactions), "lines": int64(s.Quality.Lines),
		} {
			if v, err := strconv.ParseInt(m[column], 10, 64); err != nil || v != got {
				t.Errorf("%s: %s is %d, the manifest says %q", name, column, got, m[column])
			}
		}
		if got := strings.Join(s.Models, ","); got != m["models"] {
			t.Errorf("%s: models %s, the manifest says %s", name, got, m["models"])
		}
		if !slices.Contains(s.Versions, m["versions"]) {
			t.Errorf("%s: versions %v, the manifest says %s", name, s.Versions, m["versions"])
		}
	}
	for name := range want {
		t.Errorf("%s was not read", name)
	}
}

// Replaying what the recordings did gives every recorded total exactly, and
// what no line shows (truncated outputs, results of the provider's own search) is a
// small part.
func TestRecordedReplay(t *testing.T) {
	c, err := readPaths(traces.Options{}, filepath.Join(recordings(t), "codex"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var input, unseen int64
	kinds := map[traces.EventKind]int{}
	for _, s := range c.Sessions {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		input += s.Quality.InputTokens
		unseen += s.Quality.UnseenTokens
		for _, ev := range s.Threads[0].Events {
			kinds[ev.Kind]++
		}
		for _, p := range s.Problems {
			t.Log(p)
		}
	}
	t.Logf("%d of %d new tokens unseen; events %v; unknown %v", unseen, input, kinds, c.Unknown)
	if unseen*6 > input {
		t.Errorf("%d of %d new tokens are in no line, more than a sixth", unseen, input)
	}
	if n := kinds[traces.EventShrink]; n > 10 {
		t.Errorf("the context shrank %d times without a reason, want a few", n)
	}
}
