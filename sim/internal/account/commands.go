package account

import (
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Claude Code through 2.1.62 asks a small model about Bash commands, in calls that no log shows: what a command may do, once for
// each that it does not know as harmless, through 2.1.49; and which files an output has shown, for each command that ended
// without an error, in a request that carries the command and the output (eleven versions from 1.0.128 to 2.1.62 run against
// a server on loopback, 2026-11-27 and -28).
const (
	lastOutputCall = "2.1.62"
	lastPolicyCall = "2.1.49"
	lastHaiku35    = "2.0.15" // 2.0.20 asks Haiku 4.5
	lastUnmarked   = "2.1.15" // 2.1.20 marks the output: what is large enough is written
	// policyTokens and outputTokens are the texts around a command, and around a command and its output: 3.3 and 1.2 kB.
	policyTokens, outputTokens = 830, 300
	// policyAnswer and outputAnswer are what the model answers, tokens. Assumed: a prefix of the command, and a few paths.
	policyAnswer, outputAnswer = 20, 40
	// minHaiku45 is the shortest prefix of Haiku 4.5 that is kept, tokens (platform.claude.com, prompt caching).
	minHaiku45 = 4096
)

// CommandCalls returns the calls of the small model beside the commands of a session. Which commands the client knows as harmless
// no line shows: all are taken to be asked about once.
func CommandCalls(s *traces.Session) (list []traces.UnshownCall) {
	version := s.Version()
	within := func(last string) bool { return profile.Compare(version, last) <= 0 }
	if s.Agent != traces.AgentClaudeCode || version == "" || s.Summed || !within(lastOutputCall) {
		return nil
	}
	model := "claude-haiku-4-5"
	if within(lastHaiku35) {
		model = "claude-haiku-3-5"
	}
	policy, marked := within(lastPolicyCall), !within(lastUnmarked)
	asked := map[prompt.Digest]bool{}
	for i := range s.Threads {
		commands := map[int32]*prompt.Block{}
		for j := range s.Threads[i].Rounds {
			r := &s.Threads[i].Rounds[j]
			add := func(tokens, answer int32) {
				list = append(list, traces.UnshownCall{
					Thread: int32(i), Event: -1, Model: model, At: r.At, Line: r.Line, File: r.File,
					Usage: prompt.Usage{Uncached: int64(tokens), Output: int64(answer)},
				})
			}
			for k := r.Input.From; k < r.Input.To; k++ {
				b := &s.Blocks[k]
				c := commands[b.Call]
				if b.Kind != prompt.KindToolResult || c == nil {
					continue
				}
				if policy && !asked[c.Digest] {
					asked[c.Digest] = true
					add(policyTokens+c.Tokens, policyAnswer)
				}
				if b.Flags&prompt.FlagError == 0 {
					add(outputTokens+c.Tokens+b.Tokens, outputAnswer)
					if u := &list[len(list)-1].Usage; marked && u.Uncached >= minHaiku45 {
						u.Uncached, u.Write5m = 0, u.Uncached
					}
				}
			}
			for k := r.Reply.From; k < r.Reply.To; k++ {
				if b := &s.Blocks[k]; b.Kind == prompt.KindToolUse && b.Call != 0 && s.Tools[b.Tool] == "Bash" {
					commands[b.Call] = b
				}
			}
		}
	}
	return list
}

// commands are the calls about commands of a session, which are found once for all copies of a run.
type commands struct {
	session *traces.Session
	found   bool
	list    []traces.UnshownCall
}

func (c *commands) calls() []traces.UnshownCall {
	if !c.found {
		c.list, c.found = CommandCalls(c.session), true
	}
	return c.list
}
