package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces/facts"
)

// budget returns until when a test goes on that has no end of its own: as long as
// make torture lets it, else the count given.
func budget(count int) (more func(done int) bool, long bool) {
	d := torture()
	if d == 0 {
		return func(done int) bool { return done < count }, false
	}
	end := time.Now().Add(d)
	return func(int) bool { return time.Now().Before(end) }, true
}

// seedOf returns the seed of a test: TORTURE_SEED, else one by the clock for a long
// test, else 1. It is printed.
func seedOf(t *testing.T, long bool) uint64 {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("TORTURE_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("TORTURE_SEED: %v", err)
		}
		seed = n
	} else if long {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("TORTURE_SEED=%d", seed)
	return seed
}

// A mutation damages a recording. told says that no reader can take what is left
// for a sound recording.
type mutation struct {
	name string
	do   func(r *rand.Rand, lines [][]byte) (damaged [][]byte, told bool)
}

var mutations = []mutation{
	{"byte", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) {
		i := r.IntN(len(lines))
		if len(lines[i]) == 0 {
			return lines, false
		}
		at := r.IntN(len(lines[i]))
		was := lines[i]
		lines[i] = bytes.Clone(was)
		lines[i][at] = byte(r.IntN(256))
		return lines, !bytes.ContainsAny(lines[i], "\n\r") && strings.HasPrefix(string(was), `{"`) && !json.Valid(bytes.TrimSuffix(lines[i], []byte(",")))
	}},
	{"torn line", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) {
		i := r.IntN(len(lines))
		whole := len(lines[i])
		lines[i] = lines[i][:r.IntN(whole+1)]
		return lines, len(lines[i]) > 0 && len(lines[i]) < whole && lines[i][0] == '{' && !json.Valid(lines[i])
	}},
	{"garbage", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) {
		junk := [][]byte{[]byte("<<<<<<< HEAD"), []byte("\x00\x01\x02"), []byte("[1,2]"), []byte(`{"a":1}`), []byte(strings.Repeat("[", 20_000))}
		return slices.Insert(lines, r.IntN(len(lines)+1), junk[r.IntN(len(junk))]), true
	}},
	{"missing line", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) {
		i := r.IntN(len(lines))
		return slices.Delete(lines, i, i+1), false
	}},
	{"doubled line", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) {
		i := r.IntN(len(lines))
		return slices.Insert(lines, r.IntN(len(lines)+1), lines[i]), false
	}},
	{"swapped lines", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) {
		i, j := r.IntN(len(lines)), r.IntN(len(lines))
		lines[i], lines[j] = lines[j], lines[i]
		return lines, false
	}},
	{"shuffled", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) {
		i := r.IntN(len(lines))
		part := lines[i:min(len(lines), i+2+r.IntN(20))]
		r.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		return lines, false
	}},
	{"head only", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) { return lines[:1+r.IntN(len(lines))], false }},
	{"tail only", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) { return lines[r.IntN(len(lines)):], false }},
	{"time", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) {
		i := r.IntN(len(lines))
		bad := [][]byte{
			[]byte(`"timestamp":"yesterday"`), []byte(`"timestamp":"1970-01-01T00:00:00.000Z"`), []byte(`"timestamp":"9999-12-31T23:59:59.999Z"`),
			[]byte(`"timestamp":"2026-13-45T99:99:99.999Z"`),
		}
		was := stampOf(lines[i])
		lines[i] = stamp.ReplaceAll(lines[i], bad[r.IntN(len(bad))])
		return lines, was != stampOf(lines[i])
	}},
	{"field", func(r *rand.Rand, lines [][]byte) ([][]byte, bool) {
		i := r.IntN(len(lines))
		var v any
		if json.Unmarshal(bytes.TrimSuffix(lines[i], []byte(",")), &v) == nil {
			if b, err := json.Marshal(changeField(r, v)); err == nil {
				lines[i] = append(b, lines[i][len(bytes.TrimSuffix(lines[i], []byte(","))):]...)
			}
		}
		return lines, false
	}},
}

var stamp = regexp.MustCompile(`"timestamp":\s*"[^"]*"`)

// stampOf returns the time stamp of a line, leaving alone those inside of what it holds.
func stampOf(line []byte) string {
	var l struct{ Timestamp string }
	_ = json.Unmarshal(line, &l) // of a line that is no JSON, none
	return l.Timestamp
}

