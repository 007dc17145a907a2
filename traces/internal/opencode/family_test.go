package opencode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// pending counts the sessions whose prompt was heard and that have no index.
type pending struct{ now, most atomic.Int64 }

func (p *pending) Hear(k prompt.Kind, _ *traces.Text) any {
	if k == prompt.KindPrompt {
		if n := p.now.Add(1); n > p.most.Load() { // one worker reads a store
			p.most.Store(n)
		}
	}
	return nil
}

func (p *pending) Index(*traces.Session, []any) any { return p.now.Add(-1) }

// What is heard of a store's texts is held for two sessions at most: one is read while the one before becomes a session.
func TestStoreHoldsTwoSessions(t *testing.T) {
	c := newClient(t, "opencode.db")
	for i := range 8 {
		id := fmt.Sprint("ses_", i)
		c.keep(newScript(id, "").user(words("go")).answer("", words("done"), 100, 5000, 40, 0).named(i))
	}
	in, err := traces.Find(context.Background(), traces.Options{}, c.path)
	if err != nil {
		t.Fatal(err)
	}
	var ear pending
	got, err := ReadInputs(context.Background(), traces.Options{Listener: &ear}, in, "x")
	if err != nil || len(got.Sessions) != 8 || ear.now.Load() != 0 {
		t.Fatalf("%v, %d sessions, %d without an index; want 8 sessions and none", err, len(got.Sessions), ear.now.Load())
	}
	if n := ear.most.Load(); n > 2 {
		t.Errorf("%d sessions were held at once, want 2 at most", n)
	}
	lines := 0
	for _, s := range got.Sessions {
		lines += s.Quality.Lines
	}
	if lines != got.Lines || got.Lines != 8*3 { // a line for the session and one for each of two messages
		t.Errorf("%d lines, and %d of sessions, want 24 of both", got.Lines, lines)
	}
}

// named returns the export with names of messages that no other has.
func (s *script) named(i int) string {
	return strings.ReplaceAll(s.text(), `"msg_`, fmt.Sprint(`"msg_`, i))
}

// A store beside an export of one of its sessions is read together with that: the session counts once, as the same
// exports in files do.
func TestStoreBesideAnExport(t *testing.T) {
	c := newClient(t, "opencode.db")
	for _, x := range exports() {
		c.keep(x)
	}
	alone, err := c.read()
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(other, []byte(exports()[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := traces.Find(context.Background(), traces.Options{}, c.path, other)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadInputs(context.Background(), traces.Options{}, in, "x")
	if err != nil {
		t.Fatal(err)
	}
	var want, have []string
	for _, s := range alone.Sessions {
		want = append(want, fmt.Sprint(s.ID, s.Usage()))
	}
	for _, s := range got.Sessions {
		have = append(have, fmt.Sprint(s.ID, s.Usage()))
	}
	if diff := cmp.Diff(want, have); diff != "" || got.NumProblems != alone.NumProblems+1 {
		t.Errorf("%d problems, want one more than the %d of the store alone (-alone +beside):\n%s", got.NumProblems, alone.NumProblems, diff)
	}
}

// A family is a session with all that descend from it, wherever they stand; parents in a circle end nothing.
func TestFamilies(t *testing.T) {
	var list []info
	for _, pair := range []string{"c b", "x ", "b a", "y gone", "a ", "p q", "q p", "z x"} {
		id, parent, _ := strings.Cut(pair, " ")
		list = append(list, info{ID: id, Parent: parent})
	}
	var got []string
	for _, family := range stored.Families(list) {
		var ids []string
		for _, one := range family {
			ids = append(ids, one.ID)
		}
		got = append(got, strings.Join(ids, ""))
	}
	if want := []string{"cba", "xz", "y", "pq"}; !slices.Equal(got, want) {
		t.Errorf("families %v, want %v", got, want)
	}
}
