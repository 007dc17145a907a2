package client

import "github.com/compactsim/compactsim/sim/prompt"

// Injected returns a block that the client writes itself: the same text at every call.
func Injected(k prompt.Kind, text string, tokens int32) prompt.Block {
	b := prompt.Block{
		Digest: prompt.DigestString(text).ExtendInt(uint64(tokens)),
		Kind:   k, Tokens: tokens, Object: -1,
	}
	if k.Level() == prompt.LevelMessages {
		b.Flags = prompt.FlagMeta
	}
	return b
}

// DrawKey identifies a layer, or what else draws, by its name, so that adding or removing
// another shifts nothing.
func DrawKey(name string) uint8 { return uint8(prompt.DigestString(name).Lo) | 1 }
