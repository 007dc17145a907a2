package claudecode

import (
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// What the reader puts where no line shows anything. A generator that emits
// sessions in the parsed form builds the same blocks with these.

// DefaultStatic returns the tokens of tools and system that a main thread of a
// client version is taken to begin with when its first call reads nothing.
func DefaultStatic(version string) int64 { return defaultStatic(version) }

// StaticPrefix is the tools and system prompt of a thread.
type StaticPrefix struct {
	Version   string
	Project   string
	Kind      traces.ThreadKind
	AgentType string // of a sub-agent, as the tool call names it
	Tokens    int64
}

// Blocks returns the tools and the system prompt. Their digests are equal in
// all sessions that share them.
func (p StaticPrefix) Blocks() [2]prompt.Block {
	kind := p.Kind
	if kind == traces.ThreadOrphan {
		kind = traces.ThreadAgent
	}
	d := prompt.DigestString(strings.Join([]string{
		Agent, p.Version, p.Project, kind.String(), p.AgentType, strconv.FormatInt(p.Tokens, 10),
	}, "\x00"))
	tools := int64(float64(p.Tokens) * toolsShare)
	return [2]prompt.Block{derivedBlock(prompt.KindTools, d, tools), derivedBlock(prompt.KindSystem, d, p.Tokens-tools)}
}

// ReminderBlock returns the tokens between the static prefix and the first
// visible line of a thread.
func ReminderBlock(session, thread string, tokens int64) prompt.Block {
	return derivedBlock(prompt.KindReminder, restDigest(session, thread, tokens), tokens)
}

// UnseenBlock returns the tokens that a call's context grew by and no line shows.
func UnseenBlock(call string, tokens int64) prompt.Block {
	return derivedBlock(prompt.KindUnseen, prompt.DigestString(call).ExtendInt(uint64(tokens)), tokens)
}

func restDigest(session, thread string, tokens int64) prompt.Digest {
	return prompt.DigestString(session + "\x00" + thread).ExtendInt(uint64(tokens))
}

// derivedBlock is a block that is known by its size alone.
func derivedBlock(k prompt.Kind, d prompt.Digest, tokens int64) prompt.Block {
	return prompt.Block{Digest: blockDigest(k, d), Tokens: int32(tokens), Object: -1, Kind: k, Flags: prompt.FlagDerived}
}
