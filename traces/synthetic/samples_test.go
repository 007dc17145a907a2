package synthetic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

func sampleFiles(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(Samples(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files[path], err = fs.ReadFile(Samples(), path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func gunzip(t testing.TB, gz []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(gz[4:8], make([]byte, 4)) || r.Name != "" {
		t.Errorf("gzip header names a time (%x, RFC 1952 MTIME) or a file %q", gz[4:8], r.Name)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSamplesAreSmall(t *testing.T) {
	total := 0
	for _, gz := range sampleFiles(t) {
		total += len(gz)
	}
	if total >= 600_000 {
		t.Errorf("samples have %d bytes, want less than 600,000", total)
	}
}

// The samples are data: they stay byte by byte what they are, so that figures on
// them can be made again.
func TestSamplesStayTheSame(t *testing.T) {
	files := sampleFiles(t)
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n", path, len(files[path]))
		h.Write(files[path])
	}
	const want = "844e24f9d264f3a0e486a56117100facee8dda8fec0793f7cd3987975baa830b"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("the samples have the digest %s, want %s", got, want)
	}
}

// What each sample is for: compactions, pauses longer than its lifetime, agents
// with files of their own, and the tokens it would hold without compaction. Every sample reads
// without a problem.
func TestSamplesShowWhatTheyAreFor(t *testing.T) {
	for _, tt := range []struct {
		name        string
		calls       int
		compactions int
		over5m      int // least pauses of more than five minutes
		over1h      int
		agents      int
		least, most int64 // tokens of the main thread without compaction
	}{
		{"short-fix", 32, 0, 0, 0, 0, 50_000, 100_000},
		{"long-refactor", 159, 2, 3, 0, 0, 250_000, 450_000},
		{"exploration", 90, 1, 1, 0, 1, 210_000, 300_000},
		{"fan-out", 58, 0, 0, 0, 4, 50_000, 120_000},
		{"overnight", 148, 1, 3, 2, 0, 210_000, 400_000},
	} {
		sub, err := fs.Sub(Samples(), tt.name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := agents.ReadFS(context.Background(), traces.Options{Strict: true}, sub)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if len(c.Sessions) != 1 || c.NumProblems > 0 {
			t.Fatalf("%s: %d sessions, %d problems", tt.name, len(c.Sessions), c.NumProblems)
		}
		s := c.Sessions[0]
		over5m, over1h, agents := 0, 0, 0
		main := &s.Threads[0]
		tokens := s.Tokens(main.Prefix)
		for i := range main.Rounds {
			rd := &main.Rounds[i]
			wait := time.Duration(rd.Wait)
			if i > 0 && rd.Trigger == traces.TriggerPrompt && wait > time.Hour {
				over1h++
			} else if i > 0 && rd.Trigger == traces.TriggerPrompt && wait > 5*time.Minute {
				over5m++
			}
			tokens += s.Tokens(rd.Input) + s.Tokens(rd.Reply)
		}
		for i := range s.Threads {
			if s.Threads[i].Kind == traces.ThreadAgent {
				agents++
			}
		}
		if n := len(main.Events); n != tt.compactions {
			t.Errorf("%s: %d compactions, want %d", tt.name, n, tt.compactions)
		}
		if over5m+over1h < tt.over5m || over1h < tt.over1h {
			t.Errorf("%s: %d pauses over 5m, %d over 1h", tt.name, over5m, over1h)
		}
		if agents < tt.agents || tt.agents == 0 && agents > 0 {
			t.Errorf("%s: %d agents", tt.name, agents)
		}
		if tokens < tt.least || tokens > tt.most {
			t.Errorf("%s: %d tokens without compaction, want %d to %d", tt.name, tokens, tt.least, tt.most)
		}
		if n := s.NumCalls(); n != tt.calls {
			t.Errorf("%s: %d calls, want %d", tt.name, n, tt.calls)
		}
	}
}

func TestSampleLayout(t *testing.T) {
	own := 0
	for path := range sampleFiles(t) {
		name, rest, _ := strings.Cut(path, "/")
		if !slices.Contains(WorkloadNames(), name) {
			t.Errorf("%s: %q is no profile", path, name)
		}
		if strings.Contains(rest, "/subagents/agent-") {
			own++
		}
		if !strings.HasSuffix(path, ".jsonl.gz") {
			t.Errorf("%s is no compressed JSONL", path)
		}
	}
	if own < 4 {
		t.Errorf("%d agents have files of their own", own)
	}
}
