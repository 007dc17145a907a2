package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// gateNumbers is the variable with patterns of the recordings, apart by spaces, on which TestGateNumbers measures what
// the page on CI claims; without it the test is skipped.
const gateNumbers = "SIM_GATE_NUMBERS"

// counts are what a line of a transcript says of its call, and changes to it.
type counts map[string]any

func (u counts) count(name string) float64 { v, _ := u[name].(float64); return v }

// read makes a call read so much of what it read and write the rest, for as long as it wrote.
func (u counts) read(tokens float64) {
	was := u.count("cache_read_input_tokens")
	if was <= tokens {
		return
	}
	u["cache_read_input_tokens"] = tokens
	u.write(u.count("cache_creation_input_tokens") + was - tokens)
}

// write sets what a call writes.
func (u counts) write(tokens float64) {
	u["cache_creation_input_tokens"] = tokens
	if split, ok := u["cache_creation"].(map[string]any); ok {
		hour, _ := split["ephemeral_1h_input_tokens"].(float64)
		u.split(tokens, hour > 0)
	}
}

func (u counts) split(tokens float64, hour bool) {
	now := map[string]any{"ephemeral_5m_input_tokens": tokens, "ephemeral_1h_input_tokens": 0.0}
	if hour {
		now = map[string]any{"ephemeral_5m_input_tokens": 0.0, "ephemeral_1h_input_tokens": tokens}
	}
	u["cache_creation"] = now
}

func (u counts) total() float64 {
	return u.count("input_tokens") + u.count("cache_read_input_tokens") + u.count("cache_creation_input_tokens")
}

// brokenText is a transcript while it is broken: the calls seen, and what a break remembers.
type brokenText struct {
	calls map[string]*brokenCall
	*brokenCall
	line map[string]any
	out  *bytes.Buffer

	gone, last float64 // by compaction at 70k: tokens that were summarised, and the last context
}

// brokenCall is a call of a transcript, which may have several lines.
type brokenCall struct {
	id    string
	n     int           // from 0
	pause time.Duration // before it
	seen  bool
	gone  float64 // before it
	cut   bool    // a compaction is just before it
}

// gateBreak is a way in which a client or a cache breaks, and what a report must call it.
type gateBreak struct {
	name  string
	edit  func(s *brokenText, u counts)
	words string
}

func gateBreaks() []gateBreak {
	const lost = "calls within the lifetime did not read what was cached, for no visible reason"
	return []gateBreak{
		{"reads lost in half the calls", func(s *brokenText, u counts) {
			if s.n%2 == 1 {
				u.read(0)
			}
		}, lost},
		{"reads lost in 2 % of calls", func(s *brokenText, u counts) {
			h := fnv.New32a()
			fmt.Fprint(h, s.id)
			if h.Sum32()%50 == 0 {
				u.read(0)
			}
		}, lost},
		{"head changes each call", func(s *brokenText, u counts) { u.read(8000) }, "something before the messages changes with every call"},
		{"five minutes for an hour", func(s *brokenText, u counts) {
			split, _ := u["cache_creation"].(map[string]any)
			if hour, _ := split["ephemeral_1h_input_tokens"].(float64); hour > 0 || u.count("cache_creation_input_tokens") == 0 {
				if s.pause > 5*time.Minute {
					u.read(15_000)
				}
				u.split(u.count("cache_creation_input_tokens"), false)
			}
		}, "writes for an hour, "},
		{"compaction at 70k", compactAt70k, "tokens before a compaction: "},
		{"5 % more counts", func(_ *brokenText, u counts) {
			more := func(of map[string]any) {
				for name, v := range of {
					if n, ok := v.(float64); ok && strings.HasSuffix(name, "tokens") {
						of[name] = float64(int(1.05*n + 0.5))
					}
				}
			}
			more(u)
			if split, ok := u["cache_creation"].(map[string]any); ok {
				more(split)
				hour, _ := split["ephemeral_1h_input_tokens"].(float64)
				short, _ := split["ephemeral_5m_input_tokens"].(float64)
				u["cache_creation_input_tokens"] = hour + short
			}
		}, "the same calls count "},
	}
}

// compactAt70k summarises a main conversation whenever its context passes 70,000 tokens: 40,000 stay,
// of which the first call reads 12,000.
func compactAt70k(s *brokenText, u counts) {
	if side, _ := s.line["isSidechain"].(bool); side {
		return
	}
	if !s.seen {
		all := u.total()
		if all-s.gone < 10_000 { // another context
			s.gone = 0
		}
		if s.cut = all-s.gone > 70_000; s.cut {
			boundary := map[string]any{"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isSidechain": false,
				"timestamp": s.line["timestamp"], "uuid": "compact-" + s.id, "parentUuid": nil, "logicalParentUuid": s.line["parentUuid"],
				"sessionId": s.line["sessionId"], "version": s.line["version"],
				"compactMetadata": map[string]any{"trigger": "auto", "preTokens": int(s.last)}}
			text, _ := json.Marshal(boundary)
			s.out.Write(append(text, '\n'))
			s.gone = all - 40_000
		}
		s.brokenCall.gone, s.last = s.gone, all-s.gone
	}
	gone := s.brokenCall.gone
	if gone == 0 {
		return
	}
	rest := max(0, u.total()-u.count("input_tokens")-gone)
	read := min(rest, max(0, u.count("cache_read_input_tokens")-gone))
	if s.cut {
		read = min(12_000, rest)
	}
	u["cache_read_input_tokens"] = read
	u.write(rest - read)
}

// broken writes copies of transcripts in which every call with usage is edited.
func broken(t *testing.T, names []string, to string, edit func(*brokenText, counts)) (copies []string) {
	t.Helper()
	if len(names) == 0 {
		t.Fatal("no transcripts")
	}
	for _, name := range names {
		text := plainText(t, name)
		s := &brokenText{calls: map[string]*brokenCall{}, out: new(bytes.Buffer)}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 64<<20)
		var before time.Time
		var pause time.Duration
		for lines.Scan() {
			s.line = nil
			if err := json.Unmarshal(lines.Bytes(), &s.line); err != nil {
				s.out.Write(append(lines.Bytes(), '\n'))
				continue
			}
			stamp, _ := s.line["timestamp"].(string)
			at, _ := time.Parse(time.RFC3339, stamp)
			if !before.IsZero() {
				pause = max(pause, at.Sub(before))
			}
			message, _ := s.line["message"].(map[string]any)
			if u, ok := message["usage"].(map[string]any); ok {
				id, _ := message["id"].(string)
				if s.calls[id] == nil {
					s.calls[id] = &brokenCall{id: id, n: len(s.calls), pause: pause}
				}
				s.brokenCall = s.calls[id]
				edit(s, u)
				s.seen, before, pause = true, at, 0
			}
			again, err := json.Marshal(s.line)
			if err != nil {
				t.Fatal(err)
			}
			s.out.Write(append(again, '\n'))
		}
		at := filepath.Join(to, filepath.Base(filepath.Dir(name)), strings.TrimSuffix(filepath.Base(name), ".gz"))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, s.out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, at)
	}
	return copies
}

// judged is the end of a check: its code, and the first five lines of its comment.
type judged struct {
	code  int
	first string
	all   string
}

// gate makes a baseline of some transcripts, as --init asks, and judges others.
func gate(t *testing.T, before, now []string) judged {
	t.Helper()
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
	}
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
