package scenarios

import (
	"fmt"
	"time"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// made are the sessions that were made for claims instead of recorded, by name.
var made = map[string]func() []*traces.Session{
	// Two prompts. The second has a context of 200,000 tokens, of which the first
	// sent 199,700: 20,000 of prefix and a prompt of 179,700. A response of 100 and
	// a prompt of 200 follow.
	"full-window": one("full-window", 0, func(b *script) {
		b.step(step{prompt: 179_700}).step(step{wait: time.Minute, prompt: 200})
	}),
	// One turn of 60 rounds that each read a file of 5,200 tokens, with a prefix of
	// 26,000: the context passes 167,000 and grows as large again later.
	"long-turn": one("long-turn", 6000, func(b *script) { b.turn(0, toolRead, 60, 5200) }),
	// One turn of 60 commands with results of 4,000 tokens.
	"command-turn": one("command-turn", 2000, func(b *script) { b.turn(0, toolBash, 60, 4000) }),
	// One turn of 80 rounds with small results: from the tenth round on the context
	// is above 40,000 tokens.
	"runaway-turn": one("runaway-turn", 2000, func(b *script) { b.turn(0, toolBash, 80, 1800) }),
	"burst":        one("burst", 2000, burst),
	"short-pauses": one("pauses", 2000, func(b *script) { b.paused(6*time.Minute, 8) }),
	"long-pause":   one("pauses", 2000, func(b *script) { b.paused(65*time.Minute, 1) }),
	// 20,000 tokens of prefix, then only short prompts: a setting that flips before
	// the third call meets almost no conversation, one that flips before the
	// fortieth some 17,000 tokens.
	"young-session": one("young-session", 0, func(b *script) {
		for range 42 {
			b.step(step{wait: 30 * time.Second, prompt: 300})
		}
	}),
	// 20,000 tokens of prefix, and nine short prompts six minutes apart.
	"young-pauses": one("young", 0, func(b *script) {
		for range 9 {
			b.step(step{wait: 6 * time.Minute, prompt: 300})
		}
	}),
	// Twelve turns of three commands, a minute apart.
	"turns": one("turns", 2000, func(b *script) {
		for range 12 {
			b.turn(time.Minute, toolBash, 3, 2000)
		}
	}),
	// Two sub-agents started 30 seconds apart from one response that makes two calls;
	// their results come ten minutes later.
	"siblings": one("siblings", 2000, siblings),
	// The same for an agent whose provider caches by itself, at every step of a prefix.
	"siblings-codex": one("siblings", 2000, func(b *script) {
		b.s.Agent, b.s.Versions, b.s.Models = facts.Codex, []string{"0.104.0"}, []string{"gpt-5-codex"}
		siblings(b)
	}),
	// One turn of 14 commands with results of 14,000 tokens, 42,000 bytes: above the
	// limit of their tool.
	"large-results": one("large-results", 2000, func(b *script) { b.turn(0, toolBash, 14, 14_000) }),
	"organisations": fiveUsers,
	"six-results":   one("six-results", 2000, sixResults),
	// Thirty files of 6,000 tokens, read one by one, with a pause of 65 minutes
	// after the twentieth.
	"reading": one("reading", 2000, func(b *script) {
		b.turn(0, toolRead, 20, 6000).turn(65*time.Minute, toolRead, 4, 6000)
	}),
	// Twenty files, and a person who comes back after 65 or 55 minutes with one more file to read.
	"late-back":  one("back", 2000, func(b *script) { b.turn(0, toolRead, 20, 6000).turn(65*time.Minute, toolRead, 1, 6000) }),
	"early-back": one("back", 2000, func(b *script) { b.turn(0, toolRead, 20, 6000).turn(55*time.Minute, toolRead, 1, 6000) }),
	// Twelve prompts of 4,000 tokens, each with two commands of 3,000.
	"long-prompts": one("long-prompts", 2000, func(b *script) {
		for range 12 {
			b.step(step{wait: time.Minute, prompt: 4000, calls: 1, tool: toolBash})
			b.step(step{wait: time.Second, results: []int32{3000}, calls: 1, tool: toolBash})
			b.step(step{wait: time.Second, results: []int32{3000}})
		}
	}),
}

// one returns a function that writes a session whose reminders have so many tokens.
func one(name string, reminders int32, write func(*script)) func() []*traces.Session {
	return func() []*traces.Session {
		b := newScript(name, "made", reminders)
		write(b)
		return []*traces.Session{b.session()}
	}
}

// madeSessions returns the sessions called names.
func madeSessions(names ...string) (*traces.Corpus, error) {
	c := &traces.Corpus{}
	for _, name := range names {
		write := made[name]
		if write == nil {
			return nil, fmt.Errorf("no session %q", name)
		}
		c.Sessions = append(c.Sessions, write()...)
	}
	return c, nil
}

// burst is a turn of six commands, then five at once whose results have 25,000
// tokens each, and 30 more with small ones.
func burst(b *script) {
	b.step(step{prompt: 300, calls: 1, tool: toolBash})
	for i := range 6 {
		calls := 1
		if i == 5 {
			calls = 5
		}
		b.step(step{wait: time.Second, results: []int32{2000}, calls: calls, tool: toolBash})
	}
	b.step(step{wait: time.Second, results: []int32{25_000, 25_000, 25_000, 25_000, 25_000}, calls: 1, tool: toolBash})
	for i := range 30 {
		b.step(step{wait: time.Second, results: []int32{300}, calls: min(29-i, 1), tool: toolBash})
	}
}

func siblings(b *script) {
	b.step(step{prompt: 300, calls: 2, tool: toolBash}).step(step{wait: 10 * time.Minute, results: []int32{1000, 1000}})
	b.agent(0, 2).agent(30*time.Second, 2)
}

// paused adds a turn of 16 commands with results of 4,000 tokens, and then, so
// many times, a pause and a turn of two commands.
func (b *script) paused(gap time.Duration, times int) {
	b.turn(0, toolBash, 16, 4000)
	for range times {
		b.turn(gap, toolBash, 2, 1000)
	}
}

// fiveUsers are five sessions of five users, each in its own project, started a
// minute apart.
func fiveUsers() []*traces.Session {
	var list []*traces.Session
	for i := range 5 {
		name := fmt.Sprintf("user-%d", i+1)
		list = append(list, newScript(name, name, 2000).turn(0, toolBash, 3, 1000).starting(time.Duration(i)*time.Minute).session())
	}
	return list
}

// sixResults adds the six results of a drawing (001:962-970), 17,000 tokens,
// and then prompts up to the threshold at which results are cleared.
func sixResults(b *script) {
	b.bytes = exactBytes
	b.step(step{prompt: 300, calls: 1, tool: toolBash})
	sizes := []int32{5000, 3000, 2000, 4000, 1000, 2000}
	for i, n := range sizes {
		calls := 1
		if i == len(sizes)-1 {
			calls = 0
		}
		b.step(step{wait: time.Second, results: []int32{n}, calls: calls, tool: toolBash})
	}
	for range 32 {
		b.step(step{wait: time.Minute, prompt: 5000})
	}
}

// script writes a session in the parsed form, call by call. Sizes are tokens.
type script struct {
	s     traces.Session
	bytes int32 // of a token
}

// Sizes that are the same in all scripts, tokens. Of the prefix of the main thread 70 %
// are tools, as in recordings of Claude Code; a call takes 100 tokens.
const (
	scriptTools  = 14_000
	scriptSystem = 6_000
	scriptUse    = 100
	scriptText   = 100

	// Bytes of a token. A client that counts four bytes as a token undercounts by a
	// quarter with three, and is exact with four.
	codeBytes, exactBytes = 3, 4
)

// newScript begins a session of a project with tools, a system prompt and
// reminders of so many tokens before its conversation.
func newScript(name, project string, reminders int32) *script {
	b := &script{bytes: codeBytes, s: traces.Session{
		ID: name, Agent: facts.ClaudeCode, Versions: []string{"2.1.76"}, Project: project,
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

// block appends a block with unique content and returns its index.
func (b *script) block(k prompt.Kind, tokens int32) int32 {
	i := int32(len(b.s.Blocks))
	d := prompt.DigestString(fmt.Sprint(b.s.ID, k, i))
	if k == prompt.KindTools || k == prompt.KindSystem {
		d = prompt.DigestString(fmt.Sprint(b.s.Project, k, tokens)) // the same in the sessions of a project
	}
	b.s.Blocks = append(b.s.Blocks, prompt.Block{Kind: k, Tokens: tokens, Bytes: tokens * b.bytes, Object: -1, Line: i + 1, Digest: d})
	return i
}

// step is one call: a prompt or the results of the previous calls, and a
// response that makes calls.
type step struct {
	wait    time.Duration // since the previous response
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
		use.Call, use.Tool, use.Op = i, c.tool, op.Exec
		if c.tool == toolRead {
			use.Op, use.Object = op.Read, int32(len(b.s.Objects))
			b.s.Objects = append(b.s.Objects, fmt.Sprintf("file%d.go", i))
		}
	}
	r.Reply.To = int32(len(b.s.Blocks))
	b.bill(t, &r)
	t.Rounds = append(t.Rounds, r)
	return b
}

// bill gives a call the usage that a server with a cache that never expires
// would have billed.
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

// session ends the script. Its calls are dated as if nothing took longer.
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
	s.Index = new(needs.Index) // it has no texts, which is no error
	return &s
}
