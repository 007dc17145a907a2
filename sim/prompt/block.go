// Package prompt is the vocabulary of the simulator: what a request to a model is made of (blocks, entries, edits),
// what comes back (usage), and the context that a strategy edits between calls.
//
// It knows no agent, no provider and no price. Token counts are true tokens (what the server would count) unless a name
// says estimate; times are int64 nanoseconds on the simulated clock.
package prompt

import (
	"math/bits"

	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/zeebo/xxh3"
)

// Kind says what a block is. The order carries no meaning.
type Kind uint8

// The kinds of block.
const (
	KindNone       Kind = iota
	KindTools           // tool definitions
	KindSystem          // system prompt
	KindReminder        // context the client injects before the first prompt (project files, environment)
	KindPrompt          // text typed by a person
	KindText            // text written by the model
	KindThinking        // the model's thinking
	KindToolUse         // a tool call
	KindToolResult      // the result of a tool call
	KindImage           // an image in a prompt
	KindDocument        // a document (PDF) in a prompt
	KindSummary         // the summary that stands for compacted messages
	KindAttachment      // what a client restores or injects: files, plans, skills, todos
	KindUnseen          // tokens the server counted that no transcript line shows
	kindCount
)

var kindNames = [kindCount]string{
	"none", "tools", "system", "reminder", "prompt", "text", "thinking", "tool_use",
	"tool_result", "image", "document", "summary", "attachment", "unseen",
}

// String returns the lower-case name used in reports.
func (k Kind) String() string { return kindNames[min(k, kindCount-1)] }

// NumKinds is the number of block kinds, for tables indexed by Kind.
const NumKinds = int(kindCount)

// Level is the place of a block in the fixed order tools → system → messages.
// A change at one level invalidates that level and all later ones.
type Level uint8

// The levels of a request, in order.
const (
	LevelTools Level = iota
	LevelSystem
	LevelMessages
	numLevels = 3
)

// Level returns the level of a block of this kind.
func (k Kind) Level() Level {
	switch k {
	case KindTools:
		return LevelTools
	case KindSystem:
		return LevelSystem
	}
	return LevelMessages
}

// Assistant reports whether the block is written by the model; every other
// message block is in a user message.
func (k Kind) Assistant() bool {
	return k == KindText || k == KindThinking || k == KindToolUse
}

// Flags mark properties of a block that layers ask for.
type Flags uint16

// The flags of a block.
const (
	FlagError   Flags = 1 << iota // the tool call failed
	FlagImage                     // contains an image, a tool result an image or a document
	FlagMCP                       // call or result of an MCP tool
	FlagMeta                      // injected by the client, hidden from people but not from the model
	FlagString                    // message content was a bare string, not a list of blocks
	FlagDerived                   // tokens derived from totals, not estimated from text
	FlagListing                   // a listing of skills the client injects: summary calls of their own leave it out
	FlagMemory                    // a memory file the client attaches
)

// imageShift is where the flags of a block count its images, and the documents of a tool
// result, beyond the first.
const imageShift = 12

// maxImages is the largest number of images that flags hold.
const maxImages = 16

// Images returns the number of images in a block, at most 16.
func (f Flags) Images() int {
	if f&FlagImage == 0 {
		return 0
	}
	return 1 + int(f>>imageShift)
}

// WithImages returns the flags of a block that holds n more images.
func (f Flags) WithImages(n int) Flags {
	if n = min(n+f.Images(), maxImages); n == 0 {
		return f
	}
	return f&(1<<imageShift-1) | FlagImage | Flags(n-1)<<imageShift
}

// Block is one content block in its parsed form: 64 bytes, no pointers, shared
// read-only by every cell of a run.
type Block struct {
	Digest    Digest // of the content; equal content has equal digests
	Place     int64  // byte offset of the block's line in its (decompressed) file
	Bytes     int32  // length of the content in bytes of UTF-8
	Tokens    int32  // true tokens
	Line      int32  // line number in its file, from 1; 0 when generated
	Call      int32  // pairs a tool_use with its result: ordinal in the session, from 1; 0 for others
	Message   int32  // ordinal of the message in the session; blocks of one message are adjacent
	Object    int32  // index into the session's objects (paths), -1 for none
	RangeFrom int32  // first line read, from 1; 0 for all; lines an edit adds to its object, or a write leaves in it
	RangeLen  int32  // lines asked for, 0 for all; lines of a result that shows all, 0 for unknown; bytes an edit adds, or a write leaves
	Tool      uint16 // index into the session's tools; 0 is no tool
	Flags     Flags
	File      uint16 // index into the session's files
	Kind      Kind
	Op        op.Op
}

// Digest is a 128-bit hash of content or of a prefix. It is stable across processes and platforms, so it may be stored.
type Digest struct{ Hi, Lo uint64 }

// IsZero reports whether d is the zero digest, which no content has.
func (d Digest) IsZero() bool { return d == Digest{} }

// DigestBytes hashes content with XXH3-128.
func DigestBytes(b []byte) Digest {
	h := xxh3.Hash128(b)
	return Digest{h.Hi, h.Lo}
}

// DigestString hashes content with XXH3-128.
func DigestString(s string) Digest {
	h := xxh3.HashString128(s)
	return Digest{h.Hi, h.Lo}
}

// Odd constants from the fractional parts of √2, √3, √5 and √7: any odd numbers without structure serve.
const (
	mix0 = 0x6a09e667f3bcc909
	mix1 = 0xbb67ae8584caa73b
	mix2 = 0x3c6ef372fe94f82b
	mix3 = 0xa54ff53a5f1d36f1
)

// Extend returns the digest of a prefix d followed by content e. It is the link
// of the prefix chain: two multiply-folds, not commutative and not associative.
func (d Digest) Extend(e Digest) Digest {
	h1, l1 := bits.Mul64(d.Hi^e.Lo^mix0, d.Lo^mix1|1)
	h2, l2 := bits.Mul64(e.Hi^d.Lo^mix2, e.Lo^d.Hi^mix3)
	return Digest{h1 ^ l2 + e.Hi, l1 ^ bits.RotateLeft64(h2, 31) + d.Hi}
}

// ExtendInt returns the digest of a prefix d followed by a number.
func (d Digest) ExtendInt(n uint64) Digest {
	return d.Extend(Digest{n * mix0, n ^ mix2})
}
