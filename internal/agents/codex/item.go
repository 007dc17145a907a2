package codex

import "github.com/compactsim/compactsim/sim/prompt"

// itemKind says what a line means for the conversation.
type itemKind uint8

const (
	itemInput     itemKind = iota // a message to the model
	itemOutput                    // the result of a tool
	itemReply                     // what the model wrote
	itemCount                     // the token counts of a call
	itemCompacted                 // the history was replaced
	itemModel                     // the model of the calls that follow
)

// item is one line of a rollout without its text.
type item struct {
	kind   itemKind
	time   int64 // unix ns, 0 if unknown
	line   int32 // from 1
	id     string
	model  string
	blocks []block // of a compaction: what stayed or came back, the summary last
	count  count
}

// block is a block with what the session keeps in tables.
type block struct {
	prompt.Block
	call   string // pairs a tool call with its result
	tool   string
	object string
}

// count is the usage of one call.
type count struct {
	prompt.Usage
	reasoning int64 // of the output
	ok        bool  // the numbers can be
}

// maxTokens is the largest count of one call that is believed, tokens: far
// above any context window.
const maxTokens = 100_000_000
