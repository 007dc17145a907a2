package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces/texts"
)

// request composes one call over a script.
func request(t *testing.T, s *script, c *summarizer.Call, o Options) (*Request, Composed) {
	t.Helper()
	server := &fakeServer{}
	o.Backend, o.Texts = server, library(s)
	l := newLive(t, o)
	compose(t, l, c)
	return server.last(), l.opts.Shared.Report().Composed
}

// outline writes messages one block a line: role, and how the text begins.
func outline(r *Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, k := range m.Content {
			text := strings.ReplaceAll(k.Text, "\n", "|")
			fmt.Fprintf(&b, "%s%s %q\n", m.Role, breakpointOf(k.CacheControl), cut(text, 50))
		}
	}
	return b.String()
}

func breakpointOf(c *CacheControl) string {
	if c == nil {
		return ""
	}
	return "[" + c.TTL + "]"
}

// A call that shares the conversation's prefix sends what the conversation
// sent, less the thinking, and the instruction behind it; the breakpoints stand
// where the client has them.
func TestComposeFork(t *testing.T) {
	s := conversation("alpha")
	r, n := request(t, s, s.call(), Options{})
	want := `user "Please fix the login of alpha."
assistant "I look at the file."
assistant "<tool_call number=1 tool=\"Read\">{\"file_path\":\"/src"
user "<tool_result number=1>|package a||func Login() {}|"
assistant "<tool_call number=2 tool=\"Bash\">{\"command\":\"go tes"
user "<tool_result number=2>|ok  example.org/a|ok  examp"
assistant "All tests pass."
user[5m] "Good. Now the logout."
user "IMPORTANT: answer with text only. Call no tool: ev"
`
	if d := cmp.Diff(want, outline(r)); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
	if r.Model != "claude-opus-4-6" || r.MaxTokens != 20_000 {
		t.Errorf("parameters: %s, %d tokens", r.Model, r.MaxTokens)
	}
	if len(r.System) != 1 || lifetime(r.System[0].CacheControl) != ttl1h {
		t.Errorf("system prompt: %d blocks, want one with a breakpoint of 1h", len(r.System))
	}
	if n.Lost != 0 {
		t.Errorf("counts %+v", n)
	}
}

// A call under a prompt of its own asks its own model for as much as it wants.
func TestComposeOwnPrefix(t *testing.T) {
	s := newScript("own")
	s.say(prompt.KindPrompt, "Do it.")
	s.context.Reset(s.session.Blocks, &s.arena)
	s.context.Add(prompt.Block{Kind: prompt.KindSystem, Tokens: 20, Object: -1, Digest: prompt.DigestString("head")})
	s.context.Append(2)
	c := s.call()
	c.Intent.Own, c.Intent.Head, c.Intent.MaxOutput, c.Model = true, 20, 5000, "claude-haiku-4-5"
	c.Markers = nil
	r, _ := request(t, s, c, Options{})
	if got := r.System[0].Text; len(r.System) != 1 || got != summarySystem {
		t.Errorf("the system prompt is %q", got)
	}
	if r.MaxTokens != 5000 || r.Model != "claude-haiku-4-5" {
		t.Errorf("%d tokens of output, model %s", r.MaxTokens, r.Model)
	}
}

