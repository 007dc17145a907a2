package claudecode

import (
	"fmt"
	"maps"
	"testing"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// hookLine is the line of a hook that added context at an event of the client.
func hookLine(event string) fields {
	return fields{"type": "attachment", "attachment": fields{
		"type": "hook_additional_context", "hookEvent": event, "hookName": event + ":Bash", "content": "mind the tests",
	}}
}

// What the lines between two calls tell about the client: the signs of the second call.
func TestSignsOfLines(t *testing.T) {
	user := func(f fields, text string) fields {
		line := fields{"type": "user", "message": fields{"role": "user", "content": text}}
		for k, v := range f {
			line[k] = v
		}
		return line
	}
	system := func(subtype string) fields { return fields{"type": "system", "subtype": subtype} }
	progress := func(hook string) fields {
		return fields{"type": "progress", "data": fields{"type": "hook_progress", "hookName": hook, "hookEvent": "SessionStart"}}
	}
	attachment := func(typ string) fields { return fields{"type": "attachment", "attachment": fields{"type": typ}} }
	const notice = "<task-notification>\n<task-id>b1</task-id>"
	for _, tc := range []struct {
		name string
		line fields
		want signs.Set
	}{
		{"stop hooks have run", system("stop_hook_summary"), signs.TurnEnd},
		{"the turn took so long", system("turn_duration"), signs.TurnEnd},
		{"a summary for a person who comes back", system("away_summary"), signs.Away},
		{"another line of the client", system("local_command"), 0},
		{"a hook ahead of a tool adds context", hookLine("PreToolUse"), signs.Hook},
		{"a hook behind a tool adds context", hookLine("PostToolUse"), signs.Hook},
		{"a hook of a prompt adds context", hookLine("UserPromptSubmit"), 0},
		{"a hook of a tool only reports", fields{"type": "attachment", "attachment": fields{
			"type": "hook_success", "hookEvent": "PostToolUse", "hookName": "PostToolUse:Bash", "content": "ok",
		}}, 0},
		{"resumed, as progress", progress("SessionStart:resume"), signs.Resume},
		{"started, as progress", progress("SessionStart:startup"), signs.Process},
		{"resumed, as an attachment", fields{"type": "attachment", "attachment": fields{
			"type": "hook_success", "hookEvent": "SessionStart", "hookName": "SessionStart:resume", "content": "",
		}}, signs.Resume},
		{"MCP servers changed", attachment("mcp_instructions_delta"), signs.Servers},
		{"tools to load changed", attachment("deferred_tools_delta"), signs.Servers},
		{"skills changed", attachment("skill_listing"), signs.Listing},
		{"plan mode ended", attachment("plan_mode_exit"), signs.PlanMode},
		{"a teammate wrote", user(nil, "<teammate-message from=x>"), signs.Team},
		{"a model is chosen", user(nil, "<command-name>/model</command-name>"), signs.Model},
		{"the server refused", system("api_error"), signs.Retry},
		{"a plan is started", user(fields{"planContent": "# Plan"}, "Implement the plan"), signs.Plan},
		{"no plan", user(fields{"planContent": ""}, "go on"), 0},
		{"no plan, by null", user(fields{"planContent": nil}, "go on"), 0},
		{"thinking", user(fields{"thinkingMetadata": fields{"maxThinkingTokens": 31999}}, "go on"), signs.ThinkingTold},
		{"thinking, not disabled", user(fields{"thinkingMetadata": fields{"level": "high", "disabled": false}}, "go on"), signs.ThinkingTold},
		{"thinking is off", user(fields{"thinkingMetadata": fields{"disabled": true}}, "go on"),
			signs.ThinkingTold | signs.ThinkingOff},
		{"nothing about thinking", user(fields{"thinkingMetadata": nil}, "go on"), 0},
		{"a notice by its origin", user(fields{"origin": fields{"kind": "task-notification"}}, "a task is done"), signs.Notice},
		{"a person by the origin", user(fields{"origin": fields{"kind": "human"}}, "go on"), 0},
		{"a notice by its text", user(nil, notice), signs.Notice},
		{"a notice in a list of blocks", fields{"type": "user", "message": fields{
			"role": "user", "content": []fields{text(notice)},
		}}, signs.Notice},
		{"a notice quoted by a person", user(nil, "what is "+notice), 0},
		{"interrupted", user(nil, "[Request interrupted by user]"), signs.Interrupt},
		{"interrupted at a tool", user(nil, "[Request interrupted by user for tool use]"), signs.Interrupt},
		{"a command is expanded", user(nil, "<command-message>review</command-message>"), signs.Command},
		{"a person's words", user(nil, "go on"), 0},
	} {
		s := newScript("S")
		s.prompt("go")
		s.call("m1", 20_000, text("one"))
		s.add(tc.line)
		s.prompt("and then")
		s.call("m2", 20_100, text("two"))
		s.prompt("and then")
		s.call("m3", 20_200, text("three"))
		rounds := sessionOf(t, s).Threads[0].Rounds
		if len(rounds) != 3 {
			t.Fatalf("%s: %d rounds", tc.name, len(rounds))
		}
		if got := rounds[1].Signs; got != tc.want {
			t.Errorf("%s: signs %010b, want %010b", tc.name, got, tc.want)
		}
		if rounds[0].Signs != 0 || rounds[2].Signs != 0 {
			t.Errorf("%s: signs of the calls around are %010b and %010b, want none", tc.name, rounds[0].Signs, rounds[2].Signs)
		}
	}
}

// Signs of several lines add up.
func TestSignsAddUp(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, readFile("t1", "/a"))
	s.add(hookLine("PostToolUse"))
	s.result("t1", "one")
	s.call("m2", 20_100, text("done"))
	s.system("stop_hook_summary", nil)
	s.system("away_summary", nil)
	s.prompt("[Request interrupted by user]")
	s.call("m3", 20_200, text("three"))
	rounds := sessionOf(t, s).Threads[0].Rounds
	for i, want := range []signs.Set{0, signs.Hook, signs.TurnEnd | signs.Away | signs.Interrupt} {
		if got := rounds[i].Signs; got != want {
			t.Errorf("call %d: signs %010b, want %010b", i+1, got, want)
		}
	}
}

