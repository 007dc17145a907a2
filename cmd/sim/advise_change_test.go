package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/reports/check"
	"github.com/compactsim/compactsim/sim/validate"
)

// pausing writes a session of Claude Code whose six calls are ten minutes apart on a context that grows by 10,000 tokens from 20,000.
// With entries of five minutes each call writes everything, with entries of an hour it reads what the call before left.
func pausing(t *testing.T, dir, id string, start time.Time, hour bool) {
	t.Helper()
	var text strings.Builder
	line := func(v map[string]any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(b, '\n'))
	}
	parent := any(nil)
	for c := range 6 {
		at := start.Add(time.Duration(c) * 10 * time.Minute)
		read, write := 0, 20_000+10_000*c
		if hour && c > 0 {
			read, write = write-10_000, 10_000
		}
		split := map[string]any{"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": 0}
		if hour {
			split = map[string]any{"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": write}
		}
		user, answer := fmt.Sprintf("%s-u%d", id, c), fmt.Sprintf("%s-a%d", id, c)
		line(map[string]any{"type": "user", "sessionId": id, "cwd": "/p", "version": "2.1.243", "uuid": user, "parentUuid": parent,
			"timestamp": at.Format(time.RFC3339), "message": map[string]any{"role": "user", "content": strings.Repeat("more words ", 3000)}})
		line(map[string]any{"type": "assistant", "sessionId": id, "cwd": "/p", "version": "2.1.243", "uuid": answer, "parentUuid": user, "requestId": "r" + answer,
			"timestamp": at.Add(5 * time.Second).Format(time.RFC3339), "message": map[string]any{"id": "m" + answer, "role": "assistant", "model": "claude-opus-4-6",
				"stop_reason": "end_turn", "content": []any{map[string]any{"type": "text", "text": "done"}}, "usage": map[string]any{"input_tokens": 3,
					"cache_read_input_tokens": read, "cache_creation_input_tokens": write, "cache_creation": split, "output_tokens": 90}}})
		parent = answer
	}
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Eight sessions with entries of five minutes and eight with entries of an hour, by hand: of a million context tokens a session
// pays 270 thousandths × $6.25 in writes before, and 70 × $10 + 200 × $0.50 since, with 540 output tokens at $25: 52.2 % less.
// That is said and saved, but for what the model expects of first calls and of entries that are lost early. What a
// change since the last session saves cannot be told.
func TestSinceChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	day := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	for i := range 16 {
		pausing(t, dir, fmt.Sprintf("s%02d", i), day.AddDate(0, 0, i), i >= 8)
	}
	code, out, _ := exec(t, "advise", "-q", "--no-store", "--tz", "UTC", "--since-change", "2026-11-09", "--format", "json", dir)
	var list []check.Since
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil || len(list) != 1 || len(list[0].Facts) == 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	lifetime := list[0].Facts[0]
	if lifetime.Fact != validate.FactLifetime || lifetime.Before != 0 || lifetime.Since != 1 || lifetime.Saved == nil || lifetime.Said == nil {
		t.Fatalf("what changed is %+v", lifetime)
	}
	for name, share := range map[string]float64{"said": lifetime.Said.Share, "saved": lifetime.Saved.Share, "paid less": 1 - list[0].Change.Now/list[0].Change.Was} {
		if math.Abs(share-0.522) > 0.04 {
			t.Errorf("%s: %.3f, want 0.522", name, share)
		}
	}
	code, out, _ = exec(t, "advise", "-q", "--no-store", "--tz", "UTC", "--since-change", "2026-11-09", dir)
	if code != 0 || !strings.Contains(out, "as said") || !strings.Contains(out, "8 sessions with 48 calls before, 8 sessions with 48 calls since.") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	name := filepath.Join(dir, "s15.jsonl")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`,"usage":\{[^{}]*\{[^{}]*\}[^{}]*\}`).ReplaceAll(text, nil)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ = exec(t, "advise", "-q", "--no-store", "--since-change", "2026-12-24", dir); code != 0 || !strings.Contains(out, "Too few to compare") ||
		!strings.Contains(out, "1 session without counts of input: on neither side") || !strings.Contains(out, "15 sessions with 90 calls before") ||
		strings.Contains(out, "SAID is") {
		t.Errorf("behind the last session: exit code %d\n%s", code, out)
	}
	if code, _, stderr := exec(t, "advise", "-q", "--since-change", "yesterday?", dir); code != 2 || !strings.Contains(stderr, "--since-change") {
		t.Errorf("a date that is none: exit code %d\n%s", code, stderr)
	}
}