// The form of an entry decides what is sent of its block.
func TestComposeForms(t *testing.T) {
	long := strings.Repeat("0123456789", 2000) // 20,000 bytes, 5,001 tokens
	s := newScript("forms")
	s.say(prompt.KindPrompt, "Go.")
	for range 6 {
		s.use(1, `{"file_path":"/src/a.go"}`)
	}
	for n := range int32(5) {
		s.result(n+1, long)
	}
	s.block(prompt.Block{Kind: prompt.KindToolResult, Call: 6, Flags: prompt.FlagError}, texts.Content{Text: " ", Error: true})
	s.block(prompt.Block{Kind: prompt.KindImage}, texts.Content{Media: "image"})
	s.block(prompt.Block{Kind: prompt.KindDocument}, texts.Content{Media: "document"})
	s.say(prompt.KindText, "   ")
	s.fill()
	at := func(n int) int { return 2 + 1 + 6 + n }
	s.context.SetForm(at(1), prompt.FormCleared, 10, prompt.CauseEdit)
	s.context.SetForm(at(2), prompt.FormRange, 550, prompt.CauseEdit)   // 550/5001 of 20,000 = 2,199 bytes
	s.context.SetForm(at(3), prompt.FormPointer, 12, prompt.CauseEdit)  // 48 bytes: no room for a preview
	s.context.SetForm(at(4), prompt.FormPointer, 500, prompt.CauseEdit) // 2,000 bytes
	s.context.SetForm(8, prompt.FormCleared, 30, prompt.CauseEdit)      // the last call's input
	r, _ := request(t, s, s.call(), Options{})
	if got := r.Messages[1].Content[5].Text; got != `<tool_call number=6 tool="Read"></tool_call>` {
		t.Errorf("a cleared call is sent as %s", got)
	}
	results := r.Messages[2].Content
	preview := long[:2199-len(storedOpening)-len(storedClosing)]
	for i, want := range []string{
		long, "[Old tool result content cleared]", storedOpening + preview + storedClosing, storedPointer,
		storedOpening + long[:2000-len(storedOpening)-len(storedClosing)] + storedClosing, "(no output)", "[image]", "[document]",
	} {
		if i < 6 { // the sixth call failed
			want = fmt.Sprintf("<tool_result number=%d%s>\n%s\n</tool_result>", i+1, strings.Repeat(" failed", i/5), want)
		}
		if got := results[i].Text; got != want {
			t.Errorf("block %d: %d bytes %q, want %d bytes %q", i, len(got), cut(got, 90), len(want), cut(want, 90))
		}
	}
	if last := r.Messages[len(r.Messages)-1]; last.Role != roleUser || len(r.Messages) != 3 {
		t.Errorf("%d messages, the last by %s: a text without words is not sent", len(r.Messages), last.Role)
	}
}

// What was cut off the front stands as a marker, and a response never leads.
func TestComposeLead(t *testing.T) {
	for _, lead := range []int32{12, 0} {
		s := newScript("lead")
		s.say(prompt.KindText, "I go on.")
		s.say(prompt.KindPrompt, "Yes.")
		s.context.Reset(s.session.Blocks, &s.arena)
		s.context.Append(0)
		s.context.Append(1)
		if lead > 0 {
			s.context.Add(prompt.Block{Kind: prompt.KindPrompt, Tokens: lead, Object: -1, Flags: prompt.FlagMeta})
		}
		s.context.Append(2)
		s.context.Append(3)
		c := s.call()
		c.Intent.Lead = lead
		c.Intent.Summarised -= lead // which it stands not for
		want := truncatedText
		if lead == 0 {
			want = leadingText
		}
		r, _ := request(t, s, c, Options{})
		if got := r.Messages[0]; got.Role != roleUser || len(got.Content) != 1 || got.Content[0].Text != want {
			t.Errorf("lead of %d tokens: the first message is %+v", lead, got)
		}
	}
}

// Behind a compaction comes back what the session shows: a file as it was read
// before the call, a text whose digest tells it. The rest says that it is
// unknown, and is counted.
func TestComposeRestored(t *testing.T) {
	s := newScript("restored")
	file := "package b\n" + strings.Repeat("var x int\n", 100)
	n := s.use(1, `{"file_path":"/src/b.go"}`)
	s.block(prompt.Block{Kind: prompt.KindToolResult, Call: n, Tool: 1, Op: op.Read, Object: 1}, texts.Content{Text: file})
	todo := s.use(2, `{"todos":["ship it"]}`)
	s.result(todo, "noted")
	s.block(prompt.Block{Kind: prompt.KindToolResult, Call: 9, Tool: 1, Op: op.Read, Object: 1}, texts.Content{Text: strings.Repeat("a read of the future", 500)})
	s.session.Threads = append(s.session.Threads, thread(6))
	s.context.Reset(s.session.Blocks, &s.arena)
	s.context.Append(0)
	s.context.Append(1)
	read, list := s.session.Blocks[3], s.session.Blocks[4]
	attach := func(d prompt.Digest, tokens, object int32) {
		s.context.Add(prompt.Block{Kind: prompt.KindAttachment, Digest: d, Tokens: tokens, Object: object, Flags: prompt.FlagMeta, Op: op.Read})
	}
	attach(read.Digest.ExtendInt(100).Extend(prompt.Digest{}), 100, 1)
	attach(prompt.DigestString("written to since"), 50, 1)
	attach(list.Digest.ExtendInt(uint64(list.Tokens)), list.Tokens, -1)
	attach(prompt.DigestString("a reminder"), 40, -1)
	r, count := request(t, s, s.call(), Options{})
	blocks := r.Messages[0].Content
	part := func(tokens int) string { return file[:len(file)*tokens/int(read.Tokens)] }
	for i, want := range []string{
		"<system-reminder>\nThe file /src/b.go as it was read:\n" + part(100) + "\n</system-reminder>",
		"<system-reminder>\nThe file /src/b.go as it was read:\n" + part(50) + "\n</system-reminder>",
		"<system-reminder>\n" + `{"todos":["ship it"]}` + "\n</system-reminder>",
		unseenText,
	} {
		if d := cmp.Diff(want, blocks[i].Text); d != "" {
			t.Errorf("attachment %d (-want +got):\n%s", i, d)
		}
	}
	if count.Unseen != 40*bytesPerToken {
		t.Errorf("%d bytes are missing, want those of 40 tokens", count.Unseen)
	}
}

