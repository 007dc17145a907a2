package prompt

// PrefixSource says what a model call that a layer makes is built on.
type PrefixSource uint8

const (
	// PrefixShared sends the thread's own context with an instruction at the
	// end, so the call reads what the conversation left in the cache.
	PrefixShared PrefixSource = iota
	// PrefixOwn sends the thread's messages under a system prompt and tools of
	// its own: a cold call.
	PrefixOwn
)

// Intent is a model call that a layer asks for. The loop makes it, at its place
// on the clock, and hands the Result back to the layer.
type Intent struct {
	Source      string // query source as the client names it: "compact"
	Prefix      PrefixSource
	From        int32 // first message entry to send (position); entries ahead of it are left out unless they are the thread's prefix
	To          int32 // first entry not to send; 0 for all
	Instruction int32 // tokens of the instruction put at the end
	Head        int32 // tokens of system prompt and tools, for PrefixOwn
	MaxOutput   int32 // output tokens allowed; 0 for the model's own limit
	// SkipCacheWrite moves the message marker to the second-to-last message,
	// where the conversation already has an entry.
	SkipCacheWrite bool
	// Summarised is the number of tokens the answer stands for.
	Summarised int32
	Ordinal    uint8 // distinguishes repeated calls of one layer at one point (retries)
	// Known, when set, is an answer the recording already gives: its tokens
	// and how long the caller waited. The summariser is not asked.
	Known *Answer
}

// Answer is what a summariser gives: how large the summary is and what the
// call cost in output and time.
type Answer struct {
	Summary int32  // tokens of the summary that enters the context
	Bytes   int32  // bytes of the summary
	Output  int32  // output tokens billed: summary and what is stripped from it
	First   int64  // ns to the first token
	Total   int64  // ns to the end of the response
	Digest  Digest // of the summary's content
	Failed  string // reason of a failure: "" for none
}

// FailTooLong is the failure of a call whose input does not fit the window.
const FailTooLong = "prompt too long"

// Result is what became of an Intent.
type Result struct {
	Answer
	Usage  Usage
	Excess int64 // FailTooLong: tokens above the window
}