// A file that is cut begins with what the client logs at the end of a turn: the
// first call has the sign.
func TestSignAheadOfTheFirstLine(t *testing.T) {
	s := newScript("S")
	s.system("turn_duration", nil)
	s.prompt("go on")
	s.call("m1", 20_000, text("one"))
	s.prompt("and then")
	s.call("m2", 20_100, text("two"))
	rounds := sessionOf(t, s).Threads[0].Rounds
	if !rounds[0].Signs.Has(signs.TurnEnd) || rounds[1].Signs != 0 {
		t.Errorf("signs %010b and %010b, want the end of a turn ahead of the first call alone", rounds[0].Signs, rounds[1].Signs)
	}
}

// What is logged behind a response holds for each path that goes on from it: the
// abandoned one and the one taken instead.
func TestSignBehindTheAnchorOfABranch(t *testing.T) {
	s := newScript("S")
	s.prompt("first")
	s.call("m1", 20_000, text("one"))
	at := s.system("turn_duration", nil)
	s.prompt(words(1000))
	s.call("m2", 20_400, text(words(1000)))
	s.head = at
	s.prompt(words(2000))
	s.call("m3", 20_700, text("three"))
	got := sessionOf(t, s)
	want(t, "threads", shape(got), "main: m1 m3\nbranch m2 from main/m1: m2")
	for _, r := range []*traces.Round{&got.Threads[0].Rounds[1], &got.Threads[1].Rounds[0]} {
		if r.Signs != signs.TurnEnd {
			t.Errorf("%s: signs %010b, want the end of the turn", r.ID, r.Signs)
		}
	}
}

