package strategies

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/sim/prompt"
)

// FileBudget bounds the files that come back after a compaction: the most
// recently read first.
type FileBudget struct {
	Count      int        `yaml:"count" doc:"files that may come back" off:"0"`
	Each       int32      `yaml:"each" doc:"tokens a file is cut to"`
	Total      int32      `yaml:"total" doc:"tokens of all files"`
	OverBudget OverBudget `yaml:"over_budget" doc:"a file that does not fit the total: skip it and go on, or stop"`
}

// OverBudget is what happens at a file that does not fit the total.
type OverBudget bool

// The two ways to treat a file over budget.
const (
	OverBudgetSkip OverBudget = false // 001:755: a filter, later files may fit
	OverBudgetStop OverBudget = true  // 004, section 6, step 5c
)

var overBudgetNames = []string{"skip", "stop"}

// MarshalYAML writes "skip" or "stop".
func (o OverBudget) MarshalYAML() (any, error) { return nameOf(overBudgetNames, asInt(bool(o))), nil }

// UnmarshalYAML reads "skip" or "stop".
func (o *OverBudget) UnmarshalYAML(n *yaml.Node) error {
	i, err := readName(n, "over_budget", overBudgetNames)
	*o = i == 1
	return err
}

// Validate returns what is wrong with the budget.
func (b *FileBudget) Validate() []error {
	if b.Each > b.Total {
		return []error{fmt.Errorf("files: each %d is more than total %d", b.Each, b.Total)}
	}
	return nil
}

// restore returns blocks for the files read last among the entries [from, to),
// newest first, without those that stand in kept messages. A file is read anew,
// whole: the largest of its reads stands for its size, as others may have been
// of a range or told only that it is unchanged. What was written since changes
// its identity.
func (b *FileBudget) restore(t *Turn, from, to int, kept []int32) []prompt.Ref {
	var refs []prompt.Ref
	seen := slices.Clone(kept)
	left := b.Total
	for i, n := to-1, 0; i >= from && n < b.Count; i-- {
		if !isRead(t, i) || slices.Contains(seen, t.Context.BlockAt(i).Object) {
			continue
		}
		file := t.Context.BlockAt(i)
		seen = append(seen, file.Object)
		n++
		size, identity := asItIsNow(t, file.Object, from, to)
		tokens := min(size.tokens, b.Each)
		if tokens > left {
			if b.OverBudget == OverBudgetStop {
				break
			}
			continue
		}
		left -= tokens
		a := size.block(tokens)
		a.Digest = a.Digest.Extend(identity)
		a.Object, a.Op, a.Tool = file.Object, prompt.OpRead, file.Tool
		refs = append(refs, t.Context.Arena().Add(a))
	}
	return refs
}

// isRead reports whether the entry at position i shows a file that a client
// would restore: read without error, or restored before.
func isRead(t *Turn, i int) bool {
	b := t.Context.BlockAt(i)
	k := t.Context.At(i).Kind
	if k != prompt.KindToolResult && k != prompt.KindAttachment || b.Op != prompt.OpRead || b.Object < 0 || b.Flags&prompt.FlagError != 0 {
		return false
	}
	path := t.object(b)
	return !isPlan(path) && !isTranscript(path) && !strings.HasSuffix(path, "/CLAUDE.md") && path != "CLAUDE.md"
}

// isTranscript reports whether a path is that of a session's transcript.
func isTranscript(path string) bool {
	return strings.Contains(path, "/.claude/projects/") && strings.HasSuffix(path, ".jsonl")
}

// asItIsNow returns the largest read of an object among the entries [from, to),
// and the identity of what was written to it since it was first read.
func asItIsNow(t *Turn, object int32, from, to int) (size memory, writes prompt.Digest) {
	for i := from; i < to; i++ {
		b := t.Context.BlockAt(i)
		switch {
		case b.Object != object:
		case isRead(t, i):
			if b.Tokens > size.tokens {
				size = memoryOf(b)
			}
		case t.Context.At(i).Kind == prompt.KindToolUse && (b.Op == prompt.OpEdit || b.Op == prompt.OpWrite):
			writes = writes.Extend(b.Digest)
		}
	}
	return size, writes
}
