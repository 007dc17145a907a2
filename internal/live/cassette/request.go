package cassette

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Request is what was asked, by sizes and digests: what it said is in the
// recording. A line of Tools, System and Messages is one block: who speaks, its
// kind, bytes, digest of content, whether it is an error, and the breakpoint at
// it.
type Request struct {
	Model       string   `json:"model"`
	MaxTokens   int      `json:"max_tokens"` // of output
	ToolsDenied bool     `json:"tools_denied,omitzero"`
	Betas       []string `json:"betas,omitempty"`
	// ContextManagement is the size and digest of the edits asked of the server.
	ContextManagement string `json:"context_management,omitzero"`
	// Compaction is the size and digest of the instructions of a compaction asked
	// for on demand.
	Compaction string   `json:"compaction,omitzero"`
	Thinking   string   `json:"thinking,omitzero"` // as wire.Thinking writes it
	Effort     string   `json:"effort,omitzero"`
	Bytes      int64    `json:"bytes"` // of all texts, inputs and definitions
	Tools      []string `json:"tools,omitempty"`
	System     []string `json:"system,omitempty"`
	Messages   []string `json:"messages"`
	// Instruction is the last text of the request, which no recording has; "" in a
	// cassette without texts, and for one of more than maxInstruction bytes.
	Instruction string `json:"instruction,omitzero"`
}

// maxInstruction bounds Request.Instruction, bytes: the instructions of the
// clients that are simulated have some 6,000.
const maxInstruction = 64 << 10

// Describe returns what is kept of a request.
func Describe(r *wire.Request) *Request {
	q := &Request{Model: r.Model, MaxTokens: r.MaxTokens, ToolsDenied: r.ToolsDenied, Betas: slices.Clone(r.Betas)}
	if len(r.ContextManagement) > 0 {
		q.ContextManagement = sized("edits", r.ContextManagement)
	}
	if r.Compaction != nil {
		q.Compaction = sized("instructions", []byte(r.Compaction.Instructions))
	}
	q.Thinking, q.Effort = r.Thinking.String(), r.Effort
	for i := range r.Tools {
		t := &r.Tools[i]
		parts := []string{t.Name, t.Description, string(t.InputSchema)}
		q.Tools = append(q.Tools, q.line("tool", t.Cache, false, parts...))
	}
	for i := range r.System {
		q.System = append(q.System, q.block("system", &r.System[i]))
	}
	for _, m := range r.Messages {
		for i := range m.Blocks {
			q.Messages = append(q.Messages, q.block(string(m.Role), &m.Blocks[i]))
		}
	}
	q.Instruction = instruction(r.Messages)
	return q
}

func (q *Request) block(who string, b *wire.Block) string {
	return q.line(who+" "+string(b.Kind), b.Cache, b.Error, b.Text, b.Name, string(b.Input), b.ID)
}

// line writes one block, whose size is that of all of content but an id.
func (q *Request) line(what string, cache wire.Cache, failed bool, content ...string) string {
	n := 0
	var d prompt.Digest
	for i, c := range content {
		if i < 3 {
			n += len(c)
		}
		d = d.Extend(prompt.DigestString(c))
	}
	q.Bytes += int64(n)
	line := fmt.Sprintf("%s %d B %016x", what, n, d.Hi)
	if failed {
		line += " error"
	}
	if cache != wire.CacheNone {
		line += " cache " + string(cache)
	}
	return line
}

// sized writes the size and digest of bytes.
func sized(what string, b []byte) string {
	return fmt.Sprintf("%s %d B %016x", what, len(b), prompt.DigestBytes(b).Hi)
}

// instruction returns the last block of the last message, if it is a text.
func instruction(messages []wire.Message) string {
	if len(messages) == 0 {
		return ""
	}
	blocks := messages[len(messages)-1].Blocks
	if len(blocks) == 0 {
		return ""
	}
	if b := &blocks[len(blocks)-1]; b.Kind == wire.KindText && len(b.Text) <= maxInstruction {
		return b.Text
	}
	return ""
}
