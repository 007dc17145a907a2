package agents

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/sqlite"
)

const (
	claudeLine  = `{"parentUuid":null,"sessionId":"c1","type":"user","uuid":"u1","timestamp":"2026-02-01T10:00:00.000Z","message":{"role":"user","content":"hi"}}`
	claudeReply = `{"parentUuid":"u1","sessionId":"c1","type":"assistant","uuid":"u2","timestamp":"2026-02-01T10:00:05.000Z","message":{"id":"msg_1","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":3,"cache_read_input_tokens":0,"cache_creation_input_tokens":20000,"output_tokens":5}}}`
	codexMeta   = `{"timestamp":"2026-01-01T10:00:00.000Z","type":"session_meta","payload":{"id":"x1","cwd":"/p","cli_version":"0.142.0"}}`
	codexTurn   = `{"timestamp":"2026-01-01T10:00:00.100Z","type":"turn_context","payload":{"model":"gpt-5.5"}}`
	codexReply  = `{"timestamp":"2026-01-01T10:00:03.000Z","type":"response_item","payload":{"type":"message","id":"msg_x","role":"assistant","content":[{"type":"output_text","text":"yes"}]}}`
	codexCount  = `{"timestamp":"2026-01-01T10:00:03.100Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":20000,"cached_input_tokens":0,"output_tokens":10,"total_tokens":20010},"last_token_usage":{"input_tokens":20000,"cached_input_tokens":0,"output_tokens":10,"total_tokens":20010}}}}`
	copilotLine = `{"type":"session.start","data":{"sessionId":"1"},"id":"x","timestamp":"2026-07-19T23:12:34.843Z","parentId":null}`
	iflowLine   = `{"uuid":"u1","sessionId":"session-q1"}`
	kimiLine    = `{"type":"metadata","protocol_version":"1.5","created_at":1765000000000}`
	piLine      = `{"type":"session","id":"p1","timestamp":"2025-12-09T00:53:29.825Z","cwd":"/p","provider":"anthropic"}`
	openCode    = "{\n  \"info\": {\n    \"id\": \"ses_31\",\n    \"slug\": \"s\"\n  }\n}\n"
)

