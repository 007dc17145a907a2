// Package ask names what a layer may ask of a model call, and how such a call fails. It has no promise to importers.
package ask

// Strip says what a model call leaves out of the messages it sends.
type Strip uint8

// What a call may leave out.
const (
	StripMedia    Strip = 1 << iota // images and documents become a placeholder, inside tool results too
	StripListings                   // skill listings are left out
	StripThinking                   // thinking is left out, as the server does for a call without thinking
	StripTools                      // tool calls and their results are left out
	StripCalling                    // texts of a response that calls a tool are left out
	ClipTexts                       // what Clip says holds for prompts and for what the model writes, too
)

// Lifetime says which lifetime class a call asks for.
type Lifetime uint8

// What a call may ask for.
const (
	LifetimeClient Lifetime = iota // as the client decides for its source
	Lifetime5m
	Lifetime1h
)

// Part is the part of a conversation that a summary stands for.
type Part uint8

// The parts of a conversation.
const (
	PartWhole Part = iota
	PartUpTo       // the messages before those that stay; messages that stay are not sent
	PartFrom       // the messages after those that stay; messages that stay are sent
)

// Reasons why a model call gives no usable answer. A call that the server refuses as too
// long, or that fails on its side, is not billed; one that answers with a tool call or
// without text is.
const (
	FailTooLong  = "prompt too long"
	FailAPI      = "API error"
	FailToolCall = "tool call instead of text"
	FailEmpty    = "empty text"
	// FailDeadlock: the call waits for a compaction that waits for the call.
	FailDeadlock = "deadlock: a call and a compaction wait for each other"
)
