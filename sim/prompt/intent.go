package prompt

import "github.com/compactsim/compactsim/sim/prompt/ask"

// Intent is a model call that a layer asks for. The loop makes it, at its place
// on the clock, and hands the Result back to the layer.
type Intent struct {
	Source string // query source as the client names it: "compact"
	// Way names how the call is made, for what can fail in one way and not in another: "fork", "streaming".
	Way string
	// Model is the name of the model to ask; "" for the session's.
	Model string
	// Own sends the thread's messages under a system prompt and tools of the call's
	// own, which is cold. Without it the call sends the thread's own context with an
	// instruction at the end, and reads what the conversation left in the cache.
	Own         bool
	From        int32 // first message entry to send (position); entries before it are left out unless they are the thread's prefix
	To          int32 // first entry not to send; 0 for all
	Instruction int32 // tokens of the instruction put at the end
	Head        int32 // tokens of system prompt and tools, for Own
	MaxOutput   int32 // output tokens allowed; 0 for the model's own limit
	// Lead is the size, tokens, of a user block in front of the messages, 0 for none. It
	// stands for what was cut off, where a response would otherwise come first.
	Lead int32
	// Strip says what is left out of the messages.
	Strip ask.Strip
	// Clip is how many bytes it shows of each tool result and each piece of thinking, 0 for
	// all; Newest how many tokens of the newest messages it sends, 0 for all.
	Clip, Newest int32
	// SkipCacheWrite moves the message marker to the second-to-last message,
	// where the conversation already has an entry.
	SkipCacheWrite bool
	// Unmarked sends no cache marker: nothing is written.
	Unmarked bool
	// Rekey says that a parameter in the cache key of the messages differs from the
	// conversation's: without Own the call then reads only tools and system prompt.
	Rekey bool
	// NoTools says that the call leaves out the conversation's tools, which come first: it
	// reads nothing of the conversation's prefix.
	NoTools bool
	// Recorded is the size, tokens, of the summaries that the recording's own client was
	// given by such calls; 0 where none is known. The loop sets it, or a layer that knows
	// how large its answers are. Around says that it includes what the client writes around a summary.
	Recorded int32
	Around   bool
	// RecordedOutput is the output of such calls; 0 where it is not known.
	RecordedOutput int32
	// Analysis is what the answer has ahead of the summary, as a share of its tokens; nil where the summariser decides.
	Analysis *float64
	// Summarised is the number of tokens the answer stands for; Part says which messages they are.
	Summarised int32
	Part       ask.Part
	// Turns is how many responses the call takes when it uses tools between them; 0 and 1 are one. Each further one
	// sends what the last answered and TurnInput tokens of results.
	Turns     int32
	TurnInput int32
	// Lifetime is the lifetime class its markers ask for.
	Lifetime ask.Lifetime
	// Compacts says that the call begins with a compaction of its thread, which it waits for.
	Compacts bool
	Ordinal  uint8 // distinguishes repeated calls of one layer at one point (retries)
	// Usual is how long the summaries of the session's agent usually are, tokens of that session; 0 where it is not known.
	Usual float64
	// Number counts the calls of a session that ask the summariser, from 1. The loop sets it.
	Number int32
	// Known, when set, is the answer: one that the recording gives, with its tokens and how long the caller waited, or
	// one that the layer sizes by a model of its own. The summariser is not asked.
	Known *Answer
}

// Whole reports whether the call shows all of the messages it sends.
func (in *Intent) Whole() bool { return in.Strip == 0 && in.Clip == 0 && in.Newest == 0 }

// AsText reports whether the call sends a part of the messages as one text: it then begins and ends at any message, and calls of
// tools need no results. A call under a head of its own sends a part that ends ahead of the newest message, a single result for
// instance, as such a text.
func (in *Intent) AsText() bool {
	return in.Newest > 0 || in.Strip&ask.StripTools != 0 || in.Own && in.To > 0
}

// Answer is what a summariser gives: how large the summary is and what the call cost in output and time.
type Answer struct {
	Summary int32  // tokens of the summary that enters the context
	Bytes   int32  // bytes of the summary
	Output  int32  // output tokens billed: summary and what is stripped from it
	First   int64  // ns to the first token
	Total   int64  // ns to the end of the response
	Around  bool   // Summary includes what the client writes around it
	Digest  Digest // of the summary's content
	Failed  string // reason of a failure: "" for none
	Excess  int64  // FailTooLong: tokens above the limit; 0 when the server does not say
	// Head are blocks of the session that the recording's own call had as its tools and system prompt: from, and up to.
	Head [2]Ref
	// Measured is what a real server said of the call; nil for a modelled one.
	Measured *Measured
}

// Measured is what a real server reported for a call.
type Measured struct {
	Usage      Usage // billed by the server, all iterations of the answer
	Wasted     Usage // billed for attempts that broke off or for a call that failed
	Iterations int32 // passes of the model inside the call
	Attempts   int32 // requests sent, those that failed included
	// Missing and Cut count the sections of the summary that are missing or exceed their limit.
	Missing, Cut int32
}

// Refused reports whether the server gave no answer at all: nothing was read, written or billed.
func (a *Answer) Refused() bool { return a.Failed == ask.FailTooLong || a.Failed == ask.FailAPI }

// Result is what became of an Intent.
type Result struct {
	Answer
	Usage Usage // of all its turns
}
