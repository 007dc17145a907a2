package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// gateNumbers is the variable with patterns of the recordings, apart by spaces, on which TestGateNumbers measures what
// the page on CI claims; without it the test is skipped.
const gateNumbers = "SIM_GATE_NUMBERS"

// judged is the end of a check: its code, and the first five lines of its comment.
type judged struct {
	code  int
	first string
	all   string
}

// gate makes a baseline of some transcripts, as --init asks, and judges others.
func gate(t *testing.T, before, now []string) judged {
	t.Helper()
	runtime.GC() // thousands of checks in one process
	dir := t.TempDir()
	file := filepath.Join(dir, checkName)
	// Recordings with lines or counts that are lost are measured too.
	writeCheck(t, file, string(checkStarter)+"\nuncounted: 1000000\nunread: 1000000\nunpriced: allow\n")
	if code, out, errs := exec(t, append([]string{"check", "--update", "--max-memory", "4096", "--file", file}, before...)...); code != exitOK {
		t.Fatal(out, errs)
	}
	code, out, _ := exec(t, append([]string{"check", "--format", "markdown", "--max-memory", "4096", "--file", file}, now...)...)
	lines := slices.DeleteFunc(strings.Split(strings.ReplaceAll(out, "\\", ""), "\n"), func(s string) bool { return s == "" })
	return judged{code, strings.Join(lines[:min(5, len(lines))], "\n"), out}
}

// some returns two lists of different transcripts.
func some(draw *rand.Rand, names []string, n, k int) (a, b []string) {
	own := slices.Clone(names)
	draw.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	return own[:n], own[n : n+k]
}

// TestGateNumbers measures what docs/ci.md claims, which shows the command.
func TestGateNumbers(t *testing.T) {
	patterns := strings.Fields(os.Getenv(gateNumbers))
	if len(patterns) == 0 {
		t.Skip(gateNumbers + " is not set")
	}
	sets := map[string][]string{}
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sets["recorded"] = append(sets["recorded"], names...)
	}
	for _, profile := range []string{"chat", "overnight", "long-refactor"} {
		sets[profile] = generated(t, profile)
	}
	if len(sets["recorded"]) < 25 {
		t.Fatal("fewer than 25 recordings: ", patterns)
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		t.Run(name, func(t *testing.T) { breaksOf(t, name, sets[name]) })
	}
	if codex := strings.Fields(os.Getenv(gateCodex)); len(codex) > 0 {
		var names []string
		for _, pattern := range codex {
			found, _ := filepath.Glob(pattern)
			names = append(names, found...)
		}
		t.Run("codex", func(t *testing.T) { breaksOfCodex(t, sets["recorded"], names) })
	}
	t.Run("splits", func(t *testing.T) { falseAlarms(t, sets["recorded"]) })
	t.Run("weeks", func(t *testing.T) { weeks(t, sets["recorded"]) })
	t.Run("time", func(t *testing.T) {
		begun := time.Now()
		gate(t, sets["recorded"], sets["recorded"])
		t.Logf("baseline and check of %d sessions: %v", len(sets["recorded"]), time.Since(begun).Round(10*time.Millisecond))
	})
}

