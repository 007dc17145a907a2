package client

import "github.com/compactsim/compactsim/sim/prompt"

// Codex assembles requests like the Codex CLI, for a cache that needs no
// markers. The zero value is ready to use.
type Codex struct{}

// CodexWindow is the context window the client works with, tokens: 95 % of the
// 272,000 of its model catalogue (openai/codex#40095), as token_count events of
// recorded sessions say.
const CodexWindow = 258_400

// Window returns the context window the client assumes for a model, tokens.
func (c *Codex) Window(string) int64 { return CodexWindow }

// Mark adds nothing: the provider caches every prefix.
func (c *Codex) Mark(dst []prompt.Marker, _ []prompt.Entry, _ Marks) []prompt.Marker { return dst }

// Counting returns how the client counts what follows the last response: a token
// for four bytes (openai/codex, codex-rs/core).
func (c *Codex) Counting() Counting { return Counting{Trailing: true, Unpadded: true} }

// Marking returns a client other than Claude Code that marks so many messages
// of a request and counts like Claude Code's newest version.
func Marking(messages int) *ClaudeCode {
	c := ForVersion("")
	c.MessageMarkers = messages
	return c
}
