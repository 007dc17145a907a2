package scenarios

import (
	"fmt"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// script writes a session in the parsed form, call by call. Sizes are tokens.
type script struct {
	s     traces.Session
	bytes int32 // of a token
}

// Sizes of what is the same in all scripts: of the prefix of the main thread 70 %
// are tools, as in recordings of Claude Code; a call takes 100 tokens.
const (
	scriptTools  = 14_000
	scriptSystem = 6_000
	scriptUse    = 100
	scriptText   = 100

	// Bytes of a token. With three a client that takes a quarter of the bytes
	// undercounts by a quarter; with four its estimate is exact.
	codeBytes, exactBytes = 3, 4
)

// newScript begins a session of a project with tools, a system prompt and
// reminders of so many tokens ahead of its conversation.
func newScript(name, project string, reminders int32) *script {
	b := &script{bytes: codeBytes, s: traces.Session{
		ID: name, Agent: traces.AgentClaudeCode, Versions: []string{"2.1.76"}, Project: project,
		Start: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).UnixNano(),
		Tools: []string{"", "Read", "Bash"}, Models: []string{"claude-sonnet-4-5"},
	}}
	b.s.Threads = []traces.Thread{{ID: "main", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1}}
	p := &b.s.Threads[0].Prefix
	p.From = b.block(prompt.KindTools, scriptTools)
	b.block(prompt.KindSystem, scriptSystem)
	if reminders > 0 {
		b.block(prompt.KindReminder, reminders)
	}
	p.To = int32(len(b.s.Blocks))
	return b
}

// block appends a block of a content of its own and returns its index.
func (b *script) block(k prompt.Kind, tokens int32) int32 {
	i := int32(len(b.s.Blocks))
	d := prompt.DigestString(fmt.Sprint(b.s.ID, k, i))
	if k == prompt.KindTools || k == prompt.KindSystem {
		d = prompt.DigestString(fmt.Sprint(b.s.Project, k, tokens)) // the same in the sessions of a project
	}
	b.s.Blocks = append(b.s.Blocks, prompt.Block{Kind: k, Tokens: tokens, Bytes: tokens * b.bytes, Object: -1, Line: i + 1, Digest: d})
	return i
}

// step is one call: a person's prompt or the results of the calls before, and a
// response that makes calls.
type step struct {
	wait    time.Duration // since the response before
	prompt  int32
	results []int32
	calls   int
	tool    uint16 // of the calls: 1 reads files, 2 runs commands
}

// Tools of scripts.
const (
	toolRead uint16 = 1
	toolBash uint16 = 2
)

// step adds a call to the last thread.
func (b *script) step(c step) *script {
	t := &b.s.Threads[len(b.s.Threads)-1]
	r := traces.Round{
		ID: fmt.Sprintf("%s-%d", t.ID, len(t.Rounds)), Wait: int64(c.wait),
		First: int64(2 * time.Second), Stream: int64(5 * time.Second), Trigger: traces.TriggerToolResult,
	}
	r.Input.From = int32(len(b.s.Blocks))
	b.results(t, c.results)
	if c.prompt > 0 {
		r.Trigger = traces.TriggerPrompt
		b.block(prompt.KindPrompt, c.prompt)
	}
	r.Input.To = int32(len(b.s.Blocks))
	r.Reply.From = r.Input.To
	b.block(prompt.KindText, scriptText)
	for range c.calls {
		i := b.block(prompt.KindToolUse, scriptUse)
		use := &b.s.Blocks[i]
		use.Call, use.Tool, use.Op = i, c.tool, prompt.OpExec
		if c.tool == toolRead {
			use.Op, use.Object = prompt.OpRead, int32(len(b.s.Objects))
			b.s.Objects = append(b.s.Objects, fmt.Sprintf("file%d.go", i))
		}
	}
	r.Reply.To = int32(len(b.s.Blocks))
	b.bill(t, &r)
	t.Rounds = append(t.Rounds, r)
	return b
}

// bill gives a call the usage that a server would have billed whose cache never
// expires.
func (b *script) bill(t *traces.Thread, r *traces.Round) {
	r.Usage.Write5m = b.tokens(r.Input)
	r.Usage.Output = b.tokens(r.Reply)
	r.Logged = r.Usage.Output
	if n := len(t.Rounds); n > 0 {
		last := t.Rounds[n-1].Usage
		r.Usage.Read = last.Input()
		r.Usage.Write5m += last.Output
	} else {
		r.Usage.Write5m += b.tokens(t.Prefix)
	}
}

func (b *script) tokens(s traces.Span) int64 {
	var n int64
	for i := s.From; i < s.To; i++ {
		n += int64(b.s.Blocks[i].Tokens)
	}
	return n
}

// results adds the results of the last response's calls.
func (b *script) results(t *traces.Thread, tokens []int32) {
	if len(tokens) == 0 {
		return
	}
	last := t.Rounds[len(t.Rounds)-1].Reply
	for i, n := range tokens {
		use := b.s.Blocks[last.To-int32(len(tokens)-i)]
		at := b.block(prompt.KindToolResult, n)
		result := &b.s.Blocks[at]
		result.Call, result.Tool, result.Op, result.Object = use.Call, use.Tool, use.Op, use.Object
	}
}

// turn adds a prompt of 300 tokens, and rounds with one result each; the last
// response makes no call.
func (b *script) turn(wait time.Duration, tool uint16, rounds int, result int32) *script {
	b.step(step{wait: wait, prompt: 300, calls: min(rounds, 1), tool: tool})
	for i := range rounds {
		calls := 1
		if i == rounds-1 {
			calls = 0
		}
		b.step(step{wait: time.Second, results: []int32{result}, calls: calls, tool: tool})
	}
	return b
}

// agent adds a sub-agent that starts some time after the first response, with a
// prefix of its own, a task and some results.
func (b *script) agent(delay time.Duration, rounds int) *script {
	i := len(b.s.Threads)
	t := traces.Thread{ID: fmt.Sprint("agent", i), Kind: traces.ThreadAgent, Delay: int64(delay)}
	t.Prefix.From = b.block(prompt.KindTools, 5000)
	t.Prefix.To = b.block(prompt.KindSystem, 3000) + 1
	b.s.Threads = append(b.s.Threads, t)
	return b.turn(0, toolBash, rounds, 1000)
}

// starting puts the start of the session some time later.
func (b *script) starting(after time.Duration) *script {
	b.s.Start += int64(after)
	return b
}

// session ends the script. Its calls are dated as if nothing had taken longer.
func (b *script) session() *traces.Session {
	s := b.s
	s.End = s.Start
	for i := range s.Threads {
		at := s.Start + s.Threads[i].Delay
		for j := range s.Threads[i].Rounds {
			r := &s.Threads[i].Rounds[j]
			r.At = at + r.Wait
			at = r.At + r.Stream
		}
		s.End = max(s.End, at)
	}
	s.Quality.Calls = s.NumCalls()
	return &s
}