// message.diagnostics of a response: absent, null or with a null reason, each
// reason as logged, and one that is not known yet.
func TestVerdictOfResponse(t *testing.T) {
	reason := func(kind string) any {
		return fields{"cache_miss_reason": fields{"type": kind, "cache_missed_input_tokens": 900}}
	}
	for _, tc := range []struct {
		name        string
		diagnostics any
		want        signs.Verdict
	}{
		{"null", nil, signs.VerdictSame},
		{"no reason", fields{"cache_miss_reason": nil}, signs.VerdictSame},
		{"unavailable", reason("unavailable"), signs.VerdictUnknown},
		{"gone", reason("previous_message_not_found"), signs.VerdictGone},
		{"messages", reason("messages_changed"), signs.VerdictMessages},
		{"system", reason("system_changed"), signs.VerdictSystem},
		{"tools", reason("tools_changed"), signs.VerdictTools},
		{"model", reason("model_changed"), signs.VerdictModel},
		{"a new reason", reason("moon_changed"), signs.VerdictUnknown},
		{"something else", fields{"other": 1}, signs.VerdictNone},
	} {
		s := newScript("S")
		s.prompt("go")
		s.add(fields{"type": "assistant", "message": fields{
			"id": "m1", "model": "claude-opus-4-8", "role": "assistant", "content": []fields{text("one")},
			"usage": tokensOf(20_000), "stop_reason": nil, "diagnostics": tc.diagnostics,
		}})
		s.prompt("and then")
		s.call("m2", 20_100, text("two"))
		rounds := sessionOf(t, s).Threads[0].Rounds
		if rounds[0].Verdict != tc.want || rounds[1].Verdict != signs.VerdictNone {
			t.Errorf("%s: %v and %v behind it, want %v and none", tc.name, rounds[0].Verdict, rounds[1].Verdict, tc.want)
		}
	}
}

// The first line that says how the client was started decides.
func TestEntryOfSession(t *testing.T) {
	for i, want := range []string{"", "cli", "claude-desktop"} {
		s := newScript(fmt.Sprint("S", i))
		s.prompt("go")
		f := fields{"type": "user", "message": fields{"role": "user", "content": "more"}}
		if want != "" {
			f["entrypoint"] = want
		}
		s.add(f)
		s.call("m1", 20_000, text("one"))
		if got := sessionOf(t, s).Entry; got != want {
			t.Errorf("entry %q, want %q", got, want)
		}
	}
}

// What a line says of the client is compared with the lines before it: another version, way to start, branch, effort, and plan mode
// at its beginning and end. The first value changes nothing, and neither does another mode.
func TestChangesOfTheClient(t *testing.T) {
	s := newScript("S")
	for i, test := range []struct {
		version, effort string
		line            fields
	}{
		{"2.1.30", "high", fields{"entrypoint": "cli", "gitBranch": "main", "permissionMode": "default"}},
		{"2.1.31", "high", nil},
		{"2.1.31", "high", fields{"entrypoint": "claude-desktop"}},
		{"2.1.31", "high", fields{"gitBranch": "fix"}},
		{"2.1.31", "high", fields{"permissionMode": "acceptEdits"}},
		{"2.1.31", "high", fields{"permissionMode": "plan"}},
		{"2.1.31", "high", fields{"permissionMode": "default"}},
		{"2.1.31", "low", fields{"permissionMode": "default", "gitBranch": "fix"}},
	} {
		s.version = test.version
		line := fields{"type": "user", "message": fields{"role": "user", "content": fmt.Sprintf("go on %d", i)}}
		maps.Copy(line, test.line)
		s.add(line)
		s.add(fields{"type": "assistant", "effort": test.effort, "message": fields{
			"role": "assistant", "id": fmt.Sprintf("m%d", i), "model": "claude-opus-4-6", "usage": tokensOf(20_000 + 100*i), "content": []fields{text("yes")},
		}})
	}
	want := []signs.Set{0, signs.Version, signs.Process, signs.Branch, 0, signs.PlanMode, signs.PlanMode, signs.Effort}
	rounds := sessionOf(t, s).Threads[0].Rounds
	if len(rounds) != len(want) {
		t.Fatalf("%d rounds", len(rounds))
	}
	for i := range rounds {
		if rounds[i].Signs != want[i] {
			t.Errorf("call %d: signs %020b, want %020b", i+1, rounds[i].Signs, want[i])
		}
	}
}