// No more than four breakpoints go out, and none for what is not sent.
func TestComposeMarkers(t *testing.T) {
	s := conversation("alpha")
	c := s.call()
	c.Markers = []exchange.Marker{
		{Position: 0, TTL: exchange.TTL1h}, // the fifth from the end
		{Position: 1, TTL: exchange.TTL1h},
		{Position: 3}, // thinking, which is not sent: the prompt before it
		{Position: 6},
		{Position: 9},
	}
	r, _ := request(t, s, c, Options{})
	n := 0
	count := func(c *CacheControl) {
		if c != nil {
			n++
		}
	}
	for _, b := range r.System {
		count(b.CacheControl)
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			count(b.CacheControl)
		}
	}
	if n != 4 {
		t.Errorf("%d breakpoints, want 4", n)
	}
	if lifetime(r.System[0].CacheControl) != ttl1h {
		t.Error("head: want a breakpoint of 1h at the system prompt")
	}
	if got := outline(r); !strings.Contains(got, `user[5m] "Please fix`) || !strings.Contains(got, `user[5m] "<tool_result number=1>`) {
		t.Errorf("breakpoints of messages:\n%s", got)
	}
	s = conversation("alpha")
	c = s.call()
	c.Markers = []exchange.Marker{{Position: 0, TTL: exchange.TTL1h}, {Position: -1}, {Position: 1000}}
	if r, _ = request(t, s, c, Options{}); lifetime(r.System[0].CacheControl) != ttl1h {
		t.Error("tools: want a breakpoint of 1h at the system prompt behind them")
	}
}

// A summary of the later part says where that begins; one of everything, or of
// what a call left things out of, does not.
func TestComposePart(t *testing.T) {
	s := conversation("alpha")
	c := s.call()
	tail := s.context.At(s.context.Len() - 2).Tokens
	c.Intent.Summarised, c.Intent.Part = tail, ask.PartFrom
	r, _ := request(t, s, c, Options{})
	m := r.Messages[len(r.Messages)-1].Content
	got := m[len(m)-1].Text
	if !strings.Contains(got, "later part") || !strings.Contains(got, `"Good. Now the logout."`) {
		t.Errorf("the instruction does not name the part:\n%s", cut(got, 500))
	}
	s = conversation("alpha")
	c = s.call()
	c.Intent.Part = ask.PartUpTo
	r, _ = request(t, s, c, Options{})
	m = r.Messages[len(r.Messages)-1].Content
	got = m[len(m)-1].Text
	if !strings.Contains(got, "8. Work Completed") || !strings.Contains(got, "9. Context for Continuing Work") || strings.Contains(got, "Current Work") {
		t.Errorf("sections where messages follow:\n%s", got)
	}
}

// What the strategy has cleared is sent as the placeholder that the context has; a result whose call is gone is sent too.
func TestComposeCleared(t *testing.T) {
	s := conversation("alpha")
	c := s.call()
	s.context.LeaveOut(6, 9)
	r, _ := request(t, s, c, Options{})
	if got := outline(r); !strings.Contains(got, "number=1>|"+clearedText[:20]) {
		t.Errorf("sent %s", got)
	}
}

// Custom instructions stand in the instruction, which says at its start and at
// its end that no tool may be called.
func TestInstruction(t *testing.T) {
	for _, p := range []plan{{}, {part: ask.PartUpTo}} {
		got := p.instruction("", "Name every ticket.")
		if strings.Count(got, "Call no tool") != 2 || !strings.Contains(got, "Name every ticket.") {
			t.Errorf("part %d: %q", p.part, got)
		}
		for _, s := range p.sections() {
			if !strings.Contains(got, s.title) {
				t.Errorf("part %d: section %s is not asked for", p.part, s.title)
			}
		}
	}
	if n := len((&plan{}).sections()); n != 9 {
		t.Errorf("%d sections of a summary, want 9", n)
	}
}
