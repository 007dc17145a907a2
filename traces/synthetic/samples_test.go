package synthetic

import (
	"bytes"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
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

// The embedded files are what the generator writes today, byte for byte, and
// nothing else; go generate ./traces/synthetic renews them.
func TestSamplesAreUpToDate(t *testing.T) {
	embedded := sampleFiles(t)
	err := WriteSamples(func(path string, gz []byte) error {
		old, ok := embedded[path]
		delete(embedded, path)
		switch {
		case !ok:
			t.Errorf("%s is missing", path)
		case !bytes.Equal(gunzip(t, old), gunzip(t, gz)):
			t.Errorf("%s: the content is not what the generator writes", path)
		case !bytes.Equal(old, gz):
			t.Errorf("%s: same content, compressed differently", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range embedded {
		t.Errorf("%s is no sample", path)
	}
	if t.Failed() {
		t.Log("run: go generate ./traces/synthetic")
	}
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

// What each sample is for: compactions, pauses longer than its lifetime, agents
// with files of their own, and the tokens it would hold without compaction.
func TestSamplesShowWhatTheyAreFor(t *testing.T) {
	for _, tt := range []struct {
		name        string
		compactions int
		over5m      int // least pauses of more than five minutes
		over1h      int
		agents      int
		least, most int // tokens of the main thread without compaction
	}{
		{"short-fix", 0, 0, 0, 0, 50_000, 100_000},
		{"long-refactor", 2, 3, 0, 0, 250_000, 450_000},
		{"exploration", 1, 1, 0, 1, 210_000, 300_000},
		{"fan-out", 0, 0, 0, 4, 50_000, 120_000},
		{"overnight", 1, 3, 2, 0, 210_000, 400_000},
	} {
		s := generate(t, tt.name, sampleSeed)
		over5m, over1h, tokens := 0, 0, s.profile.Static+s.profile.Reminders
		var end int64
		for i, c := range s.threads[0].calls {
			if pause := time.Duration(c.at - end); i > 0 && pause > time.Hour {
				over1h++
			} else if i > 0 && pause > 5*time.Minute {
				over5m++
			}
			end = c.end
			for _, b := range c.input {
				tokens += b.tokens
			}
			tokens += int(c.usage.Output)
		}
		if n := s.NumCompactions(); n != tt.compactions {
			t.Errorf("%s: %d compactions, want %d", tt.name, n, tt.compactions)
		}
		if over5m+over1h < tt.over5m || over1h < tt.over1h {
			t.Errorf("%s: %d pauses over 5m, of them %d over 1h", tt.name, over5m+over1h, over1h)
		}
		if s.NumAgents() < tt.agents || tt.agents == 0 && s.NumAgents() > 0 {
			t.Errorf("%s: %d agents", tt.name, s.NumAgents())
		}
		if tokens < tt.least || tokens > tt.most {
			t.Errorf("%s: %d tokens without compaction, want %d to %d", tt.name, tokens, tt.least, tt.most)
		}
	}
}

func TestSampleLayout(t *testing.T) {
	own := 0
	for path := range sampleFiles(t) {
		name, rest, _ := strings.Cut(path, "/")
		if _, _, ok := Named(name); !ok {
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
