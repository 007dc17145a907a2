package parsed

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// samples reads the samples.
func samples(t *testing.T) *traces.Corpus {
	t.Helper()
	c, err := agents.ReadFS(t.Context(), traces.Options{Listener: needs.NewListener()}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func written(t *testing.T, name string, sessions []*traces.Session) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, sessions); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFrom(t *testing.T, opts traces.Options, paths ...string) (*traces.Corpus, error) {
	t.Helper()
	inputs, err := traces.Find(t.Context(), opts, paths...)
	if err != nil {
		t.Fatal(err)
	}
	return Read(t.Context(), opts, inputs, "files")
}

// Sessions are read as they were written, but for where they are from.
func TestReadsWhatWasWritten(t *testing.T) {
	want := samples(t).Sessions
	path := written(t, "s.parquet", want)
	c, err := readFrom(t, traces.Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Sessions) != len(want) {
		t.Fatalf("%d sessions, want %d", len(c.Sessions), len(want))
	}
	for i, s := range c.Sessions {
		was := *want[i]
		was.Files = []string{path}
		if !reflect.DeepEqual(s, &was) {
			t.Errorf("session %s differs from what was written", s.ID)
		}
	}
}

// A file of sessions and recordings are one corpus; files that have a session in common speak of it.
func TestReadsBoth(t *testing.T) {
	all := samples(t).Sessions
	one, two := written(t, "1.parquet", all[:3]), written(t, "2.parquet", all[2:])
	recording := filepath.Join(t.TempDir(), "a.jsonl")
	err := fs.WalkDir(synthetic.Samples(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".gz") {
			return err
		}
		text, err := fs.ReadFile(synthetic.Samples(), path)
		return errors.Join(err, os.WriteFile(recording+".gz", text, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
	spoken := map[uint64][]string{}
	c, err := readFrom(t, traces.Options{Spoke: func(file string, name uint64) { spoken[name] = append(spoken[name], file) }}, one, two, recording+".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Sessions) != len(all) || c.Repeated == 0 {
		t.Errorf("%d sessions, %d calls repeated, want each session once", len(c.Sessions), c.Repeated)
	}
	ids, common := map[string]bool{}, 0
	for _, s := range c.Sessions {
		ids[s.ID] = true
	}
	for _, files := range spoken {
		if reflect.DeepEqual(files, []string{one, two}) {
			common++
		}
	}
	if len(ids) != len(c.Sessions) || common != 1 {
		t.Errorf("%d ids of %d sessions; %d names common to both files, want 1", len(ids), len(c.Sessions), common)
	}
}

// What is damaged, or no file of sessions, is a problem of the corpus, and with Strict an error; a byte anywhere is noticed
// or makes no difference.
func TestDamage(t *testing.T) {
	want := samples(t).Sessions
	path := written(t, "s.parquet", want)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	try := func(what string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := readFrom(t, traces.Options{}, path)
		if err == nil {
			t.Errorf("%s: taken for a whole file of %d sessions", what, len(c.Sessions))
			return
		}
		refused++
		if !errors.Is(err, traces.ErrNoSessions) || c.NumProblems != 1 || !strings.Contains(c.Problems[0].String(), "sim export --sessions") {
			t.Errorf("%s: %v, problems %v", what, err, c.Problems)
		}
		if _, err := readFrom(t, traces.Options{Strict: true}, path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: strict: %v", what, err)
		}
	}
	try("empty", nil)
	try("half", good[:len(good)/2])
	try("text", []byte("PAR1 nothing PAR1"))
	// Each byte of the footer, which Parquet itself does not check.
	for at := 0; at < len(good); at += 1 + max(0, len(good)-1500-at)/50 {
		text := bytes.Clone(good)
		text[at] ^= 0x55
		try("a byte", text)
	}
	if refused < 1500 {
		t.Errorf("%d damaged files refused", refused)
	}
}

func TestReadInterrupted(t *testing.T) {
	path := written(t, "s.parquet", samples(t).Sessions)
	inputs, err := traces.Find(t.Context(), traces.Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, traces.Options{}, inputs, "files"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was interrupted", err)
	}
}
