package codex

import "github.com/compactsim/compactsim/sim/prompt"

const (
	// builtinTools is what the client's own tool definitions weigh beside the
	// instructions, tokens. Fitted with the two rates below on what the first
	// calls after compactions read (9,600 in 0.140–0.142 from the terminal, 10,624
	// from the editor, 9,984 in 0.144), which is the static prefix cut to a step.
	builtinTools = 5300
	// Tokens per byte of the instructions (Markdown), and of the JSON of tools the
	// client adds: most of those are found by search and not sent.
	instructionRate = 0.22
	addedToolRate   = 0.05
	// readStep is added to what a first call read for the static prefix: a read
	// ends at the last step in front of the shared prefix's end.
	readStep = 128
)

// layPrefix makes the blocks ahead of the first round, tools and instructions,
// and returns their tokens. Their size is estimated by the session's head;
// when the first call read about as much, other sessions kept it warm and the
// read is the better figure.
func (t *thread) layPrefix(rd *round) int64 {
	h := &t.ro.head
	system := int64(float64(h.instructions)*instructionRate + 0.5)
	static := system + builtinTools + int64(float64(h.tools)*addedToolRate+0.5)
	if read := rd.count.Read + readStep; rd.count.Read > 0 && read > static*7/8 && read < static*9/8 {
		static = max(static, read)
	}
	if rd.count.ok {
		static = min(static, rd.count.Input())
	}
	system = min(system, static/2)
	t.addPrefix(prompt.KindTools, static-system)
	t.addPrefix(prompt.KindSystem, system)
	return static
}

// addPrefix adds tools or system. Their digest is equal in all sessions with the
// same head.
func (t *thread) addPrefix(k prompt.Kind, n int64) {
	if n <= 0 {
		return
	}
	t.prefix = append(t.prefix, block{Block: prompt.Block{
		Digest: t.ro.head.digest.ExtendInt(uint64(k)<<32 | uint64(n)), Tokens: int32(n), Object: -1, Kind: k, Flags: prompt.FlagDerived,
	}})
}
