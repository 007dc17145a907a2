package goose

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

const (
	seen   = `{"userVisible":true,"agentVisible":true}`
	typed  = `{"userVisible":true,"agentVisible":false}`
	hidden = `{"userVisible":false,"agentVisible":true}`
)

// said is a message, by role, parts and metadata.
type said [3]string

// text is a part.
func text(t string) string { return fmt.Sprintf(`[{"type":"text","text":%q}]`, t) }

// tool is a call of a tool, returned is its result.
func tool(id string) string {
	return `[{"type":"toolRequest","id":"` + id + `","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"ls"}}}}]`
}

func returned(id, meta string) string {
	return `[{"type":"toolResponse","id":"` + id + `","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"a.go"},` +
		`{"type":"text","text":"for the person","annotations":{"audience":["user"]}}],"isError":false` + meta + `}}}]`
}

// counted is the metadata of an answer: input holds what was read and written.
func counted(input, read, write, output int) string {
	return fmt.Sprintf(`{"userVisible":true,"agentVisible":true,"inference":{"provider":"anthropic","requestedModel":"claude-sonnet-4-6"},"usage":`+
		`{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d,"cacheReadTokens":%d,"cacheWriteTokens":%d,"cost":0.01}}`, input, output, input+output, read, write)
}

// conversation is what 1.52.0 stores: an answer with two calls of tools in two messages, a compaction at a prompt, which is there twice, and a
// sub-agent.
var conversation = []said{
	{"user", text("fix it"), typed},
	{"assistant", tool("t1"), counted(5000, 0, 4900, 40)},
	{"user", returned("t1", ""), seen},
	{"assistant", tool("t2"), `{"userVisible":true,"agentVisible":true,"inference":{"provider":"anthropic","requestedModel":"claude-sonnet-4-6"}}`},
	{"user", returned("t2", `,"_meta":{"subagent_session_id":"s2"}`), seen},
	{"assistant", text("done"), counted(5200, 4900, 300, 9)},
	{"user", text("now this"), typed},
	{"user", text("in short"), hidden},
	{"assistant", text("Your context was compacted."), hidden},
	{"user", text("now this"), hidden},
	{"user", text("<turn-context/>"), `{"userVisible":false,"agentVisible":true,"turnContext":true}`},
	{"assistant", text("yes"), counted(4500, 4000, 500, 7)},
}

// newStore returns the path of a database with a session, and its sub-agent's.
func newStore(t *testing.T, columns string) (string, *sql.DB) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	put := func(text string, args ...any) {
		t.Helper()
		if _, err := db.Exec(text, args...); err != nil {
			t.Fatal(err)
		}
	}
	put(`create table sessions (id text primary key, working_dir text, created_at text, parent_session_id text)`)
	put(`create table messages (id integer primary key, ` + columns + `session_id text, role text, content_json text, created_timestamp integer)`)
	put(`insert into sessions values ('s1', '/p', '2026-11-29', null), ('s2', '/p', '2026-11-30', 's1')`)
	for i, m := range conversation {
		put(`insert into messages (session_id, role, content_json, created_timestamp) values ('s1', ?, ?, ?)`, m[0], m[1], 1795993500+10*i)
		if columns != "" {
			put(`update messages set message_id = 'm' || id, metadata_json = ? where id = (select max(id) from messages)`, m[2])
		}
	}
	if columns != "" {
		put(`insert into messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) values
			('x1', 's2', 'user', ?, 1795993530, ?), ('x2', 's2', 'assistant', ?, 1795993535, ?)`, text("look"), seen, text("seen"), counted(900, 0, 900, 5))
		put(`create table usage_ledger (id integer primary key, session_id text, created_timestamp integer, model text, input_tokens integer, output_tokens integer,
			total_tokens integer, cache_read_tokens integer, cache_write_tokens integer, cost real, is_compaction integer)`)
		const row = `insert into usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, total_tokens, cache_read_tokens, cache_write_tokens, cost, is_compaction) values `
		put(row + `('s1', 1795993510, 'claude-sonnet-4-6', 5000, 40, 5040, 0, 4900, 0.01, 0), ('s2', 1795993535, 'claude-sonnet-4-6', 900, 5, 905, 0, 900, 0.01, 0),
			('s1', 1795993550, 'claude-sonnet-4-6', 5200, 9, 5209, 4900, 300, 0.01, 0), ('s1', 1795993570, 'claude-sonnet-4-6', 5100, 400, 5500, null, null, 0.02, 1),
			('s1', 1795993600, 'claude-sonnet-4-6', 4500, 7, 4507, 4000, 500, 0.01, 0), ('s1', 1795993601, 'claude-sonnet-4-6', 77, 3, 80, null, null, 0.01, 0)`)
	}
	return path, db
}