// generated returns 30 sessions of a profile, with other settings.
func generated(t *testing.T, profile string, oldNew ...string) []string {
	t.Helper()
	code, text, errs := exec(t, "traces", "gen", "--profile", profile)
	if code != exitOK {
		t.Fatal(errs)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, profile+".yaml")
	if err := os.WriteFile(file, []byte(strings.NewReplacer(oldNew...).Replace(text)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := exec(t, "traces", "gen", "--profile", file, "--sessions", "30", "-o", filepath.Join(dir, "s")); code != exitOK {
		t.Fatal(errs)
	}
	names, err := filepath.Glob(filepath.Join(dir, "s", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// breaksOf logs whether each break is caught in all sessions against themselves, and in ten against ten others.
func breaksOf(t *testing.T, set string, names []string) {
	const splits = 20
	healthy := broken(t, names, t.TempDir(), func(*brokenText, counts) {})
	for _, b := range gateBreaks() {
		t.Run(b.name, func(t *testing.T) {
			whole, edited := healthy, broken(t, names, t.TempDir(), b.edit)
			switch {
			case set == "recorded":
			case b.name == "compaction at 70k":
				edited = generated(t, set, "threshold: 0", "threshold: 70000")
			case b.name == "five minutes for an hour":
				whole = generated(t, set, "lifetime: 5m", "lifetime: 1h")
				edited = generated(t, set, "lifetime: 1h", "lifetime: 5m")
			}
			all := gate(t, whole, edited)
			red, named := 0, 0
			draw := rand.New(rand.NewPCG(40, 1))
			for range splits {
				before, now := some(draw, whole, 10, 10)
				for i, name := range now {
					now[i] = edited[slices.Index(whole, name)]
				}
				j := gate(t, before, now)
				if j.code == exitCheck {
					red++
				}
				if strings.Contains(j.first, b.words) {
					named++
				}
			}
			t.Logf("%s, %s: all red %t, named %t; 10 against 10: %d red, %d named of %d\n%s", set, b.name, all.code == exitCheck,
				strings.Contains(all.first, b.words), red, named, splits, all.first)
		})
	}
}

// gateCodex is the variable with patterns of recordings of Codex.
const gateCodex = "SIM_GATE_CODEX"

// breaksOfCodex logs whether lost reads of Codex are caught, by itself and among sessions of another agent of which every
// second is of a healthy cache.
func breaksOfCodex(t *testing.T, others, names []string) {
	const splits = 20
	whole, edited := brokenCodex(t, names, t.TempDir(), false), brokenCodex(t, names, t.TempDir(), true)
	word := "did not read what was cached"
	all := gate(t, whole, edited)
	t.Logf("Codex, half lost: red %t, named %t\n%s", all.code == exitCheck, strings.Contains(all.first, word), all.first)
	mixed := gate(t, slices.Concat(others, whole), slices.Concat(others, edited))
	t.Logf("mixed agents, half broken: red %t, named %t\n%s", mixed.code == exitCheck, strings.Contains(mixed.first, word), mixed.first)
	red, named := 0, 0
	draw := rand.New(rand.NewPCG(40, 3))
	for range splits {
		before, now := some(draw, whole, 10, 10)
		for i, name := range now {
			now[i] = edited[slices.Index(whole, name)]
		}
		j := gate(t, before, now)
		if j.code == exitCheck {
			red++
		}
		if strings.Contains(j.first, word) {
			named++
		}
	}
	t.Logf("Codex, 10 against 10: %d red, %d named of %d", red, named, splits)
}

// falseAlarms logs how many splits of healthy sessions are red, and how many weeks of one person.
func falseAlarms(t *testing.T, names []string) {
	const splits = 100
	draw := rand.New(rand.NewPCG(40, 2))
	for _, size := range [][2]int{{10, 10}, {20, 5}, {20, 1}} {
		red, suspect, few := 0, 0, 0
		for range splits {
			before, now := some(draw, names, size[0], size[1])
			j := gate(t, before, now)
			if j.code == exitCheck {
				red++
				t.Log(j.first)
			}
			if strings.Contains(j.all, "SUSPECT") {
				suspect++
			}
			if strings.Contains(j.all, "too few to tell") {
				few++
			}
		}
		t.Logf("%d against %d: %d of %d red, %d suspect, %d too few", size[1], size[0], red, splits, suspect, few)
	}
}

// plainText reads a transcript.
func plainText(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil && strings.HasSuffix(name, ".gz") {
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = io.ReadAll(r)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// weeks logs which weeks of the sessions of one folder, the fullest, are red when each is judged by those before
// it and then added.
func weeks(t *testing.T, names []string) {
	folders := map[string][]string{}
	for _, name := range names {
		folders[filepath.Dir(name)] = append(folders[filepath.Dir(name)], name)
	}
	var own []string
	for _, list := range folders {
		if len(list) > len(own) {
			own = list
		}
	}
	stamp := regexp.MustCompile(`"timestamp":\s*"([^"]+)"`)
	byWeek := map[string][]string{}
	for _, name := range own {
		found := stamp.FindSubmatch(plainText(t, name))
		if found == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		year, week := at.ISOWeek()
		key := fmt.Sprintf("%d-W%02d", year, week)
		byWeek[key] = append(byWeek[key], name)
	}
	t.Chdir(t.TempDir())
	writeCheck(t, checkName, string(checkStarter))
	for _, week := range slices.Sorted(maps.Keys(byWeek)) {
		code, out, errs := exec(t, append([]string{"check", "--update", "--max-memory", "4096", "--format", "markdown"}, byWeek[week]...)...)
		if code != exitOK && code != exitCheck {
			t.Fatal(errs)
		}
		lines := slices.DeleteFunc(strings.Split(strings.ReplaceAll(out, "\\", ""), "\n"), func(s string) bool { return s == "" })
		t.Logf("%s, %d sessions: red %t\n%s", week, len(byWeek[week]), code == exitCheck, strings.Join(lines[:min(4, len(lines))], "\n"))
	}
}