// First lines as each agent writes them; the types are as in the recordings.
func TestFormatOf(t *testing.T) {
	for _, tt := range []struct {
		name, head string
		want       string
	}{
		{"Claude Code", claudeLine + "\n", facts.ClaudeCode},
		{"Claude Code summary first", `{"type":"summary","summary":"s","leafUuid":"x"}` + "\n" + claudeLine, facts.ClaudeCode},
		{"Codex", codexMeta + "\n", facts.Codex},
		{"Codex, line cut off inside the payload", codexMeta[:90], facts.Codex},
		{"Codex behind a damaged line", "{\"times\n" + codexTurn, facts.Codex},
		{"byte order mark", "\xef\xbb\xbf" + codexMeta, facts.Codex},
		{"pi", piLine + "\n", facts.Pi},
		{"Copilot", copilotLine, facts.Copilot},
		{"Gemini", "{\n  \"sessionId\": \"x\",\n  \"projectHash\": \"y\"\n}", facts.Gemini},
		{"Gemini, messages first", `{"messages":[{"type":"user"}],"projectHash":"y","sessionId":"x"}`, facts.Gemini},
		{"Gemini behind a damaged line", "{\"sess\n" + `{"$set":{"lastUpdated":"x"}}`, facts.Gemini},
		{"spans", `{"resourceSpans":[{"resource":{}`, facts.OTel},
		{"spans behind a damaged line", "{\"resour\n" + `{"type":"span","traceId":"x","spanId":"y"}`, facts.OTel},
		{"a list of spans", `[{"trace_id":"x","span_id":"y","start_time":1}]`, facts.OTel},
		{"Jaeger", `{"data":[{"traceID":"x","spans":[{"traceID":"x","spanID":"y","startTime":1}]}]}`, facts.OTel},
		{"claude-trace", `{"request":{"timestamp":1.5,"method":"POST","url":"https://x/v1/messages","headers":{}`, facts.Requests},
		{"bodies", `{"start":1,"request":{"model":"m","messages":[{"role":"us`, facts.Requests},
		{"bodies behind a damaged line", "{\"requ\n" + `{"request":{"body":{"model":"m","input":"hi"}},"response":null}`, facts.Requests},
		{"agentcap", "{\n \"request_id\": \"r\",\n \"captured_at\": 1.5,\n", facts.Requests},
		{"nock", `[{"scope":"https://x","method":"POST","path":"/v1/messages","status":200}]`, facts.Requests},
		{"a row with a request", `{"timestamp":1,"model":"m","prompt_tokens":7,"request":{"model":"m","messages":[]},"response":{}}`, ""},
		{"a log of a web server", `{"request":{"path":"/","model":"T"},"response":{"status":200}}`, ""},
		{"ATIF", "{\n \"schema_version\": \"ATIF-v1.8\",\n", facts.ATIF},
		{"an older trajectory", `{"session_id":"s","agent":{"name":"a"},"steps":[{"role":"user"`, facts.ATIF},
		{"a log with the ids of spans", `{"level":"info","traceId":"x","spanId":"y","message":"m"}`, ""},
		{"OpenCode", openCode, facts.OpenCode},
		{"Qwen Code", strings.Replace(claudeLine, `"content":"hi"`, `"parts":[{"text":"hi"}]`, 1), "qwen-code"},
		{"Qwen Code, telemetry first", `{"uuid":"u","parentUuid":null,"sessionId":"s","type":"system","subtype":"ui_telemetry","systemPayload":{}}`, "qwen-code"},
		{"Qwen Code, two objects on a line", `{"uuid":"u","sessionId":"s","type":"user","message":{"role":"user","parts":[]}}{"uuid":"v"}`, "qwen-code"},
		{"iFlow", strings.Replace(claudeReply, `"c1"`, `"session-29a1265f-b13b-452f-ad4d-f00455d4081c"`, 1), "iflow"},
		{"DeepSeek Harness", `{"type":"session","version":0,"id":"d1","createdAt":1786728845574,"cwd":"/p","delegationDepth":0}`, facts.DSH},
		{"Cline", "{\n\t\"version\": 1,\n\t\"updated_at\": \"2026-07-15T05:42:04.818Z\",\n\t\"agent\": \"lead\",\n\t\"sessionId\": \"c\",\n\t\"messages\": [\n", facts.Cline},
		{"kimi-code", kimiLine, "kimi-code"},
		{"agent traces", `{"type":"session","harness":"mine","id":"1","name":"n"}`, "agent-traces"},
		{"pi's form by another harness", `{"type":"session","version":3,"harness":"mine","id":"1","cwd":"/p"}`, facts.Pi},
		{"Langfuse", `{"trace":{"id":"t"},"observations":[{"type":"GENERATION"}]}`, "langfuse"},
		{"Langfuse, a list", `[{"id":"o","traceId":"t","type":"GENERATION","usageDetails":{"input":5}}]`, "langfuse"},
		{"LangSmith", `{"id":"r","name":"ChatOpenAI","start_time":"2026-01-01T00:00:00","run_type":"llm","extra":{}}`, "langsmith"},
		{"LiteLLM", `{"id":"1","call_type":"acompletion","startTime":1.5,"prompt_tokens":7}`, "litellm"},
		{"mini-swe-agent", "{\n  \"info\": {\n    \"model_stats\": {\n      \"instance_cost\": 0.02616075,\n      \"api_calls\": 6\n    },\n", "mini-swe-agent"},
		{"Continue", "{\n  \"sessionId\": \"s\",\n  \"title\": \"t\",\n  \"workspaceDirectory\": \"/p\",\n  \"history\": [\n", facts.Continue},
		{"Continue's index", "[\n  {\n    \"sessionId\": \"s\",\n    \"title\": \"t\",\n    \"dateCreated\": \"1795993452355\",\n", facts.Continue},
		{"OpenHands", `{"id":"665acfb9","agent":{"llm":{"model":"anthropic/claude-sonnet-4-6"`, "openhands"},
		{"OpenHands of 2025", `[{"id":1,"source":"agent","llm_metrics":{"accumulated_token_usage":{"prompt_tokens":1200}}}]`, "openhands"},
		{"Crush", sqlite.Magic + "CREATE TABLE sessions (id TEXT, prompt_tokens INTEGER, summary_message_id TEXT)", "crush"},
		{"Goose", sqlite.Magic + "CREATE TABLE messages (id INTEGER, content_json TEXT)", facts.Goose},
		{"Goose of 2025", `{"working_dir":"/p","description":"d","total_tokens":1280,"accumulated_total_tokens":1280}`, "goose-lines"},
		{"aider", `{"event":"message_send","properties":{"main_model":"claude-sonnet-4","prompt_tokens":1200}}`, "aider"},
		{"Grok Build, what was said", `{"type":"system","content":"You are Grok released by xAI. You are an autonomous agent"}` + "\n" + `{"type":"user","content":[{"type":"text","text":"hi"}],"prompt_index":0}`, "grok-build"},
		{"Grok Build, updates", `{"timestamp":1796007136,"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"user_message_chunk"},"_meta":{"agentTimestampMs":1796007136625}}}`, "grok-build"},
		{"Grok Build, events", `{"ts":"2026-11-30T02:52:16.625Z","type":"turn_started","session_id":"s","turn_number":0,"model_id":"m","yolo_mode":true,"conversation_message_count":3}`, "grok-build"},
		{"Grok Build, its log", `{"ts":"2026-11-30T02:54:52.675Z","src":"shell","pid":1,"lvl":"info","msg":"AuthManager::new","ctx":{"grok_home":"/root/.grok"}}`, "grok-build"},
		{"Droid", `{"type":"session_start","id":"2baa27b3","title":"t","owner":"unknown","version":2,"cwd":"/p"}`, "droid"},
		{"Roo", `[{"ts":1765000000000,"type":"say","say":"text","text":"hi"}]`, "cline-extension"},
		{"a list of something else", `[{"ts":1765000000000,"level":"info"}]`, ""},
		{"empty", "", ""},
		{"binary", "\x00\x01\x02", ""},
		{"other JSON", `{"a":1}` + "\n" + `[1]`, ""},
		{"a payload of something else", `{"type":"order","payload":{}}`, ""},
	} {
		if got := nameOf([]byte(tt.head)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func folder(t *testing.T, files map[string][]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, lines := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A folder of a client without a reader is named by it, whatever its files beside the sessions are called.
func TestUnreadClientIsNamed(t *testing.T) {
	dir := folder(t, map[string][]string{
		"chat_history.jsonl":    {`{"type":"system","content":"You are Grok released by xAI."}`, `{"type":"user","content":[{"type":"text","text":"hi"}],"prompt_index":0}`},
		"rewind_points.jsonl":   {`{"prompt_index":0,"created_at":"2026-11-30T02:57:16.2Z","file_snapshots":{},"after_snapshots":{}}`},
		"a_later_feature.jsonl": {`{"at":"2026-11-30T02:57:16.2Z"}`},
	})
	_, err := Read(context.Background(), traces.Options{}, dir)
	if err == nil || !strings.Contains(err.Error(), "chat_history.jsonl: recordings of Grok Build") {
		t.Errorf("%v, want the name of the client", err)
	}
}

// A folder of several agents gives one corpus, ordered by start; formats without
// a reader are told, not lost.
func TestMixedFolder(t *testing.T) {
	dir := folder(t, map[string][]string{
		"a.jsonl": {claudeLine, claudeReply}, "b.jsonl": {codexMeta, codexTurn, codexReply, codexCount}, "c.jsonl": {iflowLine},
	})
	c, err := Read(context.Background(), traces.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	for _, s := range c.Sessions {
		got = append(got, s.Agent+" "+s.ID)
	}
	if want := "codex x1, claude-code c1"; strings.Join(got, ", ") != want {
		t.Errorf("sessions %q, want %s", got, want)
	}
	if len(c.Problems) != 1 || c.NumProblems != 1 || !strings.HasSuffix(c.Problems[0].String(), "c.jsonl: recordings of the iFlow CLI are not supported") {
		t.Errorf("problems %v, %d in all", c.Problems, c.NumProblems)
	}
	if c.Lines != 6 || c.Inputs == nil || len(c.Inputs.Files) != 3 {
		t.Errorf("%d lines, inputs %v", c.Lines, c.Inputs)
	}
	if _, err := Read(context.Background(), traces.Options{Strict: true}, dir); err == nil || !strings.Contains(err.Error(), "not supported") {
		t.Errorf("strict: %v", err)
	}
}

// Sessions of several agents with one id get ids of their own.
func TestEqualIDs(t *testing.T) {
	dir := folder(t, map[string][]string{
		"a.jsonl": {claudeLine, claudeReply}, "b.jsonl": {strings.Replace(codexMeta, "x1", "c1", 1), codexTurn, codexReply, codexCount},
	})
	c, err := Read(context.Background(), traces.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Sessions) != 2 || c.Sessions[0].ID != "c1" || c.Sessions[1].ID != "c1-2" {
		t.Errorf("%d sessions, the first %s", len(c.Sessions), c.Sessions[0].ID)
	}
}

// Bytes that are no UTF-8, which no row can be written with, are U+FFFD in the names of a session, its project and models.
func TestNamesAreUTF8(t *testing.T) {
	sick := strings.NewReplacer(`"c1"`, "\"c\xff1\"", `"x1"`, "\"x\xff1\"", `"/p"`, "\"/\xffp\"", "gpt-5.5", "gpt\xff", "claude-opus-4-6", "claude\xff")
	dir := folder(t, map[string][]string{
		"a.jsonl": {sick.Replace(claudeLine), sick.Replace(claudeReply)},
		"b.jsonl": {sick.Replace(codexMeta), sick.Replace(codexTurn), sick.Replace(codexReply), sick.Replace(codexCount)},
	})
	c, err := Read(context.Background(), traces.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Sessions) != 2 {
		t.Fatalf("%d sessions", len(c.Sessions))
	}
	for _, s := range c.Sessions {
		for _, name := range append(slices.Clone(s.Models), s.ID, s.Project) {
			if !utf8.ValidString(name) || s.ID == "c1" || s.ID == "x1" {
				t.Errorf("session %q: name %q", s.ID, name)
			}
		}
	}
}

func TestNoSessions(t *testing.T) {
	for name, lines := range map[string][]string{
		"only pi": {piLine}, "a rollout without calls": {codexMeta}, "junk": {"nonsense"},
	} {
		dir := folder(t, map[string][]string{"a.jsonl": lines})
		c, err := Read(context.Background(), traces.Options{}, dir)
		if !errors.Is(err, traces.ErrNoSessions) || c == nil || c.NumProblems == 0 {
			t.Errorf("%s: %v, corpus %v", name, err, c)
			continue
		}
		c.Close()
	}
	if _, err := Read(context.Background(), traces.Options{}, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a path that does not exist is no error")
	}
}

// One agent's folder alone is read as by its own reader.
func TestOneFormat(t *testing.T) {
	dir := folder(t, map[string][]string{"a.jsonl": {claudeLine, claudeReply}})
	c, err := Read(context.Background(), traces.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Sessions) != 1 || c.NumProblems != 0 || !Readable(facts.Place{Agent: c.Sessions[0].Agent}) {
		t.Errorf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
}

func nameOf(head []byte) string {
	if c := claimOf(head); c.agent != nil {
		return c.agent.Name
	}
	return ""
}

// Exports lie in folders as plain JSON among files that are no recordings: those
// are passed over without a word unless they are named.
func TestJSONInFolders(t *testing.T) {
	const export = `{"info":{"id":"ses_1","directory":"/p","version":"1.4.3","time":{"created":1776104400000}},"messages":[` +
		`{"info":{"id":"m1","role":"user","time":{"created":1776104400000}},"parts":[{"type":"text","text":"hi"}]},` +
		`{"info":{"id":"m2","role":"assistant","modelID":"claude-opus-4-6","time":{"created":1776104401000,"completed":1776104402000},` +
		`"tokens":{"input":20000,"output":5,"reasoning":0,"cache":{"read":0,"write":0}}},` +
		`"parts":[{"type":"text","text":"hello"}]}]}`
	other := []string{`{"type":"x","sessionId":"1"}`}
	dir := folder(t, map[string][]string{"session.json": {export}, "package.json": {`{"name":"p"}`}, "index.json": other})
	c, err := Read(context.Background(), traces.Options{Strict: true}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Sessions) != 1 || c.Sessions[0].ID != "ses_1" || c.NumProblems != 0 {
		t.Errorf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	dir = folder(t, map[string][]string{"package.json": other})
	if _, err := Read(context.Background(), traces.Options{}, dir); !errors.Is(err, traces.ErrNoSessions) {
		t.Errorf("a folder of other files: %v", err)
	}
	c, err = Read(context.Background(), traces.Options{}, dir, filepath.Join(dir, "package.json"))
	if !errors.Is(err, traces.ErrNoSessions) || c == nil || c.NumProblems == 0 {
		t.Errorf("a file that is named as well: %v, %v", err, c)
	}
}

// Of a trajectory that was made of the log of an agent the log is read, where that lies beside it.
func TestConverted(t *testing.T) {
	dir := t.TempDir()
	step := `{"source":"agent","message":"yes","metrics":{"prompt_tokens":1000,"completion_tokens":5}}`
	trajectory := []byte(`{"schema_version":"ATIF-v1.5","session_id":"t","agent":{"name":"a"},"steps":[` + step + `]}`)
	for _, trial := range []string{"one", "two"} {
		write(t, filepath.Join(dir, trial, "agent", "trajectory.json"), trajectory)
	}
	write(t, filepath.Join(dir, "one", "agent", "sessions", "projects", "a.jsonl"), []byte(claudeLine+"\n"+claudeReply+"\n"))
	c, err := Read(context.Background(), traces.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Sessions) != 2 || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].String(), "the agent's own log is read in its place") {
		t.Errorf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
}

// A session that reads, has a large uncached input and writes nothing goes through a gateway that
// bills writes as plain input. So does one whose small calls come to read what earlier ones sent, or its server keeps every prefix. One that writes does not, nor one that never reads (a client that
// marks nothing), nor one of a cache that needs no markers.
func TestUnwritten(t *testing.T) {
	for name, tc := range map[string]struct {
		model  string
		usages []prompt.Usage
		want   bool
	}{
		"gateway":    {"claude-sonnet-4.6", []prompt.Usage{{Uncached: 15_000}, {Uncached: 500, Read: 14_900}}, true},
		"writes":     {"claude-sonnet-4.6", []prompt.Usage{{Uncached: 15_000}, {Uncached: 500, Read: 14_900, Write5m: 1}}, false},
		"never read": {"claude-sonnet-4.6", []prompt.Usage{{Uncached: 15_000}, {Uncached: 15_500}}, false},
		"grows":      {"claude-sonnet-4.6", []prompt.Usage{{Uncached: 2_500}, {Uncached: 500, Read: 2_500}, {Uncached: 400, Read: 3_000}}, true},
		"steps":      {"claude-sonnet-4.6", []prompt.Usage{{Uncached: 4, Read: 15_000}, {Uncached: 4, Read: 16_023}}, false}, // 1,023 more
		"tails":      {"claude-sonnet-4.6", []prompt.Usage{{Uncached: 4, Read: 15_000}}, false},
		"automatic":  {"gpt-5.4", []prompt.Usage{{Uncached: 15_000}, {Uncached: 500, Read: 14_900}}, false},
	} {
		s := &traces.Session{Agent: facts.OpenCode, Models: []string{tc.model}, Threads: []traces.Thread{{}}}
		for _, u := range tc.usages {
			s.Threads[0].Rounds = append(s.Threads[0].Rounds, traces.Round{Usage: u})
		}
		if got := Unwritten(s); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// OpenCode compacts at the window less an answer of 32,000 at most, and since 1.1.27 at the input limit of a model that has one,
// from 1.1.65 on less 20,000 (bundles; 901,990 of 922,000 did not and 902,005 did, 1.18.33, 2026-11-27).
func TestOpenCodeCompactsAt(t *testing.T) {
	whole := facts.Limits{Window: 200_000, MaxOutput: 64_000}
	split := facts.Limits{Window: 1_050_000, MaxInput: 922_000, MaxOutput: 128_000}
	for _, c := range []struct {
		version string
		limits  facts.Limits
		want    int64
	}{
		{"1.18.33", whole, 168_000}, {"1.0.1", whole, 168_000},
		{"1.18.33", split, 902_000}, {"1.1.65", split, 902_000}, {"", split, 902_000},
		{"1.1.64", split, 922_000}, {"1.1.27", split, 922_000}, {"1.1.26", split, 1_018_000},
	} {
		if got := Of(facts.OpenCode).CompactsAt(c.version, c.limits); got != c.want {
			t.Errorf("%q compacts at %d of %+v, want %d", c.version, got, c.limits, c.want)
		}
	}
}

// Summaries of Claude Code 1.0.128 are Sonnet 4's, of 2.0.77 the conversation's own model's (2026-11-27).
func TestModelsOfSummaries(t *testing.T) {
	for version, want := range map[string]string{"": "", "1.0.17": "", "1.0.128": "claude-sonnet-4-20250514", "2.0.0": "", "2.1.332": ""} {
		if got := Of(facts.ClaudeCode).SummaryModel(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}

// Pi and Oh-My-Pi have settings of different names.
func TestSettingsByVariant(t *testing.T) {
	for variant, want := range map[string]string{"": "compaction.reserveTokens", facts.VariantOhMyPi: "compaction.thresholdPercent"} {
		var names []string
		for _, s := range Of(facts.Pi).Settings {
			if s.For(&traces.Session{Variant: variant}) {
				names = append(names, s.Name)
			}
		}
		if len(names) != 1 || names[0] != want {
			t.Errorf("variant %q has %v, want %s", variant, names, want)
		}
	}
}

// A file beside recordings that no reader knows is told, and strict reading ends with it, if it looks like a recording. What clients
// keep beside their sessions, and settings, are none.
func TestUnclaimedFiles(t *testing.T) {
	cline := `{"version":1,"updated_at":"2026-06-01T11:20:09.000Z","sessionId":"s","messages":[{"role":"assistant","id":"m","modelInfo":{"id":"claude-opus-4-6"},` +
		`"content":[{"type":"text","text":"x"}],"metrics":{"inputTokens":30,"outputTokens":4,"cacheReadTokens":9,"cacheWriteTokens":0}}]}`
	for _, tt := range []struct {
		name, text string
		calls      int // of the file
		told       bool
	}{
		{"types.jsonl", `{"type":"turn","n":1}` + "\n" + `{"type":"reply","n":2}`, 0, true},
		{"damaged.json", strings.Replace(cline, `{"version"`, `"version"`, 1), 0, true},
		{"renamed.json", strings.Replace(cline, "sessionId", "session", 1), 0, true},
		{"shape.json", `{"version":2,"updated_at":"2027-06-01T11:20:09.000Z","session":"s","messages":[]}`, 0, true},
		{"lines.json", `{"n":1}` + "\n" + `{"n":2}`, 0, true},
		{"copy.json", strings.NewReplacer(`"c1"`, `"c2"`, "msg_1", "msg_2").Replace(claudeLine + "\n" + claudeReply), 1, false},
		{"settings.json", `{"permissions":{"allow":[]},"max_tokens":32000,"model":"opus"}`, 0, false},
		{"limits.json", `{"outputLimit":8192,"promptCacheTTL":300,"prompt_id":5,"outputTokenLimit":64000,"messages":[]}`, 0, false},
		{"stats.json", `{"version":1,"modelUsage":{"claude-opus-4-6":{"inputTokens":12,"outputTokens":7}}}`, 0, false},
		{"logs.json", `[{"sessionId":"s","messageId":0,"type":"user","message":"hi","timestamp":"2026-06-01T11:20:09.000Z"}]`, 0, false},
		{"history.jsonl", `{"display":"hi","timestamp":1780312430000,"project":"/src"}` + "\n" + `{"display":"go","timestamp":1780312430001,"project":"/src"}`, 0, false},
		{"session_index.jsonl", `{"id":"s","thread_name":"hi","updated_at":"2026-06-01T11:20:09Z"}`, 0, false},
	} {
		dir := folder(t, map[string][]string{"a.jsonl": {claudeLine, claudeReply}, "b.json": {cline}, tt.name: {tt.text}})
		c, err := Read(t.Context(), traces.Options{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		calls := -2 // of a.jsonl and b.json
		for _, s := range c.Sessions {
			calls += s.NumCalls()
		}
		if told := c.Unsupported[""] == 1; told != tt.told || calls != tt.calls {
			t.Errorf("%s: told %v, %d calls, %v", tt.name, told, calls, c.Problems)
		}
		c.Close()
		if _, err := Read(t.Context(), traces.Options{Strict: true}, dir); (err != nil) != tt.told {
			t.Errorf("%s: strict reading ends with %v", tt.name, err)
		}
	}
}

// Ten recorded sessions of Codex have summaries of 1,430 tokens in the geometric mean; pi's two are too few (../shared, seen halves).
func TestUsualSummaries(t *testing.T) {
	for name, want := range map[string]float64{facts.ClaudeCode: 3070, facts.Codex: 1430, facts.Pi: 1970, facts.OpenCode: 1970} {
		if got := Of(name).Summary(); got != want {
			t.Errorf("%s: %g tokens, want %g", name, got, want)
		}
	}
}

// The logs that Goose keeps of its last requests are in its database too: a strict reader passes them over, but no other file of such a name.
func TestRequestsOfGooseArePassedOver(t *testing.T) {
	usage := `{"data":null,"usage":{"input_tokens":105,"output_tokens":60}}`
	for first, read := range map[string]bool{`{"model_config":{"model_name":"m"},"input":{"messages":[{"role":"user","content":[]}]}}`: true, `{"input":{}}`: false} {
		dir := folder(t, map[string][]string{"a.jsonl": {claudeLine, claudeReply}, "llm_request.0.jsonl": {first, usage}})
		c, err := Read(context.Background(), traces.Options{Strict: true}, dir)
		if (err == nil) != read || read && (len(c.Sessions) != 1 || len(c.Problems) > 0) {
			t.Errorf("%s: %v", first, err)
		}
		if c != nil {
			c.Close()
		}
	}
}