// changeField changes one value of a JSON value.
func changeField(r *rand.Rand, v any) any {
	others := []any{nil, -1, 1e18, "", "x", true, []any{}, map[string]any{}, 0.5, strings.Repeat("y", 5000)}
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && r.IntN(8) > 0 {
			names := make([]string, 0, len(v))
			for name := range v {
				names = append(names, name)
			}
			slices.Sort(names)
			name := names[r.IntN(len(names))]
			if r.IntN(6) == 0 {
				delete(v, name)
			} else {
				v[name] = changeField(r, v[name])
			}
			return v
		}
	case []any:
		if len(v) > 0 && r.IntN(8) > 0 {
			i := r.IntN(len(v))
			v[i] = changeField(r, v[i])
			return v
		}
	}
	return others[r.IntN(len(others))]
}

// recording is a file to damage.
type recording struct {
	name string
	text []byte
}

// findRecordings returns a generated session of every agent and, where there are
// real recordings and time, those.
func findRecordings(t *testing.T, long bool) (list []recording) {
	t.Helper()
	for _, agent := range agenttest.Agents() {
		list = append(list, recording{agent, []byte(agenttest.Sample(agent, "damaged", 1))})
	}
	if !long {
		return list
	}
	folders, _ := filepath.Glob("../../../shared/traces*")
	for _, dir := range folders {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.Contains(d.Name(), ".json") {
				if text := unpack(t, path); len(text) < 2<<20 {
					list = append(list, recording{path, text})
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// unpack reads a file, decompressed.
func unpack(t *testing.T, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(packed)
	switch filepath.Ext(path) {
	case ".gz":
		r, err = gzip.NewReader(r)
	case ".zst":
		r, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rowsOfRun simulates the recordings in a folder and returns the rows of sessions
// by their id.
func rowsOfRun(t *testing.T, dir string) (rows map[string][]string, code int, said string) {
	t.Helper()
	code, out, said := exec(t, "run", "--verify", "--set", "profile=none", "--seed", "1", "--window", "60000", "--workers", "1", "--format", "csv", "--per-session",
		"--strategy", "recorded,auto-compact/167k,truncate-oldest,none", dir)
	rows = map[string][]string{}
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if fields := strings.Split(line, ","); i > 0 && len(fields) > 2 {
			rows[fields[2]] = append(rows[fields[2]], line)
		}
	}
	return rows, code, said
}

// Whatever happens to one recording, a run ends well, the figures of another
// session stay as they are, and what cannot be read is told.
func TestMutants(t *testing.T) {
	more, long := budget(60)
	if !long {
		t.Parallel()
	}
	seed := seedOf(t, long)
	sound := agenttest.Sample(facts.ClaudeCode, "sound", 2)
	alone := t.TempDir()
	keep(t, filepath.Join(alone, "sound.jsonl"), []byte(sound))
	want, code, said := rowsOfRun(t, alone)
	if code != exitOK || len(want["sound"]) != 5 {
		t.Fatalf("exit %d, %d rows: %s", code, len(want["sound"]), said)
	}
	list := findRecordings(t, long)
	dir := t.TempDir()
	keep(t, filepath.Join(dir, "sound.jsonl"), []byte(sound))
	n := 0
	for ; more(n); n++ {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		from := list[n%len(list)]
		lines := bytes.Split(bytes.TrimSuffix(from.text, []byte("\n")), []byte("\n"))
		how := ""
		told := false
		for range 1 + r.IntN(2) {
			m := mutations[r.IntN(len(mutations))]
			lines = slices.DeleteFunc(slices.Clone(lines), func(l []byte) bool { return len(bytes.TrimSpace(l)) == 0 })
			if len(lines) == 0 {
				break
			}
			lines, told = m.do(r, lines) // the second may take back the damage of the first
			how += " " + m.name
		}
		damaged := filepath.Join(dir, "damaged.jsonl")
		keep(t, damaged, bytes.Join(lines, []byte("\n")))
		rows, code, said := rowsOfRun(t, dir)
		bad := ""
		switch {
		case code != exitOK:
			bad = fmt.Sprintf("exit %d", code)
		case !slices.Equal(rows["sound"], want["sound"]):
			bad = "the other session has other rows"
		case told && !strings.Contains(said, "problem"):
			bad = "not told"
		}
		if bad != "" {
			kept := filepath.Join(os.TempDir(), fmt.Sprintf("mutant-%d-%d.jsonl", seed, n))
			keep(t, kept, bytes.Join(lines, []byte("\n")))
			t.Errorf("mutant %d of seed %d:%s of %s: %s; it is kept in %s\n%s", n, seed, how, from.name, bad, kept, said)
		}
	}
	t.Logf("%d mutants", n)
}

func keep(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
