package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// often compacts the samples at 60,000 tokens, so that most sessions have calls
// ahead of an event and behind it.
var often = []string{
	"--set", "full-compact.trigger.fixed=60000", "--set", "full-compact.trigger.reserve=null",
	"--set", "full-compact.trigger.reserve_output=false", "--set", "full-compact.trigger.output_cap=0",
}

// scenario writes a scenario with events and returns its name.
func scenario(t *testing.T, events ...string) string {
	t.Helper()
	text := "schema: 1\nname: changes\nstrategies: [auto-compact/167k]\nevents:\n"
	for _, e := range events {
		text += "  - " + e + "\n"
	}
	if err := os.WriteFile("changes.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return "changes.yaml"
}

// Calls say the thinking and the effort that the session has by then: the bodies
// that a server gets and the lines of summaries.csv alike. Ahead of request 50 the
// effort is set and at 100 taken back; thinking is forbidden at 60 and on again at
// 80, in the form of the model. What is stored is found again, with these events
// alone.
func TestEventsReachRealCalls(t *testing.T) {
	if apart(t) {
		return
	}
	l := listen(t)
	name := scenario(t,
		"{at: {round: 50}, do: effort, value: high}", "{at: {round: 60}, do: thinking, value: disabled}",
		"{at: {round: 80}, do: thinking, value: \"on\"}", "{at: {round: 100}, do: effort, value: default}")
	args := append([]string{name}, often...)
	list, _, _ := l.run(t, append(args, "--out", "live")...)
	sent := map[string]int{}
	for _, a := range list {
		sent[string(a.Thinking)+" "+string(a.Output)]++
	}
	told := map[string]int{}
	periods := map[int]bool{}
	for _, c := range csvOf(t, storedFiles(t, "live")["summaries.csv"]) {
		round, err := strconv.Atoi(c["round"])
		if err != nil {
			t.Fatal(err)
		}
		request, effort, thinking := round+1, "", ""
		if request >= 50 && request < 100 {
			effort = "high"
		}
		if c["model"] == "claude-opus-4-6" { // the sessions of the other model have no thinking
			thinking = "adaptive"
		}
		if request >= 60 && request < 80 {
			thinking = "disabled"
		}
		if c["effort"] != effort || c["thinking"] != thinking {
			t.Errorf("request %d of %s: effort %q, thinking %q; want %q and %q", request, c["model"], c["effort"], c["thinking"], effort, thinking)
		}
		periods[slices.IndexFunc([]int{50, 60, 80, 100, 1e9}, func(end int) bool { return request < end })] = true
		body := " "
		if thinking != "" {
			body = `{"type":"` + thinking + `"} `
		}
		if effort != "" {
			body += `{"effort":"` + effort + `"}`
		}
		told[body]++
	}
	if fmt.Sprint(sent) != fmt.Sprint(told) || len(periods) != 5 {
		t.Errorf("sent %v\ntold %v, in %d of 5 periods", sent, told, len(periods))
	}
	n := len(l.list)
	code, out, errs := simRun(t, append([]string{"run", "--summarizer", "replay"}, args...)...)
	if code != exitOK || len(l.list) != n || !strings.Contains(out, fmt.Sprintf("%d calls replayed", n)) {
		t.Errorf("replay: exit %d, %d requests\n%s\n%s", code, len(l.list)-n, out, errs)
	}
	scenario(t, "{at: {round: 50}, do: effort, value: low}")
	code, _, errs = simRun(t, append([]string{"run", "--summarizer", "replay"}, args...)...)
	if code != exitRuntime || !strings.Contains(strings.Join(strings.Fields(errs), " "), "effort (stored high, now low)") {
		t.Errorf("replay under other events: exit %d: %s", code, errs)
	}
}

// csvOf returns the lines of a table by the names of their columns.
func csvOf(t *testing.T, text string) []map[string]string {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(all) < 2 {
		t.Fatalf("%d lines, %v", len(all), err)
	}
	var list []map[string]string
	for _, line := range all[1:] {
		m := map[string]string{}
		for i, v := range line {
			m[all[0][i]] = v
		}
		list = append(list, m)
	}
	return list
}

// Values of events that no request can have are refused ahead of the first call, and
// so are those that a model does not take; events without one are told of.
func TestEventsThatRealCallsCannotHave(t *testing.T) {
	if apart(t) {
		return
	}
	l := listen(t)
	for _, tc := range []struct {
		event string
		args  []string
		code  int
		want  string
	}{
		{"{at: {round: 9}, do: effort, value: hihg}", nil, exitUsage, `event 1 of the scenario: effort "hihg" (did you mean "high"?): real calls take low, medium, high, xhigh, max, or default`},
		{"{at: {round: 9}, do: thinking, value: \"100\"}", nil, exitUsage, `event 1 of the scenario: thinking "100": real calls take off, on, disabled, adaptive or a number of tokens from 1024 on, or default`},
		{"{at: {round: 9}, do: thinking, value: adaptive}", nil, exitUsage, "thinking adaptive: claude-opus-4-5-20251101 does not take it"},
		{"{at: {round: 9}, do: effort, value: low}", []string{"--live-model", "claude-haiku-4-5"}, exitUsage, "effort low: claude-haiku-4-5 does not take it"},
		{"{at: {round: 9}, do: effort, value: minimal}", nil, exitUsage, "event 1 of the scenario: effort"},
		{"{at: {round: 9}, do: effort}", []string{"--live-model", "dev-model"}, exitOK, "event 1 (effort) of the scenario names no value"},
	} {
		name := scenario(t, tc.event)
		l.list = nil
		code, _, errs := simRun(t, append([]string{"run", name, "--summarizer", "live", "--yes"}, append(tc.args, often...)...)...)
		if code != tc.code || !strings.Contains(errs, tc.want) || (len(l.list) > 0) != (tc.code == exitOK) {
			t.Errorf("%s: exit %d, %d requests; want %d and %q\n%s", tc.event, code, len(l.list), tc.code, tc.want, errs)
		}
	}
}

// With chat completions an event's effort is asked for and its thinking is not.
func TestEventsWithChatCompletions(t *testing.T) {
	if apart(t) {
		return
	}
	l := listen(t)
	name := scenario(t, "{at: {round: 1}, do: effort, value: minimal}", "{at: {round: 1}, do: thinking, value: \"on\"}")
	t.Setenv("OPENAI_BASE_URL", os.Getenv("ANTHROPIC_BASE_URL")+"/v1")
	t.Setenv("OPENAI_API_KEY", liveKey)
	list, _, errs := l.run(t, name, "--provider", "openai", "--live-model", "dev-model")
	for _, a := range list {
		if a.Reasoning != "minimal" || len(a.Thinking) > 0 {
			t.Errorf("asked %+v", a)
		}
	}
	if !strings.Contains(errs, "the scenario's events of thinking do not reach real calls") {
		t.Errorf("standard error does not tell of thinking:\n%s", errs)
	}
}
