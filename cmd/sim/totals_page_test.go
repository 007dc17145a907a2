package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// answerLine is the nth line of a log of Claude Code, an answer of claude-opus-4-6 at noon. Request may be empty.
func answerLine(n int, day, id, request, usage string) string {
	if request != "" {
		request = `"requestId":"` + request + `",`
	}
	return fmt.Sprintf(`{"type":"assistant","uuid":"u%d","parentUuid":"u%d","sessionId":"S","version":"2.1.200","cwd":"/src","timestamp":"%sT12:00:0%d.000Z",`+
		`"isSidechain":false,%s"message":{"id":%q,"model":"claude-opus-4-6","role":"assistant","stop_reason":"end_turn",`+
		`"content":[{"type":"text","text":"An answer of some words."}],"usage":{"cache_read_input_tokens":0,"cache_creation_input_tokens":0,%s}}}`,
		n, n-1, day, n, request, id, usage)
}

// promptLine is the line ahead of answers.
func promptLine(day string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"u0","parentUuid":null,"sessionId":"S","version":"2.1.200","cwd":"/src","timestamp":"%sT12:00:00.000Z",`+
		`"isSidechain":false,"message":{"role":"user","content":"A question."}}`, day)
}

// byLines is the sum, USD, of a counter that reads answers line by line: each pair of message and request once, lines without a request as
// they come, at one price for all time.
func byLines(t *testing.T, lines []string) (usd float64) {
	t.Helper()
	seen := map[string]bool{}
	for _, text := range lines {
		var l struct {
			Type, RequestID string
			Message         struct {
				ID    string
				Usage struct {
					Input  float64 `json:"input_tokens"`
					Read   float64 `json:"cache_read_input_tokens"`
					Write  float64 `json:"cache_creation_input_tokens"`
					Output float64 `json:"output_tokens"`
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Type != "assistant" || l.RequestID != "" && seen[l.Message.ID+l.RequestID] {
			continue
		}
		seen[l.Message.ID+l.RequestID] = true
		u := l.Message.Usage
		usd += (5*u.Input + 0.5*u.Read + 6.25*u.Write + 25*u.Output) / 1e6
	}
	return usd
}

// Every difference that docs/totals.md explains, in a session of its own. The expected sums are by hand from the prices of Claude
// Opus 4.6: $5 a million tokens of input, $25 of output; until 2026-03-12 twice the input and 1.5 times the output beyond 200,000 tokens; six
// times as much in fast mode; $10 for a thousand searches.
func TestWhyTotalsDiffer(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "totals.md"))
	if err != nil {
		t.Fatal(err)
	}
	const usage = `"input_tokens":10000,"output_tokens":1000`
	const cost = 0.05 + 0.025
	inner := answerLine(2, "2026-04-01", "a1", "r2", usage)
	progress := `{"type":"progress","uuid":"p1","parentUuid":null,"sessionId":"S","version":"2.1.200","timestamp":"2026-04-01T12:00:01.000Z","isSidechain":false,` +
		`"parentToolUseID":"t1","data":{"type":"agent_progress","agentId":"a7","message":` + inner + `}}`
	for _, test := range []struct {
		row, day     string // row of the page
		lines        []string
		others, ours float64
		said         string
		fork         string // session that repeats the lines in a file of its own, "" for none
	}{
		{"one answer in several lines", "2026-04-01", []string{
			answerLine(1, "2026-04-01", "m1", "r1", usage), answerLine(2, "2026-04-01", "m1", "r1", usage),
		}, cost, cost, "", ""},
		{"lines without a request id", "2026-04-01", []string{
			answerLine(1, "2026-04-01", "m1", "", usage), answerLine(2, "2026-04-01", "m1", "", usage),
		}, 2 * cost, cost, "", ""},
		{"sub-agents in `progress` lines", "2026-04-01", []string{
			answerLine(1, "2026-04-01", "m1", "r1", usage), progress,
		}, cost, 2 * cost, "This one has $0.08 for 1 call of sub-agents in the files of their parents", ""},
		{"prices by date", "2026-03-01", []string{
			answerLine(1, "2026-03-01", "m1", "r1", `"input_tokens":300000,"output_tokens":1000`),
		}, 1.5 + 0.025, 3 + 0.0375, "", ""},
		{"fast mode", "2026-04-01", []string{
			answerLine(1, "2026-04-01", "m1", "r1", usage+`,"speed":"fast"`),
		}, cost, 6 * cost, "", ""},
		{"searches of the web", "2026-04-01", []string{
			answerLine(1, "2026-04-01", "m1", "r1", usage+`,"server_tool_use":{"web_search_requests":10}`),
		}, cost, cost + 0.10, "This one has $0.10 for searches of the web", ""},
		{"calls that no line shows", "2026-04-01", []string{
			answerLine(1, "2026-04-01", "m1", "r1", usage),
			`{"type":"cost-state","sessionId":"S","startTime":7,"modelUsage":{"claude-opus-4-6":{"inputTokens":30000,"outputTokens":3000,"cacheReadInputTokens":0,"cacheCreationInputTokens":0}}}`,
		}, cost, 3 * cost, "that no line of an answer shows", ""},
		{"forks and resumed sessions", "2026-04-01", []string{
			answerLine(1, "2026-04-01", "m1", "r1", usage),
		}, cost, cost, "1 call repeated by resumed sessions counted once", "T"},
	} {
		t.Run(test.row, func(t *testing.T) {
			if !strings.Contains(string(page), "| "+test.row+" |") {
				t.Error("docs/totals.md has no such row")
			}
			if got := byLines(t, test.lines); math.Abs(got-test.others) > 1e-9 {
				t.Errorf("a counter by lines tells $%.6f, want $%.6f", got, test.others)
			}
			dir := t.TempDir()
			if test.fork != "" {
				again := strings.ReplaceAll(promptLine(test.day)+"\n"+strings.Join(test.lines, "\n")+"\n", `"sessionId":"S"`, `"sessionId":"`+test.fork+`"`)
				write(t, filepath.Join(dir, test.fork+".jsonl"), []byte(again))
			}
			write(t, filepath.Join(dir, "S.jsonl"), []byte(promptLine(test.day)+"\n"+strings.Join(test.lines, "\n")+"\n"))
			var out, errs bytes.Buffer
			if code := execute(context.Background(), []string{"audit", "--by", "day", dir}, strings.NewReader(""), &out, &errs); code != exitOK {
				t.Fatalf("exit %d: %s", code, errs.String())
			}
			text := strings.Join(strings.Fields(out.String()), " ")
			if test.said == "" && strings.Contains(text, "Other counters") || !strings.Contains(text, test.said) {
				t.Errorf("want %q in\n%s", test.said, out.String())
			}
			out.Reset()
			if code := execute(context.Background(), []string{"audit", "--by", "day", "--format", "json", dir}, strings.NewReader(""), &out, &errs); code != exitOK {
				t.Fatalf("exit %d: %s", code, errs.String())
			}
			sum := 0.0
			for _, day := range decoded[[]struct {
				USD float64 `json:"cost_usd"`
			}](t, out.Bytes()) {
				sum += day.USD
			}
			if math.Abs(sum-test.ours) > 1e-9 {
				t.Errorf("sim tells $%.6f, want $%.6f", sum, test.ours)
			}
		})
	}
}

// billedByDay returns the days of a log of Claude Code and what sim audit says of the log.
func billedByDay(t *testing.T, lines []string, flags ...string) (days map[string]float64, text string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "S.jsonl"), []byte(strings.Join(lines, "\n")+"\n"))
	audit := func(flags ...string) []byte {
		var out, errs bytes.Buffer
		if code := execute(context.Background(), append([]string{"audit", dir}, flags...), strings.NewReader(""), &out, &errs); code != exitOK {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		return out.Bytes()
	}
	days = map[string]float64{}
	for _, day := range decoded[[]struct {
		Day string
		USD float64 `json:"cost_usd"`
	}](t, audit(append(flags, "--by", "day", "--format", "json")...)) {
		days[day.Day] += day.USD
	}
	return days, strings.Join(strings.Fields(string(audit(flags...))), " ")
}

// A call at noon of UTC on April 1 is at one o'clock in the night of April 2 in Auckland: the day is the day of --tz, and the sum the same.
func TestTheDayIsOfAZone(t *testing.T) {
	lines := []string{promptLine("2026-04-01"), answerLine(1, "2026-04-01", "m1", "r1", `"input_tokens":10000,"output_tokens":1000`)}
	for zone, want := range map[string]string{"UTC": "2026-04-01", "Pacific/Auckland": "2026-04-02"} {
		days, _ := billedByDay(t, lines, "--tz", zone)
		if len(days) != 1 || math.Abs(days[want]-0.075) > 1e-9 {
			t.Errorf("in %s: %v, want $0.075 on %s", zone, days, want)
		}
	}
}

// Claude Code 2.1.50 logs the count of the first line of an answer, here 1. The next call has 2,600 tokens more than the call before: the
// answer and what was said to it. A counter by lines takes the 1; here the answer is estimated, and the table says by how much.
func TestCutOutputs(t *testing.T) {
	first := answerLine(1, "2026-04-01", "m1", "r1", `"input_tokens":10000,"output_tokens":1`)
	first = strings.NewReplacer(`"stop_reason":"end_turn"`, `"stop_reason":null`, "An answer of some words.", strings.Repeat("word ", 2000)).Replace(first)
	lines := []string{promptLine("2026-04-01"), first,
		strings.NewReplacer(`"u0"`, `"u2"`, `"parentUuid":null`, `"parentUuid":"u1"`, "T12:00:00", "T12:00:02").Replace(promptLine("2026-04-01")),
		answerLine(3, "2026-04-01", "m2", "r2", `"input_tokens":12600,"output_tokens":1000`)}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "2.1.200", "2.1.50")
	}
	others := byLines(t, lines[1:2]) + byLines(t, lines[3:])
	days, text := billedByDay(t, lines)
	if got := days["2026-04-01"]; got <= others || got > others+2600*25e-6 || !strings.Contains(text, "estimated") {
		t.Errorf("$%.6f where a counter by lines tells $%.6f, want more, of 2,600 tokens at most, and that this is estimated:\n%s", got, others, text)
	}
}
