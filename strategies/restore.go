package strategies

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// FileBudget bounds the files that come back after a compaction: the most
// recently read first.
type FileBudget struct {
	Count int   `yaml:"count"` // files
	Each  int32 `yaml:"each"`  // tokens a file is cut to
	Total int32 `yaml:"total"` // tokens of all files
}

// Validate returns what is wrong with the budget.
func (b *FileBudget) Validate() []error {
	if b.Count < 0 || b.Each < 0 || b.Total < 0 {
		return []error{fmt.Errorf("files: count %d, each %d, total %d: none may be negative", b.Count, b.Each, b.Total)}
	}
	return nil
}

// restore returns blocks for the files last read among the entries from
// position from on, newest first. Their content is taken as it was last read:
// what was edited since weighs about the same.
func (b *FileBudget) restore(t *Turn, from int) []prompt.Ref {
	var refs []prompt.Ref
	var objects []int32
	left := b.Total
	for i := t.Context.Len() - 1; i >= from && len(refs) < b.Count; i-- {
		e := t.Context.At(i)
		file := t.Context.Block(e.Block)
		if e.Kind != prompt.KindToolResult || file.Op != prompt.OpRead || file.Object < 0 ||
			file.Flags&prompt.FlagError != 0 || contains(objects, file.Object) {
			continue
		}
		objects = append(objects, file.Object)
		tokens := min(file.Tokens, b.Each)
		if tokens > left {
			continue
		}
		left -= tokens
		refs = append(refs, t.Context.Arena().Add(attachment(file, tokens)))
	}
	return refs
}

// attachment is a file as a client restores it: cut to tokens.
func attachment(file *prompt.Block, tokens int32) prompt.Block {
	bytes := file.Bytes
	if file.Tokens > 0 {
		bytes = int32(int64(file.Bytes) * int64(tokens) / int64(file.Tokens))
	}
	return prompt.Block{
		Digest: file.Digest.ExtendInt(uint64(tokens)), Kind: prompt.KindAttachment, Tokens: tokens,
		Bytes: bytes, Object: file.Object, Op: prompt.OpRead, Flags: prompt.FlagMeta,
	}
}

func contains(list []int32, x int32) bool {
	for _, v := range list {
		if v == x {
			return true
		}
	}
	return false
}
