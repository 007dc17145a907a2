package traces

import (
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/signs"
)

// Content returns which kinds of block a round of s has.
func (s *Session) Content(r *Round) signs.Content {
	var c signs.Content
	for b := r.Input.From; b < r.Input.To; b++ {
		switch s.Blocks[b].Kind {
		case prompt.KindToolResult:
			c.Results = true
		case prompt.KindPrompt:
			meta := s.Blocks[b].Flags&prompt.FlagMeta != 0
			c.Meta, c.Person = c.Meta || meta, c.Person || !meta
		}
	}
	for b := r.Reply.From; b < r.Reply.To; b++ {
		c.Calls = c.Calls || s.Blocks[b].Kind == prompt.KindToolUse
		c.Thinks = c.Thinks || s.Blocks[b].Kind == prompt.KindThinking
	}
	return c
}

// User distinguishes the users of sessions: a digest of the name of the home folder above
// the working directory, or of the whole directory when it is in none. It names nobody.
// It is zero for a session without a working directory.
func (s *Session) User() prompt.Digest {
	if s.Project == "" {
		return prompt.Digest{}
	}
	parts := strings.Split(strings.ReplaceAll(s.Project, `\`, "/"), "/")
	for i, part := range parts[:len(parts)-1] {
		if part == "Users" || part == "home" {
			return prompt.DigestString(parts[i+1])
		}
	}
	return prompt.DigestString(s.Project)
}
