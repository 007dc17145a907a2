// Package needstest writes short conversations of Claude Code for tests of needs.
package needstest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Talk is a conversation of one session. A tool call takes 30 seconds. Every response
// bills what was said so far, four bytes a token, after a head of 20,000 tokens.
type Talk struct {
	lines  []string
	parent string
	said   int
	calls  int
	waited int // seconds
}

func (t *Talk) line(typ, more, message string) {
	id := fmt.Sprintf("m%03d", len(t.lines)+1)
	parent := "null"
	if t.parent != "" {
		parent = strconv.Quote(t.parent)
	}
	seconds := 30*len(t.lines) + t.waited
	t.lines = append(t.lines, fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"S",`+
		`"version":"2.1.60","cwd":"/p",`+
		`"timestamp":"2026-03-25T%02d:%02d:%02d.000Z"%s,"message":%s}`,
		typ, id, parent, 2+seconds/3600, seconds/60%60, seconds%60, more, message))
	t.parent = id
	t.said += len(message)
}

// Person adds what a person says.
func (t *Talk) Person(text string) {
	t.line("user", "", `{"role":"user","content":`+strconv.Quote(text)+`}`)
}

// Says adds an answer without a call.
func (t *Talk) Says(text string) { t.answer(`[{"type":"text","text":` + strconv.Quote(text) + `}]`) }

func (t *Talk) answer(content string) {
	t.line("assistant", "", fmt.Sprintf(`{"id":"msg_%d","role":"assistant","model":"claude-opus-4-6",`+
		`"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":20000,`+
		`"cache_creation_input_tokens":%d,"output_tokens":50},"content":%s}`,
		len(t.lines), t.said/4, content))
}

// Call adds a call of a tool with an input, JSON, and its result.
func (t *Talk) Call(tool, input, result string) { t.call(tool, input, result, false) }

// Fails adds a call whose result is an error.
func (t *Talk) Fails(tool, input, result string) { t.call(tool, input, result, true) }

func (t *Talk) call(tool, input, result string, failed bool) {
	t.calls++
	t.answer(fmt.Sprintf(`[{"type":"tool_use","id":"t%d","name":%q,"input":%s}]`, t.calls, tool, input))
	t.line("user", "", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d",`+
		`"content":%s,"is_error":%v}]}`, t.calls, strconv.Quote(result), failed))
}

// Waits lets minutes pass.
func (t *Talk) Waits(minutes int) { t.waited += 60 * minutes }

// Compacts adds a compaction with a summary.
func (t *Talk) Compacts(summary string) {
	t.lines = append(t.lines, fmt.Sprintf(`{"type":"system","subtype":"compact_boundary","uuid":"b%03d",`+
		`"logicalParentUuid":%q,"sessionId":"S",`+
		`"timestamp":"2026-03-25T03:%02d:00.000Z","compactMetadata":{"trigger":"auto","preTokens":100000}}`,
		len(t.lines), t.parent, len(t.lines)))
	t.parent = fmt.Sprintf("b%03d", len(t.lines)-1)
	t.said = 0
	t.line("user", `,"isCompactSummary":true,"isVisibleInTranscriptOnly":true`,
		`{"role":"user","content":`+strconv.Quote(summary)+`}`)
}

// Clears adds a clearing of the results of calls, by their number from 1.
func (t *Talk) Clears(calls ...int) {
	ids := make([]string, len(calls))
	for i, n := range calls {
		ids[i] = fmt.Sprintf(`"t%d"`, n)
	}
	t.lines = append(t.lines, fmt.Sprintf(`{"type":"system","subtype":"microcompact_boundary","uuid":"c%03d",`+
		`"parentUuid":%q,"sessionId":"S","timestamp":"2026-03-25T02:30:00.000Z","microcompactMetadata":{"trigger":"auto",`+
		`"preTokens":100000,"tokensSaved":5000,"compactedToolIds":[%s]}}`, len(t.lines), t.parent, strings.Join(ids, ",")))
	t.parent = fmt.Sprintf("c%03d", len(t.lines)-1)
}

// Read returns the conversation as a corpus with one session.
func (t *Talk) Read(tb testing.TB) (*traces.Corpus, *traces.Session) {
	tb.Helper()
	fsys := fstest.MapFS{"S.jsonl": {Data: []byte(strings.Join(t.lines, "\n") + "\n")}}
	c, err := agents.ReadFS(context.Background(), traces.Options{}, fsys)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	if len(c.Sessions) != 1 {
		tb.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	return c, c.Sessions[0]
}