func read(t *testing.T, path string) (*traces.Corpus, error) {
	in, err := traces.Find(context.Background(), traces.Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	head, err := in.Files[0].Head(64 << 10)
	if err != nil || !document(head) {
		t.Fatalf("not recognised: %v", err)
	}
	return Describe().Read(context.Background(), traces.Options{}, in, "x")
}

// A database is billed as its ledger has it: calls of the conversation, the summary's, a sub-agent's, and one that no message tells of.
// Several calls of tools are one answer, the prompt at the compaction is sent behind it, and what only the person sees is not sent.
func TestStore(t *testing.T) {
	path, _ := newStore(t, "message_id text, metadata_json text, ")
	c, err := read(t, path)
	if err != nil || len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, %v", len(c.Sessions), err)
	}
	s := c.Sessions[0]
	if want := (prompt.Usage{Uncached: 177, Read: 8900, Write5m: 6600, Output: 64}); s.Usage() != want || len(c.Problems) > 0 { // with the summary of 5,100 and 400 it is the ledger
		t.Errorf("usage %+v, want %+v; problems %v", s.Usage(), want, c.Problems)
	}
	if got := fmt.Sprintf("%.2f", s.LoggedUSD); got != "0.07" {
		t.Errorf("logged %s, the ledger has 0.07", got)
	}
	var main *traces.Thread
	kinds := map[traces.ThreadKind]int{}
	for i := range s.Threads {
		if th := &s.Threads[i]; th.Kind == traces.ThreadMain {
			main = th
		}
		kinds[s.Threads[i].Kind]++
	}
	if main == nil || len(main.Rounds) != 3 || kinds[traces.ThreadAgent] != 2 {
		t.Fatalf("threads %v", kinds)
	}
	if got := agenttest.Kinds(s, main.Rounds[1].Input); !slices.Equal(got, []string{"tool_result", "tool_result", "unseen"}) {
		t.Errorf("input of the second call %q", got)
	}
	if e := main.Events; len(e) != 1 || e[0].Round != 2 || len(s.Summaries) != 1 || s.Summaries[0].Usage.Uncached != 5100 {
		t.Errorf("events %+v, summaries %+v", e, s.Summaries)
	}
	if r := main.Rounds[2]; r.Trigger != traces.TriggerPrompt || strings.Count(strings.Join(agenttest.Kinds(s, r.Input), " "), "prompt") != 1 {
		t.Errorf("behind the compaction %v: %q", r.Trigger, agenttest.Kinds(s, r.Input))
	}
}

// The database of an older version, whose messages have no counts, is refused in words and not with an error of SQL.
func TestStoreWithoutCounts(t *testing.T) {
	path, _ := newStore(t, "")
	if c, err := read(t, path); err == nil || !strings.Contains(fmt.Sprint(c.Problems), "no call has token counts, of 5") {
		t.Errorf("%v, problems %v", err, c.Problems)
	}
}

// An export has the sum of all calls: what it has beyond the messages is lost, and messages beyond it are told. The answer has 700 tokens of
// input, 500 of these read, and 7 of output.
func TestExport(t *testing.T) {
	export := func(input, read, output int) string {
		return fmt.Sprintf(`{"id":"s1","working_dir":"/p","extension_data":{},"accumulated_usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d,`+
			`"cache_read_input_tokens":%d,"cache_write_input_tokens":200},"conversation":[
{"id":"m1","role":"user","created":1795993500,"content":%s,"metadata":%s},
{"id":"m2","role":"assistant","created":1795993510,"content":%s,"metadata":%s}]}`, input, output, input+output, read, text("go"), seen, text("done"), counted(700, 500, 200, 7))
	}
	for name, test := range map[string]struct {
		text      string
		lost      int64
		uncounted int
		told      string
	}{
		"equal":               {export(700, 500, 7), 0, 0, "[]"},
		"a summary":           {export(5700, 500, 407), 5400, 0, "counts 5,400 tokens more than its messages"},
		"one number thrice":   {export(5700, 5700, 5700), 5000 + 5693, 0, "counts 10,693 tokens more than its messages"}, // reads are input
		"another's message":   {export(0, 0, 0), 0, 1, "counts 700 tokens less than its messages"},
		"one token of output": {export(700, 500, 6), 0, 1, "counts 1 token less than its messages"},
		"other reads":         {export(700, 400, 7), 0, 1, "counts 100 tokens less than its messages"},
	} {
		s := agenttest.Read(t, Describe(), map[string]string{"a.json": test.text}).Sessions[0]
		if q := s.Quality; q.LostTokens != test.lost || q.Uncounted != test.uncounted || !strings.Contains(fmt.Sprint(s.Problems), test.told) {
			t.Errorf("%s: %d lost, %d uncounted, %v", name, q.LostTokens, q.Uncounted, s.Problems)
		}
	}
}
